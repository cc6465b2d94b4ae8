"""Pictures made of cells: the confusion matrix, the worst misclassified images, a layer's filters."""

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from typednn.arrays import described, is_integer, is_number
from typednn.charts import GREATEST, opacity
from typednn.errors import ArgumentError, explain
from typednn.reports.canvas import (
    CELL,
    FILE,
    HALF,
    INK,
    NEGATIVE,
    ON_STRONG,
    POSITIVE,
    STRONG,
    Medium,
    drawing,
    figure,
    label,
    matplotlib,
    rendered,
)
from typednn.runs.recorded import Numbers
from typednn.runs.shown import AnyNumbers, Mistakes

_FILTERS = 64


def confusion_picture(confusion: AnyNumbers, names: Sequence[str], medium: Medium = FILE) -> bytes:
    """Counts, true classes in rows and predicted ones in columns; the darker, the greater the share of the row.

    The colour scale is not linear, so that one mistake in a hundred is visible. Up to 100 classes have numbers in their
    cells.
    """
    counts = np.asarray(confusion)
    classes = len(names)
    if counts.shape != (classes, classes) or not classes or not is_integer(counts.dtype) or (counts < 0).any():
        raise ArgumentError(
            explain(
                "confusion_picture",
                f"needs counts of shape ({classes}, {classes}), one row for each name",
                described(counts),
            ),
            "confusion",
        )
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    with drawing():
        side = min(max(4.0, 0.52 * classes + 1.6), 14.0)
        drawn, axes = figure(1.06 * side + 1.4, side)
        axes.grid(visible=False)
        colours = matplotlib().colors
        scale = colours.ListedColormap([colours.to_rgba(STRONG, share) for share in np.linspace(0.0, 1.0, 256)])
        shown = axes.imshow(shares, cmap=scale, norm=colours.PowerNorm(0.45, 0.0, 1.0))
        # The size of a cell, in points of 1/72 inch, decides the font size of its name and number.
        cell = 72 * (side - 1.6) / classes
        size = min(9.0, max(5.5, 0.72 * cell))
        ticks = list(range(0, classes, max(1, math.ceil(1.15 * size / cell))))
        every = ticks[1] if len(ticks) > 1 else classes
        shown_names = [label(names[tick]) for tick in ticks]
        upright = max(map(len, shown_names)) * size * 0.62 < cell * every
        axes.set_xticks(ticks, shown_names, fontsize=size, rotation=0 if upright else 90)
        axes.set_yticks(ticks, shown_names, fontsize=size)
        if classes <= 100:
            numbers: dict[str, Any] = {
                "fontsize": min(9.0, max(1.8, 1.45 * cell / max(len(f"{counts.max():,}"), 2))),
                "ha": "center",
                "va": "center",
                "in_layout": False,  # a number lies within its cell, and the layout is quicker without it
            }
            for true, called in zip(*np.nonzero(counts), strict=True):
                colour = ON_STRONG if opacity(shares[true, called]) > HALF else CELL
                axes.text(called, true, f"{counts[true, called]:,}", color=colour, **numbers)
        right, total = int(np.trace(counts)), int(counts.sum())
        share = f" ({100 * right / total:.2f} %)" if total else ""
        axes.set_title(f"Confusion matrix: {right:,} of {total:,} right{share}", fontsize=max(11.0, 1.3 * side))
        axes.set_xlabel("predicted", fontsize=max(9.0, side))
        axes.set_ylabel("true", fontsize=max(9.0, side))
        bar = drawn.colorbar(
            shown, ax=axes, shrink=0.7, fraction=0.06, pad=0.03, aspect=25, ticks=[0, 0.01, 0.1, 0.5, 1]
        )
        bar.ax.set_yticklabels(["0 %", "1 %", "10 %", "50 %", "100 %"])
        bar.set_label("share of the true class")
        return rendered(drawn, medium)


def worst_picture(mistakes: Mistakes, names: Sequence[str] | None = None, medium: Medium = FILE) -> bytes:
    """The misclassified images, the worst first, each with the probabilities of its true and of its predicted class.

    Images are (batch, height, width), with channels last or without, or flat (batch, pixels), which are drawn as
    squares where they can be. If none was misclassified, the picture says so.
    """
    if not len(mistakes.labels):
        with drawing():
            drawn, axes = figure(5.0, 1.2)
            axes.axis("off")
            drawn.text(
                0.5, 0.5, f"None of {mistakes.total:,} images was misclassified.", ha="center", va="center", wrap=True
            )
            return rendered(drawn, medium)
    tiles = _as_images("worst_picture", mistakes.images)
    classes = mistakes.probabilities.shape[1]
    known = names if names is not None and len(names) == classes else [str(place) for place in range(classes)]
    captions: list[str] = []
    for place, shares in zip(mistakes.labels, mistakes.probabilities, strict=True):
        named = (("true", int(place)), ("called", int(shares.argmax())))
        captions.append("\n".join(f"{word} {label(known[at], 16)}: {_percent(shares[at])}" for word, at in named))
    title = f"The worst {len(captions)} of {mistakes.wrong:,} misclassified images (of {mistakes.total:,})"
    return _tiled(
        tiles,
        captions,
        title,
        "gray",
        (float(tiles.min()), float(tiles.max())),
        1.4 if max(map(len, known)) <= 5 else 2.0,
        medium,
    )


