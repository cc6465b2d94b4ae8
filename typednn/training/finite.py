"""The origin of a NaN or an infinity: the first layer, the first parameter, or the data."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from typednn.arrays import is_floating, namespace
from typednn.backends import to_number
from typednn.errors import StateError, explain
from typednn.module.calls import Call, observing
from typednn.module.module import Module
from typednn.parallel.stage import Stage
from typednn.training.evaluation import evaluating


def finite(array: Any) -> bool:
    """Whether every number of ``array`` is finite; one pass where they are."""
    if not is_floating(array.dtype):
        return True
    xp = np if type(array) is np.ndarray else namespace(array)  # it is asked for each derivative of each step
    # A finite sum of squares has finite terms. It may overflow although all terms are finite: then each is tested.
    return math.isfinite(to_number(xp.vdot(array, array))) or bool(to_number(xp.isfinite(array).all()))


def all_finite(arrays: Iterable[Any]) -> bool:
    """Whether every number of every array is finite."""
    return all(map(finite, arrays))


def finite_rows(x: Any) -> Any:
    """Whether each row of ``x`` is finite, on its device: a boolean for each row, not read yet."""
    return namespace(x).isfinite(x.reshape(len(x), -1)).all(axis=1)


def finite_each(arrays: Sequence[Any]) -> Any:
    """Whether each of ``arrays`` is finite, likewise."""
    xp = namespace(arrays[0])
    return xp.stack([xp.isfinite(array).all() for array in arrays])


def place_in_gradient(model: Module, grad: Any) -> str:
    """The layer nearest to the loss whose gradient is not finite, the first in the order of backward."""
    broken = [name for name, array in model.named_gradients(grad).items() if not finite(array)]
    return f'in the gradient of "{broken[-1]}"' if broken else "in a gradient"


def place_in_forward(model: Module, x: Any, first_row: int = 0) -> str:
    """The data, the first parameter, or the first layer in the order of the forward whose numbers are not finite; else
    the loss. ``first_row`` is where the rows ``x`` are in the batch.
    """
    if not finite(x):
        row = int(np.argmin([finite(sample) for sample in x]))
        later = isinstance(model, Stage) and not model.first
        return f"in {'what an earlier stage gave' if later else 'the data'}: row {first_row + row} of the batch"
    for name, array in model.named_parameters().items():
        if not finite(array):
            return f'in the parameter "{name}"'
    broken: list[str] = []

    def note(call: Call) -> None:
        if next(call.module.children(), None) is None and not finite(call.result):
            broken.append(call.path or call.module.label())

    with evaluating(model), observing(model, note), np.errstate(all="ignore"):
        model.forward(x)
    return f'in the output of layer "{broken[0]}"' if broken else "in the loss itself: every layer's output is finite"


def diverged(what: str, got: str) -> StateError:
    """The error of a training that can't go on; ``got`` says what, when and where."""
    cure = "lower the learning rate, clip the gradient, or look for NaN in the data"
    return StateError(explain("fit", f"{what} must stay finite", got, cure))
