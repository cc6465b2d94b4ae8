"""One page of a run: everything in its folder, in a single HTML file that loads nothing.

Pictures are embedded as data URIs, styles are in the page, there are no scripts, and a content security policy forbids the
browser to load anything. All text from files is escaped. A note stands in the place of a missing or damaged part.
"""

import base64
import os
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from typednn.errors import DataError, MissingExtra, explain
from typednn.files import as_object, write_whole
from typednn.html import escaped
from typednn.reports.plots import write_plots
from typednn.runs.recorded import AnyScores, LanguageScores, Metrics, RegressionScores, Scores, read_metrics, read_scores
from typednn.runs.run_files import as_list, attempted, existing_run, read_bytes, read_json, read_text

_PICTURES = {
    "curves.png": ("Curves", "Loss of every training step, smoothed, with each evaluation"),
    "accuracy.png": ("Accuracy", "Share of right answers at each evaluation"),
    "confusion.png": ("Confusion matrix", "True classes in rows, predicted ones in columns"),
    "worst.png": ("Worst mistakes", "Misclassified images, the least probable true class first"),
    "residuals.png": ("Residuals", "Predicted beside true numbers, and what is left between them"),
    "filters.png": ("First-layer filters", "Weights of the first layer"),
    "gradient_norms.png": ("Gradient norms", "Length of each layer's gradient, logarithmic"),
}
# A folder with one of these files is a run.
_FILES = ("config.toml", "recipe.json", "model.txt", "environment.json", "metrics.jsonl", "report.json", "pictures.safetensors")
_TEXT_LIMIT = 200_000  # characters of a file
_VALUE_LIMIT = 2000  # characters of a name or value in a table
_ROWS = 200
_LAST = 20  # evaluations that are shown

_STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#59636e;--paper:#fff;--card:#f6f8fa;
--line:#d1d9e0;--link:#0550ae;--warn:#fff4d6}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9aa4af;--paper:#0d1117;--card:#161b22;
--line:#30363d;--link:#79b8ff;--warn:#332701}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
header,main{max-width:62rem;margin:0 auto;padding:1rem}
h1{margin:.4rem 0;font-size:1.7rem;overflow-wrap:anywhere}
h2{margin:2.2rem 0 .6rem;font-size:1.25rem;border-bottom:1px solid var(--line);padding-bottom:.2rem}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:.6rem;margin:1rem 0}
dl div{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.5rem .8rem}
dt{color:var(--soft);font-size:.85rem;overflow-wrap:anywhere}dd{margin:0;font-size:1.25rem;font-variant-numeric:tabular-nums}
nav{display:flex;flex-wrap:wrap;gap:.3rem 1rem}a{color:var(--link)}
aside{background:var(--warn);border:1px solid var(--line);border-radius:8px;padding:.2rem 1rem .6rem}
aside h2{margin:.6rem 0;border:0;font-size:1.05rem}li{overflow-wrap:anywhere}
figure{margin:1rem 0;text-align:center}figure div{overflow-x:auto}
img{max-width:max(100%,34rem);height:auto;background:#fff;border:1px solid var(--line);border-radius:8px;padding:6px}
figcaption,.note{color:var(--soft);font-size:.9rem}.note{font-style:italic;overflow-wrap:anywhere}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .8rem .25rem 0;text-align:left;border-bottom:1px solid var(--line);
vertical-align:top;overflow-wrap:anywhere;min-width:4rem}
th{color:var(--soft);font-weight:600}summary{cursor:pointer;margin:.8rem 0 .3rem;font-weight:600}
pre{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.8rem;overflow-x:auto;
font:13px/1.45 ui-monospace,Menlo,Consolas,monospace}
@media print{nav{display:none}}
"""


def write_report(run_folder: str | os.PathLike[str]) -> Path:
    """Write ``RUN/report.html`` and give its path; pictures that the run's files allow are drawn anew first.

    A temporary file is written, fsynced and renamed. Without matplotlib existing pictures are shown, and a note stands
    for the others. `DataError` where there is no such folder, it holds nothing of a run, or it cannot be written.
    """
    folder = existing_run("write_report", run_folder)
    if not any((folder / name).exists() for name in _FILES):
        raise DataError(
            explain(str(folder), "needs the folder of a run", f"none of {', '.join(_FILES)}", "give the folder that training wrote")
        )
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
    path = folder / "report.html"
    write_whole(
        path,
        _page(folder, metrics, scores, {name: _picture(folder, name, absent, remarks) for name in _PICTURES}, remarks).encode(
            "utf-8", errors="replace"
        ),
    )
    return path


def _page(folder: Path, metrics: Metrics, scores: AnyScores | None, pictures: dict[str, str], remarks: list[str]) -> str:
    title = folder.resolve().name or "run"
    model = _text(folder, "model.txt", remarks) or note("model.txt is missing or damaged: the model's tree is not known.")
    config, environment = _config(folder, remarks), _environment(folder, remarks)
    recipe = as_object((attempted([], read_json, folder, "recipe.json") or {}).get("recipe")) or {}
    task, accuracy = recipe.get("task"), ""
    if isinstance(scores, LanguageScores) or (scores is None and task == "language"):
        results = _language(scores, metrics)
    elif isinstance(scores, RegressionScores) or (scores is None and task == "regression"):
        results = _errors(scores, pictures)
    else:
        accuracy, results = pictures["accuracy.png"], _classes(scores, pictures)
    sections = [
        ("curves", "Curves", pictures["curves.png"] + accuracy + _evaluations(metrics)),
        *results,
        *([] if isinstance(scores, LanguageScores) else [("filters", "First-layer filters", pictures["filters.png"])]),
        ("gradients", "Gradient norms", pictures["gradient_norms.png"]),
        ("model", "Model", model),
        ("config", "Config", config),
        ("environment", "Environment", environment),
    ]
    links = "".join(f'<a href="#{name}">{escape(words)}</a>' for name, words, _ in sections)
    items = "".join(f"<li>{escape(remark)}</li>" for remark in dict.fromkeys(remarks))
    omitted = f"<aside><h2>Left out</h2><ul>{items}</ul></aside>" if items else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>{escape(title)} · typednn</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<header><h1>{escape(title)}</h1>{_tiles(metrics, scores)}<nav>{links}</nav></header>\n<main>\n{omitted}\n"
        + "\n".join(f'<section id="{name}"><h2>{escape(words)}</h2>\n{content}</section>' for name, words, content in sections)
        + "\n</main>\n</body>\n</html>\n"
    )


def _tiles(metrics: Metrics, scores: AnyScores | None) -> str:
    """The main numbers, at the top."""
    steps, epochs, losses, _, *timings = metrics.steps
    speeds, seconds = (series[np.isfinite(series)] for series in timings)
    numbers = {} if scores is None else scores.headline()
    unit, each = ("tokens", scores.report.length) if isinstance(scores, LanguageScores) else ("samples", 1)
    if len(steps):
        numbers |= {
            "steps": f"{steps[-1]:,.0f}",
            "epochs": f"{epochs[-1]:,.0f}" if np.isfinite(epochs[-1]) else "",
            "last loss": f"{losses[-1]:.4g}",
            f"{unit} per second": f"{np.median(speeds) * each:,.0f}" if len(speeds) else "",
            "time": _duration(float(seconds[-1])) if len(seconds) else "",
        }
    tiles = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in numbers.items() if value)
    return f"<dl>{tiles}</dl>" if tiles else ""


def _duration(seconds: float) -> str:
    """In the two largest units."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


