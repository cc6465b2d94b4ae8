"""What a run recorded: its measurements and its scores, as arrays.

`read_metrics` skips lines that it cannot use, and counts them in ``remarks``; a line may have `LINE_LIMIT` bytes.
`read_scores` raises a `DataError` where the parts of ``report.json`` do not fit each other.
"""

from __future__ import annotations

from array import array
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any, TypeAlias, final

import numpy as np
import numpy.typing as npt

from typednn.errors import DataError, explain
from typednn.files import as_list, as_object, parsed, reason
from typednn.metrics import LanguageReport, RegressionReport
from typednn.runs.history import RECORD
from typednn.runs.run_files import as_number, is_inside, read_bytes, read_json

Counts: TypeAlias = npt.NDArray[np.int64]
Numbers: TypeAlias = npt.NDArray[np.float64]
Series: TypeAlias = tuple[Numbers, ...]
Key: TypeAlias = tuple[str, ...]
Rows: TypeAlias = dict[Key, tuple[float, ...]]

LINE_LIMIT = 1 << 20
CLASS_LIMIT = 1000
NAME_LIMIT = 2000  # of layers and metrics
TEXT_LIMIT = 20
SPLITS = ("train", "validation", "test")
_RECORD = ("kind", *RECORD, "accuracy")  # keys of an evaluation besides its other metrics


@final
@dataclass(frozen=True, slots=True, eq=False)
class Metrics:
    """``metrics.jsonl`` as arrays, in the order of steps.

    ``steps``: (step, epoch, loss, learning rate, samples per second, seconds since the start), NaN where a line has
    none or null. ``evaluations``: for each split, (step, loss, accuracy). ``gradient_norms``: for each layer, (step,
    norm). ``texts``: (step, text) of each sample of a language model, the last `TEXT_LIMIT` of them. ``others``: for
    each split and each metric of its evaluations besides the accuracy, (step, value), where that is finite.
    """

    steps: Series
    evaluations: Mapping[str, Series]
    gradient_norms: Mapping[str, Series]
    remarks: tuple[str, ...] = ()
    others: Mapping[tuple[str, str], Series] = field(default_factory=dict[tuple[str, str], Series])
    texts: tuple[tuple[int, str], ...] = ()


@final
@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """``report.json``: the results of a classifier, class by class; true classes are the rows of ``confusion``."""

    names: tuple[str, ...]
    confusion: Counts
    precision: Numbers
    recall: Numbers
    f1: Numbers
    support: Counts
    accuracy: float
    split: str
    train_accuracy: float | None
    ranked: Mapping[str, float] = field(default_factory=dict[str, float])
    """What the order of the scores tells, by name: ``ROC AUC``, ``average precision``, ``top-5 accuracy``."""
    roc: Series | None = None
    """Of two classes: false and true positive rate."""
    precision_recall: Series | None = None
    """Of two classes: recall and precision."""

    def headline(self) -> dict[str, str]:
        """The numbers that a reader wants first."""
        shares = {f"{self.split} accuracy": self.accuracy, "train accuracy": self.train_accuracy}
        return {name: f"{100 * share:.2f} %" for name, share in shares.items() if share is not None} | {
            f"{self.split} {name}": f"{share:.4f}" for name, share in self.ranked.items()
        }


@final
@dataclass(frozen=True, slots=True)
class RegressionScores:
    """``report.json`` of a regression, on the ``split``."""

    report: RegressionReport
    split: str
    train_r2: float | None

    def headline(self) -> dict[str, str]:
        """The numbers that a reader wants first."""
        values = {f"{self.split} R²": self.report.r2, "train R²": self.train_r2}
        return {name: f"{value:.4f}" for name, value in values.items() if value is not None}


@final
@dataclass(frozen=True, slots=True)
class LanguageScores:
    """``report.json`` of a language model, on the ``split``."""

    report: LanguageReport
    split: str
    train_loss: float | None

    def headline(self) -> dict[str, str]:
        """The numbers that a reader wants first."""
        train = {} if self.train_loss is None else {"train loss": f"{self.train_loss:.4f}"}
        return {
            f"{self.split} perplexity": f"{self.report.perplexity:.2f}",
            f"{self.split} loss": f"{self.report.loss:.4f}",
            **train,
        }


AnyScores: TypeAlias = Scores | LanguageScores | RegressionScores


# --- metrics.jsonl ---------------------------------------------------------------------------------------------------


