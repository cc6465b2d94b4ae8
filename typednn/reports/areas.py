"""A classifier of two classes: its ROC curve and its precision-recall curve, with the areas under them."""

from typednn.reports.canvas import FILE, GRID, PALETTE, Medium, drawing, figure, label, rendered, scaled_axis
from typednn.runs.recorded import Scores


def areas_picture(scores: Scores, medium: Medium = FILE) -> bytes | None:
    """Left, or above: the true positive rate over the false positive rate; the diagonal is chance.

    Right, or below: the precision over the recall; the line is the share of the class, which is chance. None where the
    curves are not known.
    """
    if scores.roc is None or scores.precision_recall is None:
        return None
    chance = scores.support[1] / max(scores.support.sum(), 1)
    with drawing():
        drawn, (left, right) = figure(medium.width, 7.6, 2, 1) if medium.narrow else figure(9.0, 4.4, 1, 2)
        roc = "ROC", "false positive rate", "true positive rate", "ROC AUC"
        precise = "Precision-recall", "recall", "precision", "average precision"
        for axes, curve, line, (title, across, up, area) in (
            (left, scores.roc, [0.0, 1.0], roc),
            (right, scores.precision_recall, [chance, chance], precise),
        ):
            axes.plot([0.0, 1.0], line, color=GRID, linewidth=1.0, linestyle="--")
            axes.plot(*curve, color=PALETTE[0])
            axes.set(title=f"{title} of {label(scores.names[1])}", xlabel=across, ylabel=up)
            axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
            axes.text(0.5, 0.06, f"{area} {scores.ranked.get(area, 0.0):.4f}", ha="center")
            scaled_axis(axes, "x", 6)
            scaled_axis(axes, "y", 6)
        return rendered(drawn, medium)
