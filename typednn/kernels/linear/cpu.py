"""Linear for NumPy's arrays: Halide where the matrices are small, OpenBLAS where they are large.

Small ones are one kernel each way (`schedules`). OpenBLAS takes over where a side is longer than `SMALL`: there its
copies in cache-sized blocks pay. Bias and activation forward, dz and dbias backward, are one more pass.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from typednn.arrays import Array1, Array2
from typednn.engines import Array, Kernel, empty, gemm, kernel, processor, specialised
from typednn.engines.dispatch import FLOAT32, KERNELS, chosen_engine
from typednn.kernels import sums
from typednn.kernels.activations import Activation
from typednn.kernels.linear import schedules

SMALL = 400  # in_features and out_features up to which a whole kernel is quicker than BLAS
FEW_ROWS = 4  # up to here, copying the weights costs more than it saves
ROWS_A_READ = 8  # up to here, one read of weights that lie in memory is quicker than BLAS


def plan(x: Array2, weight: Array2, bias: Array1 | None, activation: Activation) -> Kernel | None:
    """The kernel of `forward`; None where BLAS is quicker, unless kernels alone are asked for."""
    (out_features, in_features), batch = weight.shape, x.shape[0]
    in_memory = out_features * in_features >= schedules.WEIGHTS
    few = batch <= (ROWS_A_READ if in_memory else FEW_ROWS)
    if (
        batch == 1
        or (in_memory and few)
        or (out_features <= SMALL and in_features <= SMALL)
        or out_features < _lanes(x.dtype)
        or chosen_engine() == KERNELS
    ):
        return _forward[few, weight.shape, bias is not None, activation, x.dtype]
    return None


def plan_by_blas(x: Array2, weight: Array2, bias: Array1 | None, activation: Activation) -> Kernel | tuple[()] | None:
    """The kernel of `forward_by_blas` after the product; empty where nothing is left to do."""
    return (
        ()
        if bias is None and activation.name == "identity"
        else _finished[weight.shape[0], bias is not None, activation, x.dtype]
    )


def plan_backward(
    next_grad: Array2, x: Array2, weight: Array2, y: Array2 | None, activation: Activation, wants_input: bool
) -> Kernel | None:
    """The kernel of `backward`; None where BLAS is quicker."""
    if x.shape[0] <= FEW_ROWS or max(weight.shape) <= SMALL or min(weight.shape) <= 16:
        return _backward[weight.shape, activation, wants_input, x.shape[0] <= sums.FEW, x.dtype]
    return None


def plan_backward_by_blas(
    next_grad: Array2, x: Array2, weight: Array2, y: Array2 | None, activation: Activation, wants_input: bool
) -> Kernel | None:
    """The kernel of `backward_by_blas` before the products."""
    return _bias_activation_backward[weight.shape[0], activation, x.dtype]


def forward(planned: Kernel, x: Array2, weight: Array2, bias: Array1 | None, activation: Activation) -> Array2:
    """y (batch, out_features), by one kernel."""
    y: Array2 = empty((x.shape[0], weight.shape[0]), x.dtype)
    arguments = (x, weight, y) if bias is None else (x, weight, bias, y)
    planned.call(*arguments)
    return y


def forward_by_blas(
    planned: Kernel | tuple[()],
    x: Array2,
    weight: Array2,
    bias: Array1 | None,
    activation: Activation,
    product: Callable[..., object] = gemm,
) -> Array2:
    """y (batch, out_features), by a product and one more pass."""
    y: Array2 = empty((x.shape[0], weight.shape[0]), x.dtype)
    product(x, weight, y, transpose_b=True)
    if planned:
        planned.call(y, *([] if bias is None else [bias]))
    return y


def backward(
    planned: Kernel,
    next_grad: Array2,
    x: Array2,
    weight: Array2,
    y: Array2 | None,
    activation: Activation,
    wants_input: bool,
) -> tuple[Array2 | None, Array2, Array1]:
    """(dx, dweight, dbias), by one kernel; dx is None unless wanted."""
    weight_shape, dtype, run = weight.shape, x.dtype, planned.call
    dweight, dbias = empty(weight_shape, dtype), empty(weight_shape[:1], dtype)
    arguments = (next_grad, x) if activation.name == "identity" else (next_grad, y, x)
    if not wants_input:
        run(*arguments, dweight, dbias)
        return None, dweight, dbias
    dx = empty(x.shape, dtype)
    run(*arguments, weight, dx, dweight, dbias)
    return dx, dweight, dbias


def backward_by_blas(
    planned: Kernel,
    next_grad: Array2,
    x: Array2,
    weight: Array2,
    y: Array2 | None,
    activation: Activation,
    wants_input: bool,
    product: Callable[..., object] = gemm,
) -> tuple[Array2 | None, Array2, Array1]:
    """(dx, dweight, dbias), by a pass and two products; dx is None unless wanted."""
    dtype = x.dtype
    dz, dx = next_grad, empty(x.shape, dtype) if wants_input else None
    dweight, dbias = empty(weight.shape, dtype), empty(weight.shape[:1], dtype)
    if activation.name == "identity":
        planned.call(next_grad, dbias)
    else:
        dz = empty(next_grad.shape, dtype)
        planned.call(next_grad, y, dz, dbias)
    if dx is not None:
        product(dz, weight, dx)
    product(dz, x, dweight, transpose_a=True)
    return dx, dweight, dbias


@cache
def _lanes(dtype: np.dtype[Any]) -> int:
    return processor.for_schedules(processor.host()).of(dtype.name).lanes


@specialised("linear")
def _forward(
    few: bool, weight: tuple[int, int], biased: bool, activation: Activation, dtype: np.dtype[Any] = FLOAT32
) -> Kernel:
    out_features, in_features = weight
    build = schedules.rows if few or out_features < _lanes(dtype) else schedules.tiles
    bias = (Array(out_features, parameter=True),) if biased else ()
    options = {"in_features": in_features, "out_features": out_features, "activation": activation}
    return kernel(
        f"linear.{build.__name__}",
        build,
        inputs=(Array("batch", in_features), Array(out_features, in_features, parameter=True), *bias),
        outputs=(Array("batch", out_features),),
        options=options | {"few": few} if build is schedules.rows else options,
        dtype=dtype,
    )


@specialised("linear")
def _backward(
    weight: tuple[int, int], activation: Activation, wants_input: bool, few: bool, dtype: np.dtype[Any] = FLOAT32
) -> Kernel:
    x, dy, dweight, dbias = Array("batch", weight[1]), Array("batch", weight[0]), Array(*weight), Array(weight[0])
    inputs = (dy, x) if activation.name == "identity" else (dy, dy, x)
    return kernel(
        "linear.backward",
        schedules.backward,
        inputs=(*inputs, Array(*weight, parameter=True)) if wants_input else inputs,
        outputs=(x, dweight, dbias) if wants_input else (dweight, dbias),
        options={
            "in_features": weight[1],
            "out_features": weight[0],
            "activation": activation,
            "wants_input": wants_input,
            "few": few,
        },
        dtype=dtype,
    )


@specialised("linear")
def _finished(out_features: int, biased: bool, activation: Activation, dtype: np.dtype[Any] = FLOAT32) -> Kernel:
    rows, bias = Array("batch", out_features), Array(out_features)
    return kernel(
        "linear.finished",
        schedules.finished,
        inputs=(rows, bias) if biased else (rows,),
        outputs=(rows,),
        options={"out_features": out_features, "activation": activation},
        written=(0,),
        dtype=dtype,
    )


@specialised("linear")
def _bias_activation_backward(out_features: int, activation: Activation, dtype: np.dtype[Any] = FLOAT32) -> Kernel:
    rows, dbias = Array("batch", out_features), Array(out_features)
    plain = activation.name == "identity"
    return kernel(
        "linear.bias_activation_backward",
        schedules.bias_activation_backward,
        inputs=(rows,) if plain else (rows, rows),
        outputs=(dbias,) if plain else (rows, dbias),
        options={"out_features": out_features, "activation": activation},
        dtype=dtype,
    )