def read_metrics(run_folder: Path) -> Metrics:
    """``metrics.jsonl``; without the file, or without a usable line, everything is empty, with a remark."""
    # the rows of each series, one after the other
    numbers: defaultdict[Key, array[float]] = defaultdict(lambda: array("d"))
    texts: deque[tuple[int, str]] = deque(maxlen=TEXT_LIMIT)
    unusable, last_is_cut, first_unusable, number = 0, False, 0, 0
    path, name = run_folder / "metrics.jsonl", "metrics.jsonl"
    try:
        if not is_inside(run_folder, path):
            return Metrics(
                _series(numbers["step",], 6),
                {},
                {},
                (f"{name} is missing: nothing is known of the way that training took",),
            )
        with path.open("rb") as stream:
            while line := stream.readline(LINE_LIMIT + 1):
                number += 1
                is_cut = not line.endswith(b"\n")
                too_long = is_cut and len(line) > LINE_LIMIT
                while too_long and (rest := stream.readline(LINE_LIMIT)) and not rest.endswith(b"\n"):
                    pass
                entry = None if too_long else parsed(line)
                texts.extend(_texts(entry or {}))
                rows = None if entry is None else _rows(entry)
                if rows is not None and (
                    rows.keys() <= numbers.keys() or len(numbers.keys() | rows.keys()) <= NAME_LIMIT
                ):
                    for key, row in rows.items():
                        numbers[key].extend(row)
                elif line.strip():
                    last_is_cut = is_cut and not too_long
                    unusable += not last_is_cut
                    first_unusable = first_unusable or (0 if last_is_cut else number)
    except OSError as error:
        raise DataError(explain(name, "must be readable", reason(error))) from None
    evaluations = {
        split: _series(numbers["evaluation", split], 3) for split in SPLITS if ("evaluation", split) in numbers
    }
    steps = _series(numbers["step",], 6)
    left_out = (
        f"{unusable:,} of {number:,} lines are not what they should be and were left out, the first is line "
        f"{first_unusable:,}"
    )
    remarks = {
        f"{name}: {left_out}": unusable,
        f"{name}: the last line is cut off, as by a killed process, and was left out": last_is_cut,
        f"{name} holds no measurement yet": not len(steps[0]) and not evaluations,
    }
    return Metrics(
        steps,
        evaluations,
        {key[1]: _series(rows, 2) for key, rows in numbers.items() if key[0] == "norm"},
        tuple(remark for remark, holds in remarks.items() if holds),
        {(key[1], key[2]): _series(rows, 2) for key, rows in numbers.items() if key[0] == "metric"},
        tuple(texts),
    )


def read_starts(run_folder: Path) -> list[dict[str, Any]]:
    """``starts.jsonl``: the facts of each process that trained, in order; lines that are no JSON
    objects are left out.
    """
    content = read_bytes(run_folder, "starts.jsonl") or b""
    return [entry for line in content.splitlines() if (entry := parsed(line)) is not None]


def _texts(entry: dict[str, Any]) -> list[tuple[int, str]]:
    """The sample in a line, if it is one."""
    step, text = _number(entry.get("step")), entry.get("text")
    return [(int(step), text)] if entry.get("kind") == "sample" and 0 <= step < 2**53 and isinstance(text, str) else []


def _rows(entry: dict[str, Any]) -> Rows | None:
    """The rows of numbers in a line, the step first; None where the line is not what it should be.

    The keys are ``("step",)``, ``("norm", layer)``, ``("evaluation", split)`` and ``("metric", split, name)``.
    """
    kind, split, step = entry.get("kind"), entry.get("split"), _number(entry.get("step"))
    if kind in ("sample", "plan"):  # texts
        return {}
    if not 0 <= step < 2**53 or "loss" not in entry or (entry["loss"] is not None and as_number(entry["loss"]) is None):
        return None
    if kind == "step":
        layers = {} if entry.get("gradient_norms") is None else as_object(entry["gradient_norms"])
        if layers is None:
            return None
        epoch, *others = (_number(entry.get(key)) for key in ("epoch", "loss", "lr", "samples_per_second", "seconds"))
        norms: Rows = {("norm", layer): (step, _number(norm)) for layer, norm in layers.items()}
        return {("step",): (step, epoch if isfinite(epoch) else nan, *others), **norms}
    if kind == "evaluation" and split in SPLITS:
        numbers = {name: _number(value) for name, value in entry.items() if name not in _RECORD}
        metrics: Rows = {
            ("metric", split, name): (step, number) for name, number in numbers.items() if isfinite(number)
        }
        return {("evaluation", split): (step, _number(entry["loss"]), _number(entry.get("accuracy"))), **metrics}
    return {} if isinstance(kind, str) and kind != "evaluation" else None  # lines of other kinds are ignored


def _number(value: object) -> float:
    """A value from JSON if it is a number, else NaN."""
    number = as_number(value)
    return nan if number is None else number


def _series(rows: array[float], width: int) -> Series:
    """The columns of rows of ``width`` numbers, in the order of steps."""
    table = np.array(rows, np.float64).reshape(-1, width)
    return tuple(np.ascontiguousarray(table[np.argsort(table[:, 0], kind="stable")].T))


# --- report.json -----------------------------------------------------------------------------------------------------


def read_scores(run_folder: Path) -> AnyScores | None:
    """``report.json``, None where it is missing; a `DataError` where its parts do not fit each other."""
    table = read_json(run_folder, "report.json")
    if table is None:
        return None
    readers: dict[str, Callable[[dict[str, Any]], AnyScores]] = {
        "classification": _classification,
        "regression": _regression,
        "language": _language,
    }
    task = _checked(
        "task",
        table.get("task", "classification"),
        "classification, regression or language",
        lambda task: task in [*readers],
    )
    return readers[task](table)


