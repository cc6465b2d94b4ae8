"""One page of a run: everything in its folder, in a single HTML file that loads nothing.

Pictures are embedded as data URIs, styles are in the page, there are no scripts, and a content security policy forbids
the browser to load anything. All text from files is escaped. A note stands in the place of a missing or damaged part.

Curves are those of `typednn.curves`. Other pictures are SVG by matplotlib, of which a browser takes the one for its
width; their colours follow the reader's setting as the page's do. Whatever is wider than a phone scrolls in a box of
its own.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from typednn.charts import opacity
from typednn.errors import DataError, MissingExtra, explain, installing
from typednn.files import as_list, as_object, write_whole
from typednn.html import escaped
from typednn.reports.diagrams import accuracy_diagram, gradient_norm_diagram, loss_diagram
from typednn.reports.elements import data_uri, document, figure, left_out, note, section, table
from typednn.reports.page_style import LEVELS
from typednn.reports.plots import page_pictures, write_plots
from typednn.runs.checksums import OF_A_PAGE, renew_checksums
from typednn.runs.recorded import (
    AnyScores,
    Counts,
    LanguageScores,
    Metrics,
    RegressionScores,
    Scores,
    read_metrics,
    read_scores,
    read_starts,
)
from typednn.runs.run_files import attempted, existing_run, read_bytes, read_json, read_text
from typednn.runs.settings import flattened

_PICTURES = {
    "confusion.png": ("Confusion matrix", "True classes in rows, predicted ones in columns"),
    "areas.png": ("ROC and precision-recall", "How well the scores of two classes set them apart; dashed is chance"),
    "worst.png": ("Worst mistakes", "Misclassified images, the least probable true class first"),
    "residuals.png": ("Residuals", "Predicted beside true numbers, and what is left between them"),
    "filters.png": ("First-layer filters", "Weights of the first layer"),
}
# Facts of a start, in words.
_FACTS = {
    "step": "after step",
    "git.commit": "git commit",
    "git.changed": "uncommitted changes",
    "processor": "processor",
    "threads.cores": "cores",
    "threads.kernels": "threads of kernels",
    "gpu": "GPU",
}
# A folder with one of these files is a run.
_FILES = (
    "config.toml",
    "recipe.json",
    "model.txt",
    "environment.json",
    "metrics.jsonl",
    "report.json",
    "pictures.safetensors",
)
_TEXT_LIMIT = 200_000  # characters of a file
_VALUE_LIMIT = 2000  # characters of a name or value in a table
_ROWS = 200
_LAST = 20  # evaluations that are shown
_STARTS = 5  # processes of which the facts are shown
_CELLS = 50  # classes of a confusion matrix that is a table; a larger one is a picture
_PAIRS = 10  # confusions that are listed


def write_report(run_folder: str | os.PathLike[str]) -> Path:
    """Write ``RUN/report.html`` and give its path; pictures that the run's files allow are drawn anew first.

    A temporary file is written, fsynced and renamed. Without matplotlib existing pictures are shown, and a note stands
    for the others. `DataError` where there is no such folder, it holds nothing of a run, or it cannot be written.
    """
    folder = existing_run("write_report", run_folder)
    if not any((folder / name).exists() for name in _FILES):
        raise DataError(
            explain(
                str(folder),
                "needs the folder of a run",
                f"none of {', '.join(_FILES)}",
                "give the folder that training wrote",
            )
        )
    remarks: list[str] = []
    metrics = attempted(remarks, read_metrics, folder) or Metrics(tuple(np.empty(0) for _ in range(6)), {}, {})
    scores = attempted(remarks, read_scores, folder)
    remarks.extend(metrics.remarks)
    absent, drawn = "", dict[str, tuple[bytes, bytes | None]]()
    is_table = isinstance(scores, Scores) and len(scores.names) <= _CELLS
    try:
        attempted(remarks, write_plots, folder)
        drawn = page_pictures(folder, scores, without=["confusion.png"] if is_table else [])
    except MissingExtra:
        absent = installing("matplotlib is not installed: pip install 'typednn[plots]'")
        remarks.append(f"pictures are not drawn anew: {absent}")
    pictures = {
        name: _svg(name, *drawn[name]) if name in drawn else _picture(folder, name, absent, remarks)
        for name in _PICTURES
        if not (is_table and name == "confusion.png")
    }
    path = folder / "report.html"
    write_whole(path, _page(folder, metrics, scores, pictures, remarks))
    renew_checksums(folder, OF_A_PAGE)
    return path


def _page(
    folder: Path, metrics: Metrics, scores: AnyScores | None, pictures: dict[str, str], remarks: list[str]
) -> bytes:
    title = folder.resolve().name or "run"
    model = _text(folder, "model.txt", remarks) or note(
        "model.txt is missing or damaged: the model's tree is not known."
    )
    starts, count = _starts(folder, remarks)
    config, environment = _config(folder, remarks), _started(starts, count) if starts else _environment(folder, remarks)
    recipe = as_object((attempted([], read_json, folder, "recipe.json") or {}).get("recipe")) or {}
    task, accuracy = recipe.get("task"), ""
    if isinstance(scores, LanguageScores) or (scores is None and task == "language"):
        results = _language(scores, metrics)
    elif isinstance(scores, RegressionScores) or (scores is None and task == "regression"):
        results = _errors(scores, pictures)
    else:
        accuracy, results = accuracy_diagram(metrics, _accuracies(metrics)), _classes(scores, pictures)
    losses = loss_diagram(metrics, _losses(metrics)) or note("No loss was recorded.")
    sections = [
        ("curves", "Curves", losses + accuracy + _evaluations(metrics)),
        *results,
        *([] if isinstance(scores, LanguageScores) else [("filters", "First-layer filters", pictures["filters.png"])]),
        ("gradients", "Gradient norms", gradient_norm_diagram(metrics) or note("No gradient norm was recorded.")),
        ("model", "Model", model),
        ("config", "Config", config),
        ("environment", "Environment", environment),
    ]
    links = "".join(f'<a href="#{name}">{escaped(words)}</a>' for name, words, _ in sections)
    header = f'{_origin(starts, count)}{_tiles(metrics, scores)}<nav aria-label="Sections">{links}</nav>'
    return document(title, header, "\n".join([left_out(remarks), *(section(*each) for each in sections)]))


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
            "training loss, last step": f"{losses[-1]:.4g}",
            f"{unit} per second": f"{np.median(speeds) * each:,.0f}" if len(speeds) else "",
            "time": _duration(float(seconds[-1])) if len(seconds) else "",
        }
    tiles = "".join(
        f"<div><dt>{escaped(name)}</dt><dd>{escaped(value)}</dd></div>" for name, value in numbers.items() if value
    )
    return f"<dl>{tiles}</dl>" if tiles else ""


def _duration(seconds: float) -> str:
    """In the two largest units."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


