"""Pad2d in CUDA: each pixel is written once, where CuPy's ``pad`` fills the border piece by piece.

Backward each pixel of dx adds up the pixels of dy that repeat it: itself alone, but for the edges in mode "replicate".
It is a new array in either mode: a view would not be C-contiguous, and the kernels that read it would have to leave it
to the reference.
"""

from typednn.arrays import Array4, namespace
from typednn.engines.cuda import CudaKernel
from typednn.engines.dispatch import LIMIT
from typednn.kernels.pad2d.reference import Border, Mode

_CODE = """
extern "C" __global__ void pad2d_forward(
    const REAL* __restrict__ x, REAL* __restrict__ y, REAL value,
    int height, int width, int channels, int out_height, int out_width, int top, int left, int size
) {
    FOR_EACH(at, size) {
        int c = at % channels;
        int w = (int)(at / channels % out_width) - left;
        int h = (int)(at / channels / out_width % out_height) - top;
        int b = at / channels / out_width / out_height;
        int inner_h = h < 0 ? 0 : h < height ? h : height - 1;
        int inner_w = w < 0 ? 0 : w < width ? w : width - 1;
        bool read = REPLICATE || (h == inner_h && w == inner_w);
        y[at] = read ? x[((b * height + inner_h) * width + inner_w) * channels + c] : value;
    }
}

extern "C" __global__ void pad2d_backward(
    const REAL* __restrict__ next_grad, REAL* __restrict__ dx,
    int height, int width, int channels, int out_height, int out_width, int top, int left, int size
) {
    FOR_EACH(at, size) {
        int c = at % channels;
        int w = at / channels % width;
        int h = at / channels / width % height;
        int b = at / channels / width / height;
        int first_row = REPLICATE && h == 0 ? 0 : h + top;
        int last_row = REPLICATE && h == height - 1 ? out_height - 1 : h + top;
        int first_column = REPLICATE && w == 0 ? 0 : w + left;
        int last_column = REPLICATE && w == width - 1 ? out_width - 1 : w + left;
        REAL sum = 0;
        for (int column = first_column; column <= last_column; column++) {
            for (int row = first_row; row <= last_row; row++) {
                sum += next_grad[((b * out_height + row) * out_width + column) * channels + c];
            }
        }
        dx[at] = sum;
    }
}
"""
_forward = CudaKernel("pad2d_forward", _CODE)
_backward = CudaKernel("pad2d_backward", _CODE)


def covers(x: Array4, padding: Border, *_: object) -> bool:
    """Whether `forward` may run."""
    batch, height, width, channels = x.shape
    left, right, top, bottom = padding
    return min(padding) >= 0 and batch * (height + top + bottom) * (width + left + right) * channels < LIMIT


def covers_backward(next_grad: Array4, padding: Border, mode: Mode) -> bool:
    """Whether `backward` may run: something is left without the border."""
    left, right, top, bottom = padding
    return min(padding) >= 0 and next_grad.shape[1] > top + bottom and next_grad.shape[2] > left + right


def forward(x: Array4, padding: Border, mode: Mode, value: float) -> Array4:
    """y; ``value`` is read in mode "constant" only."""
    batch, height, width, channels = x.shape
    left, right, top, bottom = padding
    y: Array4 = namespace(x).empty((batch, height + top + bottom, width + left + right, channels), dtype=x.dtype)
    _forward.each(
        y.size,
        x,
        y,
        float(value),
        height,
        width,
        channels,
        *y.shape[1:3],
        top,
        left,
        REPLICATE=int(mode == "replicate"),
    )
    return y


def backward(next_grad: Array4, padding: Border, mode: Mode) -> Array4:
    """dx, smaller than dy by the border."""
    batch, out_height, out_width, channels = next_grad.shape
    left, right, top, bottom = padding
    shape = (batch, out_height - top - bottom, out_width - left - right, channels)
    dx: Array4 = namespace(next_grad).empty(shape, dtype=next_grad.dtype)
    _backward.each(
        dx.size, next_grad, dx, *shape[1:], out_height, out_width, top, left, REPLICATE=int(mode == "replicate")
    )
    return dx
