"""The parts of a report's page: its style, and the few elements that it is made of. Every text given to them is escaped here."""

from collections.abc import Sequence
from html import escape

STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#59636e;--paper:#fff;--card:#f6f8fa;
--line:#d1d9e0;--link:#0550ae;--warn:#fff4d6}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9aa4af;--paper:#0d1117;--card:#161b22;
--line:#30363d;--link:#79b8ff;--warn:#332701}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
header,main{max-width:62rem;margin:0 auto;padding:1rem}
h1{margin:.4rem 0;font-size:1.7rem;overflow-wrap:anywhere}
h2{margin:2.2rem 0 .6rem;font-size:1.25rem;border-bottom:1px solid var(--line);padding-bottom:.2rem}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:.6rem;margin:1rem 0}
dl div{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.5rem .8rem}
dt{color:var(--soft);font-size:.85rem;overflow-wrap:anywhere}dd{margin:0;font-size:1.25rem;font-variant-numeric:tabular-nums}
nav{display:flex;flex-wrap:wrap;gap:.3rem 1rem}a{color:var(--link)}
aside{background:var(--warn);border:1px solid var(--line);border-radius:8px;padding:.2rem 1rem .6rem}
aside h2{margin:.6rem 0;border:0;font-size:1.05rem}li{overflow-wrap:anywhere}
figure{margin:1rem 0;text-align:center}figure div{overflow-x:auto}
img{max-width:max(100%,34rem);height:auto;background:#fff;border:1px solid var(--line);border-radius:8px;padding:6px}
figcaption,.note{color:var(--soft);font-size:.9rem}.note{font-style:italic;overflow-wrap:anywhere}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .8rem .25rem 0;text-align:left;border-bottom:1px solid var(--line);
vertical-align:top;overflow-wrap:anywhere;min-width:4rem}
th{color:var(--soft);font-weight:600}summary{cursor:pointer;margin:.8rem 0 .3rem;font-weight:600}
pre{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.8rem;overflow-x:auto;
font:13px/1.45 ui-monospace,Menlo,Consolas,monospace}
@media print{nav{display:none}}
"""


def section(name: str, words: str, content: str) -> tuple[str, str, str]:
    """(name, words, element): a part of the page with its heading, to which the page's top links; ``content`` is HTML."""
    return name, escape(words), f'<section id="{escape(name)}"><h2>{escape(words)}</h2>\n{content}</section>'


def note(text: str) -> str:
    """A sentence that says why something is not there."""
    return f'<p class="note">{escape(_clean(text))}</p>'


def block(text: str) -> str:
    """Text as it stands in its file."""
    return f'<pre tabindex="0">{escape(_clean(text))}</pre>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]], words: str, *, is_open: bool = True) -> str:
    """A table that can be folded away; a wide one scrolls by itself."""
    top = "".join(f'<th scope="col">{escape(_clean(cell))}</th>' for cell in head)
    lines = "\n".join("<tr>" + "".join(f"<td>{escape(_clean(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    opened = " open" if is_open else ""
    whole = f"<table><thead><tr>{top}</tr></thead><tbody>\n{lines}\n</tbody></table>"
    return f'<details{opened}><summary>{escape(_clean(words))}</summary><div class="wide">{whole}</div></details>'


def figure_of(encoded: str, words: str, meaning: str) -> str:
    """A PNG picture, given in base 64."""
    image = f'<img src="data:image/png;base64,{encoded}" alt="{escape(words)}: {escape(meaning)}">'
    return f"<figure><div>{image}</div><figcaption>{escape(meaning)}</figcaption></figure>"


def _clean(text: str) -> str:
    """``text`` without control characters, which have no meaning in HTML."""
    return "".join(
        sign if (sign >= " " and sign != "\x7f") or sign in "\n\t" else "\N{REPLACEMENT CHARACTER}" for sign in text.replace("\r\n", "\n")
    )