def _evaluations(metrics: Metrics) -> str:
    rows = [
        (at, split, *values)
        for split, series in metrics.evaluations.items()
        for at, *values in zip(*series, strict=True)
    ]
    rows.sort(key=lambda row: row[0])
    if not rows:
        return note("No evaluation was recorded.")
    others = {
        (split, name, at): value
        for (split, name), series in metrics.others.items()
        for at, value in zip(*series, strict=True)
    }
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
        row = [
            f"{report.tokens:,}",
            f"{report.loss:.4f}",
            f"{report.perplexity:.2f}",
            f"{100 * report.token_accuracy:.2f} %",
        ]
        results = table(
            ["tokens", "loss in nats", "perplexity", "next tokens told"], [row], f"On the {scores.split} split"
        )
    texts = "".join(
        f'{note(f"after step {step:,}")}<pre class="text">{escaped(text[:_TEXT_LIMIT])}</pre>'
        for step, text in reversed(metrics.texts)
    )
    return [("text", "Text", results), ("samples", "Samples", texts or note("No sample was recorded."))]


def _errors(scores: RegressionScores | None, pictures: dict[str, str]) -> list[tuple[str, str, str]]:
    """The sections of a regression only: name, heading, HTML."""
    errors = note("There is no report of the errors: report.json is missing or damaged. `typednn eval` writes one.")
    if scores is not None:
        report = scores.report
        row = [
            f"{report.samples:,}",
            f"{report.mse:.6g}",
            f"{report.rmse:.6g}",
            f"{report.mae:.6g}",
            f"{report.r2:.4f}",
        ]
        errors = table(
            ["samples", "mean squared error", "its root", "mean absolute error", "R²"],
            [row],
            f"On the {scores.split} split",
        )
    return [("errors", "Errors", errors), ("residuals", "Residuals", pictures["residuals.png"])]


