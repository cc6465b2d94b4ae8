"""The laws of losses."""

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Final, get_args

import numpy as np

from typednn.arrays import is_floating
from typednn.contracts.checks import Mode, checking, contract_of
from typednn.contracts.hints import array_hints
from typednn.errors import ArgumentError, explain
from typednn.shapes import rank
from typednn.testing.drawing import Shapes, for_drawn
from typednn.testing.gradcheck import compare
from typednn.testing.refusals import WRONG
from typednn.testing.subject import (
    broken,
    check_laws,
    copied,
    filled,
    locked,
    names_of,
    raises,
    refused,
    same,
    unwritten,
)


@dataclass(frozen=True)
class LossSubject:
    """A loss with a prediction and a target: each an array or a shape."""

    prototype: Any
    inputs: tuple[Any, ...]
    seed: int = 0

    def arrays(self, dtype: Any = np.float32) -> tuple[Any, ...]:
        hints = hints_of(self.prototype, self.inputs)
        pairs = zip(hints, self.inputs, strict=True)
        return tuple(
            locked(filled(_of_rank(hint, value), value, self.seed + place, dtype))
            for place, (hint, value) in enumerate(pairs)
        )

    def ready(self) -> Any:
        return copy.deepcopy(self.prototype)


def hints_of(loss: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The annotations of prediction and target."""
    contract = contract_of(loss.__class__, "loss_grad")
    if contract is not None and hasattr(loss, "loss"):
        hints: tuple[Any, ...] = contract.hints
        return hints
    rule, cure = "takes a loss with loss and an enforced loss_grad", "derive its class from typednn.Loss"
    raise ArgumentError(explain("check_loss", rule, repr(loss), cure), "loss")


def _of_rank(hint: Any, value: Any) -> Any:
    """Of the annotations in ``hint``, the one with as many axes as ``value``."""
    options = array_hints(hint)
    axes = len(value.shape if hasattr(value, "shape") else value)
    return next((option for option in options if rank(option.dim_str) in (None, axes)), options[0])


def derivatives(subject: LossSubject) -> None:
    """loss_grad agrees with central differences of the sum of the loss, in float64."""
    loss = subject.ready()
    prediction, target = subject.arrays(np.float64)
    point = np.array(prediction)
    gradient = loss.loss_grad(prediction, target)
    compare(
        f"{loss!r}.loss_grad",
        "prediction",
        point,
        gradient,
        lambda: float(np.sum(loss.loss(point, target))),
        rng=np.random.default_rng(0),
    )


def shape(subject: LossSubject) -> None:
    """The derivative has the prediction's shape and precision, in every mode of the checks."""
    for dtype in (np.float32, np.float64):
        prediction, target = subject.arrays(dtype)
        with checking("off"):
            gradient = subject.ready().loss_grad(prediction, target)
        if (gradient.shape, gradient.dtype) != (prediction.shape, prediction.dtype):
            raise broken(
                f"loss_grad gives {prediction.dtype} of shape {prediction.shape}",
                f"{gradient.dtype} of shape {gradient.shape}",
            )


def purity(subject: LossSubject) -> None:
    """Two calls give equal results, and neither prediction nor target is written."""
    loss, arrays = subject.ready(), subject.arrays()
    before = copied(arrays)
    with unwritten():
        first, second = (copied([np.asarray(loss.loss(*arrays)), loss.loss_grad(*arrays)]) for _ in range(2))
    same("loss and loss_grad give the same twice", first, second)
    same("prediction and target stay as they are", before, arrays)


def together(subject: LossSubject) -> None:
    """``loss_and_grad``, if the loss has it, gives what loss and loss_grad give."""
    loss, arrays = subject.ready(), subject.arrays()
    if hasattr(loss.__class__, "loss_and_grad"):
        value, gradient = loss.loss_and_grad(*arrays)
        same(
            "loss_and_grad gives what both give",
            [np.asarray(loss.loss(*arrays)), loss.loss_grad(*arrays)],
            [np.asarray(value), gradient],
        )


def refusals(subject: LossSubject) -> None:
    """Wrong rank, size, precision and kind are errors if they contradict the annotations."""
    loss, arrays = subject.ready(), subject.arrays()
    hints = [_of_rank(hint, x) for hint, x in zip(hints_of(loss, subject.inputs), arrays, strict=True)]
    modes: tuple[Mode, ...] = ("full", "cached")
    for mode, (wrong, corrupt), (place, x) in product(modes, WRONG.items(), enumerate(arrays)):
        allowed = names_of(hints[place])
        any_kind = wrong == "integers" and (not allowed or "int64" in allowed or x.dtype.kind == "i")
        separate_axes = wrong in ("rank", "size") and hints[place].dim_str.split() != hints[1 - place].dim_str.split()
        any_precision = (wrong == "precision" and not is_floating(x.dtype)) or not is_floating(arrays[1 - place].dtype)
        if any_kind or separate_axes or any_precision:
            continue
        with checking(mode):
            loss.loss_grad(*arrays)
            with refused(f"loss_grad: {('prediction', 'target')[place]} of wrong {wrong}"):
                loss.loss_grad(*(corrupt(each) if each is x else each for each in arrays))


def modes(subject: LossSubject) -> None:
    """Results are equal in the modes ``full``, ``cached`` and ``off``."""
    outcomes: dict[str, Any] = {}
    for mode in get_args(Mode):
        with checking(mode):
            loss, arrays = subject.ready(), subject.arrays()
            outcomes[mode] = copied([np.asarray(loss.loss(*arrays)), loss.loss_grad(*arrays), loss.loss_grad(*arrays)])
            same(f"checks {mode!r} and 'full' compute the same", outcomes["full"], outcomes[mode])


LOSS_LAWS: Final[Mapping[str, Callable[[LossSubject], None]]] = {
    "derivatives": derivatives,
    "shape": shape,
    "purity": purity,
    "together": together,
    "refusals": refusals,
    "modes": modes,
}


def check_loss(loss: Any, *inputs: Any, laws: Iterable[str] | None = None, examples: int = 10, seed: int = 0) -> None:
    """Check the laws of a loss at a prediction and a target, each an array or a shape; `LawBroken` if a law is broken.

    Without them, sizes are drawn from the annotations of loss_grad. For a loss of probabilities, pass arrays of
    probabilities.
    """
    chosen: list[str] | None = None if laws is None else list(laws)

    def at(inputs: tuple[Any, ...], seed: int) -> None:
        subject = LossSubject(loss, inputs, seed)
        described = ", ".join(
            [repr(loss), *(str(each.shape) if hasattr(each, "shape") else repr(each) for each in inputs)]
        )
        check_laws(LOSS_LAWS, chosen, repr(loss), subject, f"repeat it with check_loss({described}, seed={seed}")

    def fits(shapes: Shapes, seed: int) -> bool:
        subject = LossSubject(loss, shapes, seed)
        # such as a label beyond the classes
        return not raises(ArgumentError, subject.ready().loss_grad, *subject.arrays())

    hints = hints_of(loss, inputs)
    if not inputs:
        for_drawn("check_loss", hints, loss, fits, at, examples)
    elif len(inputs) != 2:
        raise ArgumentError(explain("check_loss", "takes a prediction and a target", f"{len(inputs)} inputs"), "inputs")
    else:
        at(inputs, seed)


def loss_test(loss: Any, *inputs: Any, laws: Iterable[str] | None = None, examples: int = 10) -> Callable[[], None]:
    """A test function for pytest: ``test_absolute = loss_test(AbsoluteError())``. Arguments are those
    of `check_loss`.
    """
    return partial(check_loss, loss, *inputs, laws=laws, examples=examples)
