"""The version of typednn."""

__version__ = "0.1.0"
