"""A config's text, the places in it, and the form of its error messages: where, what, the line, a caret."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast, final

from typednn.errors import ConfigError, DataError, printable
from typednn.files import opened, path_of

LONGEST: Final = 1 << 20  # bytes of one config; a larger file is certainly something else
DEEPEST: Final = 32  # brackets in brackets, or words in one dotted key
MOST_LAYERS: Final = 4096  # of one config, nested ones included

_WIDEST = 120  # characters of a line that are shown
_MOST_SHAPES = 20


@final
@dataclass(frozen=True, slots=True)
class Place:
    """A token: line and column from 1, and its length in characters."""

    line: int
    column: int
    length: int = 1


@final
@dataclass(frozen=True, slots=True)
class Item:
    """A value and where it stands: a number, string or date, a list of items, or a table of them by key."""

    value: Any
    place: Place
    key: Place  # of the item's key; in a list, the place of the item itself

    @property
    def table(self) -> dict[str, Item] | None:
        """Its items by key, if it is a table."""
        value: object = self.value
        return cast("dict[str, Item]", value) if isinstance(value, dict) else None

    @property
    def parts(self) -> list[Item] | None:
        """Its items, if it is a list."""
        value: object = self.value
        return cast("list[Item]", value) if isinstance(value, list) else None


@final
class Source:
    """The text of one config, and its name in error messages."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.lines: list[str] = [line.removesuffix("\r") for line in text.split("\n")]

    def error(self, place: Place, message: str, shapes: Sequence[str] = ()) -> ConfigError:
        """The error about the token at ``place``; ``shapes`` is the trace of the layers before it."""
        return ConfigError(message, self.name, place.line, place.column, [*self._excerpt(place), *_trace(shapes)])

    def place_of(self, offset: int, length: int = 1) -> Place:
        """The place of a character, counted from the start of the text."""
        before = self.text[:offset]
        return Place(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1, length)

    def _excerpt(self, place: Place) -> list[str]:
        line = self.lines[place.line - 1] if place.line <= len(self.lines) else ""
        begin = place.column - 1
        end = max(begin + 1, min(begin + place.length, len(line)))
        start = max(0, begin - _WIDEST // 2) if len(line) > _WIDEST else 0
        shown, more = line[start : start + _WIDEST], "…" if start else ""
        text = "".join(character if character == "\t" or character.isprintable() else "\ufffd" for character in shown)
        padding = "".join(
            "\t" if character == "\t" else " " * _width(character) for character in more + shown[: begin - start]
        )
        caret = "^" * max(1, sum(map(_width, line[begin:end][: _WIDEST // 2])))
        return [
            f"{place.line:>6} | {more}{text}{'…' if start + _WIDEST < len(line) else ''}",
            f"{'':>6} | {padding}{caret}",
        ]


def _width(character: str) -> int:
    """The columns that a character takes in a terminal."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _trace(shapes: Sequence[str]) -> list[str]:
    more = [f"    … {len(shapes) - _MOST_SHAPES} more"] if len(shapes) > _MOST_SHAPES else []
    return ["shapes so far:", *more, *(f"    {line}" for line in shapes[-_MOST_SHAPES:])] if shapes else []


def read(path: str | os.PathLike[str]) -> Source:
    """The config in a file: UTF-8 text of at most `LONGEST` bytes."""
    name = printable(str(path_of("config.load", path)))
    try:
        with opened("config.load", path) as file:
            data = file.stream.read(min(LONGEST, file.size) + 1)
    except DataError as error:
        raise ConfigError(str(error), name) from None
    return decoded(name, data)


def decoded(name: str, data: bytes) -> Source:
    """The config in ``data``, decoded and checked to be text."""
    if len(data) > LONGEST:
        raise ConfigError(f"{name}: longer than {LONGEST:,} bytes, the most that a config can have", name)
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        source = Source(name, data.decode(errors="replace"))
        place = source.place_of(len(data[: error.start].decode()))
        raise source.error(place, f"byte {data[error.start]:#04x} is not UTF-8; save the file as UTF-8") from None
    source = Source(name, text)
    if "\0" in text:
        raise source.error(source.place_of(text.index("\0")), "a NUL byte; a config is text")
    return source
