"""Conv2d: cross-correlation of images with a bank of kernels; dilating, correlating and convolving images."""

from __future__ import annotations

from typednn.arrays import Array1, Array4
from typednn.engines import fast, record
from typednn.kernels.conv2d import cpu, cuda, reference
from typednn.kernels.conv2d.reference import convolve2d, cross_correlate2d, dilate2d

__all__ = ["backward", "convolve2d", "cross_correlate2d", "dilate2d", "forward"]


def forward(x: Array4, weight: Array4, bias: Array1 | None, stride: tuple[int, int], dilation: tuple[int, int]) -> Array4:
    """y (batch, out_height, out_width, out_channels)."""
    if fast(x, weight) and (bias is None or fast(bias)) and cpu.covers(x.shape[1:], weight.shape, stride, dilation):
        return cpu.forward(x, weight, bias, stride, dilation)
    if cuda.covers(x, weight, bias, stride, dilation):
        return cuda.forward(x, weight, bias, stride, dilation)
    record("conv2d.forward", "reference")
    return reference.forward(x, weight, bias, stride, dilation)


def backward(
    next_grad: Array4, x: Array4, weight: Array4, stride: tuple[int, int], dilation: tuple[int, int]
) -> tuple[Array4, Array4, Array1]:
    """(dx, dweight, dbias), shaped like x, weight and bias."""
    if fast(next_grad, x, weight) and cpu.covers(x.shape[1:], weight.shape, stride, dilation):
        return cpu.backward(next_grad, x, weight, stride, dilation)
    if cuda.covers_backward(next_grad, x, weight, stride, dilation):
        return cuda.backward(next_grad, x, weight, stride, dilation)
    record("conv2d.backward", "reference")
    return reference.backward(next_grad, x, weight, stride, dilation)
