"""One page of a run: everything that its folder holds, in a single HTML file that needs nothing else and asks nobody.

Pictures are embedded as data URIs, styles are in the page, there are no scripts, and a content security policy forbids the
browser to load anything. Whatever comes from a file is escaped. A piece that is missing or damaged is said in its place.
"""

import base64
import os
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from typednn.errors import DataError, MissingExtra, explain
from typednn.training.page import STYLE, block, figure_of, note, section, table
from typednn.training.plots import write_plots
from typednn.training.recorded import Metrics, Scores, read_metrics, read_scores
from typednn.training.run_files import as_list, as_object, attempted, existing_run, read_bytes, read_json, read_text, write_whole

_PICTURES = {
    "curves.png": ("Curves", "Loss of every training step, smoothed, with each evaluation"),
    "accuracy.png": ("Accuracy", "Share of right answers at each evaluation"),
    "confusion.png": ("Confusion matrix", "True classes in rows, predicted ones in columns"),
    "worst.png": ("Worst mistakes", "Misclassified images, the least probable true class first"),
    "filters.png": ("First-layer filters", "Weights of the first layer"),
    "gradient_norms.png": ("Gradient norms", "Length of each layer's gradient, logarithmic"),
}
# One of them makes a folder a run's.
_FILES = ("config.toml", "recipe.json", "model.txt", "environment.json", "metrics.jsonl", "report.json", "pictures.safetensors")
_PICTURE_LIMIT = 1 << 25
_TEXT_LIMIT = 200_000
_ROWS = 200
_LEVELS = 4
_VALUE_LIMIT = 2000
_LAST = 20
_OPEN = 30
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def write_report(run_folder: str | os.PathLike[str]) -> Path:
    """Write ``RUN/report.html`` and give its path; pictures that the run's files allow are drawn anew first.

    A temporary file is written, fsynced and renamed. Without matplotlib the pictures that are already there are shown, and
    the others are said to be missing. `DataError` where there is no such folder, it holds nothing of a run, or it cannot be written.
    """
    folder = existing_run("write_report", run_folder)
    if not any((folder / name).exists() for name in _FILES):
        got, cure = f"none of {', '.join(_FILES)}", "give the folder that training wrote"
        raise DataError(explain(str(folder), "needs the folder of a run", got, cure))
    remarks: list[str] = []
    metrics = attempted(remarks, read_metrics, folder) or Metrics(tuple(np.empty(0) for _ in range(6)), {}, {})
    scores = attempted(remarks, read_scores, folder)
    remarks.extend(metrics.remarks)
    absent = ""
    try:
        attempted(remarks, write_plots, folder)
    except MissingExtra:
        absent = "matplotlib is not installed: pip install 'typednn[plots]'"
        remarks.append(f"pictures are not drawn anew: {absent}")
    pictures = {name: _picture(folder, name, absent, remarks) for name in _PICTURES}
    title = folder.resolve().name or "run"
    path = folder / "report.html"
    write_whole(path, _page(title, folder, metrics, scores, pictures, remarks).encode("utf-8", errors="replace"))
    return path


def _page(title: str, folder: Path, metrics: Metrics, scores: Scores | None, pictures: dict[str, str], remarks: list[str]) -> str:
    model = _text(folder, "model.txt", remarks) or note("model.txt is missing or damaged: the model's tree is not known.")
    config, environment = _config(folder, remarks), _environment(folder, remarks)
    sections = [
        section("curves", "Curves", pictures["curves.png"] + pictures["accuracy.png"] + _evaluations(metrics)),
        section("classes", "Classes", _per_class(scores)),
        section("confusion", "Confusion matrix", pictures["confusion.png"]),
        section("worst", "Worst mistakes", pictures["worst.png"]),
        section("filters", "First-layer filters", pictures["filters.png"]),
        section("gradients", "Gradient norms", pictures["gradient_norms.png"]),
        section("model", "Model", model),
        section("config", "Config", config),
        section("environment", "Environment", environment),
    ]
    links = "".join(f'<a href="#{name}">{words}</a>' for name, words, _ in sections)
    said = "".join(f"<li>{escape(remark)}</li>" for remark in dict.fromkeys(remarks))
    omitted = f"<aside><h2>Left out</h2><ul>{said}</ul></aside>" if said else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>{escape(title)} · typednn</title>\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<header><h1>{escape(title)}</h1>{_tiles(metrics, scores)}<nav>{links}</nav></header>\n<main>\n{omitted}\n"
        + "\n".join(text for _, _, text in sections)
        + "\n</main>\n</body>\n</html>\n"
    )


