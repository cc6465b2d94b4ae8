"""Models in files: typednn's own, and those of others."""

from typednn.exchange.model_file import load, save
from typednn.exchange.onnx_export import export_onnx

__all__ = ["export_onnx", "load", "save"]