def _classes(scores: Scores | None, pictures: dict[str, str]) -> list[tuple[str, str, str]]:
    """The sections of a classifier only: name, heading, HTML."""
    classes = note("There is no report of the classes: report.json is missing or damaged. `typednn eval` writes one.")
    matrix = pictures.get("confusion.png", "")
    if scores is not None:
        matrix = _right(scores) + (_matrix(scores) if len(scores.names) <= _CELLS else matrix) + _confusions(scores)
        columns = [
            [f"{100 * share:.1f} %" for share in (*shares, shares.mean())]
            for shares in (scores.precision, scores.recall, scores.f1)
        ]
        samples = [f"{count:,}" for count in (*scores.support, scores.support.sum())]
        classes = table(
            ["class", "precision", "recall", "F1", "samples"],
            list(zip((*scores.names, "mean"), *columns, samples, strict=True)),
            f"Class by class, on the {scores.split} split",
            is_open=len(scores.names) <= 30,
            kind="names",
        )
    areas = [("areas", "ROC and precision-recall", pictures["areas.png"])] if scores and scores.roc else []
    return [
        ("classes", "Classes", classes),
        ("confusion", "Confusion matrix", matrix),
        *areas,
        ("worst", "Worst mistakes", pictures["worst.png"]),
    ]


def _right(scores: Scores) -> str:
    right, total = int(np.trace(scores.confusion)), int(scores.confusion.sum())
    share = f" ({100 * right / total:.2f} %)" if total else ""
    return f"<p>{escaped(f'On the {scores.split} split {right:,} of {total:,} are right{share}.')}</p>"


def _matrix(scores: Scores) -> str:
    """The confusion matrix as a table: a whole name in each row and column; the more of its row a cell has, the
    stronger.
    """
    counts, names = scores.confusion, [escaped(name[:_VALUE_LIMIT]) for name in scores.names]
    levels = np.ceil(LEVELS * opacity(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))).astype(int)
    tag = "b" if max(map(len, names)) <= 3 else "span"  # longer names stand upright
    top = "".join(f'<th scope="col"><{tag}>{name}</{tag}></th>' for name in names)
    rows = "\n".join(
        f'<tr><th scope="row"><span>{name}</span></th>'
        + "".join(
            f'<td class="a{level}">{count:,}</td>' if count else "<td></td>"
            for count, level in zip(row, shades, strict=True)
        )
        + "</tr>"
        for name, row, shades in zip(names, counts.tolist(), levels.tolist(), strict=True)
    )
    words = (
        "True classes in rows, predicted ones in columns. The stronger the colour, the greater the share of the row."
    )
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="Confusion matrix">'
        '<table class="matrix"><thead><tr><th '
        f'scope="col">true</th>{top}</tr></thead><tbody>\n{rows}\n</tbody></table></div>'
        f'<p class="note">{words}</p>'
    )


