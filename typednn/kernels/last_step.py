"""Last step: the last position of each sequence, moved and not computed.

y[b] = x[b, lengths[b] - 1], or x[b, time - 1] where there are no lengths       dx is dy at that position, 0 elsewhere

x (batch, time, features)   y (batch, features)   lengths (batch)
"""

from typing import Final

from jaxtyping import Float, Integer

from typednn.arrays import Array2, Array3, IntArray1, namespace
from typednn.kernels.op import op


def _forward(
    x: Float[Array3, "batch time features"], lengths: Integer[IntArray1, " batch"] | None
) -> Float[Array2, "batch features"]:
    """y."""
    xp = namespace(x)
    y: Array2 = xp.ascontiguousarray(x[:, -1]) if lengths is None else x[xp.arange(x.shape[0]), lengths - 1]
    return y


def _backward(
    next_grad: Float[Array2, "batch features"], time: int, lengths: Integer[IntArray1, " batch"] | None
) -> Float[Array3, "batch {time} features"]:
    """dx."""
    xp = namespace(next_grad)
    batch, features = next_grad.shape
    dx: Array3 = xp.zeros((batch, time, features), dtype=next_grad.dtype)
    dx[xp.arange(batch), time - 1 if lengths is None else lengths - 1] = next_grad
    return dx


backward: Final = op("last_step.backward", _backward, flops=0)
forward: Final = op("last_step.forward", _forward, flops=0, backward=backward)
