"""Curves over the steps of a run as PNG files: loss and learning rate, accuracy, gradient norms per layer.

Those of a page are `typednn.reports.diagrams`. Each takes `Metrics` and returns None where there is nothing to draw.
Beyond a thousand steps, neighbours are grouped: a line through their means, and a band from the least to the greatest,
so that a single spike stays visible.
"""

from typing import Any

import numpy as np

from typednn.charts import GREATEST, epoch_ends, smoothed, spans_decades, thinned
from typednn.reports.canvas import (
    ALARM,
    FILE,
    GRID,
    PALETTE,
    PAPER,
    POINTS,
    STYLES,
    drawing,
    figure,
    label,
    legend_below,
    matplotlib,
    rendered,
    scaled_axis,
    step_axis,
)
from typednn.runs.history import LearningRates
from typednn.runs.recorded import Metrics, Numbers

_SPLITS = {
    "train": {"color": PALETTE[0], "marker": "o"},
    "validation": {"color": PALETTE[1], "marker": "s"},
    "test": {"color": PALETTE[2], "marker": "D"},
}


def loss_curve(metrics: Metrics) -> bytes | None:
    """The loss of each training step, its smoothed course, each evaluation; beneath it the learning rate, where it
    changes.
    """
    steps, epochs, losses, rates = metrics.steps[:4]
    if not len(steps) and not metrics.evaluations:
        return None
    with drawing():
        changes = len(np.unique(rates[np.isfinite(rates)])) > 1
        lines, height, ratios = (2, 5.6, [3, 1]) if changes else (1, 4.4, [1])
        drawn, grid = figure(8.0, height, lines, 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": ratios})
        top = grid[0, 0]
        finite = losses[np.isfinite(losses)]
        evaluated = [values[np.isfinite(values)] for _, values, _ in metrics.evaluations.values()]
        decades = spans_decades(np.concatenate([finite, *evaluated]))
        if len(finite):
            _course(top, steps, losses, PALETTE[0], decades)
        for split, (at, values, _) in metrics.evaluations.items():
            x, y, _, _ = thinned(at, values, POINTS)
            top.plot(
                x,
                y,
                **_SPLITS[split],
                markersize=4.0 if len(x) <= 60 else 0.0,
                markerfacecolor=PAPER,
                linewidth=1.0,
                label=f"{split} (evaluated)",
            )
        _mark_breaks(top, steps, losses, "loss is not a number")
        top.set(title="Loss", ylabel="loss")
        scaled_axis(top, "y", 9, logarithmic=decades)
        if decades:
            top.set_ylabel("loss (logarithmic)")
        _mark_epochs(top, steps, epochs)
        if changes:
            below = grid[1, 0]
            x, y, least, most = thinned(steps, rates, POINTS)
            below.plot(x, y, color=PALETTE[6], linewidth=1.2)
            if len(steps) > POINTS:
                below.fill_between(x, least, most, color=PALETTE[6], alpha=0.25, linewidth=0)
            below.set(ylabel="learning rate", ylim=(0, None))
            scaled_axis(below, "y", 3)
        step_axis(grid[-1, 0])
        legend_below(drawn, top)
        return rendered(drawn, FILE)


def accuracy_curve(metrics: Metrics) -> bytes | None:
    """The share of right answers at each evaluation, a line for each split, the last and the best in words."""
    curves = [
        (split, at, 100 * values) for split, (at, _, values) in metrics.evaluations.items() if np.isfinite(values).any()
    ]
    if not curves:
        return None
    with drawing():
        drawn, axes = figure(8.0, 4.2)
        for split, at, values in curves:
            known = np.isfinite(values)
            at, values = at[known], values[known]
            best = int(values.argmax())
            text = f"{split}: {values[-1]:.2f} % in the end, best {values[best]:.2f} % at step {at[best]:,.0f}"
            x, y, _, _ = thinned(at, values, POINTS)
            axes.plot(x, y, **_SPLITS[split], markersize=4.0 if len(x) <= 60 else 0.0, label=text)
        axes.set(title=f"Accuracy on {' and '.join(split for split, _, _ in curves)} data", ylabel="right answers (%)")
        low, high = axes.get_ylim()
        axes.set_ylim(max(low, -2.0), min(high, 100.0 + 0.04 * max(100.0 - low, 0.5)))
        scaled_axis(axes, "y", 9)
        _mark_epochs(axes, *metrics.steps[:2])
        step_axis(axes)
        legend_below(drawn, axes)
        return rendered(drawn, FILE)


def gradient_norm_curves(metrics: Metrics) -> bytes | None:
    """The length of each layer's gradient, logarithmic; few layers are named, many have colours from first to last."""
    norms = {
        layer: series
        for layer, series in metrics.gradient_norms.items()
        if (np.isfinite(series[1]) & (series[1] > 0)).any()
    }
    if not norms:
        return None
    with drawing():
        few = len(norms) <= 14
        drawn, axes = figure(8.0, 4.8)
        package = matplotlib()
        # From first to last; the part of the scale that is seen on white and on black.
        scale = package.colors.LinearSegmentedColormap.from_list(
            "layers", package.colormaps["viridis"](np.linspace(0.3, 0.75, 32)), 2048
        )
        colours = package.cm.ScalarMappable(package.colors.Normalize(0, max(len(norms) - 1, 1)), scale)
        for place, (layer, (at, values)) in enumerate(norms.items()):
            x, y, least, most = thinned(at, np.where(values > 0, values, np.nan), POINTS)
            colour = PALETTE[place % len(PALETTE)] if few else colours.to_rgba(place)
            style, marker = STYLES[place // len(PALETTE)] if few else "-", "." if len(x) < 60 else ""
            axes.plot(x, y, style, color=colour, label=label(layer), marker=marker, linewidth=1.2)
            if len(norms) <= 3 and len(at) > POINTS:
                axes.fill_between(x, least, most, color=colour, alpha=0.15, linewidth=0)
            _mark_breaks(axes, at, values, f"{label(layer)} is not a number")
        scaled_axis(axes, "y", 9, logarithmic=True)
        axes.set(title="Gradient norm of each layer", ylabel="norm (logarithmic)")
        step_axis(axes)
        if few:
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)
        else:
            names, middle = list(norms), len(norms) // 2
            bar = drawn.colorbar(colours, ax=axes, ticks=[0, middle, len(names) - 1])
            bar.ax.set_yticklabels([label(names[place]) for place in (0, middle, len(names) - 1)])
            bar.set_label(f"{len(names)} layers, first to last")
        return rendered(drawn, FILE)


def learning_rate_curve(found: LearningRates) -> bytes:
    """The loss at each learning rate, its smoothed course, and the suggested rate."""
    with drawing():
        drawn, axes = figure(8.0, 4.2)
        rates, losses, course = (np.array(values, np.float64) for values in (found.rates, found.losses, found.smoothed))
        axes.plot(
            rates,
            np.clip(losses, -GREATEST, GREATEST),
            color=PALETTE[0],
            alpha=0.35,
            linewidth=0.7,
            label="training step",
        )
        axes.plot(rates, np.clip(course, -GREATEST, GREATEST), color=PALETTE[0], label="smoothed")
        if found.suggestion is not None:
            axes.axvline(found.suggestion, color=PALETTE[1], linewidth=1.2, label=f"suggested: {found.suggestion:.2g}")
        decades = spans_decades(course[np.isfinite(course)])
        if not decades:
            least, most = float(min(course.min(), losses.min())), float(course[0])
            axes.set_ylim(least - 0.1 * (most - least) - 1e-9, most + 0.5 * max(most - least, 1e-9))
        scaled_axis(axes, "y", 9, logarithmic=decades)
        scaled_axis(axes, "x", 9, logarithmic=True)
        axes.set(title="Loss by learning rate", xlabel="learning rate", ylabel="loss")
        legend_below(drawn, axes)
        return rendered(drawn, FILE)


def _course(axes: Any, steps: Numbers, losses: Numbers, colour: str, decades: bool) -> None:
    """The losses, and their smoothed course; on a logarithmic axis that of the logarithms, as one high loss would
    outweigh many others.
    """
    x, y, least, most = thinned(steps, losses, POINTS)
    if (least < most).any():  # neighbours are grouped
        axes.fill_between(
            x, least, most, color=colour, alpha=0.22, linewidth=0, label="training steps, least to greatest"
        )
    elif len(x) < 50:
        axes.plot(x, y, color=colour, marker=".", linewidth=1.0, label="training step")
        return
    else:
        axes.plot(x, y, color=colour, alpha=0.35, linewidth=0.7, label="training step")
    course = np.exp(smoothed(np.log(y))) if decades else smoothed(y)
    axes.plot(x, course, color=colour, label="training, smoothed", zorder=3)


def _mark_breaks(axes: Any, steps: Numbers, values: Numbers, text: str) -> None:
    """A dotted line at the first step whose value is not finite."""
    broken = steps[~np.isfinite(values)]
    if len(broken):
        axes.axvline(
            broken[0], color=ALARM, linestyle=":", linewidth=1.4, label=f"{text}, first at step {broken[0]:,.0f}"
        )


def _mark_epochs(axes: Any, steps: Numbers, epochs: Numbers) -> None:
    """Numbers of at most ten epochs above ``axes``, each where the epoch ends; no lines."""
    shown = epoch_ends(steps, epochs, 10)
    if shown:
        above = axes.secondary_xaxis("top")
        above.set_xticks(list(shown), list(shown.values()), fontsize=7)
        above.set_xlabel("end of epoch", fontsize=7)
        above.tick_params(length=3, color=GRID, pad=1)
        above.spines["top"].set_visible(False)
