"""Conv2d on a GPU: CUDA kernels gather the patches and put their gradient together, cuBLAS multiplies.

The formulas are those of reference.py. A row of patches holds one window, channels last, so that it meets a kernel's weights in the order
in which both lie in memory, and no product has to be transposed: y = patches weightᵀ, dweight = dyᵀ patches, dpatches = dy weight. A
window of one pixel is a row of x as it stands.
"""

from __future__ import annotations

import math

from typednn.arrays import Array1, Array2, Array4, namespace
from typednn.engines import record
from typednn.engines.cuda import LIMIT, CudaKernel, on_gpu
from typednn.kernels.windows import output_sizes

Pair = tuple[int, int]

_CODE = """
#define TAPS (KERNEL_HEIGHT * KERNEL_WIDTH)

extern "C" __global__ void conv2d_patches(
    const REAL* __restrict__ x, REAL* __restrict__ patches,
    int height, int width, int channels, int out_height, int out_width, int size
) {
    FOR_EACH(at, size) {
        int c = at % channels;
        int tap = at / channels % TAPS;
        int window = at / channels / TAPS;
        int h = window / out_width % out_height * STRIDE_DOWN + tap / KERNEL_WIDTH * DILATION_DOWN;
        int w = window % out_width * STRIDE_ACROSS + tap % KERNEL_WIDTH * DILATION_ACROSS;
        int b = window / out_width / out_height;
        patches[at] = x[((b * height + h) * width + w) * channels + c];
    }
}

extern "C" __global__ void conv2d_image(
    const REAL* __restrict__ patches, REAL* __restrict__ x,
    int height, int width, int channels, int out_height, int out_width, int size
) {
    FOR_EACH(at, size) {
        int c = at % channels;
        int w = at / channels % width;
        int h = at / channels / width % height;
        int b = at / channels / width / height;
        REAL sum = 0;
        for (int i = 0; i < KERNEL_HEIGHT; i++) {
            int down = h - i * DILATION_DOWN;
            if (down < 0 || down % STRIDE_DOWN || down / STRIDE_DOWN >= out_height) continue;
            for (int j = 0; j < KERNEL_WIDTH; j++) {
                int across = w - j * DILATION_ACROSS;
                if (across < 0 || across % STRIDE_ACROSS || across / STRIDE_ACROSS >= out_width) continue;
                int window = (b * out_height + down / STRIDE_DOWN) * out_width + across / STRIDE_ACROSS;
                sum += patches[(window * TAPS + i * KERNEL_WIDTH + j) * channels + c];
            }
        }
        x[at] = sum;
    }
}
"""
_gather = CudaKernel("conv2d_patches", _CODE)
_fold = CudaKernel("conv2d_image", _CODE)


def covers(x: Array4, weight: Array4, bias: Array1 | None, stride: Pair, dilation: Pair) -> bool:
    """Whether `forward` may run: the sizes fit together, and the patches are few enough to be counted."""
    if not on_gpu(x, weight, *([] if bias is None else [bias])):
        return False
    windows = output_sizes(x.shape[1:3], weight.shape[1:3], stride, dilation)
    counted = x.shape[0] * math.prod(windows) * math.prod(weight.shape[1:]) < LIMIT
    fitting = x.shape[3] == weight.shape[3] and (bias is None or bias.shape == weight.shape[:1])
    return min(windows) > 0 and counted and fitting


def covers_backward(next_grad: Array4, x: Array4, weight: Array4, stride: Pair, dilation: Pair) -> bool:
    """Whether `backward` may run."""
    if not (on_gpu(next_grad, x) and covers(x, weight, None, stride, dilation)):
        return False
    return next_grad.shape == (x.shape[0], *output_sizes(x.shape[1:3], weight.shape[1:3], stride, dilation), weight.shape[0])


def forward(x: Array4, weight: Array4, bias: Array1 | None, stride: Pair, dilation: Pair) -> Array4:
    """y (batch, out_height, out_width, out_channels)."""
    batch, height, width, _ = x.shape
    out_channels, kernel_height, kernel_width, _ = weight.shape
    kernel_size = (kernel_height, kernel_width)
    rows: Array2 = _patches(x, kernel_size, stride, dilation) @ weight.reshape(out_channels, -1).T
    y: Array4 = rows.reshape(batch, *output_sizes((height, width), kernel_size, stride, dilation), out_channels)
    if bias is not None:
        y += bias
    record("conv2d.forward", "cuda")
    return y


def backward(next_grad: Array4, x: Array4, weight: Array4, stride: Pair, dilation: Pair) -> tuple[Array4, Array4, Array1]:
    """(dx, dweight, dbias), shaped like x, weight and bias."""
    out_channels, kernel_height, kernel_width, _ = weight.shape
    kernel_size = (kernel_height, kernel_width)
    rows: Array2 = next_grad.reshape(-1, out_channels)
    dweight: Array4 = (rows.T @ _patches(x, kernel_size, stride, dilation)).reshape(weight.shape)
    dbias: Array1 = next_grad.sum(axis=(1, 2)).sum(axis=0)
    dpatches: Array2 = rows @ weight.reshape(out_channels, -1)
    if _single(kernel_size, stride):
        dx: Array4 = dpatches.reshape(x.shape)
    else:
        dx = namespace(x).empty(x.shape, dtype=x.dtype)
        _fold.each(dx.size, dpatches, dx, *x.shape[1:], *next_grad.shape[1:3], **_constants(kernel_size, stride, dilation))
    record("conv2d.backward", "cuda")
    return dx, dweight, dbias


def _patches(x: Array4, kernel_size: Pair, stride: Pair, dilation: Pair) -> Array2:
    """(batch · out_height · out_width, kernel_height · kernel_width · in_channels): the pixels of each window."""
    batch, height, width, channels = x.shape
    if _single(kernel_size, stride):
        pixels: Array2 = x.reshape(-1, channels)
        return pixels
    out_height, out_width = output_sizes((height, width), kernel_size, stride, dilation)
    shape = (batch * out_height * out_width, math.prod(kernel_size) * channels)
    patches: Array2 = namespace(x).empty(shape, dtype=x.dtype)
    constants = _constants(kernel_size, stride, dilation)
    _gather.each(patches.size, x, patches, height, width, channels, out_height, out_width, **constants)
    return patches


def _single(kernel_size: Pair, stride: Pair) -> bool:
    """Whether the windows are the pixels."""
    return kernel_size == stride == (1, 1)


def _constants(kernel_size: Pair, stride: Pair, dilation: Pair) -> dict[str, int | str]:
    return {
        "KERNEL_HEIGHT": kernel_size[0],
        "KERNEL_WIDTH": kernel_size[1],
        "STRIDE_DOWN": stride[0],
        "STRIDE_ACROSS": stride[1],
        "DILATION_DOWN": dilation[0],
        "DILATION_ACROSS": dilation[1],
    }
