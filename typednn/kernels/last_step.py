"""Last step: the last position of each sequence, moved and not computed.

y[b] = x[b, lengths[b] - 1], or x[b, time - 1] where there are no lengths       dx is dy at that position, 0 elsewhere

x (batch, time, features)   y (batch, features)   lengths (batch)
"""

# Lambdas take the arguments of the op.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from typing import Any, Final

from typednn.arrays import Array2, Array3, IntArray1, namespace
from typednn.kernels.op import op


def _forward(x: Array3, lengths: IntArray1 | None) -> Array2:
    """y (batch, features)."""
    xp = namespace(x)
    y: Array2 = xp.ascontiguousarray(x[:, -1]) if lengths is None else x[xp.arange(x.shape[0]), lengths - 1]
    return y


def _backward(next_grad: Array2, time: int, lengths: Any) -> Array3:
    """dx (batch, time, features)."""
    xp = namespace(next_grad)
    batch, features = next_grad.shape
    dx: Array3 = xp.zeros((batch, time, features), dtype=next_grad.dtype)
    dx[xp.arange(batch), time - 1 if lengths is None else lengths - 1] = next_grad
    return dx


backward: Final = op("last_step.backward", _backward, flops=lambda next_grad, time, lengths: 0)
forward: Final = op("last_step.forward", _forward, flops=lambda x, lengths: 0, backward=backward)
