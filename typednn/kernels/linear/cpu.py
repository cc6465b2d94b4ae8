"""Linear for NumPy's float32 arrays: Halide where the matrices are small, OpenBLAS where they are large.

Small ones are one kernel each way (`schedules`). OpenBLAS takes over where a side is longer than `SMALL`: there its copies in
cache-sized blocks pay. Bias and activation forward, dz and dbias backward, are one more pass.
"""

from functools import cache
from typing import Any

from typednn.arrays import Array2
from typednn.engines import Array, Kernel, empty, kernel, processor, sgemm
from typednn.kernels import sums
from typednn.kernels.activations import Activation
from typednn.kernels.linear import schedules

SMALL = 400  # in_features and out_features up to which a whole kernel is quicker than BLAS
FEW_ROWS = 4  # up to here, copying the weights costs more than it saves


def small(x: Array2, weight: Array2, bias: Any, activation: Activation) -> bool:
    """Whether a whole kernel is quicker than BLAS."""
    out_features, in_features = weight.shape
    return x.shape[0] == 1 or (out_features <= SMALL and in_features <= SMALL) or out_features < _lanes()


def small_backward(next_grad: Any, x: Array2, weight: Array2, y: Any, activation: Activation, wants_input: bool) -> bool:
    """Whether a whole kernel is quicker than BLAS."""
    return x.shape[0] <= FEW_ROWS or max(weight.shape) <= SMALL or min(weight.shape) <= 16


def forward(x: Any, weight: Any, bias: Any, activation: Activation) -> Any:
    """y (batch, out_features), by one kernel."""
    batch, weight_shape = x.shape[0], weight.shape
    y = empty((batch, weight_shape[0]))
    arguments = (x, weight, y) if bias is None else (x, weight, bias, y)
    _forward(batch <= FEW_ROWS, weight_shape, bias is not None, activation).call(*arguments)
    return y


def forward_by_blas(x: Any, weight: Any, bias: Any, activation: Activation) -> Any:
    """y (batch, out_features), by a product and one more pass."""
    y = empty((x.shape[0], weight.shape[0]))
    sgemm(x, weight, y, transpose_b=True)
    if bias is not None or activation.name != "identity":
        _finished(weight.shape[0], bias is not None, activation).call(y, *([] if bias is None else [bias]))
    return y


def backward(next_grad: Any, x: Any, weight: Any, y: Any, activation: Activation, wants_input: bool) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias), by one kernel; dx is None unless wanted."""
    weight_shape = weight.shape
    run = _backward(weight_shape, activation, wants_input, x.shape[0] <= sums.FEW).call
    dweight, dbias = empty(weight_shape), empty(weight_shape[:1])
    arguments = (next_grad, x) if activation.name == "identity" else (next_grad, y, x)
    if not wants_input:
        run(*arguments, dweight, dbias)
        return None, dweight, dbias
    dx = empty(x.shape)
    run(*arguments, weight, dx, dweight, dbias)
    return dx, dweight, dbias


def backward_by_blas(next_grad: Any, x: Any, weight: Any, y: Any, activation: Activation, wants_input: bool) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias), by a pass and two products; dx is None unless wanted."""
    dz, dx = next_grad, empty(x.shape) if wants_input else None
    dweight, dbias = empty(weight.shape), empty(weight.shape[:1])
    before = _bias_activation_backward(weight.shape[0], activation).call
    if activation.name == "identity":
        before(next_grad, dbias)
    else:
        dz = empty(next_grad.shape)
        before(next_grad, y, dz, dbias)
    if dx is not None:
        sgemm(dz, weight, dx)
    sgemm(dz, x, dweight, transpose_a=True)
    return dx, dweight, dbias


@cache
def _lanes() -> int:
    return processor.for_schedules(processor.host()).lanes


@cache
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


@cache
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


@cache
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


@cache
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
