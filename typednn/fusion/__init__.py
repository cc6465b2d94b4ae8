"""Fusion: neighbouring layers of a chain run as one kernel, forward and backward."""

from typednn.fusion.fused import Fused

__all__ = ["Fused"]
