"""A model in a package: constants, layers and the model in modules of their own."""
