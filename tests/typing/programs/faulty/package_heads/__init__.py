"""A package with heads; the subclass tells its base the classes where the features belong."""