def _confusions(scores: Scores) -> str:
    """The most frequent confusions, with whole names."""
    counts: Counts = np.where(np.eye(len(scores.names), dtype=bool), 0, scores.confusion)
    order: list[int] = np.argsort(-counts, axis=None, kind="stable")[:_PAIRS].tolist()
    pairs: list[tuple[int, int]] = [
        (true, called) for true, called in (divmod(place, len(counts)) for place in order) if counts[true, called]
    ]
    if len(scores.names) < 3 or not pairs:
        return ""
    rows = [
        [
            scores.names[true][:_VALUE_LIMIT],
            scores.names[called][:_VALUE_LIMIT],
            f"{counts[true, called]:,}",
            f"{100 * counts[true, called] / scores.confusion[true].sum():.1f} %",
        ]
        for true, called in pairs
    ]
    return table(
        ["true", "predicted", "count", "of the true class"], rows, "The most frequent confusions", kind="words"
    )


def _config(folder: Path, remarks: list[str]) -> str:
    """The model's config and the recipe, where they exist."""
    texts = {name: _text(folder, name, remarks) for name in ("config.toml", "recipe.json")}
    blocks = "".join(note(name) + text for name, text in texts.items() if text)
    return blocks or note("config.toml is missing or damaged: how the run was set up is not known.")


def _starts(folder: Path, remarks: list[str]) -> tuple[list[dict[str, str]], int]:
    """The facts of the first process that trained and of the last ones, by name; and how many there were."""
    starts = attempted(remarks, read_starts, folder) or []
    try:
        kept = [dict(_flat(facts)) for facts in [*starts[:1], *starts[1:][1 - _STARTS :]]]
    except RecursionError:
        remarks.append("starts.jsonl is nested too deep to be shown")
        return [], 0
    for facts in kept:
        facts["date"] = facts.get("date", "–").replace("T", " ").replace("+00:00", " UTC")
    return kept, len(starts)


def _origin(starts: Sequence[dict[str, str]], count: int) -> str:
    """When and how training began, in a few lines at the top."""
    if not starts:
        return ""
    first, again = starts[0], f"started {count:,} times, the last {starts[-1]['date']}" if count > 1 else ""
    commit, command = first.get("git.commit", ""), first.get("command", "")
    commit = (
        f"commit {commit[:12]}{', with uncommitted changes' if first.get('git.changed') == 'True' else ''}"
        if commit
        else ""
    )
    words = " · ".join(
        part
        for part in (first["date"], commit, first.get("processor"), first.get("gpu"), again)
        if part and part != "–"
    )
    return f"<p>{escaped(words[:_VALUE_LIMIT])}</p><p><code>{escaped(command[:_VALUE_LIMIT])}</code></p>"


def _started(starts: Sequence[dict[str, str]], count: int) -> str:
    """A column for each process that trained, a row for each fact."""
    names = list(dict.fromkeys(name for facts in starts for name, value in facts.items() if value != "–"))[:_ROWS]
    rows = [
        [_FACTS.get(name, name)[:_VALUE_LIMIT], *(facts.get(name, "–")[:_VALUE_LIMIT] for facts in starts)]
        for name in names
    ]
    left_out = f" (the first and the last {len(starts) - 1} of {count:,} times)" if count > len(starts) else ""
    head = ["what", *(["first", *["later"] * (len(starts) - 1)] if len(starts) > 1 else ["value"])]
    return table(head, rows, f"How and with what training was started{left_out}", kind="words")


def _environment(folder: Path, remarks: list[str]) -> str:
    facts = attempted(remarks, read_json, folder, "environment.json")
    if not facts:
        return note("environment.json is missing or damaged: where the run took place is not known.")
    try:
        rows = list(_flat(facts))
    except RecursionError:
        remarks.append("environment.json is nested too deep to be shown")
        return note("environment.json cannot be shown.")
    if len(rows) > _ROWS:
        remarks.append(f"environment.json: only the first {_ROWS} of {len(rows):,} entries are shown")
    return table(
        ["what", "value"],
        [[name[:_VALUE_LIMIT], value[:_VALUE_LIMIT]] for name, value in rows[:_ROWS]],
        "Where and with what the run took place",
        kind="words",
    )


