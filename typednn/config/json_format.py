"""JSON as a tree of items, as `typednn.config.toml_format` gives one of TOML: the same keys, ``{"format": 1, "layer":
[{"type": …}]}``.
"""

import json
import re
from collections.abc import Callable
from json.decoder import JSONDecodeError
from typing import Any, Final, NoReturn

from typednn.config.source import DEEPEST, Item, Place, Source

_SPACE = re.compile(r"[ \t\r\n]*")
_WORD = re.compile(r"[-+.\w]+")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_DECODER: Final = json.JSONDecoder()
_WORDS: Final = {"true": True, "false": False}


def read_json(source: Source) -> dict[str, Item]:
    """The document's items by key."""
    return _Reader(source).document()


class _Reader:
    """Reads the text once, from its start; ``at`` is the next character."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text: str = source.text
        self.at = 0

    def document(self) -> dict[str, Item]:
        self.skip()
        if not self.text.startswith("{", self.at):
            self.refuse("a config is an object, {...}")
        tables = self.item(0).table or {}
        self.skip()
        if self.at < len(self.text):
            self.refuse("nothing may follow the config's last }")
        return tables

    def refuse(self, message: str, start: int | None = None) -> NoReturn:
        start = self.at if start is None else start
        raise self.source.error(self.source.place_of(start, max(1, self.at - start)), f"not JSON: {message}")

    def skip(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def item(self, depth: int, key: Place | None = None) -> Item:
        """The value that begins here; ``key`` is the place of its key."""
        self.skip()
        start = self.at
        if depth > DEEPEST:
            raise self.source.error(self.source.place_of(start), f"nested more than {DEEPEST} deep")
        opening = self.text[start : start + 1]
        value: Any = self.table(depth) if opening == "{" else self.list(depth) if opening == "[" else self.scalar(start)
        place = self.source.place_of(start, 1 if opening in ("{", "[") else self.at - start)
        return Item(value, place, key or place)

    def scalar(self, start: int) -> Any:
        if self.text.startswith('"', start):
            return self.string()
        word = _WORD.match(self.text, start)
        if word is None:
            self.refuse("expects a value" if start < len(self.text) else "ends too early")
        self.at = word.end()
        if word[0] in _WORDS:
            return _WORDS[word[0]]
        if word[0] == "null":
            self.refuse("null is no value of a config; leave the key out", start)
        if not _NUMBER.fullmatch(word[0]):
            self.refuse("expects a number, a string, true, false, a list or a table", start)
        if len(word[0]) > 1000 or (word[0].lstrip("-").isdigit() and not -(1 << 63) <= int(word[0]) < 1 << 63):
            raise self.source.error(self.source.place_of(start, self.at - start), "an integer of more than 64 bits")
        return json.loads(word[0])

    def string(self) -> str:
        start = self.at
        try:
            text, self.at = _DECODER.raw_decode(self.text, start)
        except JSONDecodeError as error:
            self.at = max(start + 1, error.pos)
            self.refuse(error.msg[:1].lower() + error.msg[1:], error.pos)
        return str(text)

    def list(self, depth: int) -> Any:
        parts: list[Item] = []
        self.series("]", lambda: parts.append(self.item(depth + 1)))
        return parts

    def table(self, depth: int) -> Any:
        items: dict[str, Item] = {}

        def pair() -> None:
            start = self.at
            if not self.text.startswith('"', start):
                self.refuse("a key is a string")
            name = self.string()
            key = self.source.place_of(start, self.at - start)
            if name in items:
                self.refuse(f"the key {name!r} stands here twice", start)
            self.skip()
            if not self.text.startswith(":", self.at):
                self.refuse("expects : after a key")
            self.at += 1
            items[name] = self.item(depth + 1, key)

        self.series("}", pair)
        return items

    def series(self, closing: str, read: Callable[[], None]) -> None:
        """What stands between brackets, separated by commas."""
        self.at += 1
        self.skip()
        if self.text.startswith(closing, self.at):
            self.at += 1
            return
        while True:
            self.skip()
            read()
            self.skip()
            mark, self.at = self.text[self.at : self.at + 1], self.at + 1
            if mark == closing:
                return
            if mark != ",":
                self.at -= 1
                self.refuse(f"expects , or {closing}" if mark else "ends too early")
