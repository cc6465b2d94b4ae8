"""Pad2d: a border around every image; the border sizes that are called same and full."""

from typednn.kernels.pad2d.reference import backward, forward, full_padding, same_padding

__all__ = ["backward", "forward", "full_padding", "same_padding"]
