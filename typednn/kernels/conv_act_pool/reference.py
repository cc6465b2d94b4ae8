"""Conv, activation and max pool in one: y = max_pool(act(conv(pad(x)) + bias)), or without the pooling; backward needs x, y, the winners.

z = conv2d(pad2d(x), weight) + bias       y, winners = max_pool2d(act(z))       or y = act(z), and no winners
dz = what passes the activation at y, of dy; at the winner of each window, 0 elsewhere       dx, dweight, dbias as conv2d's, from dz

x (batch, height, width, in_channels)   weight (out_channels, kernel_height, kernel_width, in_channels)   bias (out_channels)
y, winners (batch, out_height, out_width, out_channels); the sizes follow from `Geometry`. Only activations that are ``monotone``: the
fast kernels pool first. Of equals after the activation any may be the winner there; where it has flattened them out, nothing passes.
The flops of the convolution. Here the ops run one after another, each on the engine that it chooses.
Source: "Deep Learning Implementation With Rust", eqs 25-31 and 38-39, chained.
"""

from __future__ import annotations

from typednn.arrays import AnyIntArray, Array1, Array4
from typednn.kernels import conv2d, max_pool2d, pad2d
from typednn.kernels.activations import Activation
from typednn.kernels.conv_act_pool.geometry import Geometry


def forward(
    x: Array4, weight: Array4, bias: Array1 | None, geometry: Geometry, activation: Activation
) -> tuple[Array4, AnyIntArray | None]:
    """(y, winners), both (batch, out_height, out_width, out_channels)."""
    y: Array4 = activation.forward(conv2d.forward(_padded(x, geometry), weight, bias, geometry.stride, geometry.dilation))
    if geometry.pool_size is None:
        return y, None
    return max_pool2d.forward(y, geometry.pool_size, geometry.pool_stride, geometry.pool_dilation)


def infer(x: Array4, weight: Array4, bias: Array1 | None, geometry: Geometry, activation: Activation) -> Array4:
    """y alone."""
    return forward(x, weight, bias, geometry, activation)[0]


def backward(
    next_grad: Array4,
    x: Array4,
    weight: Array4,
    y: Array4,
    winners: AnyIntArray | None,
    geometry: Geometry,
    activation: Activation,
    wants_input: bool = True,
) -> tuple[Array4 | None, Array4, Array1]:
    """(dx, dweight, dbias), shaped like x, weight and bias; dx is None unless wanted. ``y`` and ``winners`` are what `forward` gave."""
    batch, height, width, _ = x.shape
    out_channels, kernel_height, kernel_width, _ = weight.shape
    dz: Array4 = activation.backward(next_grad, y)
    if geometry.pool_size is not None and winners is not None:
        shape = (batch, *geometry.convolved((height, width), (kernel_height, kernel_width)), out_channels)
        dz = max_pool2d.backward(dz, winners, shape, geometry.pool_size, geometry.pool_stride, geometry.pool_dilation)
    dx, dweight, dbias = conv2d.backward(dz, _padded(x, geometry), weight, geometry.stride, geometry.dilation)
    if not wants_input:
        return None, dweight, dbias
    return pad2d.backward(dx, geometry.padding, "constant"), dweight, dbias


def _padded(x: Array4, geometry: Geometry) -> Array4:
    return pad2d.forward(x, geometry.padding, "constant", 0.0) if any(geometry.padding) else x
