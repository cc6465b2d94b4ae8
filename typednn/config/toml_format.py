"""TOML as a tree of items: values by tomllib, places by tree-sitter. `build` knows what the keys mean."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, cast

from typednn.config.positions import Path, Places, Positions
from typednn.config.source import DEEPEST, Item, Place, Source

# Strings, comments and words are skipped whole, closed or not: brackets inside them don't count, and no character is
# read twice.
_STRING = r'"(?:\\.|[^"\\\n])*+"?' r"|'[^'\n]*+'?"
_NESTING = re.compile(
    rf"(?P<words>(?:(?:[\w-]++|{_STRING})[ \t]*+\.[ \t]*+){{{DEEPEST}}})"
    r'|"""(?:\\.|[^\\])*?(?:"""|\Z)'
    r"|'''.*?(?:'''|\Z)"
    rf"|{_STRING}"
    r"|\#[^\n]*+|[\w-]++"
    r"|(?P<opens>[\[{])|(?P<closes>[\]}])",
    re.DOTALL,
)
_TOO_LARGE = "an integer of more than 64 bits"
_WHERE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def read_toml(source: Source) -> dict[str, Item]:
    """The document's items by key."""
    _check_depth(source)
    start = Place(1, 1)
    try:
        data = _values(source)
        return _item(source, Positions(source).places, (), data, (start, start)).table or {}
    except RecursionError:  # keys of quoted words
        raise source.error(start, f"nested more than {DEEPEST} deep") from None


def _values(source: Source) -> dict[str, Any]:
    try:
        return tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        where = _WHERE.search(str(error))
        end = Place(len(source.lines), len(source.lines[-1]) + 1)
        place = Place(int(where[1]), int(where[2])) if where and where[1] else end
        raise source.error(place, f"not TOML: {_WHERE.sub('', str(error))}") from None
    except ValueError:  # a decimal with more digits than Python converts
        number = re.search(r"[0-9_]{1000,}", source.text)
        place = source.place_of(number.start(), len(number[0])) if number else Place(1, 1)
        raise source.error(place, _TOO_LARGE) from None


def _check_depth(source: Source) -> None:
    """Refuse text that would exhaust the call stack: deeply nested brackets, endless dotted keys."""
    depth = 0
    for token in _NESTING.finditer(source.text):
        depth = max(0, depth + bool(token["opens"]) - bool(token["closes"]))
        if depth > DEEPEST:
            raise source.error(source.place_of(token.start()), f"nested more than {DEEPEST} deep")
        if token["words"]:
            raise source.error(source.place_of(token.start()), f"a key of more than {DEEPEST} words")


def _item(source: Source, known: Places, path: Path, value: object, above: tuple[Place, Place]) -> Item:
    """``value`` with its places; an unknown place is that of the item around it."""
    key, place = here = known.get(path, above)
    match value:
        case dict():
            value = {
                name: _item(source, known, (*path, name), part, here)
                for name, part in cast("Mapping[str, object]", value).items()
            }
        case list():
            value = [
                _item(source, known, (*path, index), part, here)
                for index, part in enumerate(cast("Sequence[object]", value))
            ]
        case int() if not -(1 << 63) <= value < 1 << 63:
            raise source.error(place, _TOO_LARGE)
        case _:
            pass
    return Item(value, place, key)
