"""Pictures of a run, as PNG files in ``RUN/plots``, and but for the curves as SVG for its page.

They need the extra ``typednn[plots]``, which is matplotlib.

    curves.png           loss and learning rate          from metrics.jsonl
    accuracy.png         share of right answers          from metrics.jsonl
    gradient_norms.png   length of each layer's gradient from metrics.jsonl
    confusion.png        true and predicted classes      from report.json
    areas.png            ROC, precision-recall           from report.json, of two classes
    worst.png            the worst mistakes              from pictures.safetensors, or images, labels and scores
    residuals.png        residuals of a regression       from pictures.safetensors
    filters.png          weights of the first layer      from pictures.safetensors, or filters

The same measurements give the same bytes. `docs/reports.md` says how to read each.
"""

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy.typing as npt

from typednn.errors import ArgumentError, DataError, explain
from typednn.files import write_whole
from typednn.plans.explain import Explained
from typednn.reports.areas import areas_picture
from typednn.reports.canvas import FILE, PAGE, PHONE, Medium, matplotlib
from typednn.reports.curves import accuracy_curve, gradient_norm_curves, learning_rate_curve, loss_curve
from typednn.reports.grids import confusion_picture, filter_picture, worst_picture
from typednn.reports.plans import plan_picture
from typednn.reports.residuals import residual_picture
from typednn.runs.checksums import OF_PICTURES, renew_checksums
from typednn.runs.history import LearningRates
from typednn.runs.recorded import AnyScores, Scores, read_metrics, read_scores
from typednn.runs.run_files import attempted, existing_run
from typednn.runs.shown import Mistakes, Residuals, read_shown, worst_mistakes


def write_plots(
    run_folder: str | os.PathLike[str],
    *,
    images: npt.NDArray[Any] | None = None,
    labels: npt.NDArray[Any] | None = None,
    scores: npt.NDArray[Any] | None = None,
    filters: npt.NDArray[Any] | None = None,
) -> list[Path]:
    """Draw all pictures that the run folder and the arrays allow, and return the written files.

    ``images``, ``labels`` and ``scores`` (those of `worst_mistakes`) come together or not at all; ``filters`` is a
    first layer's weight. Without them the run's own are drawn. Missing data are not drawn, and older pictures of them
    stay. A damaged ``report.json`` or ``pictures.safetensors`` is a `DataError`, after everything else was drawn.
    `MissingExtra` without matplotlib.
    """
    folder = existing_run("write_plots", run_folder)
    together = [
        name for name, value in (("images", images), ("labels", labels), ("scores", scores)) if value is not None
    ]
    if together and (images is None or labels is None or scores is None):
        raise ArgumentError(
            explain("write_plots", "images, labels and scores come together", f"only {' and '.join(together)}")
        )
    matplotlib()
    damages: list[str] = []
    report = attempted(damages, read_scores, folder)
    shown, kept = attempted(damages, read_shown, folder) or (None, None)
    filters = kept if filters is None else filters
    if images is not None and labels is not None and scores is not None:
        shown = worst_mistakes(images, labels, scores)
    written: list[Path] = []
    metrics = read_metrics(folder)
    pictures = {
        "curves.png": loss_curve(metrics),
        "accuracy.png": accuracy_curve(metrics),
        **{name: make(FILE) for name, make in _pictures(report, shown, filters).items()},
        "gradient_norms.png": gradient_norm_curves(metrics),
    }
    for name, drawn in pictures.items():
        if drawn is not None:
            if (folder / "plots").is_symlink():
                raise DataError(explain("plots", "must be a folder of the run", "a link", "put a folder in its place"))
            write_whole(folder / "plots" / name, drawn)
            written.append(folder / "plots" / name)
    renew_checksums(folder, OF_PICTURES)
    if damages:
        raise DataError(damages[0])
    return written


def page_pictures(
    folder: Path, report: AnyScores | None, without: Collection[str] = ()
) -> dict[str, tuple[bytes, bytes | None]]:
    """SVG of what the run's files allow, for wide and for narrow screens, by the name of the PNG file; `MissingExtra`
    without matplotlib.

    A confusion matrix has no narrow form, as it is drawn only where it is large. Curves are those of
    `typednn.reports.diagrams`.
    """
    matplotlib()
    drawn: dict[str, tuple[bytes, bytes | None]] = {}
    for name, make in _pictures(report, *(attempted([], read_shown, folder) or (None, None))).items():
        wide = None if name in without else make(PAGE)
        if wide is not None:
            drawn[name] = wide, None if name == "confusion.png" else make(PHONE)
    return drawn


def _pictures(
    report: AnyScores | None, shown: Mistakes | Residuals | None, filters: npt.NDArray[Any] | None
) -> dict[str, Callable[[Medium], bytes | None]]:
    """What draws each picture but the curves for a medium, None where the data for it are missing."""
    names = report.names if isinstance(report, Scores) else None
    return {
        "confusion.png": lambda medium: (
            confusion_picture(report.confusion, report.names, medium) if isinstance(report, Scores) else None
        ),
        "areas.png": lambda medium: areas_picture(report, medium) if isinstance(report, Scores) else None,
        "worst.png": lambda medium: worst_picture(shown, names, medium) if isinstance(shown, Mistakes) else None,
        "residuals.png": lambda medium: residual_picture(shown, medium) if isinstance(shown, Residuals) else None,
        "filters.png": lambda medium: None if filters is None else filter_picture(filters, medium),
    }


def write_learning_rates(found: LearningRates, path: str | os.PathLike[str]) -> Path:
    """Draw what `typednn.training.find_learning_rate` found as the PNG file ``path``, and return it; `MissingExtra`
    without matplotlib.
    """
    return _written(path, learning_rate_curve(found))


def write_plan(explained: Explained, path: str | os.PathLike[str]) -> Path:
    """Draw what ``typednn.compile(model).explain()`` gives as the PNG file ``path``, and return it; `MissingExtra`
    without matplotlib.
    """
    return _written(path, plan_picture(explained))


def _written(path: str | os.PathLike[str], content: bytes) -> Path:
    file = Path(path)
    write_whole(file, content)
    return file
