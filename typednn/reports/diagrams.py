"""A run's curves for pages: loss and learning rate, accuracy, gradient norms of layers, drawn by `typednn.curves`.

Each takes `Metrics` and gives "" where there is nothing to draw.
"""

import numpy as np
import numpy.typing as npt

from typednn.charts import epoch_ends, smoothed, spans_decades, thinned
from typednn.curves import Line, curves
from typednn.html import Html
from typednn.runs.recorded import Metrics, Numbers

_COLOURS = {"train": 6, "validation": 1, "test": 2}  # places in the palette: 6 is its first colour again, dashed
_EPOCHS = 6
_POINTS = 500


def loss_diagram(metrics: Metrics, about: str = "") -> Html:
    """The loss of each training step, its smoothed course, each evaluation; beneath it the learning rate, where it
    changes.
    """
    steps, epochs, losses, rates = metrics.steps[:4]
    evaluated = [
        Line(f"{split} (evaluated)", _points(at, values), colour=_COLOURS[split])
        for split, (at, values, _) in metrics.evaluations.items()
    ]
    trained = [Line("training step", _points(steps, losses), colour=0, look="pale")] if len(steps) else []
    broken = steps[~np.isfinite(losses)]
    drawn = curves(
        [*trained, *course("training, smoothed", steps, losses, colour=0), *evaluated],
        "step",
        title="Loss",
        about=about,
        above=epoch_ends(steps, epochs, _EPOCHS),
        mark=(float(broken[0]), f"loss is not a number, first at step {broken[0]:,.0f}") if len(broken) else None,
    )
    changes = len(np.unique(rates[np.isfinite(rates)])) > 1
    rate = [Line("learning rate", _points(steps, rates), colour=3)]
    return Html(drawn + (curves(rate, "step", title="Learning rate", logarithmic=False) if changes else ""))


def accuracy_diagram(metrics: Metrics, about: str = "") -> Html:
    """The share of right answers in per cent at each evaluation, a line for each split."""
    known = {split: series for split, series in metrics.evaluations.items() if np.isfinite(series[2]).any()}
    lines = [Line(split, _points(at, 100 * shares), colour=_COLOURS[split]) for split, (at, _, shares) in known.items()]
    title = f"Accuracy on {' and '.join(known)} data (%)"
    ends = epoch_ends(metrics.steps[0], metrics.steps[1], _EPOCHS)
    return curves(lines, "step", title=title, about=about, logarithmic=False, above=ends)


def gradient_norm_diagram(metrics: Metrics, about: str = "") -> Html:
    """The length of each layer's gradient, logarithmic."""
    lines = [Line(layer, _points(*series)) for layer, series in metrics.gradient_norms.items()]
    return curves(lines, "step", title="Gradient norm of each layer", about=about, logarithmic=True)


def course(name: str, steps: Numbers, losses: Numbers, *, colour: int | None = None) -> list[Line]:
    """The smoothed losses, where there are enough; over decades that of their logarithms, as one high loss would
    outweigh many others.
    """
    x, y, *_ = thinned(steps, losses, _POINTS)
    if len(x) < 50:
        return []
    smooth = np.exp(smoothed(np.log(y))) if spans_decades(y) else smoothed(y)
    return [Line(name, _points(x, smooth), colour=colour)]


def _points(x: Numbers, y: Numbers) -> npt.NDArray[np.float64]:
    return np.stack([x, y], axis=1)
