"""Curves as HTML: for a run's page, for pages that compare runs, and for notebooks. No package draws them, no script
runs.

A diagram is as wide as the page, up to a limit: lines stand in an SVG that is stretched, letters in one that is not.
Upright bands lie over it. The one under the pointer shows the numbers there, by a rule of CSS; where a viewer drops
styles, they are just not shown. Colours are CSS variables, ``--c0`` to ``--c5``, which a page may set for the dark.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, final

import numpy as np
import numpy.typing as npt

from typednn.charts import PALETTE, labels, spans_decades, thinned, ticks
from typednn.html import Html, escaped

_Numbers: TypeAlias = npt.NDArray[np.float64]
Points: TypeAlias = Sequence[tuple[float, float]] | _Numbers

HEIGHT = 200  # pixels
_WIDE = 1000  # units of the stretched SVG
_POINTS = 500  # of a line
_BANDS = 80
_NAMED = 24  # lines of which each has its own colour and dashes; more have colours from first to last
_READ = 12  # numbers below a pointer
_MARKED = 60  # a line of as many points has a dot for each
_NAME = 40  # characters of a line's name
_DASHES = ("", "7 3", "2 3", "7 3 2 3")
_RULES = (
    ".typednn-at{position:absolute;top:0;bottom:0}"
    ".typednn-at:hover::before{content:'';position:absolute;top:0;bottom:0;left:var(--x);border-left:1px solid}"
    ".typednn-at:hover::after{content:attr(data-at);position:absolute;top:0;left:calc(var(--x) + 8px);z-index:9;"
    "white-space:pre-wrap;width:max-content;max-width:20em;padding:.3em .5em;border:1px solid;border-radius:4px;"
    "background:Canvas;color:CanvasText;pointer-events:none;text-align:left}"
    ".typednn-at.typednn-left:hover::after{left:auto;right:calc(100% - var(--x) + 8px)}"
)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A line: (x, y) for each of its points, those that are not finite left out.

    ``colour`` is a place in the palette, by default the line's place in the diagram. ``look``: ``"pale"`` for what a
    stronger line goes through, with the least and the greatest where neighbours are grouped; ``"dots"`` for points
    alone.
    """

    name: str
    points: Points
    colour: int | None = None
    look: Literal["line", "pale", "dots"] = "line"


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """A line whose points are thinned; ``x`` and ``y`` are values, ``across`` and ``down`` their places."""

    line: Line
    place: int
    x: Any
    y: Any
    across: Any
    down: Any
    least: Any
    greatest: Any


def curves(
    lines: Mapping[str, Points] | Sequence[Line],
    along: str,
    *,
    title: str = "",
    about: str = "",
    logarithmic: bool | None = None,
    along_logarithmic: bool = False,
    above: Mapping[float, str] | None = None,
    mark: tuple[float, str] | None = None,
) -> Html:
    """Lines in one diagram over ``along``; "" where no finite point is left.

    Both axes are linear. The upright one is logarithmic where ``logarithmic`` says so; by default where all numbers are
    above 0 and they span more than a factor of 50. What is not above 0 is left out there. A line of more than 500
    points is thinned to means of neighbours.

    ``title`` stands above, ``about`` says what the curves show for those who do not see them. ``above`` are words at
    some places of the upper edge, ``mark`` is a place with a dotted red line, and what it says.
    """
    given = [Line(name, points) for name, points in lines.items()] if isinstance(lines, Mapping) else list(lines)
    tables = [np.array(line.points, np.float64).reshape(-1, 2) for line in given]
    tables = [table[np.isfinite(table).all(axis=1)] for table in tables]
    if logarithmic is None:
        logarithmic = spans_decades(np.concatenate([table[:, 1] for table in tables] or [np.empty(0)]))
    for axis, is_logarithmic in enumerate((along_logarithmic, logarithmic)):
        tables = [table[table[:, axis] > 0] for table in tables] if is_logarithmic else tables
    thin = [thinned(table[:, 0], table[:, 1], _POINTS) for table in tables]
    if not any(len(x) for x, *_ in thin):
        return Html("")
    xs = _Axis(np.concatenate([x for x, *_ in thin]), along_logarithmic, 0.0, _WIDE)
    ys = _Axis(
        np.concatenate([part for line, found in zip(given, thin, strict=True) for part in _extent(line, found)]),
        logarithmic,
        HEIGHT,
        0.0,
    )
    drawn = [
        _Drawn(line, place, x, y, xs.places(x), ys.places(y), ys.places(least), ys.places(greatest))
        for place, (line, (x, y, least, greatest)) in enumerate(zip(given, thin, strict=True))
        if len(x)
    ]
    ratio = " (logarithmic)" if logarithmic else ""
    words = ", ".join(escaped(each.line.name[:_NAME]) for each in drawn[:_NAMED])
    picture = (
        f'<svg width="100%" height="{HEIGHT}" role="img" aria-label="{escaped(title)}: {words}. {escaped(about)}" '
        'style="display:block;overflow:visible;color:inherit">'
        f"{_frame(xs, ys, along, above or {})}{_mark(xs, mark)}"
        f'<svg viewBox="0 0 {_WIDE} {HEIGHT}" width="100%" height="{HEIGHT}" preserveAspectRatio="none" '
        f'style="overflow:visible">{"".join(_stroke(each, len(given)) for each in drawn)}</svg>'
        f"{''.join(_dots(each, len(given)) for each in drawn)}</svg>"
    )
    heading = f'<div style="font-weight:600">{escaped(title)}{ratio}</div>' if title else ""
    upper = 34 if above else 10
    return Html(
        f'<div style="max-width:72em;margin:.6em 0;font:12px/1.4 system-ui,sans-serif;color:inherit">'
        f"<style>{_RULES}</style>{heading}"
        f'<div style="position:relative;height:{HEIGHT}px;margin:{upper}px 20px 40px 60px">{picture}'
        f"{_bands(drawn, along)}</div>{_legend(drawn, len(given), mark)}</div>"
    )


