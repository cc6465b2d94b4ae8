"""Conv, ReLU and max pool in one: y = max_pool(relu(conv(pad(x)) + bias)), with what backward needs in one small array.

z = conv2d(pad2d(x), weight) + bias       y, index = max_pool2d(max(z, 0))       winners = index, or ``taps`` where y is not above 0
dz = dy at the winner of each window, 0 elsewhere, and 0 where nothing won       dx, dweight, dbias as conv2d's, from dz

x (batch, height, width, in_channels)   weight (out_channels, kernel_height, kernel_width, in_channels)   bias (out_channels)
y, winners (batch, out_height, out_width, out_channels); the sizes follow from `Geometry`. ``taps`` = numbers in a pooling window.
The flops of the convolution. Here the four ops run one after another, each on the engine that it chooses.
Source: "Deep Learning Implementation With Rust", eqs 25-31 and 38-39, chained.
"""

from __future__ import annotations

from typednn.arrays import AnyIntArray, Array1, Array4, namespace
from typednn.kernels import conv2d, max_pool2d, pad2d, relu
from typednn.kernels.conv_act_pool.geometry import Geometry


def forward(x: Array4, weight: Array4, bias: Array1 | None, geometry: Geometry) -> tuple[Array4, AnyIntArray]:
    """(y, winners), both (batch, out_height, out_width, out_channels)."""
    xp = namespace(x)
    z = conv2d.forward(_padded(x, geometry), weight, bias, geometry.stride, geometry.dilation)
    y, index = max_pool2d.forward(relu.forward(z), geometry.pool_size, geometry.pool_stride, geometry.pool_dilation)
    small = geometry.taps < 256
    winners: AnyIntArray = xp.where(y > 0, index, geometry.taps).astype(xp.uint8 if small else xp.uint32)
    return y, winners


def backward(
    next_grad: Array4, x: Array4, weight: Array4, winners: AnyIntArray, geometry: Geometry, wants_input: bool = True
) -> tuple[Array4 | None, Array4, Array1]:
    """(dx, dweight, dbias), shaped like x, weight and bias; dx is None unless wanted."""
    batch, height, width, _ = x.shape
    out_channels, kernel_height, kernel_width, _ = weight.shape
    convolved = geometry.convolved((height, width), (kernel_height, kernel_width))
    # No tap has the number ``taps``: where nothing won, nothing passes.
    dz = max_pool2d.backward(
        next_grad, winners, (batch, *convolved, out_channels), geometry.pool_size, geometry.pool_stride, geometry.pool_dilation
    )
    dx, dweight, dbias = conv2d.backward(dz, _padded(x, geometry), weight, geometry.stride, geometry.dilation)
    if not wants_input:
        return None, dweight, dbias
    return pad2d.backward(dx, geometry.padding, "constant"), dweight, dbias


def _padded(x: Array4, geometry: Geometry) -> Array4:
    return pad2d.forward(x, geometry.padding, "constant", 0.0) if any(geometry.padding) else x
