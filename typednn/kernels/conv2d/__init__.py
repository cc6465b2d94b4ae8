"""Conv2d: cross-correlation of images with a bank of kernels; dilating, correlating and convolving images."""

from typednn.kernels.conv2d.reference import backward, convolve2d, cross_correlate2d, dilate2d, forward

__all__ = ["backward", "convolve2d", "cross_correlate2d", "dilate2d", "forward"]
