"""The base of all pictures: matplotlib imported on demand, colours for colour-blind readers too, reproducible bytes.

A picture is drawn for a medium: `FILE` is a PNG on white paper. `PAGE` and `PHONE` are SVG without paper, for wide and
for narrow screens; their colours are CSS variables with two values, so that the same picture is readable in the light
and in the dark.

Figures are made directly on the Agg canvas: no window, no global figure, and the user's ``matplotlibrc`` has no effect.
Its points, ticks, numbers and eight colours are those of `typednn.charts`.
"""

import importlib
import io
import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

from typednn.charts import PALETTE as HUES
from typednn.charts import labels, ticks
from typednn.errors import optional

# no pure white and black: SVG files have others of them
INK, PAPER, GRID, ALARM = "#1b1f24", "#fffffe", "#dddddd", "#b00020"
PALETTE = (*HUES, INK)
STYLES = ("-", "--", ":", "-.")
CELL = "#010101"  # numbers in cells of a matrix, which are `STRONG` on white or on black paper, more or less opaque
POSITIVE, NEGATIVE = "#7a5bd0", "#d06a00"  # weights; the nearer to zero, the less opaque
STRONG, ON_STRONG, HALF = "#0b5cad", "#ffffff", 0.82  # beyond this opacity of a cell its number is white
# What a colour is in the dark. Light colours are those that are drawn.
DARK = {
    INK: "#e6edf3",
    PAPER: "#0d1117",
    GRID: "#30363d",
    ALARM: "#ff7b8a",
    CELL: "#e6edf3",
    **dict(zip(HUES, ("#58a6e0", "#f0883e", "#2fbf95", "#e19ac5", "#f2b33d", "#9ad4f5"), strict=True)),
}
POINTS = 1000
_SETTINGS: dict[str, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11.0,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "text.parse_math": False,
    "svg.hashsalt": "typednn",  # the same names in the same picture
}


@final
@dataclass(frozen=True, slots=True)
class Medium:
    """What a picture is drawn for: a file ``kind``, and how wide it may be in inches."""

    kind: str
    width: float

    @property
    def narrow(self) -> bool:
        """Whether things have to stand below each other."""
        return self.width < 6.0


FILE, PAGE, PHONE = Medium("png", 14.0), Medium("svg", 14.0), Medium("svg", 3.6)


def matplotlib() -> Any:
    """The package, without pyplot; `MissingExtra` where it is not installed."""
    return optional(
        "matplotlib",
        "typednn.reports.plots",
        "pictures need the package matplotlib",
        "install it with: pip install 'typednn[plots]'",
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
    """A figure of ``width`` x ``height`` inches on the Agg canvas, which arranges its parts so that none overlap; and
    its subplots.

    ``grid`` and ``options`` are those of matplotlib's ``Figure.subplots``.
    """
    drawn = importlib.import_module("matplotlib.figure").Figure(figsize=(width, height), dpi=150, layout="constrained")
    importlib.import_module("matplotlib.backends.backend_agg").FigureCanvasAgg(drawn)
    return drawn, drawn.subplots(*grid, **options)


def rendered(drawn: Any, medium: Medium) -> bytes:
    """``drawn`` as the bytes of a PNG or an SVG file: the same figure gives the same bytes, as neither date nor version
    is written.
    """
    stream = io.BytesIO()
    if medium.kind == "png":
        drawn.savefig(stream, format="png", metadata={"Software": None})
        return stream.getvalue()
    drawn.savefig(stream, format="svg", transparent=True, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    return _themed(stream.getvalue().decode()).encode()


def _themed(svg: str) -> str:
    """``svg`` with a CSS variable in the place of each colour of `DARK`, and the variables' values in the light and in
    the dark.
    """
    names = {colour: f"--c{place}" for place, colour in enumerate(DARK)}
    styled = re.sub(r"#[0-9a-f]{6}\b", lambda found: f"var({names[found[0]]})" if found[0] in names else found[0], svg)
    light = "".join(f"{name}:{colour};" for colour, name in names.items())
    dark = "".join(f"{name}:{DARK[colour]};" for colour, name in names.items())
    rules = (
        f"<style>:root{{color-scheme:light dark;{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}</style>"
    )
    return re.sub(r"(<svg [^>]*>)", lambda found: found[1] + rules, styled, count=1)


def label(text: str, limit: int = 24) -> str:
    """``text`` in one line that the font can show, at most ``limit`` characters long."""
    fonts = importlib.import_module("matplotlib.font_manager")
    known = fonts.get_font(fonts.findfont("DejaVu Sans")).get_charmap()
    shown = "".join(sign if ord(sign) in known else "\N{WHITE SQUARE}" for sign in " ".join(text.split()))
    shown = shown if len(shown) <= limit else shown[: limit - 1] + "…"
    return f" {shown}" if shown.startswith("_") else shown or " "  # a legend omits labels that begin with _


def scaled_axis(axes: Any, name: str, most: int, *, logarithmic: bool = False, whole: bool = False) -> None:
    """The scale and the ticks of an axis, ``"x"`` or ``"y"``, of what is drawn: about ``most`` of them."""
    axis = getattr(axes, f"{name}axis")
    getattr(axes, f"set_{name}scale")("log" if logarithmic else "linear")
    low, high = sorted(getattr(axes, f"get_{name}lim")())
    places = ticks(low, high, most, logarithmic=logarithmic, whole=whole)
    axis.set_ticks(places, labels(places))
    axis.set_minor_formatter(matplotlib().ticker.NullFormatter())


def step_axis(axes: Any) -> None:
    """Whole steps on the x axis, few enough to be read."""
    axes.set_xlabel("step")
    scaled_axis(axes, "x", 7, whole=True)


def legend_below(drawn: Any, axes: Any) -> None:
    """The legend of ``axes``, below everything else."""
    handles, texts = axes.get_legend_handles_labels()
    if handles:
        drawn.legend(handles, texts, loc="outside lower center", ncols=2, fontsize=8)