def _extent(line: Line, found: tuple[Any, ...]) -> list[Any]:
    """The numbers that must find room: of a pale line the least and the greatest too."""
    return [found[1], found[2], found[3]] if line.look == "pale" else [found[1]]


@final
class _Axis:
    """Where numbers lie between the places of the least and the greatest of ``every``."""

    def __init__(self, every: Any, logarithmic: bool, first: float, last: float) -> None:
        self.every, self.logarithmic, self.first, self.last = every, logarithmic, first, last
        self.low, self.high = (float(self._scale(value)) for value in (every.min(), every.max()))

    def _scale(self, values: Any) -> Any:
        return np.log10(values) if self.logarithmic else values

    def places(self, values: Any) -> Any:
        span = self.high - self.low
        scaled = self._scale(np.asarray(values, np.float64))
        share = (scaled - self.low) / span if span else 0.5 + 0 * scaled
        return self.first + (self.last - self.first) * share

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Round numbers within: their places, and how they are written."""
        whole = not self.logarithmic and bool((self.every == np.rint(self.every)).all())
        found = ticks(float(self.every.min()), float(self.every.max()), most, logarithmic=self.logarithmic, whole=whole)
        return list(zip(self.places(found).tolist(), labels(found), strict=True))


def _frame(xs: _Axis, ys: _Axis, along: str, above: Mapping[float, str]) -> str:
    parts: list[str] = []
    for at, words in ys.ticks(5):
        parts.append(
            f'<line x1="0" x2="100%" y1="{at:.1f}" y2="{at:.1f}" stroke="currentColor" stroke-opacity=".2"/>'
            f"{_text('-6', at + 4, words, 'end')}"
        )
    parts += [_text(_percent(at), HEIGHT + 16, words) for at, words in xs.ticks(5)]
    parts.append(_text("100%", HEIGHT + 32, along, "end"))
    parts += [_text(_percent(at), -4, words) for at, words in zip(xs.places([*above]), above.values(), strict=True)]
    if above:
        parts.append(_text("0", -18, "end of epoch", "start"))
    return "".join(parts)


def _mark(xs: _Axis, mark: tuple[float, str] | None) -> str:
    if mark is None:
        return ""
    at = _percent(min(max(float(xs.places(mark[0])), 0.0), _WIDE))
    style = "stroke:var(--alarm,#b00020);stroke-width:1.5;stroke-dasharray:2 3"
    return f'<line x1="{at}" x2="{at}" y1="0" y2="{HEIGHT}" style="{style}"/>'


def _stroke(drawn: _Drawn, count: int) -> str:
    """A line; of a grouped pale one, the area from the least to the greatest."""
    look = drawn.line.look
    if look == "dots":
        return ""
    if look == "pale" and (drawn.least != drawn.greatest).any():
        outline = [*_pairs(drawn.across, drawn.least), *reversed(_pairs(drawn.across, drawn.greatest))]
        return f'<polygon points="{" ".join(outline)}" style="fill:{_colour(drawn, count)};fill-opacity:.22"/>'
    dashes = _DASHES[_place(drawn) // len(PALETTE) % len(_DASHES)] if count <= _NAMED else ""
    style = f"fill:none;stroke:{_colour(drawn, count)};stroke-width:{1 if look == 'pale' else 2};stroke-linejoin:round"
    style += ";stroke-opacity:.4" if look == "pale" else ""
    style += f";stroke-dasharray:{dashes}" if dashes else ""
    points = " ".join(_pairs(drawn.across, drawn.down))
    return f'<polyline points="{points}" vector-effect="non-scaling-stroke" style="{style}"/>'


def _pairs(across: Any, down: Any) -> list[str]:
    return [f"{x:.1f},{y:.1f}" for x, y in zip(across.tolist(), down.tolist(), strict=True)]


def _dots(drawn: _Drawn, count: int) -> str:
    """A dot for each point of a line of few points, as a line through one point would be invisible."""
    if drawn.line.look != "dots" and len(drawn.x) > _MARKED:
        return ""
    return "".join(
        f'<circle cx="{_percent(x)}" cy="{y:.1f}" r="2.5" style="fill:{_colour(drawn, count)}"/>'
        for x, y in zip(drawn.across.tolist(), drawn.down.tolist(), strict=True)
    )


def _bands(drawn: Sequence[_Drawn], along: str) -> str:
    """Upright bands, each with the numbers at one place: of every line the nearest point in it, the greatest first."""
    places = np.unique(np.concatenate([each.across for each in drawn]))
    if len(places) > _BANDS:  # a band for each eightieth in which there is a point: its middle one
        parts = np.minimum(places * (_BANDS / _WIDE), _BANDS - 1).astype(np.int64)
        places = np.array([group[len(group) // 2] for group in np.split(places, np.flatnonzero(np.diff(parts)) + 1)])
    edges = np.array([0.0, *((places[1:] + places[:-1]) / 2), _WIDE])
    rows: list[list[tuple[float, float, str]]] = [[] for _ in places]
    for each in drawn:
        for band, index in _nearest(places, edges, each.across):
            rows[band].append((float(each.x[index]), float(each.y[index]), each.line.name))
    bands: list[str] = []
    for at, left, right, found in zip(places.tolist(), edges[:-1].tolist(), edges[1:].tolist(), rows, strict=True):
        if not found:  # of places that no float lies between
            continue
        said = [f"{name[:_NAME]}  {value:.4g}" for _, value, name in sorted(found, key=lambda row: -row[1])]
        more = [f"and {len(said) - _READ:,} more"] if len(said) > _READ else []
        words = "\n".join([f"{along} {labels([found[0][0]])[0]}", *said[:_READ], *more])
        side = " typednn-left" if at > _WIDE / 2 else ""
        share = 100 * (at - left) / (right - left) if right > left else 50.0
        bands.append(
            f'<i class="typednn-at{side}" data-at="{escaped(words)}" '
            f'style="left:{_percent(left)};width:{_percent(right - left)};--x:{share:.0f}%;font-style:normal"></i>'
        )
    return "".join(bands)


def _nearest(places: _Numbers, edges: _Numbers, across: _Numbers) -> list[tuple[int, int]]:
    """(band, point) for each band between two ``edges`` in which there are points: the nearest to its place."""
    inside = np.clip(np.searchsorted(edges, across, side="right") - 1, 0, len(places) - 1)
    order = np.lexsort((np.abs(across - places[inside]), inside))  # by band, the nearest first
    bands, first = np.unique(inside[order], return_index=True)
    return list(zip(bands.tolist(), order[first].tolist(), strict=True))


def _legend(drawn: Sequence[_Drawn], count: int, mark: tuple[float, str] | None) -> str:
    """A name for each line; of very many the first, the middle and the last."""
    named = drawn if count <= _NAMED else [drawn[0], drawn[len(drawn) // 2], drawn[-1]]
    keys = [(_key(each, count), each.line.name) for each in named]
    if mark is not None:
        keys.append((_line("stroke:var(--alarm,#b00020);stroke-width:2;stroke-dasharray:2 3"), mark[1]))
    if count > _NAMED:
        keys.append(("", f"{len(drawn)} lines, first to last"))
    cells = "".join(
        f'<span style="overflow-wrap:anywhere">{key} {escaped(name[: 2 * _NAME])}</span>' for key, name in keys
    )
    return f'<div style="display:flex;flex-wrap:wrap;gap:.1em 1.4em;margin-left:60px">{cells}</div>'


def _key(drawn: _Drawn, count: int) -> str:
    dashes = _DASHES[_place(drawn) // len(PALETTE) % len(_DASHES)] if count <= _NAMED else ""
    if drawn.line.look == "dots":
        circle = f'<circle cx="11" cy="5" r="2.5" style="fill:{_colour(drawn, count)}"/>'
        return f'<svg width="22" height="10" aria-hidden="true">{circle}</svg>'
    style = f"stroke:{_colour(drawn, count)};stroke-width:3" + (f";stroke-dasharray:{dashes}" if dashes else "")
    return _line(style + (";stroke-opacity:.35" if drawn.line.look == "pale" else ""))


def _line(style: str) -> str:
    return f'<svg width="22" height="10" aria-hidden="true"><line x1="0" x2="22" y1="5" y2="5" style="{style}"/></svg>'


def _place(drawn: _Drawn) -> int:
    return drawn.place if drawn.line.colour is None else drawn.line.colour


def _colour(drawn: _Drawn, count: int) -> str:
    if count > _NAMED:
        return f"hsl({270 - 210 * drawn.place / count:.0f} 60% 50%)"
    place = _place(drawn) % len(PALETTE)
    return f"var(--c{place},{PALETTE[place]})"


def _percent(at: float) -> str:
    return f"{100 * at / _WIDE:.2f}%"


def _text(x: str, y: float, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x}" y="{y:.0f}" text-anchor="{anchor}" fill="currentColor">{escaped(words)}</text>'
