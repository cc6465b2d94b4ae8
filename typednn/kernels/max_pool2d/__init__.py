"""MaxPool2d: the largest pixel of each window."""

from __future__ import annotations

from typednn.arrays import AnyIntArray, Array4
from typednn.engines import fast, fits, record
from typednn.kernels.max_pool2d import cpu, cuda, reference

__all__ = ["backward", "forward"]


def forward(x: Array4, kernel_size: tuple[int, int], stride: tuple[int, int], dilation: tuple[int, int]) -> tuple[Array4, AnyIntArray]:
    """(y, index), both (batch, out_height, out_width, channels)."""
    if fast(x):
        return cpu.forward(x, kernel_size, stride, dilation)
    if cuda.covers(x, kernel_size, stride, dilation):
        return cuda.forward(x, kernel_size, stride, dilation)
    record("max_pool2d.forward", "reference")
    return reference.forward(x, kernel_size, stride, dilation)


def backward(
    next_grad: Array4,
    index: AnyIntArray,
    input_shape: tuple[int, ...],
    kernel_size: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int],
) -> Array4:
    """dx, shaped ``input_shape``; ``index`` is what `forward` gave."""
    if fast(next_grad) and fits(cpu.index_dtype(kernel_size), index):
        return cpu.backward(next_grad, index, input_shape, kernel_size, stride, dilation)
    if cuda.covers_backward(next_grad, index, input_shape, kernel_size, stride, dilation):
        return cuda.backward(next_grad, index, input_shape, kernel_size, stride, dilation)
    record("max_pool2d.backward", "reference")
    return reference.backward(next_grad, index, input_shape, kernel_size, stride, dilation)
