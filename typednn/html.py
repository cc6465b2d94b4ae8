"""Pieces of HTML that notebooks show: tables, bars, curves, small images. Each object's ``_repr_html_`` puts some
together.

What they give is whole: styles are in the elements, curves are SVG and images are PNG in the text, so that nothing is
loaded and nothing around it is changed. Every text is escaped. Text, lines and borders have the colour of the text
around them, so that a page may be light or dark. Data, too, that are not finite, empty or very long are shown: a
notebook is where people look for such a thing.
"""

import base64
import math
import struct
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from typing import Any, TypeAlias, cast, final

import numpy as np
import numpy.typing as npt

from typednn.errors import UNSEEN

Points: TypeAlias = Sequence[tuple[float, float]]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")  # Okabe's and Ito's, seen on white and on black
_ROWS = 200  # of a table
_POINTS = 300  # of a line
_GREATEST = 1e300  # beyond it, differences overflow
_SIDE = 64  # pixels of a small image
_FAINT = "color:inherit;opacity:.7"
_LINE = "1px solid rgba(128,128,128,.4)"


@final
class Html(str):
    """HTML, which is not escaped again."""

    __slots__ = ()


def escaped(text: str) -> str:
    """``text`` for HTML, without control characters, which have no meaning there; a lone surrogate, which no file can
    hold, becomes "?".
    """
    plain = text.replace("\r\n", "\n").encode("utf-8", "replace").decode()
    return escape(UNSEEN.sub("\N{REPLACEMENT CHARACTER}", plain))


def shown(title: str, *parts: str) -> Html:
    """A title, and the parts below it."""
    return Html(
        '<div style="line-height:1.4"><div style="font-weight:600;margin:.2em '
        f'0">{_cell(title)}</div>{"".join(parts)}</div>'
    )


def facts(named: Mapping[str, object]) -> Html:
    """Names and values in one line."""
    pairs = (f'<span style="{_FAINT}">{escaped(name)}</span> {_cell(value)}' for name, value in named.items())
    return Html(f'<div style="margin:.2em 0">{" &nbsp; ".join(pairs)}</div>')


def table(head: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: Collection[str] = ()) -> Html:
    """Rows of cells under ``head``; the columns ``numbers`` are flush right. Of many rows the first 200 are shown."""
    every = list(rows)
    right = [name in numbers for name in head]
    lines = [_row("th", [*head], right, f"font-weight:600;border-bottom:{_LINE}")]
    lines += [_row("td", row, right, "") for row in every[:_ROWS]]
    more = f'<div style="{_FAINT}">and {len(every) - _ROWS:,} more rows</div>' if len(every) > _ROWS else ""
    style = "border-collapse:collapse;border:0;margin:.3em 0;font-variant-numeric:tabular-nums"
    return Html(
        f'<div style="max-height:36em;overflow:auto"><table style="{style}">{"".join(lines)}</table></div>{more}'
    )


def _row(kind: str, cells: Sequence[object], right: Sequence[bool], style: str) -> str:
    common = f"padding:.1em .9em .1em 0;border:0;white-space:pre;vertical-align:middle;color:inherit;{style}"
    sides = ("right" if flush else "left" for flush in right)
    made = (
        f'<{kind} style="text-align:{side};{common}">{_cell(cell)}</{kind}>'
        for side, cell in zip(sides, cells, strict=True)
    )
    return f'<tr style="background:none">{"".join(made)}</tr>'


def _cell(value: object) -> str:
    return value if isinstance(value, Html) else escaped(str(value))


def bar(share: float) -> Html:
    """A bar whose length is ``share`` of the longest, between 0 and 1; nothing where it is no number."""
    width = 0.0 if math.isnan(share) else 8.0 * min(max(share, 0.0), 1.0)
    return Html(f'<div style="width:{width:.2f}em;height:.7em;background:{COLOURS[0]};border-radius:2px"></div>')


def tinted(words: str, share: float) -> Html:
    """A cell whose background is the stronger the greater ``share`` is, between 0 and 1; a hundredth is seen."""
    return Html(
        '<div style="padding:0 '
        f'.3em;background:rgba(0,114,178,{0.65 * share**0.45:.2f})">{escaped(words) or "&nbsp;"}</div>'
    )


def progress(share: float, words: str, lines: Sequence[str]) -> Html:
    """A bar of which ``share`` is filled, with words beside it, and lines of text below."""
    filled = f'<div style="width:{100 * min(max(share, 0.0), 1.0):.1f}%;height:100%;background:{COLOURS[0]}"></div>'
    track = "display:inline-block;width:16em;height:.6em;margin-right:.8em;background:rgba(128,128,128,.3)"
    text = (
        f'<pre style="margin:.3em 0;background:none;color:inherit">{escaped(chr(10).join(lines))}</pre>'
        if lines
        else ""
    )
    return Html(f'<div style="white-space:pre"><div style="{track}">{filled}</div>{escaped(words)}</div>{text}')


