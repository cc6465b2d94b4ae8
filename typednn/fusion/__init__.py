"""Fusion: neighbouring layers of a chain run as one kernel, forward and backward."""

from typednn.fusion.fused import Fused, fuse
from typednn.fusion.gradients import FusedGrad, FusedPartGrad

__all__ = ["Fused", "FusedGrad", "FusedPartGrad", "fuse"]
