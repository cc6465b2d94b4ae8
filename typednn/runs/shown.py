"""Data of a run's pictures besides ``metrics.jsonl`` and ``report.json``: ``RUN/pictures.safetensors``.

    worst.images, worst.labels, worst.probabilities   the worst mistakes, the worst first: rows of inputs, labels,
                                                      shares by class
    worst.counts                                      the numbers of misclassified and of all inputs
    residuals.predictions, residuals.targets          a regression's numbers, of `ROWS` inputs at most, and the true
                                                      ones
    filters                                           weights of the first layer that has filters

Drawing takes longer than an epoch of a small model, so training writes this, and `typednn.reports.plots` draws on
demand.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeAlias, final

import numpy as np
import numpy.typing as npt

from typednn.arguments import integer
from typednn.arrays import described, is_integer, is_number
from typednn.errors import ArgumentError, DataError, explain
from typednn.runs.run_files import existing_run, read_bytes
from typednn.tensor_files import unpacked, write_tensors

AnyNumbers: TypeAlias = npt.NDArray[Any]
Numbers: TypeAlias = npt.NDArray[np.float64]

FILE = "pictures.safetensors"
ROWS = 5000


@final
@dataclass(frozen=True, slots=True, eq=False)
class Mistakes:
    """The worst of ``wrong`` misclassified inputs among ``total``: images, labels, and the probability
    of each class.
    """

    images: AnyNumbers
    labels: AnyNumbers
    probabilities: Numbers
    wrong: int
    total: int

    def arrays(self) -> dict[str, AnyNumbers]:
        """By their names in the file."""
        return {
            "worst.images": self.images,
            "worst.labels": self.labels,
            "worst.probabilities": self.probabilities,
            "worst.counts": np.array([self.wrong, self.total], np.int64),
        }


@final
@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """A regression's predictions and the true numbers, (batch, outputs)."""

    predictions: Numbers
    targets: Numbers

    @classmethod
    def of(cls, predictions: AnyNumbers, targets: AnyNumbers) -> Self:
        """Of `ROWS` rows at most, evenly chosen."""
        rows = np.unique(np.linspace(0, len(targets) - 1, ROWS).astype(np.int64))
        return cls(*(np.asarray(array, np.float64)[rows].reshape(len(rows), -1) for array in (predictions, targets)))

    def arrays(self) -> dict[str, AnyNumbers]:
        """By their names in the file."""
        return {"residuals.predictions": self.predictions, "residuals.targets": self.targets}


def worst_mistakes(images: AnyNumbers, labels: AnyNumbers, scores: AnyNumbers, *, count: int = 25) -> Mistakes:
    """The ``count`` misclassified images whose true class got the least probability, the worst first; no other images
    are read.

    ``scores`` (batch, classes): probabilities, or logits.
    """
    where, labels, scores = "worst_mistakes", np.asarray(labels), np.asarray(scores)
    if (
        scores.ndim != 2
        or not is_number(scores.dtype)
        or labels.shape != scores.shape[:1]
        or len(images) != len(labels)
        or not len(labels)
    ):
        raise ArgumentError(
            explain(
                where,
                "needs an image, a label and a row of scores for each sample",
                f"images {described(np.asarray(images))}, labels {described(labels)}, scores {described(scores)}",
            )
        )
    if not is_integer(labels.dtype) or labels.min() < 0 or labels.max() >= scores.shape[1]:
        raise ArgumentError(
            explain(where, f"labels must be classes from 0 to {scores.shape[1] - 1}", described(labels)), "labels"
        )
    probabilities = _probabilities(scores)
    wrong = np.flatnonzero(probabilities.argmax(axis=1) != labels)
    worst = wrong[np.argsort(probabilities[wrong, labels[wrong]], kind="stable")][: integer(where, "count", count)]
    return Mistakes(
        np.array([np.asarray(images[row]) for row in worst.tolist()]),
        labels[worst],
        probabilities[worst],
        len(wrong),
        len(labels),
    )


def write_shown(
    run_folder: str | os.PathLike[str], shown: Mistakes | Residuals | None, filters: AnyNumbers | None
) -> None:
    """Write them to the run folder, in the form that pictures need; a `DataError` where it cannot be written."""
    arrays = ({} if shown is None else shown.arrays()) | ({} if filters is None else {"filters": filters})
    write_tensors(existing_run("write_shown", run_folder) / FILE, arrays)


def read_shown(run_folder: Path) -> tuple[Mistakes | Residuals | None, AnyNumbers | None]:
    """The data of `write_shown`, None for what is missing; a `DataError` where the file is damaged."""
    content = read_bytes(run_folder, FILE)
    if content is None:
        return None, None
    try:
        arrays = unpacked(content)
    except ValueError as error:
        raise _damaged(str(error)[:80]) from None
    filters = arrays.get("filters")
    if filters is not None and (filters.ndim not in (2, 4) or not is_number(filters.dtype) or not filters.size):
        raise _damaged(f"filters {described(filters)}")
    residuals = [arrays[name] for name in ("residuals.predictions", "residuals.targets") if name in arrays]
    if residuals:
        rows = {(array.ndim, array.dtype, array.shape) for array in residuals}
        if len(residuals) != 2 or rows != {(2, np.dtype(np.float64), residuals[0].shape)} or not residuals[0].size:
            raise _damaged("residuals that do not fit each other")
        return Residuals(*residuals), filters
    names = [f"worst.{name}" for name in ("images", "labels", "probabilities", "counts")]
    if not any(name in arrays for name in names):
        return None, filters
    try:
        images, labels, probabilities, counts = (arrays[name] for name in names)
    except KeyError as error:
        raise _damaged(f"no {error}") from None
    fits = (
        (counts.shape, counts.dtype, probabilities.ndim, probabilities.dtype) == ((2,), np.int64, 2, np.float64)
        and labels.ndim == 1
        and is_integer(labels.dtype)
        and images.shape[:1] == probabilities.shape[:1] == labels.shape
    )
    drawable = images.ndim in (2, 3, 4) and images.size and (is_number(images.dtype) or images.dtype == bool)
    if not fits or (len(labels) and not (drawable and 0 <= labels.min() <= labels.max() < probabilities.shape[1])):
        raise _damaged("parts that do not fit each other")
    return Mistakes(images, labels, probabilities, int(counts[0]), int(counts[1])), filters


def _probabilities(scores: AnyNumbers) -> Numbers:
    """``scores`` themselves where each row is a distribution, else their softmax; numbers that are not finite count as
    very small.
    """
    values = np.nan_to_num(scores.astype(np.float64), nan=-1e300, posinf=1e300, neginf=-1e300)
    if (values >= 0).all() and np.allclose(values.sum(axis=1), 1.0, atol=1e-3):
        return values
    powers = np.exp(values - values.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), np.float64)


def _damaged(got: str) -> DataError:
    return DataError(explain(FILE, "must hold what pictures are drawn from", got, "write it anew with `typednn eval`"))
