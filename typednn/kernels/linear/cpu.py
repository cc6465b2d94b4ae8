"""Linear for NumPy's float32 arrays, with an activation if wanted: Halide where the matrices are small, OpenBLAS where they are large.

y = activation(x weightᵀ + bias)       dx = dz weight    dweight = dzᵀ x    dbias = Σ_batch dz

Small ones are one kernel each way (`schedules`). OpenBLAS takes over where a side is longer than `SMALL`: there its copies in
cache-sized blocks pay; what is left, bias and activation forward, dz and dbias backward, is one more pass.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from typednn.engines import Array, Kernel, empty, kernel, record, sgemm
from typednn.engines import cpu as processors
from typednn.kernels import sums
from typednn.kernels.activations import IDENTITY, Activation
from typednn.kernels.linear import schedules

SMALL = 400  # in_features and out_features up to which a whole kernel is quicker than BLAS
FEW_ROWS = 4  # up to here, copying the weights costs more than it saves

_MOST = 4096

# The kernel for given shapes, or None where BLAS is quicker.
_forwards: dict[tuple[Any, ...], Kernel | None] = {}
_backwards: dict[tuple[Any, ...], Kernel | None] = {}


def forward(x: Any, weight: Any, bias: Any, activation: Activation = IDENTITY, op: str = "linear.forward") -> Any:
    """y (batch, out_features)."""
    shape, of_weight = x.shape, weight.shape
    key = shape, of_weight, bias is None, activation
    try:
        run = _forwards[key]
    except KeyError:
        run = _remember(_forwards, key, _chosen_forward(shape[0], of_weight, bias is not None, activation))
    y = empty((shape[0], of_weight[0]))
    if run is None:
        sgemm(x, weight, y, transpose_b=True)
        if bias is not None:
            _finished(of_weight[0], True, activation).call(y, bias)
        elif activation.name != "identity":
            _finished(of_weight[0], False, activation).call(y)
        record(op, "blas")
    else:
        if bias is None:
            run.call(x, weight, y)
        else:
            run.call(x, weight, bias, y)
        record(op, "halide")
    return y


def backward(
    next_grad: Any,
    x: Any,
    weight: Any,
    y: Any = None,
    activation: Activation = IDENTITY,
    wants_input: bool = True,
    op: str = "linear.backward",
) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias); dx is None unless wanted. ``y`` is what `forward` gave, and needed where there is an activation."""
    of_weight = weight.shape
    key = x.shape, of_weight, activation, wants_input
    try:
        run = _backwards[key]
    except KeyError:
        run = _remember(_backwards, key, _chosen_backward(x.shape[0], of_weight, activation, wants_input))
    dx: Any = empty(x.shape) if wants_input else None
    dweight, dbias = empty(of_weight), empty(of_weight[:1])
    given = (next_grad,) if activation.name == "identity" else (next_grad, y)
    if run is not None:
        if wants_input:
            run.call(*given, x, weight, dx, dweight, dbias)
        else:
            run.call(*given, x, dweight, dbias)
        record(op, "halide")
        return dx, dweight, dbias
    dz = next_grad
    before = _passed_back(of_weight[0], activation).call
    if activation.name == "identity":
        before(next_grad, dbias)
    else:
        dz = empty(next_grad.shape)
        before(next_grad, y, dz, dbias)
    if wants_input:
        sgemm(dz, weight, dx)
    sgemm(dz, x, dweight, transpose_a=True)
    record(op, "blas")
    return dx, dweight, dbias


def _remember(chosen: dict[tuple[Any, ...], Kernel | None], key: tuple[Any, ...], run: Kernel | None) -> Kernel | None:
    if len(chosen) >= _MOST:
        chosen.clear()
    chosen[key] = run
    return run


def _chosen_forward(batch: int, weight: tuple[int, int], biased: bool, activation: Activation) -> Kernel | None:
    out_features, in_features = weight
    lanes = processors.for_schedules(processors.processor()).lanes
    small = max(weight) <= SMALL
    if batch == 1 or out_features < lanes or (small and batch <= FEW_ROWS):
        return _forward("rows", schedules.rows, in_features, out_features, biased, activation)
    return _forward("tiles", schedules.tiles, in_features, out_features, biased, activation) if small else None


def _chosen_backward(batch: int, weight: tuple[int, int], activation: Activation, wants_input: bool) -> Kernel | None:
    out_features, in_features = weight
    if batch <= FEW_ROWS or max(weight) <= SMALL or min(weight) <= 16:
        return _backward(in_features, out_features, activation, wants_input, batch <= sums.FEW)
    return None


@cache
def _forward(name: str, build: Callable[..., Any], in_features: int, out_features: int, biased: bool, activation: Activation) -> Kernel:
    bias = (Array(out_features, steady=True),) if biased else ()
    return kernel(
        f"linear.{name}",
        build,
        inputs=(Array("batch", in_features), Array(out_features, in_features, steady=True), *bias),
        outputs=(Array("batch", out_features),),
        options={"in_features": in_features, "out_features": out_features, "activation": activation},
    )


@cache
def _backward(in_features: int, out_features: int, activation: Activation, wants_input: bool, few: bool) -> Kernel:
    x, rows = Array("batch", in_features), Array("batch", out_features)
    weight, dweight = Array(out_features, in_features, steady=True), Array(out_features, in_features)
    given = (rows,) if activation.name == "identity" else (rows, rows)
    sizes = {"in_features": in_features, "out_features": out_features}
    gradients = (dweight, Array(out_features))
    return kernel(
        "linear.backward",
        schedules.backward,
        inputs=(*given, x, weight) if wants_input else (*given, x),
        outputs=(x, *gradients) if wants_input else gradients,
        options={**sizes, "activation": activation, "wants_input": wants_input, "few": few},
    )


@cache
def _finished(out_features: int, biased: bool, activation: Activation) -> Kernel:
    rows, bias = Array("batch", out_features), (Array(out_features),) if biased else ()
    options = {"out_features": out_features, "activation": activation}
    return kernel("linear.finished", schedules.finished, inputs=(rows, *bias), outputs=(rows,), options=options, written=(0,))


@cache
def _passed_back(out_features: int, activation: Activation) -> Kernel:
    rows, dbias = Array("batch", out_features), Array(out_features)
    masked = activation.name != "identity"
    return kernel(
        "linear.passed_back",
        schedules.passed_back,
        inputs=(rows, rows) if masked else (rows,),
        outputs=(rows, dbias) if masked else (dbias,),
        options={"out_features": out_features, "activation": activation},
    )
