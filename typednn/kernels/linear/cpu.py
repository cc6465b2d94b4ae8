"""Linear for NumPy's float32 arrays: Halide where the matrices are small, OpenBLAS where they are large.

Small ones are one kernel each way (`schedules`). OpenBLAS takes over where a side is longer than `SMALL`: there its copies in
cache-sized blocks pay. Bias and activation forward, dz and dbias backward, are one more pass.
"""

from functools import cache
from typing import Any

from typednn.arrays import Array2
from typednn.engines import Array, Kernel, empty, kernel, processor, sgemm, specialised
from typednn.kernels import sums
from typednn.kernels.activations import Activation
from typednn.kernels.linear import schedules

SMALL = 400  # in_features and out_features up to which a whole kernel is quicker than BLAS
FEW_ROWS = 4  # up to here, copying the weights costs more than it saves


def plan(x: Array2, weight: Array2, bias: Any, activation: Activation) -> Kernel | None:
    """The kernel of `forward`; None where BLAS is quicker."""
    (out_features, in_features), batch = weight.shape, x.shape[0]
    if batch == 1 or (out_features <= SMALL and in_features <= SMALL) or out_features < _lanes():
        return _forward[batch <= FEW_ROWS, weight.shape, bias is not None, activation]
    return None


def plan_by_blas(x: Array2, weight: Array2, bias: Any, activation: Activation) -> Kernel | tuple[()] | None:
    """The kernel of `forward_by_blas` after the product; empty where nothing is left to do."""
    return () if bias is None and activation.name == "identity" else _finished[weight.shape[0], bias is not None, activation]


def plan_backward(next_grad: Any, x: Array2, weight: Array2, y: Any, activation: Activation, wants_input: bool) -> Kernel | None:
    """The kernel of `backward`; None where BLAS is quicker."""
    if x.shape[0] <= FEW_ROWS or max(weight.shape) <= SMALL or min(weight.shape) <= 16:
        return _backward[weight.shape, activation, wants_input, x.shape[0] <= sums.FEW]
    return None


def plan_backward_by_blas(next_grad: Any, x: Array2, weight: Array2, y: Any, activation: Activation, wants_input: bool) -> Kernel | None:
    """The kernel of `backward_by_blas` before the products."""
    return _bias_activation_backward[weight.shape[0], activation]


def forward(planned: Kernel, x: Any, weight: Any, bias: Any, activation: Activation) -> Any:
    """y (batch, out_features), by one kernel."""
    y = empty((x.shape[0], weight.shape[0]))
    arguments = (x, weight, y) if bias is None else (x, weight, bias, y)
    planned.call(*arguments)
    return y


def forward_by_blas(planned: Kernel | tuple[()], x: Any, weight: Any, bias: Any, activation: Activation) -> Any:
    """y (batch, out_features), by a product and one more pass."""
    y = empty((x.shape[0], weight.shape[0]))
    sgemm(x, weight, y, transpose_b=True)
    if planned:
        planned.call(y, *([] if bias is None else [bias]))
    return y


def backward(
    planned: Kernel, next_grad: Any, x: Any, weight: Any, y: Any, activation: Activation, wants_input: bool
) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias), by one kernel; dx is None unless wanted."""
    weight_shape, run = weight.shape, planned.call
    dweight, dbias = empty(weight_shape), empty(weight_shape[:1])
    arguments = (next_grad, x) if activation.name == "identity" else (next_grad, y, x)
    if not wants_input:
        run(*arguments, dweight, dbias)
        return None, dweight, dbias
    dx = empty(x.shape)
    run(*arguments, weight, dx, dweight, dbias)
    return dx, dweight, dbias


def backward_by_blas(
    planned: Kernel, next_grad: Any, x: Any, weight: Any, y: Any, activation: Activation, wants_input: bool
) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias), by a pass and two products; dx is None unless wanted."""
    dz, dx = next_grad, empty(x.shape) if wants_input else None
    dweight, dbias = empty(weight.shape), empty(weight.shape[:1])
    if activation.name == "identity":
        planned.call(next_grad, dbias)
    else:
        dz = empty(next_grad.shape)
        planned.call(next_grad, y, dz, dbias)
    if dx is not None:
        sgemm(dz, weight, dx)
    sgemm(dz, x, dweight, transpose_a=True)
    return dx, dweight, dbias


@cache
def _lanes() -> int:
    return processor.for_schedules(processor.host()).lanes


@specialised("linear")
def _forward(few: bool, weight: tuple[int, int], biased: bool, activation: Activation) -> Kernel:
    out_features, in_features = weight
    build = schedules.rows if few or out_features < _lanes() else schedules.tiles
    bias = (Array(out_features, parameter=True),) if biased else ()
    return kernel(
        f"linear.{build.__name__}",
        build,
        inputs=(Array("batch", in_features), Array(out_features, in_features, parameter=True), *bias),
        outputs=(Array("batch", out_features),),
        options={"in_features": in_features, "out_features": out_features, "activation": activation},
    )


@specialised("linear")
def _backward(weight: tuple[int, int], activation: Activation, wants_input: bool, few: bool) -> Kernel:
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
    )


@specialised("linear")
def _finished(out_features: int, biased: bool, activation: Activation) -> Kernel:
    rows, bias = Array("batch", out_features), Array(out_features)
    return kernel(
        "linear.finished",
        schedules.finished,
        inputs=(rows, bias) if biased else (rows,),
        outputs=(rows,),
        options={"out_features": out_features, "activation": activation},
        written=(0,),
    )


@specialised("linear")
def _bias_activation_backward(out_features: int, activation: Activation) -> Kernel:
    rows, dbias = Array("batch", out_features), Array(out_features)
    plain = activation.name == "identity"
    return kernel(
        "linear.bias_activation_backward",
        schedules.bias_activation_backward,
        inputs=(rows,) if plain else (rows, rows),
        outputs=(dbias,) if plain else (rows, dbias),
        options={"out_features": out_features, "activation": activation},
    )
