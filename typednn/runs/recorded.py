"""What a run recorded: its measurements and its scores, as arrays.

`read_metrics` skips lines that it cannot use, and counts them in ``remarks``; a line may have `LINE_LIMIT` bytes.
`read_scores` raises a `DataError` where the parts of ``report.json`` do not fit each other.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from pathlib import Path
from typing import Any, TypeAlias, final

import numpy as np
import numpy.typing as npt

from typednn.errors import DataError, explain
from typednn.metrics import RegressionReport
from typednn.runs.run_files import as_list, as_number, as_object, is_inside, parsed, read_json, reason

Counts: TypeAlias = npt.NDArray[np.int64]
Numbers: TypeAlias = npt.NDArray[np.float64]
Series: TypeAlias = tuple[Numbers, ...]

LINE_LIMIT = 1 << 20
CLASS_LIMIT = 1000
NAME_LIMIT = 1000
SPLITS = ("train", "validation", "test")
_RECORD = ("kind", "step", "epoch", "split", "loss", "accuracy")  # keys of an evaluation besides its other metrics


@final
@dataclass(frozen=True, slots=True, eq=False)
class Metrics:
    """``metrics.jsonl`` as arrays, in the order of steps.

    ``steps``: (step, epoch, loss, learning rate, samples per second, seconds since the start), NaN where a line has none or null.
    ``evaluations``: for each split, (step, loss, accuracy). ``gradient_norms``: for each layer, (step, norm).
    ``others``: for each split and each metric of its evaluations besides the accuracy, (step, value), where that is finite.
    """

    steps: Series
    evaluations: Mapping[str, Series]
    gradient_norms: Mapping[str, Series]
    remarks: tuple[str, ...] = ()
    others: Mapping[tuple[str, str], Series] = field(default_factory=dict[tuple[str, str], Series])


@final
@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """``report.json``: the results of a classifier, class by class; true classes are the rows of ``confusion``."""

    names: tuple[str, ...]
    confusion: npt.NDArray[np.int64]
    precision: Numbers
    recall: Numbers
    f1: Numbers
    support: npt.NDArray[np.int64]
    accuracy: float
    split: str
    train_accuracy: float | None

    def headline(self) -> dict[str, str]:
        """The numbers that a reader wants first."""
        train = {} if self.train_accuracy is None else {"train accuracy": f"{100 * self.train_accuracy:.2f} %"}
        return {f"{self.split} accuracy": f"{100 * self.accuracy:.2f} %"} | train


@final
@dataclass(frozen=True, slots=True)
class RegressionScores:
    """``report.json`` of a regression, on the ``split``."""

    report: RegressionReport
    split: str
    train_r2: float | None

    def headline(self) -> dict[str, str]:
        """The numbers that a reader wants first."""
        train = {} if self.train_r2 is None else {"train R²": f"{self.train_r2:.4f}"}
        return {f"{self.split} R²": f"{self.report.r2:.4f}"} | train


def _packed() -> array[float]:
    """A buffer for rows of numbers, the step first, of eight bytes each."""
    return array("d")


def _series(kept: array[float], width: int) -> Series:
    """The columns of rows of ``width``, in the order of steps."""
    rows = np.array(kept, np.float64).reshape(-1, width)
    return tuple(np.ascontiguousarray(rows[np.argsort(rows[:, 0], kind="stable")].T))


def read_metrics(run_folder: Path) -> Metrics:
    """``metrics.jsonl``; without the file, or without a usable line, everything is empty, with a remark."""
    steps, evaluations = _packed(), {split: _packed() for split in SPLITS}
    norms: defaultdict[str, array[float]] = defaultdict(_packed)
    others: defaultdict[tuple[str, str], array[float]] = defaultdict(_packed)
    unusable, last_is_cut, first_unusable, number = 0, False, 0, 0
    path, name = run_folder / "metrics.jsonl", "metrics.jsonl"
    try:
        if not is_inside(run_folder, path):
            return Metrics(_series(steps, 6), {}, {}, (f"{name} is missing: nothing is known of the way that training took",))
        with path.open("rb") as stream:
            while line := stream.readline(LINE_LIMIT + 1):
                number += 1
                whole = line.endswith(b"\n")
                if len(line) > LINE_LIMIT and not whole:
                    while (rest := stream.readline(LINE_LIMIT)) and not rest.endswith(b"\n"):
                        pass
                    whole, entry = True, None
                else:
                    entry = parsed(line)
                if (entry is None or not _take(entry, steps, evaluations, norms, others)) and line.strip():
                    last_is_cut = not whole
                    unusable += whole
                    first_unusable = first_unusable or (number if whole else 0)
    except OSError as error:
        raise DataError(explain(name, "must be readable", reason(error))) from None
    left_out = f"{unusable:,} of {number:,} lines are not what they should be and were left out, the first is line {first_unusable:,}"
    remarks = (
        (unusable, f"{name}: {left_out}"),
        (last_is_cut, f"{name}: the last line is cut off, as by a killed process, and was left out"),
        (not any((steps, *evaluations.values())), f"{name} holds no measurement yet"),
    )
    known = {split: _series(kept, 3) for split, kept in evaluations.items() if kept}
    return Metrics(
        _series(steps, 6),
        known,
        {layer: _series(kept, 2) for layer, kept in norms.items()},
        tuple(remark for holds, remark in remarks if holds),
        {name: _series(kept, 2) for name, kept in others.items()},
    )


def read_scores(run_folder: Path) -> Scores | RegressionScores | None:
    """``report.json``, None where it is missing; a `DataError` where its parts do not fit each other."""
    found = read_json(run_folder, "report.json")
    if found is None:
        return None
    if found.get("task", "classification") not in ("classification", "regression"):
        raise _wrong("task", "classification or regression")
    return _regression(found) if found.get("task") == "regression" else _classification(found)


def _regression(found: dict[str, Any]) -> RegressionScores:
    samples, split = found.get("samples"), found.get("split", "test")
    if type(samples) is not int or not 0 < samples < 2**53:
        raise _wrong("samples", "a number of samples")
    if not isinstance(split, str):
        raise _wrong("split", "a string")
    trained = None if found.get("train_r2") is None else _finite(found, "train_r2")
    report = RegressionReport(samples, _finite(found, "mse", 0.0), _finite(found, "mae", 0.0), _finite(found, "r2"))
    return RegressionScores(report, split, trained)


def _finite(found: dict[str, Any], key: str, least: float = -inf) -> float:
    value = as_number(found.get(key))
    if value is None or not isfinite(value) or value < least:
        raise _wrong(key, "a finite number" + ("" if least == -inf else f" from {least:g}"))
    return value


def _classification(found: dict[str, Any]) -> Scores:
    classes = found.get("classes")
    if not isinstance(classes, int) or isinstance(classes, bool) or not 1 <= classes <= CLASS_LIMIT:
        raise _wrong("classes", f"an integer from 1 to {CLASS_LIMIT}")
    names = as_list(found.get("names", [str(label) for label in range(classes)]))
    if names is None or len(names) != classes or not all(isinstance(name, str) for name in names):
        raise _wrong("names", f"{classes} strings")
    rows = as_list(found.get("confusion"))
    if rows is None or len(rows) != classes:
        raise _wrong("confusion", f"{classes} rows of {classes} counts")
    confusion = np.stack([_counts("confusion", row, classes) for row in rows])
    support = _counts("support", found.get("support"), classes)
    precision, recall, f1 = (_shares(key, found.get(key), classes) for key in ("precision", "recall", "f1"))
    accuracy, split, trained = as_number(found.get("accuracy")), found.get("split", "test"), found.get("train_accuracy")
    if accuracy is None or not 0 <= accuracy <= 1:
        raise _wrong("accuracy", "a number from 0 to 1")
    if not isinstance(split, str):
        raise _wrong("split", "a string")
    train_accuracy = as_number(trained)
    if trained is not None and (train_accuracy is None or not 0 <= train_accuracy <= 1):
        raise _wrong("train_accuracy", "a number from 0 to 1, or null")
    return Scores(tuple(map(str, names)), confusion, precision, recall, f1, support, accuracy, split, train_accuracy)


def _take(
    entry: dict[str, Any],
    steps: array[float],
    evaluations: dict[str, array[float]],
    norms: defaultdict[str, array[float]],
    others: defaultdict[tuple[str, str], array[float]],
) -> bool:
    """Take the numbers of ``entry``; whether it was valid."""
    step, epoch, loss = (as_number(entry.get(key)) for key in ("step", "epoch", "loss"))
    if step is None or not 0 <= step < 2**53 or "loss" not in entry or (loss is None and entry["loss"] is not None):
        return False
    missing = float("nan")
    kept_loss = missing if loss is None else loss
    if entry.get("kind") == "step":
        rate, speed, seconds = (as_number(entry.get(key)) for key in ("lr", "samples_per_second", "seconds"))
        norms_here = entry.get("gradient_norms")
        found = {} if norms_here is None else as_object(norms_here)
        if found is None or len(norms.keys() | found.keys()) > NAME_LIMIT:
            return False
        row = (step, epoch if epoch is not None and isfinite(epoch) else None, kept_loss, rate, speed, seconds)
        steps.extend(missing if value is None else value for value in row)
        for layer, given in found.items():
            norm = as_number(given)
            norms[layer].extend((step, missing if norm is None else norm))
        return True
    split, accuracy = entry.get("split"), as_number(entry.get("accuracy"))
    if entry.get("kind") == "evaluation" and isinstance(split, str) and split in evaluations:
        numbers = {(split, name): as_number(entry[name]) for name in entry if name not in _RECORD}
        if len(others.keys() | numbers.keys()) > NAME_LIMIT:
            return False
        evaluations[split].extend((step, kept_loss, missing if accuracy is None else accuracy))
        for name, value in numbers.items():
            if value is not None and isfinite(value):
                others[name].extend((step, value))
        return True
    # Lines of other kinds are ignored.
    return isinstance(entry.get("kind"), str) and entry["kind"] != "evaluation"


def _counts(key: str, values: object, classes: int) -> Counts:
    counts = as_list(values)
    if counts is None or len(counts) != classes or not all(type(count) is int and 0 <= count < 2**53 for count in counts):
        raise _wrong(key, f"{classes} counts in a row")
    return np.array(counts, np.int64)


def _shares(key: str, values: object, classes: int) -> Numbers:
    shares = [as_number(value) for value in as_list(values) or []]
    if len(shares) != classes or not all(share is not None and 0 <= share <= 1 for share in shares):
        raise _wrong(key, f"{classes} numbers from 0 to 1")
    return np.array(shares, np.float64)


def _wrong(key: str, rule: str) -> DataError:
    return DataError(explain("report.json", f"{key!r} must be {rule}", "something else", "write it anew with `typednn eval`"))
