"""Models in files: typednn's own, and those of others."""

from typednn.exchange.model_file import load, save

__all__ = ["load", "save"]