def _evaluations(metrics: Metrics) -> str:
    rows = [(at, split, *values) for split, series in metrics.evaluations.items() for at, *values in zip(*series, strict=True)]
    rows.sort(key=lambda row: row[0])
    if not rows:
        return note("No evaluation was recorded.")
    others = {(split, name, at): value for (split, name), series in metrics.others.items() for at, value in zip(*series, strict=True)}
    names = dict.fromkeys(name for _, name in metrics.others)
    head = ["step", "split", "loss", *(["accuracy"] if any(np.isfinite(row[3]) for row in rows) else [])]
    cells = [
        [f"{at:,.0f}", split, f"{loss:.4g}", "–" if np.isnan(accuracy) else f"{100 * accuracy:.2f} %"][: len(head)]
        + [f"{others[split, name, at]:.4g}" if (split, name, at) in others else "–" for name in names]
        for at, split, loss, accuracy in rows[-_LAST:]
    ]
    head += [name[:_VALUE_LIMIT] for name in names]
    return table(head, cells, f"The last {_LAST} of {len(rows):,} evaluations" if len(rows) > _LAST else "Evaluations")


def _language(scores: LanguageScores | None, metrics: Metrics) -> list[tuple[str, str, str]]:
    """The sections of a language model only: name, heading, HTML."""
    results = note("There is no report of the text: report.json is missing or damaged. `typednn eval` writes one.")
    if scores is not None:
        report = scores.report
        row = [f"{report.tokens:,}", f"{report.loss:.4f}", f"{report.perplexity:.2f}", f"{100 * report.token_accuracy:.2f} %"]
        results = table(["tokens", "loss in nats", "perplexity", "next tokens told"], [row], f"On the {scores.split} split")
    texts = "".join(f"{note(f'after step {step:,}')}<pre>{escaped(text[:_TEXT_LIMIT])}</pre>" for step, text in reversed(metrics.texts))
    return [("text", "Text", results), ("samples", "Samples", texts or note("No sample was recorded."))]