def _flat(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Facts by name, in words."""
    for name, value in flattened(facts):
        items = as_list(value)
        if items is not None:
            yield name, ", ".join(str(item)[:_VALUE_LIMIT] for item in items[:_ROWS])
        else:
            yield name, "–" if value in (None, "") else str(value)


def _text(folder: Path, name: str, remarks: list[str]) -> str:
    text = attempted(remarks, read_text, folder, name)
    if text is None:
        return ""
    if len(text) > _TEXT_LIMIT:
        remarks.append(f"{name}: only the first {_TEXT_LIMIT:,} of {len(text):,} characters are shown")
    return f'<pre tabindex="0">{escaped(text[:_TEXT_LIMIT])}</pre>' if text.strip() else note(f"{name} is empty.")


def _picture(folder: Path, name: str, absent: str, remarks: list[str]) -> str:
    """An older picture of the run, where none can be drawn."""
    words, meaning = _PICTURES[name]
    content = attempted(remarks, read_bytes, folder, f"plots/{name}", 1 << 25)
    if content is None:
        return note(
            f"{words}: there is no picture"
            + (f", because {absent}." if absent else f" plots/{name} that can be shown.")
        )
    if not content.startswith(b"\x89PNG\r\n\x1a\n"):
        remarks.append(f"plots/{name} is not a PNG picture")
        return note(f"{words}: plots/{name} is not a PNG picture.")
    kind = "photo" if name in ("worst.png", "filters.png") else "chart"  # a chart is inverted in the dark
    image = f'<img class="{kind}" src="{data_uri(content, "png")}" alt="{escaped(words)}: {escaped(meaning)}">'
    return figure(image, meaning, name)


def _svg(name: str, wide: bytes, narrow: bytes | None) -> str:
    """A picture for wide and for narrow screens; one without a narrow form scrolls."""
    words, meaning = _PICTURES[name]
    alt = escaped(f"{words}: {meaning}.")
    if narrow is None:
        image = f'<img class="large" src="{data_uri(wide, "svg+xml")}" alt="{alt}">'
        return figure(
            f'<div class="wide" tabindex="0" role="region" aria-label="{escaped(words)}">{image}</div>', meaning, name
        )
    source = f'<source media="(max-width:36rem)" srcset="{data_uri(narrow, "svg+xml")}">'
    return figure(f'<picture>{source}<img src="{data_uri(wide, "svg+xml")}" alt="{alt}"></picture>', meaning, name)


def _losses(metrics: Metrics) -> str:
    """What the losses show, in words for those who do not see them."""
    steps, _, losses = metrics.steps[:3]
    finite = np.isfinite(losses)
    said: list[str] = []
    if finite.any():
        first, last = (f"{losses[finite][at]:.4g} at step {steps[finite][at]:,.0f}" for at in (0, -1))
        said.append(f"Training loss: {first}, {last}.")
    return " ".join(
        [*said, *(f"Last {split} loss: {loss[-1]:.4g}." for split, (_, loss, _) in metrics.evaluations.items())]
    )


def _accuracies(metrics: Metrics) -> str:
    """What the accuracies show, likewise."""
    said: list[str] = []
    for split, (at, _, accuracy) in metrics.evaluations.items():
        known = np.isfinite(accuracy)
        if known.any():
            best = int(accuracy[known].argmax())
            last, most = (f"{100 * accuracy[known][place]:.2f} %" for place in (-1, best))
            said.append(f"{split}: last {last}, best {most} at step {at[known][best]:,.0f}.")
    return " ".join(said)
