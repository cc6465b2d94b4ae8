"""Weights of classes, as arguments of losses.

balanced: weight[c] = Σ rows / (classes that occur · rows of c), so that each class counts as much as any other
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from jaxtyping import Float

from typednn.arguments import number
from typednn.arrays import AnyArray, Array1, device_of
from typednn.backends import to_device
from typednn.errors import ArgumentError, explain

Weight = Sequence[float] | npt.NDArray[np.floating[Any]] | None


def checked_weight(where: str, weight: Any, name: str = "weight") -> tuple[float, ...] | None:
    """One number of at least 0 for each class, or None."""
    if weight is None:
        return None
    flat = getattr(weight, "ndim", 1) == 1 and is_list(weight) and not any(map(is_list, weight))
    if not flat or not len(weight):
        raise ArgumentError(explain(where, f"{name} must be a list of one number per class", repr(weight)), name)
    return tuple(number(where, f"each {name}", each, least=0.0, argument=name) for each in weight)


def balanced(labels: npt.NDArray[Any], classes: int, sample_weight: Array1 | None = None) -> tuple[float, ...]:
    """A weight for each of ``classes``, 1 where no label is of it; rows count as ``sample_weight`` says.

    Source: scikit-learn's ``class_weight="balanced"``.
    """
    rows = np.bincount(labels, sample_weight, classes).astype(np.float64)
    weights = rows.sum() / (np.count_nonzero(rows) * np.where(rows, rows, 1.0))
    return tuple(np.where(rows, weights, 1.0).tolist())


def is_list(weight: Any) -> bool:
    """Whether ``weight`` was meant as several numbers."""
    lists: Any = list, tuple, np.ndarray
    return isinstance(weight, lists)


def weights_for(
    where: str, weight: tuple[float, ...] | None, prediction: Float[AnyArray, "*batch classes"], name: str = "weight"
) -> Float[Array1, " classes"] | None:
    """The weights in the dtype of ``prediction`` and on its device; None if there are none."""
    if weight is None:
        return None
    classes = prediction.shape[-1]
    if len(weight) != classes:
        raise ArgumentError(explain(where, f"{name} has one number per class, {classes}", str(len(weight))), name)
    return to_device(np.asarray(weight, prediction.dtype), device_of(prediction))
