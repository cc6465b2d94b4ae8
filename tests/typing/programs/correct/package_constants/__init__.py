"""A package with its sizes in one module and its model in another."""