def number(value: float) -> Html:
    """A number with four digits; one that is not finite stands out."""
    if math.isfinite(value):
        return Html(escaped(f"{value:.4g}"))
    return Html(f'<b style="color:{COLOURS[1]}">{value}</b>')


def curves(lines: Mapping[str, Points], along: str) -> Html:
    """Lines in one diagram, by name, over ``along``; logarithmic where all are above 0 and they span more than a factor
    of 50.

    Points that are not finite are left out; nothing is drawn where no point is left.
    """
    finite = {
        name: _thinned([(_within(x), _within(y)) for x, y in points if math.isfinite(x) and math.isfinite(y)])
        for name, points in lines.items()
    }
    finite = {name: points for name, points in finite.items() if points}
    if not finite:
        return Html("")
    xs, ys = ([point[axis] for points in finite.values() for point in points] for axis in (0, 1))
    logarithmic = min(ys) > 0 and max(ys) > 50 * min(ys)
    low, high = (math.log10(min(ys)), math.log10(max(ys))) if logarithmic else (min(ys), max(ys))
    left, right, top, bottom = 56.0, 470.0, 12.0, 150.0

    def place(x: float, y: float) -> str:
        height = math.log10(y) if logarithmic else y
        across = (x - min(xs)) / (max(xs) - min(xs)) if max(xs) > min(xs) else 0.5
        up = (height - low) / (high - low) if high > low else 0.5
        return f"{left + across * (right - left):.1f},{bottom - up * (bottom - top):.1f}"

    drawn: list[str] = []
    for share in (0.0, 0.5, 1.0):
        at, level = bottom - share * (bottom - top), low + share * (high - low)
        drawn.append(f'<line x1="{left}" x2="{right}" y1="{at}" y2="{at}" stroke="currentColor" stroke-opacity=".2"/>')
        drawn.append(_text(left - 6, at + 4, f"{10**level if logarithmic else level:.3g}", "end"))
    drawn.append(_text(left, bottom + 16, f"{min(xs):g}", "start"))
    drawn.append(_text(right, bottom + 16, f"{max(xs):g}" if max(xs) > min(xs) else "", "end"))
    drawn.append(_text((left + right) / 2, bottom + 16, along, "middle"))
    for index, (name, points) in enumerate(finite.items()):
        colour = COLOURS[index % len(COLOURS)]
        places = " ".join(place(x, y) for x, y in points)
        drawn.append(
            f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2" stroke-linejoin="round"/>'
        )
        if len(points) <= 30:
            drawn += [
                f'<circle cx="{at.partition(",")[0]}" cy="{at.partition(",")[2]}" r="2.5" fill="{colour}"/>'
                for at in places.split()
            ]
        drawn.append(
            f'<rect x="{left + 130 * index:.0f}" y="{bottom + 28:.0f}" width="12" height="4" fill="{colour}"/>'
        )
        drawn.append(_text(left + 130 * index + 17, bottom + 34, name[:18], "start"))
    style = "display:block;max-width:100%;color:inherit"
    return Html(
        f'<svg viewBox="0 0 480 {bottom + 42:.0f}" width="480" role="img" '
        f'aria-label="{escaped(", ".join(finite))}" style="{style}" '
        f'font-size="11" font-family="system-ui,sans-serif">{"".join(drawn)}</svg>'
    )


def _within(value: float) -> float:
    return min(max(value, -_GREATEST), _GREATEST)


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="currentColor">{escaped(words)}</text>'


def _thinned(points: Points) -> Points:
    """Points of many neighbours each where there are more than a diagram shows: their means."""
    if len(points) <= _POINTS:
        return points
    groups = np.array_split(np.asarray(points, np.float64), _POINTS)
    return [cast("tuple[float, float]", tuple(group.mean(axis=0).tolist())) for group in groups]


def images(pictures: npt.NDArray[Any], words: Sequence[object]) -> Html:
    """Small images (n, height, width, channels), one or three channels, each with words below it; of large ones every
    k-th pixel.

    Bytes are shown as they are, other numbers from their least, black, to their greatest, white.
    """
    values = np.nan_to_num(np.asarray(pictures, np.float64), posinf=0.0, neginf=0.0)
    if pictures.dtype != np.uint8:
        least = values.min(initial=np.inf)
        values = (values - least) * (255.0 / max(values.max(initial=-np.inf) - least, 1e-30))
    step = max(1, -(-max(values.shape[1:3]) // _SIDE))
    style = "display:inline-block;margin:.2em;text-align:center;font-size:.85em"
    tiles = (
        f'<figure style="{style}"><img alt="" style="width:4em;image-rendering:pixelated;background:none" '
        f'src="data:image/png;base64,{base64.b64encode(png(image)).decode()}"><figcaption>{_cell(each)}</figcaption></figure>'
        for image, each in zip(np.rint(values[:, ::step, ::step]).astype(np.uint8), words, strict=True)
    )
    return Html(f"<div>{''.join(tiles)}</div>")


def png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """Pixels (height, width, 1 or 3) as a PNG file."""
    height, width, channels = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">2I5B", width, height, 8, {1: 0, 3: 2}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
