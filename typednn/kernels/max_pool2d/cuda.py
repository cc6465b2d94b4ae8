"""MaxPool2d in CUDA: forward a thread for each window, backward a gather, where the reference copies an image for each
tap.

Each pixel of dx sums dy over the windows that it won, in the order of reference.py. Results equal the reference's bit
for bit.
"""

import math

from typednn.arrays import AnyIntArray, Array4, namespace
from typednn.engines.cuda import CudaKernel
from typednn.engines.dispatch import LIMIT
from typednn.kernels.max_pool2d.reference import index_dtype
from typednn.kernels.windows import Pair, output_sizes

_CODE = """
extern "C" __global__ void max_pool2d_forward(
    const REAL* __restrict__ x, REAL* __restrict__ y, INDEX* __restrict__ index,
    int height, int width, int channels, int out_height, int out_width, int size
) {
    FOR_EACH(at, size) {
        int c = at % channels;
        int s = at / channels % out_width;
        int r = at / channels / out_width % out_height;
        int b = at / channels / out_width / out_height;
        const REAL* window = x + ((b * height + r * STRIDE_DOWN) * width + s * STRIDE_ACROSS) * channels + c;
        REAL largest = LOWEST;
        INDEX winner = 0;
        for (int i = 0; i < KERNEL_HEIGHT; i++) {
            for (int j = 0; j < KERNEL_WIDTH; j++) {
                REAL candidate = window[(i * DILATION_DOWN * width + j * DILATION_ACROSS) * channels];
                if (candidate > largest) {  // never of a NaN
                    largest = candidate;
                    winner = i * KERNEL_WIDTH + j;
                }
            }
        }
        y[at] = largest;
        index[at] = winner;
    }
}

extern "C" __global__ void max_pool2d_backward(
    const REAL* __restrict__ next_grad, const INDEX* __restrict__ index, REAL* __restrict__ dx,
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
                int row = b * out_height + down / STRIDE_DOWN;
                int window = (row * out_width + across / STRIDE_ACROSS) * channels + c;
                if (index[window] == i * KERNEL_WIDTH + j) sum += next_grad[window];
            }
        }
        dx[at] = sum;
    }
}
"""
_forward = CudaKernel("max_pool2d_forward", _CODE)
_backward = CudaKernel("max_pool2d_backward", _CODE)


def covers(x: Array4, kernel_size: Pair, stride: Pair, dilation: Pair, padding: Pair) -> bool:
    """Whether `forward` may run: without a border."""
    return padding == (0, 0) and min(output_sizes(x.shape[1:3], kernel_size, stride, dilation)) > 0


def covers_backward(
    next_grad: Array4,
    index: AnyIntArray,
    input_shape: tuple[int, ...],
    kernel_size: Pair,
    stride: Pair,
    dilation: Pair,
    padding: Pair,
) -> bool:
    """Whether `backward` may run: there is no border, the sizes fit together, and the index is what `forward` gives."""
    if padding != (0, 0):
        return False
    batch, height, width, channels = input_shape
    fitting = (
        next_grad.shape
        == index.shape
        == (batch, *output_sizes((height, width), kernel_size, stride, dilation), channels)
    )
    return fitting and index.dtype == index_dtype(kernel_size) and math.prod(input_shape) < LIMIT


def forward(
    x: Array4, kernel_size: Pair, stride: Pair, dilation: Pair, padding: Pair = (0, 0)
) -> tuple[Array4, AnyIntArray]:
    """(y, index), both (batch, out_height, out_width, channels)."""
    xp = namespace(x)
    batch, height, width, channels = x.shape
    windows = output_sizes((height, width), kernel_size, stride, dilation)
    y: Array4 = xp.empty((batch, *windows, channels), dtype=x.dtype)
    index: AnyIntArray = xp.empty(y.shape, dtype=index_dtype(kernel_size))
    _forward.each(y.size, x, y, index, height, width, channels, *windows, **_constants(kernel_size, stride, dilation))
    return y, index


def backward(
    next_grad: Array4,
    index: AnyIntArray,
    input_shape: tuple[int, ...],
    kernel_size: Pair,
    stride: Pair,
    dilation: Pair,
    padding: Pair = (0, 0),
) -> Array4:
    """dx, shaped ``input_shape``; ``index`` is what `forward` gave."""
    dx: Array4 = namespace(next_grad).empty(input_shape, dtype=next_grad.dtype)
    _backward.each(
        dx.size,
        next_grad,
        index,
        dx,
        *input_shape[1:],
        *next_grad.shape[1:3],
        **_constants(kernel_size, stride, dilation),
    )
    return dx


def _constants(kernel_size: Pair, stride: Pair, dilation: Pair) -> dict[str, int | str]:
    return {
        "KERNEL_HEIGHT": kernel_size[0],
        "KERNEL_WIDTH": kernel_size[1],
        "STRIDE_DOWN": stride[0],
        "STRIDE_ACROSS": stride[1],
        "DILATION_DOWN": dilation[0],
        "DILATION_ACROSS": dilation[1],
        "INDEX": index_dtype(kernel_size).name,
    }
