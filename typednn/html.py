"""Pieces of HTML that notebooks show: tables, bars, small images. Each object's ``_repr_html_`` puts some together;
curves are those of `typednn.curves`.

What they give is whole: styles are in the elements, images are PNG in the text, so that nothing is loaded and nothing
around it is changed. Every text is escaped. Text, lines and borders have the colour of the text
around them, so that a page may be light or dark. Data, too, that are not finite, empty or very long are shown: a
notebook is where people look for such a thing.
"""

import base64
import math
import struct
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from typing import Any, final

import numpy as np
import numpy.typing as npt

from typednn.charts import PALETTE, opacity
from typednn.errors import UNSEEN

_ROWS = 200  # of a table
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
    return Html(f'<div style="width:{width:.2f}em;height:.7em;background:{PALETTE[0]};border-radius:2px"></div>')


def tinted(words: str, share: float) -> Html:
    """A cell whose background is the stronger the greater ``share`` is, between 0 and 1; a hundredth is seen."""
    return Html(
        '<div style="padding:0 '
        f'.3em;background:rgba(0,114,178,{0.65 * opacity(share):.2f})">{escaped(words) or "&nbsp;"}</div>'
    )


def progress(share: float, words: str, lines: Sequence[str]) -> Html:
    """A bar of which ``share`` is filled, with words beside it, and lines of text below."""
    filled = f'<div style="width:{100 * min(max(share, 0.0), 1.0):.1f}%;height:100%;background:{PALETTE[0]}"></div>'
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
    return Html(f'<b style="color:{PALETTE[1]}">{value}</b>')


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
