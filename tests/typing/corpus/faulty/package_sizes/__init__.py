"""A model in a package; the constant for its features forgets the channels."""
