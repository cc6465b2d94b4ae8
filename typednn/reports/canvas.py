"""The base of all pictures: matplotlib imported on demand, colours for colour-blind readers too, reproducible bytes.

Figures are made directly on the Agg canvas: no window, no global figure, and the user's ``matplotlibrc`` has no effect.
The eight colours are those of M. Okabe and K. Ito, "Color Universal Design" (2008), without their yellow, which is invisible on white.
"""

import importlib
import io
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from typednn.errors import optional
from typednn.runs.recorded import Numbers

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", ":", "-.")
POINTS = 1000
GREATEST = 1e30  # beyond it, the margins of an axis overflow
_SETTINGS: dict[str, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11.0,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "text.parse_math": False,
}


def matplotlib() -> Any:
    """The package, without pyplot; `MissingExtra` where it is not installed."""
    return optional(
        "matplotlib", "typednn.reports.plots", "pictures need the package matplotlib", "install it with: pip install 'typednn[plots]'"
    )


@contextmanager
def drawing() -> Generator[None]:
    """Use typednn's settings of matplotlib within this block, and restore the old ones."""
    package = matplotlib()
    with package.rc_context():
        package.rcdefaults()
        package.rcParams.update(_SETTINGS)
        yield


def figure(width: float, height: float, *grid: int, **options: Any) -> tuple[Any, Any]:
    """A figure of ``width`` x ``height`` inches on the Agg canvas, which arranges its parts so that none overlap; and its subplots.

    ``grid`` and ``options`` are those of matplotlib's ``Figure.subplots``.
    """
    drawn = importlib.import_module("matplotlib.figure").Figure(figsize=(width, height), dpi=150, layout="constrained")
    importlib.import_module("matplotlib.backends.backend_agg").FigureCanvasAgg(drawn)
    return drawn, drawn.subplots(*grid, **options)


def png(drawn: Any) -> bytes:
    """``drawn`` as PNG: the same figure gives the same bytes, as neither date nor version is written."""
    stream = io.BytesIO()
    drawn.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()


def label(text: str, limit: int = 24) -> str:
    """``text`` in one line that the font can show, at most ``limit`` characters long."""
    fonts = importlib.import_module("matplotlib.font_manager")
    known = fonts.get_font(fonts.findfont("DejaVu Sans")).get_charmap()
    shown = "".join(sign if ord(sign) in known else "\N{WHITE SQUARE}" for sign in " ".join(text.split()))
    shown = shown if len(shown) <= limit else shown[: limit - 1] + "…"
    return f" {shown}" if shown.startswith("_") else shown or " "  # a legend omits labels that begin with _


def thinned(x: Numbers, y: Numbers, points: int = POINTS) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """(x, mean, least, greatest) of at most ``points`` groups of neighbours, of the finite ``y`` alone, brought within ±1e30."""
    finite = np.isfinite(y)
    x, y = x[finite], np.clip(y[finite], -GREATEST, GREATEST)
    if len(x) <= points:
        return x, y, y, y
    starts = np.linspace(0, len(x), points, endpoint=False).astype(np.int64)
    sizes = np.diff(np.append(starts, len(x)))
    means = [np.add.reduceat(values / np.repeat(sizes, sizes), starts) for values in (x, y)]
    return means[0], means[1], np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)


def smoothed(y: Numbers, share: float = 0.025) -> Numbers:
    """The mean of each value and its neighbours, a ``share`` of all values on either side; fewer towards the ends, equally on both."""
    reaches = np.minimum(int(len(y) * share), np.minimum(np.arange(len(y)), np.arange(len(y))[::-1]))
    return np.array([np.mean(y[at - reach : at + reach + 1]) for at, reach in enumerate(reaches)], np.float64)


def spans_decades(values: Numbers) -> bool:
    """Whether a logarithmic axis shows ``values`` better than a linear one."""
    return len(values) > 1 and bool(values.min() > 0) and bool(values.max() > 50 * values.min())


def step_axis(axes: Any) -> None:
    """Whole steps on the x axis, few enough to be read, thousands set apart."""
    ticker = matplotlib().ticker
    axes.set_xlabel("step")
    axes.xaxis.set_major_locator(ticker.MaxNLocator(7, steps=[1, 2, 5, 10], integer=True, min_n_ticks=1))
    axes.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))


def logarithmic(axes: Any) -> None:
    """A logarithmic y axis for what is drawn, with plain numbers, and more of them where there are few decades."""
    ticker = matplotlib().ticker
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    decades = float(np.log10(high) - np.log10(low))
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0) if decades < 3 else (1.0,), numticks=12))
    axes.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())


def legend_below(drawn: Any, axes: Any) -> None:
    """The legend of ``axes``, below everything else."""
    handles, texts = axes.get_legend_handles_labels()
    if handles:
        drawn.legend(handles, texts, loc="outside lower center", ncols=2, fontsize=8)
