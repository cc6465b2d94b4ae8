"""Conv2d on a GPU: CUDA kernels gather the patches and put their gradient together, cuBLAS multiplies.

The formulas are those of reference.py. A row of patches holds one window, channels last, in the order of a kernel's
weights in memory, and no product has to be transposed: z = patches weightᵀ, dweight = dzᵀ patches, dpatches = dz
weight. A window of one pixel is a row of x itself. Padding is a condition where x is read; bias and activation are one
kernel, pooling another.
"""

import math
from typing import Any

from typednn.arrays import Array2, Array4, namespace
from typednn.engines.cublas import product
from typednn.engines.cuda import CudaKernel
from typednn.engines.dispatch import LIMIT
from typednn.kernels import sums
from typednn.kernels.activations import Activation
from typednn.kernels.conv2d.geometry import Window
from typednn.kernels.max_pool2d import cuda as max_pool2d
from typednn.kernels.windows import Pair

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
        int h = window / out_width % out_height * STRIDE_DOWN + tap / KERNEL_WIDTH * DILATION_DOWN - ABOVE;
        int w = window % out_width * STRIDE_ACROSS + tap % KERNEL_WIDTH * DILATION_ACROSS - LEFT;
        int b = window / out_width / out_height;
        bool inside = h >= 0 && h < height && w >= 0 && w < width;
        patches[at] = inside ? x[((b * height + h) * width + w) * channels + c] : 0;
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
            int down = h + ABOVE - i * DILATION_DOWN;
            if (down < 0 || down % STRIDE_DOWN || down / STRIDE_DOWN >= out_height) continue;
            for (int j = 0; j < KERNEL_WIDTH; j++) {
                int across = w + LEFT - j * DILATION_ACROSS;
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


def covers(x: Any, weight: Any, bias: Any, window: Window, *_: Any) -> bool:
    """Whether `forward` may run: the sizes fit together, and the numbers of the patches and of z are few enough to be
    counted.
    """
    size, kernel_size = x.shape[1:3], weight.shape[1:3]
    counted = (
        len(x) * math.prod(window.convolved(size, kernel_size)) * max(len(weight), math.prod(weight.shape[1:])) < LIMIT
    )
    fitting = x.shape[3] == weight.shape[3] and (bias is None or bias.shape == weight.shape[:1])
    return min(window.out(size, kernel_size)) > 0 and counted and fitting


def covers_backward(
    next_grad: Any,
    x: Any,
    weight: Any,
    window: Window,
    activation: Activation,
    y: Any,
    winners: Any,
    wants_input: bool,
    wants_bias: bool,
) -> bool:
    """Whether `backward` may run."""
    shape = len(x), *window.out(x.shape[1:3], weight.shape[1:3]), len(weight)
    return covers(x, weight, None, window) and all(
        array is None or array.shape == shape for array in (next_grad, y, winners)
    )


def forward(x: Any, weight: Any, bias: Any, window: Window, activation: Activation, keeps: bool) -> tuple[Any, Any]:
    """(y, winners)."""
    rows: Array2 = product(_patches(x, weight.shape[1:3], window), weight.reshape(len(weight), -1).T)
    z = rows.reshape(len(x), *window.convolved(x.shape[1:3], weight.shape[1:3]), len(weight))
    y = activation.with_bias(z, bias)
    if window.pooling is None:
        return y, None
    y, winners = max_pool2d.forward(y, *window.pooling)
    return y, winners if keeps else None


def backward(
    next_grad: Any,
    x: Any,
    weight: Any,
    window: Window,
    activation: Activation,
    y: Any,
    winners: Any,
    wants_input: bool,
    wants_bias: bool,
) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias); dx and dbias are None unless wanted."""
    kernel_size = weight.shape[1:3]
    out = window.convolved(x.shape[1:3], kernel_size)
    dz = activation.derivative(next_grad, y)
    if window.pooling is not None:
        dz = max_pool2d.backward(dz, winners, (len(x), *out, len(weight)), *window.pooling)
    rows: Array2 = dz.reshape(-1, len(weight))
    dweight: Array4 = product(rows.T, _patches(x, kernel_size, window)).reshape(weight.shape)
    dbias = sums.columns_on_gpu.run(dz) if wants_bias else None
    if not wants_input:
        return None, dweight, dbias
    dpatches: Any = product(rows, weight.reshape(len(weight), -1))
    if _single(kernel_size, window):
        return dpatches.reshape(x.shape), dweight, dbias
    dx = namespace(x).empty(x.shape, dtype=x.dtype)
    _fold.each(dx.size, dpatches, dx, *x.shape[1:], *out, **_constants(kernel_size, window))
    return dx, dweight, dbias


def _patches(x: Any, kernel_size: Pair, window: Window) -> Array2:
    """(batch · rows · columns of z, kernel_height · kernel_width · in_channels): the pixels of each window."""
    batch, height, width, channels = x.shape
    if _single(kernel_size, window):
        pixels: Array2 = x.reshape(-1, channels)
        return pixels
    out = window.convolved((height, width), kernel_size)
    patches: Array2 = namespace(x).empty((batch * math.prod(out), math.prod(kernel_size) * channels), dtype=x.dtype)
    _gather.each(patches.size, x, patches, height, width, channels, *out, **_constants(kernel_size, window))
    return patches


def _single(kernel_size: Pair, window: Window) -> bool:
    """Whether each window is one pixel, and each pixel has its window."""
    return kernel_size == window.stride == (1, 1) and not any(window.padding)


def _constants(kernel_size: Pair, window: Window) -> dict[str, int | str]:
    return {
        "KERNEL_HEIGHT": kernel_size[0],
        "KERNEL_WIDTH": kernel_size[1],
        "STRIDE_DOWN": window.stride[0],
        "STRIDE_ACROSS": window.stride[1],
        "DILATION_DOWN": window.dilation[0],
        "DILATION_ACROSS": window.dilation[1],
        "ABOVE": window.padding[2],
        "LEFT": window.padding[0],
    }
