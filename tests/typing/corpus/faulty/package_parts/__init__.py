"""A model in a package; the encoder of one module and the head of another do not fit."""
