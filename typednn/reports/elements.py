"""The elements of pages about runs, which escape all their text; and a whole page, which loads nothing."""

import base64
import hashlib
from collections.abc import Sequence

from typednn.html import escaped
from typednn.reports.page_style import page_style


def document(title: str, header: str, main: str, script: str = "", *, broad: bool = False) -> bytes:
    """A page in UTF-8, whose policy allows no address, and no script but ``script``; ``broad`` for wide tables."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = f"; script-src 'sha256-{digest}'" if script else ""
    body = '<body class="broad">' if broad else "<body>"
    page = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; style-src '
        f"'unsafe-inline'{allowed}\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" '
        'content="no-referrer">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>{escaped(title)} · typednn</title>\n'
        f"<style>{page_style()}</style>\n</head>\n{body}\n"
        f"<header><h1>{escaped(title)}</h1>{header}</header>\n<main>\n{main}\n</main>\n"
        + (f"<script>{script}</script>\n" if script else "")
        + "</body>\n</html>\n"
    )
    return page.encode("utf-8", errors="replace")


def section(name: str, words: str, content: str) -> str:
    """A part of a page under a heading."""
    return (
        f'<section id="{name}" aria-labelledby="{name}-heading"><h2 '
        f'id="{name}-heading">{escaped(words)}</h2>\n{content}</section>'
    )


def left_out(remarks: Sequence[str]) -> str:
    """What is damaged or missing, each once; "" where nothing is."""
    items = "".join(f"<li>{escaped(remark)}</li>" for remark in dict.fromkeys(remarks))
    return f"<aside><h2>Left out</h2><ul>{items}</ul></aside>" if items else ""


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