def _language(table: dict[str, Any]) -> LanguageScores:
    train_loss = _checked(
        "train_loss", table.get("train_loss"), "a finite number", lambda value: value is None or _is_number(value)
    )
    return LanguageScores(
        LanguageReport(
            _checked("tokens", table.get("tokens"), "a number of tokens", lambda value: _is_count(value, 1)),
            _checked("loss", table.get("loss"), "a finite number from 0", lambda value: _is_number(value, 0.0)),
            _checked("token_accuracy", table.get("token_accuracy"), "a number from 0 to 1", _is_share),
            _checked("length", table.get("length"), "a number of tokens", lambda value: _is_count(value, 1)),
        ),
        _split(table),
        train_loss,
    )


def _regression(table: dict[str, Any]) -> RegressionScores:
    train_r2 = _checked(
        "train_r2", table.get("train_r2"), "a finite number", lambda value: value is None or _is_number(value)
    )
    return RegressionScores(
        RegressionReport(
            _checked("samples", table.get("samples"), "a number of samples", lambda value: _is_count(value, 1)),
            _checked("mse", table.get("mse"), "a finite number from 0", lambda value: _is_number(value, 0.0)),
            _checked("mae", table.get("mae"), "a finite number from 0", lambda value: _is_number(value, 0.0)),
            _checked("r2", table.get("r2"), "a finite number", _is_number),
        ),
        _split(table),
        train_r2,
    )


def _classification(table: dict[str, Any]) -> Scores:
    classes = _checked(
        "classes",
        table.get("classes"),
        f"an integer from 1 to {CLASS_LIMIT}",
        lambda value: _is_count(value, 1, CLASS_LIMIT),
    )
    names = table.get("names", [str(label) for label in range(classes)])
    rows = _checked(
        "confusion", table.get("confusion"), f"{classes} rows of {classes} counts", lambda rows: _is_list(rows, classes)
    )

    def counts(key: str, row: Any) -> Counts:
        return np.array(
            _checked(key, row, f"{classes} counts in a row", lambda row: _is_list(row, classes, _is_count)), np.int64
        )

    def shares(key: str) -> Numbers:
        return np.array(
            _checked(
                key, table.get(key), f"{classes} numbers from 0 to 1", lambda row: _is_list(row, classes, _is_share)
            ),
            np.float64,
        )

    return Scores(
        tuple(_checked("names", names, f"{classes} strings", lambda names: _is_list(names, classes, _is_text))),
        np.stack([counts("confusion", row) for row in rows]),
        shares("precision"),
        shares("recall"),
        shares("f1"),
        counts("support", table.get("support")),
        _checked("accuracy", table.get("accuracy"), "a number from 0 to 1", _is_share),
        _split(table),
        _checked(
            "train_accuracy",
            table.get("train_accuracy"),
            "a number from 0 to 1, or null",
            lambda share: share is None or _is_share(share),
        ),
        _ranked(table),
        *(_curve(key, table.get(key)) for key in ("roc", "precision_recall")),
    )


def _ranked(table: dict[str, Any]) -> dict[str, float]:
    names = {"top_k_accuracy": f"top-{table.get('top_k')} accuracy"}
    names |= {"roc_auc": "ROC AUC", "average_precision": "average precision"}
    if "top_k" in table:
        _checked("top_k", table["top_k"], "a number of classes", lambda value: _is_count(value, 1))
    return {
        name: float(_checked(key, table[key], "a number from 0 to 1", _is_share))
        for key, name in names.items()
        if key in table
    }


def _curve(key: str, value: object) -> Series | None:
    if value is None:
        return None

    def fits(axes: Any) -> bool:
        length = len(as_list(axes[0]) or ()) if _is_list(axes, 2) else 0
        return 0 < length <= LINE_LIMIT and all(_is_list(axis, length, _is_share) for axis in axes)

    return tuple(np.array(axis, np.float64) for axis in _checked(key, value, "two lists of numbers from 0 to 1", fits))


def _split(table: dict[str, Any]) -> str:
    return str(_checked("split", table.get("split", "test"), "a string", _is_text))


def _checked(key: str, value: object, rule: str, fits: Callable[[Any], bool]) -> Any:
    """The value of ``key`` in the report; a `DataError` with the rule unless it fits."""
    if not fits(value):
        raise DataError(
            explain("report.json", f"{key!r} must be {rule}", "something else", "write it anew with `typednn eval`")
        )
    return value


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object, least: int = 0, most: int = 2**53 - 1) -> bool:
    return type(value) is int and least <= value <= most


def _is_number(value: object, least: float = -inf, most: float = inf) -> bool:
    return isfinite(_number(value)) and least <= _number(value) <= most


def _is_share(value: object) -> bool:
    return _is_number(value, 0.0, 1.0)


def _is_list(value: Any, length: int, fits: Callable[[Any], bool] = lambda _: True) -> bool:
    values = as_list(value)
    return values is not None and len(values) == length and all(map(fits, values))
