"""The elements of a run's page, which escape all their text."""

import base64
from collections.abc import Sequence

from typednn.html import escaped


def note(text: str) -> str:
    """A sentence that says why something is not there."""
    return f'<p class="note">{escaped(text)}</p>'


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], words: str, *, is_open: bool = True, kind: str = "numbers"
) -> str:
    """A table that can be folded away; a wide one has its own scroll bar.

    In a ``kind`` of ``words`` lines are broken in all cells, in one of ``names`` in the first column.
    """
    top = "".join(f'<th scope="col">{escaped(cell)}</th>' for cell in head)
    lines = "\n".join("<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f"<details{' open' if is_open else ''}><summary>{escaped(words)}</summary>"
        f'<div class="wide" tabindex="0" role="region" aria-label="{escaped(words)}">'
        f'<table class="{kind}"><thead><tr>{top}</tr></thead><tbody>\n{lines}\n</tbody></table></div></details>'
    )


def figure(content: str, meaning: str, name: str) -> str:
    """A picture with a sentence below it."""
    return f'<figure id="{name.partition(".")[0]}-figure">{content}<figcaption>{escaped(meaning)}</figcaption></figure>'


def data_uri(content: bytes, kind: str) -> str:
    """A picture within the page."""
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"
