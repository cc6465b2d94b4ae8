"""The laws of optimizers."""

import copy
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from typednn.contracts.protocols import Optimizer
from typednn.errors import ArgumentError, explain
from typednn.layers import Linear
from typednn.module.module import Module
from typednn.testing.subject import broken, check_laws, locked, same, unwritten, values

_SHAPES = ((3, 2), (4,), (1,))
_STEPS = 5


def in_place(optimizer: Any) -> None:
    """The weights are updated in place, and stay finite."""
    for dtype in (np.float32, np.float64):
        trial, weights = copy.deepcopy(optimizer), values((3, 4), 1, dtype)
        before = weights.copy()
        for step in range(_STEPS):
            trial.step(weights, locked(values((3, 4), step + 2, dtype)))
        if (weights == before).all():
            raise broken(
                "step writes the weights in place", "weights that did not change", "write weights[...] = or weights -="
            )
        if not np.isfinite(weights).all():
            raise broken("weights stay finite", str(weights))


def gradient(optimizer: Any) -> None:
    """The gradient is not written."""
    trial, weights = copy.deepcopy(optimizer), values((3, 4), 1, np.float32)
    for step in range(_STEPS):
        grad = locked(values((3, 4), step + 2, np.float32))
        with unwritten():
            trial.step(weights, grad)


def repeatable(optimizer: Any) -> None:
    """Equal steps from equal weights give equal weights."""
    first, second = (_after(copy.deepcopy(optimizer), [(3, 2)]) for _ in range(2))
    same("two copies that take the same steps end alike", first, second)


def separate(optimizer: Any) -> None:
    """Each parameter has its own state: parameters that are stepped alternately get the same values as separately."""
    together = _after(copy.deepcopy(optimizer), _SHAPES)
    for place, weights in enumerate(together):
        alone = _after(copy.deepcopy(optimizer), _SHAPES, only=place)[place]
        same("a parameter's steps depend on that parameter alone", alone, weights)


def together(optimizer: Any) -> None:
    """``step_many``, if the optimizer has it, does the same as ``step`` of each pair in order."""
    if not hasattr(optimizer.__class__, "step_many"):
        return
    alone, many = (
        _after(copy.deepcopy(optimizer), _SHAPES),
        [values(shape, 10 + place, np.float64) for place, shape in enumerate(_SHAPES)],
    )
    trial = copy.deepcopy(optimizer)
    for step in range(_STEPS):
        trial.step_many([(array, locked(_derivative(step, place, array.shape))) for place, array in enumerate(many)])
    same("step_many steps each pair as step does", alone, many)


def descends(optimizer: Any) -> None:
    """A hundred steps on ½|w - c|² reduce the distance to c."""
    trial, weights, centre = copy.deepcopy(optimizer), values((3, 4), 1, np.float64), values((3, 4), 2, np.float64)
    before = float(np.linalg.norm(weights - centre))
    for _ in range(100):
        trial.step(weights, weights - centre)
    after = float(np.linalg.norm(weights - centre))
    if not after < before:
        raise broken(
            f"a hundred steps on ½|w - c|² bring |w - c| below {before:.3g}",
            f"{after:.3g}",
            "step against the gradient",
        )


def state(optimizer: Any) -> None:
    """A new optimizer that loads the saved state continues with the same bits."""
    if not all(hasattr(optimizer, name) for name in ("bind", "state_dict", "load_state_dict")):
        return
    layer = Linear(4, 3).init(np.random.default_rng(0))
    first, second = copy.deepcopy(optimizer).bind(layer), copy.deepcopy(optimizer)

    def steps(trial: Any, model: Linear, start: int) -> None:
        for step in range(start, start + _STEPS):
            output = model.forward(values((5, 4), step, np.float32))
            model.update(trial, model.backward(output))

    steps(first, layer, 0)
    other_layer = Linear(4, 3).init(np.random.default_rng(1))
    other_layer.load_state_dict(layer.state_dict())
    second.bind(other_layer).load_state_dict({name: copy.deepcopy(value) for name, value in first.state_dict().items()})
    steps(first, layer, _STEPS)
    steps(second, other_layer, _STEPS)
    rule, cure = (
        "an optimizer whose state was loaded goes on to the same weights",
        "save every array and number that step reads",
    )
    same(rule, layer.state_dict(), other_layer.state_dict(), cure)


OPTIMIZER_LAWS: Final[Mapping[str, Callable[[Any], None]]] = {
    "in place": in_place,
    "gradient": gradient,
    "repeatable": repeatable,
    "separate": separate,
    "together": together,
    "descends": descends,
    "state": state,
}


def check_optimizer(optimizer: Any, *, laws: Iterable[str] | None = None) -> None:
    """Check the laws of an optimizer without steps, on copies of it; `LawBroken` if a law is broken."""
    # layers of sequences have another ``step``
    if isinstance(optimizer, type | Module) or not isinstance(optimizer, Optimizer):
        raise ArgumentError(
            explain("check_optimizer", "takes an optimizer, with a step(weights, grad)", repr(optimizer)), "optimizer"
        )
    check_laws(
        OPTIMIZER_LAWS,
        laws,
        type(optimizer).__name__,
        optimizer,
        f"repeat it with check_optimizer({type(optimizer).__name__}(...)",
    )


def optimizer_test(optimizer: Any, *, laws: Iterable[str] | None = None) -> Callable[[], None]:
    """A test function for pytest: ``test_sign_sgd = optimizer_test(SignSGD(0.01))``."""
    return partial(check_optimizer, optimizer, laws=laws)


def _after(optimizer: Any, shapes: Iterable[tuple[int, ...]], only: int | None = None) -> list[Any]:
    weights = [values(shape, 10 + place, np.float64) for place, shape in enumerate(shapes)]
    for step in range(_STEPS):
        for place, array in enumerate(weights):
            if only in (None, place):
                optimizer.step(array, _derivative(step, place, array.shape))
    return weights


def _derivative(step: int, place: int, shape: tuple[int, ...]) -> Any:
    return values(shape, 20 * step + place, np.float64)
