"""What runs have in common: the model, the data, how far training came, the best evaluation, the result.

Runs are folders with a ``recipe.json`` or a ``metrics.jsonl``, as training writes them, `typednn.training.fit` too.
Nothing in them is run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, final

from typednn.arguments import choice
from typednn.errors import DataError, explain
from typednn.files import as_object, path_of
from typednn.runs.recorded import Metrics, read_metrics, read_scores
from typednn.runs.run_files import attempted, read_json, read_text
from typednn.runs.settings import read_settings
from typednn.screen import columns

_OF_A_RUN = ("recipe.json", "metrics.jsonl")
_HEAD = ("run", "model", "data", "epochs", "steps", "best", "result")
_FIELDS = {"run": "name", "epochs": "epoch"}  # of heads that have another name


@final
@dataclass(frozen=True, slots=True)
class BestEvaluation:
    """An evaluation of a run, the best where nothing else is said, of the validation where there was one: by accuracy,
    else by loss.
    """

    split: str
    metric: str
    value: float
    step: int

    def __str__(self) -> str:
        value = f"{100 * self.value:.2f} %" if self.metric == "accuracy" else f"{self.value:.4f}"
        return f"{self.split} {self.metric} {value} at step {self.step:,}"


@final
@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run. Names are "" and numbers None where it does not say. ``model`` is the recipe's name, or the class and how
    many parameters it has. ``epochs`` are those that were planned, ``result`` is the first line of its report,
    ``changed`` when it was last written, in seconds since 1970, ``remarks`` are what is damaged.
    """

    name: str
    model: str
    data: str
    epoch: int | None
    epochs: int | None
    steps: int
    best: BestEvaluation | None
    result: str
    changed: float
    remarks: tuple[str, ...] = ()

    def row(self) -> tuple[str, ...]:
        """As texts, in the order of a table's columns."""
        planned = "" if self.epochs is None else f"/{self.epochs}"
        epochs = "" if self.epoch is None else f"{self.epoch}{planned}"
        best = "" if self.best is None else str(self.best)
        return self.name, self.model, self.data, epochs, f"{self.steps:,}" if self.steps else "", best, self.result


def runs_in(folder: str | os.PathLike[str], sort: str = "changed") -> list[RunSummary]:
    """The runs in ``folder``, or ``folder`` itself where it is one, the newest last; or sorted by a column of
    `as_table`, the greatest or the best last.

    A `DataError` where the folder is missing, or holds no run.
    """
    choice("runs", "sort", sort, ("changed", *_HEAD))
    found = sorted(map(summary_of, folders_in(folder)), key=lambda run: run.changed)
    return sorted(found, key=lambda run: _rank(getattr(run, _FIELDS.get(sort, sort))))


def _rank(value: str | float | BestEvaluation | None) -> tuple[Any, ...]:
    """What sorts runs: what is not known first, a better evaluation behind a worse one; accuracies and losses apart."""
    if isinstance(value, BestEvaluation):
        return True, value.metric, value.value if value.metric == "accuracy" else -value.value
    return value is not None, value


def folders_in(folder: str | os.PathLike[str]) -> list[Path]:
    """The folders of the runs in ``folder``, by name, or ``folder`` itself; a `DataError` as in `runs_in`."""
    place = path_of("runs", folder)
    found = [place] if _is_run(place) else sorted(filter(_is_run, place.iterdir())) if place.is_dir() else []
    if not found:
        got = "none" if place.is_dir() else "no folder"
        cure = "typednn train MODEL --run FOLDER makes one"
        raise DataError(explain(str(place), "must hold runs, folders that training wrote", got, cure))
    return found


def as_table(runs: Sequence[RunSummary], width: int | None = None) -> list[str]:
    """A head and a line for each run, of at most ``width`` columns where that is possible; a column that is empty in
    all is left out.
    """
    rows = [_HEAD, *(run.row() for run in runs)]
    shown = [place for place in range(len(_HEAD)) if any(row[place] for row in rows[1:])]
    right = [place for place, column in enumerate(shown) if _HEAD[column] in ("epochs", "steps")]
    return columns([[row[place] for place in shown] for row in rows], right, width)


def _is_run(folder: Path) -> bool:
    return folder.is_dir() and any((folder / name).is_file() for name in _OF_A_RUN)


def summary_of(run: Path) -> RunSummary:
    """What the files of the run in that folder say."""
    remarks: list[str] = []
    plan = attempted(remarks, read_json, run, "recipe.json") or {}
    metrics = attempted(remarks, read_metrics, run)
    scores = attempted(remarks, read_scores, run)
    recipe, data = as_object(plan.get("recipe")) or {}, as_object(plan.get("data")) or {}
    step, epoch = (
        (0.0, 0.0) if metrics is None or not len(metrics.steps[0]) else (each[-1] for each in metrics.steps[:2])
    )
    if metrics is not None and step:  # of a run that has just begun nothing is known, and nothing is wrong
        remarks += metrics.remarks
    planned = (attempted([], read_settings, run) or {}).get("epochs")
    return RunSummary(
        run.name or run.resolve().name,
        _text(recipe.get("name")) or _model(run),
        Path(_text(data.get("name")) or _text(data.get("train"))).name,
        int(epoch) if isfinite(epoch) and epoch else None,
        planned if type(planned) is int else None,
        int(step),
        None if metrics is None else evaluation_of(metrics),
        "" if scores is None else next((f"{name} {value}" for name, value in scores.headline().items()), ""),
        max((run / name).stat().st_mtime for name in _OF_A_RUN if (run / name).is_file()),
        tuple(remarks),
    )


def _model(run: Path) -> str:
    """The class and the number of parameters, of the model as it was printed."""
    lines = (attempted([], read_text, run, "model.txt") or "").split("\n")
    words = [line.strip() for line in (lines[0], lines[-2] if len(lines) > 2 else "")]
    return ", ".join(filter(None, words)) if words[1].endswith("parameters") else ""


def evaluation_of(metrics: Metrics, *, last: bool = False) -> BestEvaluation | None:
    """The best evaluation, or the ``last``; None where there is none."""
    for split in ("validation", "test"):
        if split not in metrics.evaluations:
            continue
        steps, losses, accuracies = metrics.evaluations[split]
        for metric, values, sign in (("accuracy", accuracies, -1), ("loss", losses, 1)):
            finite = [place for place, value in enumerate(values) if isfinite(value)]
            if finite:
                place = finite[-1] if last else min(finite, key=lambda place: sign * values[place])
                return BestEvaluation(split, metric, float(values[place]), int(steps[place]))
    return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