def _errors(scores: RegressionScores | None, pictures: dict[str, str]) -> list[tuple[str, str, str]]:
    """The sections of a regression only: name, heading, HTML."""
    errors = note("There is no report of the errors: report.json is missing or damaged. `typednn eval` writes one.")
    if scores is not None:
        report = scores.report
        row = [f"{report.samples:,}", f"{report.mse:.6g}", f"{report.mae:.6g}", f"{report.r2:.4f}"]
        errors = table(["samples", "mean squared error", "mean absolute error", "R²"], [row], f"On the {scores.split} split")
    return [("errors", "Errors", errors), ("residuals", "Residuals", pictures["residuals.png"])]


def _classes(scores: Scores | None, pictures: dict[str, str]) -> list[tuple[str, str, str]]:
    """The sections of a classifier only: name, heading, HTML."""
    classes = note("There is no report of the classes: report.json is missing or damaged. `typednn eval` writes one.")
    if scores is not None:
        columns = [
            [f"{100 * share:.1f} %" for share in (*shares, shares.mean())] for shares in (scores.precision, scores.recall, scores.f1)
        ]
        samples = [f"{count:,}" for count in (*scores.support, scores.support.sum())]
        classes = table(
            ["class", "precision", "recall", "F1", "samples"],
            list(zip((*scores.names, "mean"), *columns, samples, strict=True)),
            f"Class by class, on the {scores.split} split",
            is_open=len(scores.names) <= 30,
        )
    return [
        ("classes", "Classes", classes),
        ("confusion", "Confusion matrix", pictures["confusion.png"]),
        ("worst", "Worst mistakes", pictures["worst.png"]),
    ]


def _config(folder: Path, remarks: list[str]) -> str:
    """The model's config and the recipe, where they exist."""
    texts = {name: _text(folder, name, remarks) for name in ("config.toml", "recipe.json")}
    blocks = "".join(note(name) + text for name, text in texts.items() if text)
    return blocks or note("config.toml is missing or damaged: how the run was set up is not known.")


def _environment(folder: Path, remarks: list[str]) -> str:
    facts = attempted(remarks, read_json, folder, "environment.json")
    if not facts:
        return note("environment.json is missing or damaged: where the run took place is not known.")
    try:
        rows = list(_flat("", facts))
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


def _flat(prefix: str, facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """``{"a": {"b": 1}}`` as ``a.b``; below four levels, and for lists, the value in words."""
    for key, value in facts.items():
        table, items = as_object(value), as_list(value)
        if table and prefix.count(".") < 4:
            yield from _flat(f"{prefix}{key}.", table)
        elif items is not None:
            yield f"{prefix}{key}", ", ".join(str(item)[:_VALUE_LIMIT] for item in items[:_ROWS])
        else:
            yield f"{prefix}{key}", "–" if value in (None, "") else str(value)


def _text(folder: Path, name: str, remarks: list[str]) -> str:
    text = attempted(remarks, read_text, folder, name)
    if text is None:
        return ""
    if len(text) > _TEXT_LIMIT:
        remarks.append(f"{name}: only the first {_TEXT_LIMIT:,} of {len(text):,} characters are shown")
    return f'<pre tabindex="0">{escaped(text[:_TEXT_LIMIT])}</pre>' if text.strip() else note(f"{name} is empty.")


def _picture(folder: Path, name: str, absent: str, remarks: list[str]) -> str:
    words, meaning = _PICTURES[name]
    content = attempted(remarks, read_bytes, folder, f"plots/{name}", 1 << 25)
    if content is None:
        return note(f"{words}: there is no picture" + (f", because {absent}." if absent else f" plots/{name} that can be shown."))
    if not content.startswith(b"\x89PNG\r\n\x1a\n"):
        remarks.append(f"plots/{name} is not a PNG picture")
        return note(f"{words}: plots/{name} is not a PNG picture.")
    image = base64.b64encode(content).decode("ascii")
    return (
        f'<figure><div><img src="data:image/png;base64,{image}" alt="{escape(words)}: {escape(meaning)}"></div>'
        f"<figcaption>{escape(meaning)}</figcaption></figure>"
    )


# --- the elements of the page, which escape all their text ----------------------------------------------------------------


def note(text: str) -> str:
    """A sentence that says why something is not there."""
    return f'<p class="note">{escaped(text)}</p>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]], words: str, *, is_open: bool = True) -> str:
    """A table that can be folded away; a wide one has its own scroll bar."""
    top = "".join(f'<th scope="col">{escaped(cell)}</th>' for cell in head)
    lines = "\n".join("<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<details{" open" if is_open else ""}><summary>{escaped(words)}</summary><div class="wide">'
        f"<table><thead><tr>{top}</tr></thead><tbody>\n{lines}\n</tbody></table></div></details>"
    )
