"""The pictures of the design: docs/images/floors.svg and call.svg, by `python -m website.pictures`.

The floors are those of the import contract in pyproject.toml. The steps of a call name files that there are. A test
compares the pictures with what this makes of them.
"""

import tomllib
from collections.abc import Sequence
from html import escape
from textwrap import wrap

from website.staging import REPOSITORY

IMAGES = REPOSITORY / "docs" / "images"

# The floors by name, highest first, as docs/design.md has them.
FLOORS = (
    "commands",
    "recipes",
    "training",
    "runs",
    "models",
    "parts",
    "module",
    "arithmetic",
    "contracts",
    "basics",
)

# The steps of `model.forward(x)` in mode "cached": the file, and what it does.
CALL = (
    ("module/calls.py", "Is the kind of x known? Code made from the annotations compares the sizes"),
    ("contracts/checks.py", "If the kind is new or a size does not fit: beartype and jaxtyping check all of it"),
    ("layers/linear.py", "forward keeps x, and calls an op"),
    ("kernels/op.py", "The first engine that supports the arrays computes: a compiled kernel, BLAS, CUDA, or NumPy"),
    ("module/calls.py", "Is the result what the annotation of forward says? Its kind is recorded for backward"),
)

# The picture has its own ground, so that it is legible on any page; it follows the system's light or dark.
_STYLE = """\
  <style>
    .ground { fill: #ffffff; } .box { fill: #e8f1f8; stroke: #0072b2; } .arrow { stroke: #0072b2; fill: none; }
    .name { fill: #003a5c; font-weight: 600; } .said { fill: #333333; }
    @media (prefers-color-scheme: dark) {
      .ground { fill: #1e2129; } .box { fill: #20303d; stroke: #56b4e9; } .arrow { stroke: #56b4e9; }
      .name { fill: #bfe2f7; } .said { fill: #d8d8d8; }
    }
    text { font: 15px system-ui, sans-serif; } .mono { font: 14px ui-monospace, monospace; }
  </style>
"""
_WIDTH, _LINE, _GAP, _CHARACTER = 860, 21, 16, 8  # pixels


def contract() -> list[list[str]]:
    """The modules of each floor, as the import contract has them."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    (floors,) = (each for each in project["tool"]["importlinter"]["contracts"] if each["id"] == "floors")
    return [floor.replace(":", "|").replace(" ", "").split("|") for floor in floors["layers"]]


def floors() -> str:
    """The floors on top of each other: a file imports only from below."""
    rows = [(name, ", ".join(modules)) for name, modules in zip(FLOORS, contract(), strict=True)]
    return _picture(
        "The floors of typednn, highest first; a file imports only from the floors below its own", rows, 130
    )


def call() -> str:
    """The files through which one call goes."""
    return _picture("The way of one call, model.forward(x), from top to bottom", CALL, 200)


def _picture(title: str, rows: Sequence[tuple[str, str]], indent: int) -> str:
    """A box for each row, with an arrow to the next: a name, and ``indent`` to the right what is said of it."""
    parts, top = list[str](), _GAP
    for name, words in rows:
        lines = wrap(words, (_WIDTH - indent - 80) // _CHARACTER)
        height = _LINE * len(lines) + 20
        middle = top + height / 2 + 5  # of the letters
        if parts:
            parts.append(
                f'  <path class="arrow" d="M {_WIDTH // 2} {top - _GAP} v {_GAP - 2} m -5 -5 l 5 5 l 5 -5"/>\n'
            )
        parts.append(f'  <rect class="box" x="20" y="{top}" width="{_WIDTH - 40}" height="{height}" rx="6"/>\n')
        parts.append(f'  <text class="name mono" x="36" y="{middle:g}">{escape(name)}</text>\n')
        for place, line in enumerate(lines):
            y = middle + _LINE * (place - (len(lines) - 1) / 2)
            parts.append(f'  <text class="said" x="{36 + indent}" y="{y:g}">{escape(line)}</text>\n')
        top += height + _GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top}" role="img">\n'
        f"  <title>{escape(title)}</title>\n{_STYLE}"
        f'  <rect class="ground" width="{_WIDTH}" height="{top}" rx="8"/>\n{"".join(parts)}</svg>\n'
    )


PICTURES = {"floors.svg": floors, "call.svg": call}

if __name__ == "__main__":
    for file, drawn in PICTURES.items():
        (IMAGES / file).write_text(drawn(), encoding="utf-8")