def _tiles(metrics: Metrics, scores: Scores | None) -> str:
    """The few numbers that a reader wants first."""
    steps, epochs, losses, _, *timings = metrics.steps
    speeds, seconds = (series[np.isfinite(series)] for series in timings)
    found: dict[str, str] = {}
    if scores is not None:
        found[f"{scores.split} accuracy"] = f"{100 * scores.accuracy:.2f} %"
        found["train accuracy"] = "" if scores.train_accuracy is None else f"{100 * scores.train_accuracy:.2f} %"
    if len(steps):
        found["steps"] = f"{steps[-1]:,.0f}"
        found["epochs"] = f"{epochs[-1]:,.0f}" if np.isfinite(epochs[-1]) else ""
        found["last loss"] = f"{losses[-1]:.4g}"
        found["samples per second"] = f"{np.median(speeds):,.0f}" if len(speeds) else ""
        found["time"] = _duration(float(seconds[-1])) if len(seconds) else ""
    tiles = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in found.items() if value)
    return f"<dl>{tiles}</dl>" if tiles else ""


def _duration(seconds: float) -> str:
    """In the two largest units."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


def _evaluations(metrics: Metrics) -> str:
    found = ((at, split, *values) for split, series in metrics.evaluations.items() for at, *values in zip(*series, strict=True))
    rows = sorted(found, key=lambda row: row[0])
    if not rows:
        return note("No evaluation was recorded.")
    cells = [
        [f"{at:,.0f}", split, f"{loss:.4g}", "–" if np.isnan(accuracy) else f"{100 * accuracy:.2f} %"]
        for at, split, loss, accuracy in rows[-_LAST:]
    ]
    words = f"The last {_LAST} of {len(rows):,} evaluations" if len(rows) > _LAST else "Evaluations"
    return table(["step", "split", "loss", "accuracy"], cells, words)


def _per_class(scores: Scores | None) -> str:
    if scores is None:
        return note("There is no report of the classes: report.json is missing or damaged. `typednn eval` writes one.")
    rows = [
        [name, *(f"{100 * values[place]:.1f} %" for values in (scores.precision, scores.recall, scores.f1)), f"{scores.support[place]:,}"]
        for place, name in enumerate(scores.names)
    ]
    means = [f"{100 * values.mean():.1f} %" for values in (scores.precision, scores.recall, scores.f1)]
    rows.append(["mean", *means, f"{scores.support.sum():,}"])
    return table(
        ["class", "precision", "recall", "F1", "samples"],
        rows,
        f"Class by class, on the {scores.split} split",
        is_open=len(scores.names) <= _OPEN,
    )


def _config(folder: Path, remarks: list[str]) -> str:
    """The model's config and the recipe, as far as they are there."""
    texts = {name: _text(folder, name, remarks) for name in ("config.toml", "recipe.json")}
    found = "".join(note(name) + text for name, text in texts.items() if text)
    return found or note("config.toml is missing or damaged: how the run was set up is not known.")


def _environment(folder: Path, remarks: list[str]) -> str:
    found = attempted(remarks, read_json, folder, "environment.json")
    if not found:
        return note("environment.json is missing or damaged: where the run took place is not known.")
    try:
        rows = _flat("", found)
    except RecursionError:
        remarks.append("environment.json is nested too deep to be shown")
        return note("environment.json cannot be shown.")
    if len(rows) > _ROWS:
        remarks.append(f"environment.json: only the first {_ROWS} of {len(rows):,} entries are shown")
    return table(
        ["what", "value"],
        [[name[:_VALUE_LIMIT], value[:_VALUE_LIMIT]] for name, value in rows[:_ROWS]],
        "Where and with what the run took place",
    )


def _flat(prefix: str, found: dict[str, Any]) -> list[tuple[str, str]]:
    """``{"a": {"b": 1}}`` as ``a.b``; beyond a few levels, and for lists, the value in words."""
    rows: list[tuple[str, str]] = []
    for key, value in found.items():
        inner, several = as_object(value), as_list(value)
        if inner and prefix.count(".") < _LEVELS:
            rows.extend(_flat(f"{prefix}{key}.", inner))
        elif several is not None:
            rows.append((f"{prefix}{key}", ", ".join(str(part)[:_VALUE_LIMIT] for part in several[:_ROWS])))
        else:
            rows.append((f"{prefix}{key}", "–" if value in (None, "") else str(value)))
    return rows


def _text(folder: Path, name: str, remarks: list[str]) -> str:
    text = attempted(remarks, read_text, folder, name)
    if text is None:
        return ""
    if len(text) > _TEXT_LIMIT:
        remarks.append(f"{name}: only the first {_TEXT_LIMIT:,} of {len(text):,} characters are shown")
    return block(text[:_TEXT_LIMIT]) if text.strip() else note(f"{name} is empty.")


def _picture(folder: Path, name: str, absent: str, remarks: list[str]) -> str:
    words, meaning = _PICTURES[name]
    content = attempted(remarks, read_bytes, folder, f"plots/{name}", _PICTURE_LIMIT)
    if content is None:
        return note(f"{words}: there is no picture" + (f", because {absent}." if absent else f" plots/{name} that can be shown."))
    if not content.startswith(_SIGNATURE):
        remarks.append(f"plots/{name} is not a PNG picture")
        return note(f"{words}: plots/{name} is not a PNG picture.")
    return figure_of(base64.b64encode(content).decode("ascii"), words, meaning)
