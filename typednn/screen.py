"""Text on a screen: how many columns there are, lines broken at blanks, tables. Imports nothing that is slow."""

import itertools
import os
import re
import sys
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, TextIO

_LEAST = 40  # columns of a screen; a narrower one is not filled
_WORDS = 60  # characters of a value in a short repr
_SEVERAL: Any = tuple, list, dict
_PLAIN: Any = str, int, float, *_SEVERAL
_NARROW = 12  # columns that a text keeps in a table


def screen_width(stream: TextIO | None = None) -> int | None:
    """How many columns there are: those that ``COLUMNS`` says, else those of the terminal that ``stream`` is, standard
    output by default. None where output goes to a file or a pipe, which has no width.
    """
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said):
        return max(int(said), _LEAST)
    try:
        own = sys.stdout if stream is None else stream
        return max(os.get_terminal_size(own.fileno()).columns, _LEAST) if own.isatty() else None
    except (AttributeError, OSError, ValueError):  # a closed stream, or one without a descriptor, as in a notebook
        return None


def shortened(text: str, most: int) -> str:
    """``text`` in at most ``most`` columns, its end cut off."""
    return text if len(text) <= most else f"{text[: max(most, 2) - 1]}…"


def wrapped(text: str, width: int | None) -> str:
    """``text`` with lines of at most ``width`` columns, broken at blanks alone: no word, and so no path, is broken.

    What goes on stands below its line: below what follows a gap of two blanks or more, where there is room.
    """
    return "\n".join(part for line in text.split("\n") for part in _broken(line, width))


def _broken(line: str, width: int | None) -> list[str]:
    if width is None or len(line) <= width:
        return [line]
    start = re.match(r"\s*(?:\S+(?: \S+)*\s{2,})?", line)
    indent = 0 if start is None else start.end()
    if indent > width * 0.6:  # the explanation of something long: below it
        first, rest = line[:indent].rstrip(), line[indent:]
        return [first, *_filled(rest, "      ", "      ", width)]
    return _filled(line[indent:], line[:indent], " " * (indent or 2), width)


def _filled(text: str, first: str, rest: str, width: int) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def columns(rows: Sequence[Sequence[str]], right: Collection[int] = (), width: int | None = None) -> list[str]:
    """Rows of texts as lines, in columns two blanks apart; those in ``right``, from 0, end below each other.

    Where ``width`` is less than they take, texts of the widest column are broken at blanks, then of the next.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for place in sorted(range(len(widths)), key=lambda place: -widths[place]):
        excess = sum(widths) + 2 * (len(widths) - 1) - (width or sys.maxsize)
        if excess > 0 and place not in right:
            least = max(len(word) for row in rows for word in (row[place].split() or [""]))
            widths[place] = min(widths[place], max(widths[place] - excess, least, _NARROW))
    lines: list[str] = []
    for row in rows:
        cells = [_cell(text, room) for text, room in zip(row, widths, strict=True)]
        for texts in itertools.zip_longest(*cells, fillvalue=""):
            placed = enumerate(zip(texts, widths, strict=True))
            padded = [text.rjust(room) if place in right else text.ljust(room) for place, (text, room) in placed]
            lines.append("  ".join(padded).rstrip())
    return lines


def _cell(text: str, room: int) -> list[str]:
    if len(text) <= room:
        return [text]
    indent = text[: len(text) - len(text.lstrip())]
    return _filled(text.lstrip(), indent, indent + " ", room)


def brief(thing: Any) -> str:
    """A dataclass as the call that makes it, in a line or two: arrays by dtype and shape, fields that have their
    default left out.
    """
    shown = [each.name for each in fields(thing) if each.repr and not _is_default(getattr(thing, each.name), each)]
    return as_call(type(thing).__name__, {name: getattr(thing, name) for name in shown})


def _is_default(value: Any, field: Field[Any]) -> bool:
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return value is default or (isinstance(value, _PLAIN) and type(value) is type(default) and bool(value == default))


def as_call(name: str, arguments: Mapping[str, Any]) -> str:
    """``Loader(x=float32 (60000, 784), batch_size=32)``."""
    return f"{name}({', '.join(f'{key}={_short(value)}' for key, value in arguments.items())})"


def _short(value: Any) -> str:
    """A value in a few words: of many, how many there are."""
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{value.dtype} {tuple(value.shape)}"
    text = " ".join(repr(value).split())
    if len(text) <= _WORDS:
        return text
    if isinstance(value, _SEVERAL):
        return f"<{len(value)} of them>"
    if is_dataclass(value):
        return text if len(text) <= 2 * _WORDS else f"{type(value).__name__}(…)"
    inner = getattr(value, "func", value)  # of a partial
    if callable(inner):
        return str(getattr(inner, "__qualname__", type(inner).__name__))
    return shortened(text, _WORDS)