def filter_picture(weight: AnyNumbers, medium: Medium = FILE) -> bytes:
    """The weights of a first layer, a tile for each filter: orange is negative, purple positive, and zero has no
    colour.

    ``weight`` as typednn keeps it: (out_channels, height, width, in_channels), or (out_features, in_features) of a
    Linear, whose rows are drawn as squares where they can be. Three channels are red, green, blue; of other numbers,
    each is a tile of its own.
    """
    values = np.asarray(weight)
    if values.ndim not in (2, 4) or not is_number(values.dtype) or not values.size:
        raise ArgumentError(
            explain("filter_picture", "needs weights (out, height, width, in) or (out, in)", described(values)),
            "weight",
        )
    values = np.clip(np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0), -GREATEST, GREATEST)
    limit = float(np.abs(values).max()) or 1.0
    channels = values.shape[3] if values.ndim == 4 and values.shape[3] != 3 else 1  # each of them is a tile
    if values.ndim == 2:
        tiles = _squares(values)
    elif values.shape[3] == 3:
        tiles = 0.5 + values / (2 * limit)
    else:
        tiles = np.moveaxis(values, 3, 1).reshape(-1, values.shape[1], values.shape[2])
    captions = [
        f"{place // channels}" + (f", in {place % channels}" if channels > 1 else "") for place in range(len(tiles))
    ]
    title = "Filters of the first layer" + (
        f", the first {_FILTERS} of {len(tiles):,}" if len(tiles) > _FILTERS else ""
    )
    return _tiled(
        tiles[:_FILTERS], captions[:_FILTERS], title, _diverging(), (-limit, limit), 1.05, medium, bar=tiles.ndim == 3
    )


def _tiled(
    tiles: Numbers,
    captions: Sequence[str],
    title: str,
    colours: Any,
    limits: tuple[float, float],
    width: float,
    medium: Medium,
    bar: bool = False,
) -> bytes:
    """A picture of ``tiles``, each ``width`` inches wide, its caption above it."""
    most = int(medium.width / width)
    columns = min(len(tiles), max(min(3, most), math.ceil(math.sqrt(len(tiles)))), most)
    lines = math.ceil(len(tiles) / columns)
    aspect = min(max(tiles.shape[1] / tiles.shape[2], 0.2), 3.0)
    words = 0.06 + 0.14 * (1 + captions[0].count("\n"))
    wide = min(max(columns * width + (0.8 if bar else 0.0), 3.6), medium.width)
    with drawing():
        drawn, grid = figure(wide, lines * (width * aspect + words) + 0.6, lines, columns, squeeze=False)
        shown = None
        for place, axes in enumerate(grid.flat):
            axes.axis("off")
            if place < len(tiles):
                shown = axes.imshow(
                    tiles[place],
                    cmap=colours,
                    vmin=limits[0],
                    vmax=limits[1] if limits[1] > limits[0] else limits[0] + 1,
                    interpolation="nearest",
                )
                axes.set_title(captions[place], fontsize=7, color=INK)
        drawn.suptitle("\n".join(textwrap.wrap(title, 44)) if medium.narrow else title, fontsize=11)
        if bar:
            drawn.colorbar(shown, ax=grid, shrink=0.8, fraction=0.3 / wide, pad=0.2 / wide, label="weight")
        return rendered(drawn, medium)


def _diverging() -> Any:
    """Colours from negative over none at all to positive."""
    colours, powers = matplotlib().colors, np.linspace(-1.0, 1.0, 257)
    return colours.ListedColormap(
        [colours.to_rgba(NEGATIVE if power < 0 else POSITIVE, abs(power)) for power in powers]
    )


def _as_images(where: str, images: AnyNumbers) -> Numbers:
    """(batch, height, width) between any two numbers, or (batch, height, width, 3) between 0 and 1."""
    if not (is_number(images.dtype) or images.dtype == bool) or images.ndim not in (2, 3, 4) or not images.size:
        raise ArgumentError(
            explain(where, "images must be numbers of 2, 3 or 4 axes, the batch first", described(np.asarray(images))),
            "images",
        )
    values = np.nan_to_num(images.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    if values.ndim == 2:
        return _squares(values)
    if values.ndim == 4 and values.shape[3] == 3:
        least, most = values.min(), values.max()
        return np.asarray((values - least) / ((most - least) or 1.0), np.float64)
    return values if values.ndim == 3 else np.asarray(values.mean(axis=3), np.float64)


def _squares(rows: Numbers) -> Numbers:
    """Each row as a square where it can be one."""
    side = math.isqrt(rows.shape[1])
    return rows.reshape(-1, side, side) if side * side == rows.shape[1] else rows[:, np.newaxis]


def _percent(share: float) -> str:
    return "< 0.1 %" if share < 0.0005 else f"{100 * share:.1f} %"
