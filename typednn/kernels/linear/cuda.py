"""Linear on a GPU: products by cuBLAS, then bias and activation in one kernel; backward a kernel for dz and one that
adds up dbias.
"""

from typing import Any

from typednn.arrays import Array1, Array2
from typednn.engines.cublas import product
from typednn.kernels import sums
from typednn.kernels.activations import Activation


def covers(x: Array2, weight: Array2, bias: Array1 | None, *_: object) -> bool:
    """Whether the sizes fit together."""
    return x.ndim == 2 and x.shape[1:] == weight.shape[1:] and (bias is None or bias.shape == weight.shape[:1])


def covers_backward(next_grad: Array2, x: Array2, weight: Array2, y: Array2 | None, *_: object) -> bool:
    """Whether the sizes fit together."""
    return (
        covers(x, weight, None)
        and next_grad.shape == (len(x), len(weight))
        and (y is None or y.shape == next_grad.shape)
    )


def forward(x: Array2, weight: Array2, bias: Array1 | None, activation: Activation) -> Array2:
    """y."""
    z: Array2 = product(x, weight.T)
    return activation.with_bias(z, bias)


def backward(
    next_grad: Array2, x: Array2, weight: Array2, y: Array2 | None, activation: Activation, wants_input: bool
) -> tuple[Any, Array2, Array1]:
    """(dx, dweight, dbias); dx is None unless wanted."""
    dz = activation.derivative(next_grad, y)
    return product(dz, weight) if wants_input else None, product(dz.T, x), sums.columns_on_gpu.run(dz)
