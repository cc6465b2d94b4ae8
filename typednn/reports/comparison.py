"""Runs side by side on one page: their curves over each other, what differs in their settings, their evaluations.

One HTML file that loads nothing, as `typednn.reports.html`. Its only script sorts a table by the column that is
clicked; the page's policy names it by its SHA-256, and allows no other.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, final
from urllib.parse import quote

import numpy as np

from typednn.curves import Line, curves
from typednn.errors import ArgumentError, explain
from typednn.files import path_of, write_whole
from typednn.html import escaped
from typednn.reports.diagrams import course
from typednn.reports.elements import document, left_out, note, section
from typednn.runs.overview import BestEvaluation, RunSummary, evaluation_of, folders_in, summary_of
from typednn.runs.recorded import SPLITS, Metrics, Numbers, read_metrics
from typednn.runs.run_files import attempted
from typednn.runs.settings import read_settings

Cell: TypeAlias = tuple[str, float | str]  # what is shown, as HTML, and what it is sorted by

FILE = "comparison.html"
_METRICS = 6  # diagrams of metrics
_SETTINGS = 200  # that differ
_VALUE = 200  # characters of a setting
_SORT = """
for (const head of document.querySelectorAll('th button')) head.onclick = () => {
  const cell = head.parentElement, row = cell.parentElement, place = [...row.children].indexOf(cell);
  const up = cell.getAttribute('aria-sort') !== 'ascending', body = row.parentElement.nextElementSibling;
  const key = line => line.children[place].dataset.key, number = text => text === '' ? NaN : Number(text);
  const order = (a, b) => {
    const [x, y] = [number(key(a)), number(key(b))];
    return isNaN(x) || isNaN(y) ? isNaN(x) - isNaN(y) || key(a).localeCompare(key(b)) : x - y;
  };
  for (const other of row.children) other.removeAttribute('aria-sort');
  cell.setAttribute('aria-sort', up ? 'ascending' : 'descending');
  body.append(...[...body.children].sort((a, b) => up ? order(a, b) : order(b, a)));
};
"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Compared:
    """A run, by the name that tells it from the others."""

    name: str
    folder: Path
    summary: RunSummary
    metrics: Metrics
    settings: dict[str, Any]


def write_comparison(
    runs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], output: str | os.PathLike[str] | None = None
) -> Path:
    """Write one page that compares ``runs``, and give its path.

    ``runs`` are the folders of runs, or folders that hold runs, of `typednn.training.fit` too. ``output`` is the file,
    by default ``comparison.html`` in the folder that all runs are in. A run's name there links to its own page, where
    it has one. What is damaged in a run is left out, and told on the page.

    An `ArgumentError` for less than two runs; a `DataError` where a folder holds none, or the page cannot be written.
    """
    folders = compared_folders(runs)
    if len(folders) < 2:
        got, cure = f"one, {str(folders[0])!r}", "typednn.reports.html.write_report writes the page of one"
        raise ArgumentError(explain("write_comparison", "compares two runs at least", got, cure), "runs")
    common = Path(os.path.commonpath([os.path.dirname(os.path.abspath(folder)) for folder in folders]))
    path = common / FILE if output is None else path_of("write_comparison", output)
    remarks: list[str] = []
    compared = [_compared(folder, os.path.relpath(folder.absolute(), common), remarks) for folder in folders]
    sections = [
        ("runs", "Runs", _table("Runs", *_overview(compared, path))),
        ("curves", "Curves", _curves(compared) or note("No run has recorded anything yet.")),
        ("settings", "Settings that differ", _settings(compared)),
    ]
    links = "".join(f'<a href="#{name}">{escaped(words)}</a>' for name, words, _ in sections)
    header = f'<p>{escaped(str(common))}</p><nav aria-label="Sections">{links}</nav>'
    main = "\n".join([left_out(remarks), *(section(*each) for each in sections)])
    write_whole(path, document(f"{len(compared):,} runs side by side", header, main, _SORT, broad=True))
    return path


