"""A package with a registry of builders, a config in JSON, and constants that a function changes."""
