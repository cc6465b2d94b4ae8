"""SGD for NumPy's arrays: one pass over weights, gradient and velocity, weight decay included."""

from functools import cache
from typing import Any

from typednn.arrays import AnyArray
from typednn.engines import Array, Cpu, Kernel, Scalar, kernel
from typednn.engines.dispatch import FLOAT32
from typednn.kernels.in_place import in_place


def step(
    weights: AnyArray,
    grad: AnyArray,
    velocity: Any,
    lr: float,
    momentum: float,
    dampening: float,
    nesterov: bool,
    first: bool,
    coupled: float = 0.0,
    shrink: float = 1.0,
) -> None:
    """Write ``weights`` in place, and ``velocity`` where there is momentum; on the first step it is not read."""
    if momentum == 0:
        _plain(coupled != 0, shrink != 1, weights.dtype).call(weights, grad, lr, coupled, shrink)
    elif first:
        _momentum(nesterov, True, coupled != 0, shrink != 1, weights.dtype).call(weights, grad, lr, momentum, coupled, shrink, velocity)
    else:
        run = _momentum(nesterov, False, coupled != 0, shrink != 1, weights.dtype).call
        run(weights, grad, lr, momentum, coupled, shrink, 1 - dampening, velocity)


@cache
def _plain(couples: bool, shrinks: bool, dtype: Any = FLOAT32) -> Kernel:
    array = Array("size", flat=True)
    return kernel(
        "sgd.plain",
        build_plain,
        inputs=(array, array, *[Scalar()] * 3),
        outputs=(array,),
        written=(0,),
        options={"couples": couples, "shrinks": shrinks},
        dtype=dtype,
    )


@cache
def _momentum(nesterov: bool, first: bool, couples: bool, shrinks: bool, dtype: Any = FLOAT32) -> Kernel:
    array = Array("size", flat=True)
    return kernel(
        "sgd.momentum",
        build_momentum,
        inputs=(array, array, *[Scalar()] * 4, *(() if first else (Scalar(), array))),
        outputs=(array, array),
        written=(0,) if first else (0, 7),
        options={"nesterov": nesterov, "couples": couples, "shrinks": shrinks},
        dtype=dtype,
    )


def build_plain(hl: Any, cpu: Cpu, weights: Any, grad: Any, lr: Any, coupled: Any, shrink: Any, couples: bool, shrinks: bool) -> Any:
    """weights after a step."""
    i = hl.Var("i")
    w, g = _decayed(weights[i], grad[i], coupled, shrink, couples, shrinks)
    return in_place(hl, cpu, i, [w - lr * g], weights.dim(0).extent())


def build_momentum(
    hl: Any,
    cpu: Cpu,
    weights: Any,
    grad: Any,
    lr: Any,
    momentum: Any,
    coupled: Any,
    shrink: Any,
    *earlier: Any,
    nesterov: bool,
    couples: bool,
    shrinks: bool,
) -> Any:
    """(weights, velocity) after a step; ``earlier`` is (1 - dampening, velocity), empty at the first step."""
    i = hl.Var("i")
    w, g = _decayed(weights[i], grad[i], coupled, shrink, couples, shrinks)
    speed = earlier[1][i] * momentum + earlier[0] * g if earlier else g
    after = w - lr * (g + momentum * speed if nesterov else speed)
    return in_place(hl, cpu, i, [after, speed], weights.dim(0).extent())


def _decayed(w: Any, g: Any, coupled: Any, shrink: Any, couples: bool, shrinks: bool) -> tuple[Any, Any]:
    return w * shrink if shrinks else w, g + coupled * w if couples else g