def compared_folders(runs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[Path]:
    """The folders of the runs that are meant, each once: runs themselves, and those in folders that hold some."""
    given = [runs] if isinstance(runs, str | os.PathLike) else list(runs)
    if not given:
        raise ArgumentError(explain("write_comparison", "compares two runs at least", "none"), "runs")
    found: dict[Path, Path] = {}
    for folder in (folder for each in given for folder in folders_in(each)):
        found.setdefault(folder.resolve(), folder)
    return list(found.values())


def _compared(folder: Path, name: str, remarks: list[str]) -> _Compared:
    summary = summary_of(folder)
    remarks += [f"{name}: {remark}" for remark in summary.remarks]
    empty = Metrics(tuple(np.empty(0) for _ in range(6)), {}, {})
    return _Compared(
        name,
        folder,
        summary,
        attempted([], read_metrics, folder) or empty,
        attempted([], read_settings, folder) or {},
    )


# --- tables ----------------------------------------------------------------------------------------------------------


def _table(words: str, head: Sequence[str], rows: Iterable[Sequence[Cell]], kind: str = "numbers") -> str:
    """A table that is sorted by a click on a head; a column that is empty in all rows is left out. In a ``kind`` of
    ``words`` lines are broken.
    """
    rows = list(rows)
    shown = [place for place in range(len(head)) if any(row[place][0] for row in rows)]
    top = "".join(f'<th scope="col"><button>{escaped(head[place])}</button></th>' for place in shown)
    lines = "\n".join(
        "<tr>" + "".join(f'<td data-key="{escaped(str(row[at][1]))}">{row[at][0]}</td>' for at in shown) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{words}"><table class="{kind}">'
        f"<thead><tr>{top}</tr></thead><tbody>\n{lines}\n</tbody></table></div>"
    )


def _overview(runs: Sequence[_Compared], page: Path) -> tuple[list[str], list[list[Cell]]]:
    head = ["run", "model", "data", "epochs", "steps", "seconds", "train loss", "evaluated on"]
    head += ["metric", "best", "at step", "last", "result"]
    return head, [_row(run, page) for run in runs]


def _row(run: _Compared, page: Path) -> list[Cell]:
    summary, metrics = run.summary, run.metrics
    _, model, data, epochs, steps, _, result = summary.row()
    losses, seconds = (float(series[-1]) if len(series) else np.nan for series in (metrics.steps[2], metrics.steps[5]))
    best, last = summary.best, evaluation_of(metrics, last=True)
    return [
        (_linked(run, page), run.name),
        (escaped(model), model),
        (escaped(data), data),
        (escaped(epochs), summary.epoch or ""),
        (steps, summary.steps),
        _number(seconds, ",.1f"),
        _number(losses, ".4g"),
        *[(escaped(text), text) for text in (("", "") if best is None else (best.split, best.metric))],
        _measured(best),
        ("", "") if best is None else (f"{best.step:,}", best.step),
        _measured(last),
        (escaped(result), result),
    ]


def _number(value: float, form: str) -> Cell:
    return (format(value, form), value) if np.isfinite(value) else ("", "")


def _measured(found: BestEvaluation | None) -> Cell:
    if found is None:
        return "", ""
    return (f"{100 * found.value:.2f} %" if found.metric == "accuracy" else f"{found.value:.4g}"), found.value


def _linked(run: _Compared, page: Path) -> str:
    """The run's name, with a link to its own page where there is one."""
    own = run.folder / "report.html"
    if not own.is_file():
        return escaped(run.name)
    place = quote(os.path.relpath(own.absolute(), page.absolute().parent), errors="surrogateescape")
    return f'<a href="{place}">{escaped(run.name)}</a>'


def _settings(runs: Sequence[_Compared]) -> str:
    """The settings that are not the same in all runs: a row for each run, or for each setting where these are more."""
    every = dict.fromkeys(name for run in runs for name in run.settings)
    values = {name: [_words(run.settings.get(name)) for run in runs] for name in every}
    differ = {name: words for name, words in values.items() if len(set(words)) > 1}
    if not differ:
        return note("All settings that the runs have recorded are the same.")
    shown = list(differ.items())[:_SETTINGS]
    more = len(differ) - len(shown)
    columns = [("run", [run.name for run in runs]), *shown]
    lines = [[name, *words] for name, words in columns]
    if len(shown) <= max(len(runs), 6):
        lines = [list(line) for line in zip(*lines, strict=True)]
    else:
        lines[0][0] = "setting"
    rows = [[(escaped(words), words) for words in line] for line in lines[1:]]
    return _table("Settings that differ", lines[0], rows, "words") + (
        note(f"{more:,} more settings differ.") if more else ""
    )


def _words(value: object) -> str:
    return "–" if value is None else str(value)[:_VALUE]


# --- curves ----------------------------------------------------------------------------------------------------------


def _curves(runs: Sequence[_Compared]) -> str:
    trained: list[Line] = []
    for place, run in enumerate(runs):
        steps, _, losses = run.metrics.steps[:3]
        smoothed = course(run.name, steps, losses, colour=place)
        trained += smoothed or _lines([(run, place, (steps, losses))])
    parts = [curves(trained, "step", title="Training loss, smoothed")]
    for split in reversed(SPLITS):
        measured = [(run, place, run.metrics.evaluations.get(split)) for place, run in enumerate(runs)]
        found = [(run, place, series) for run, place, series in measured if series is not None]
        losses_of = _lines([(run, place, (at, values)) for run, place, (at, values, _) in found])
        shares_of = _lines([(run, place, (at, 100 * values)) for run, place, (at, _, values) in found])
        parts.append(curves(losses_of, "step", title=f"Loss on {split} data"))
        parts.append(curves(shares_of, "step", title=f"Accuracy on {split} data (%)", logarithmic=False))
    for key in list(dict.fromkeys(key for run in runs for key in run.metrics.others))[:_METRICS]:
        others = [(run, place, run.metrics.others.get(key, ())) for place, run in enumerate(runs)]
        parts.append(curves(_lines(others), "step", title=f"{key[1]} on {key[0]} data"))
    return "".join(parts)


def _lines(found: Sequence[tuple[_Compared, int, tuple[Numbers, ...]]]) -> list[Line]:
    """A line for each run that has the series (x, y), in the run's colour in every diagram."""
    return [Line(run.name, np.stack(series, axis=1), colour=place) for run, place, series in found if series]
