"""A package with an abstract head in one module and its subclasses in another."""
