"""Vocabularies: what turns text into tokens and back.

`Tokenizer`    pairs of bytes that were merged: `tokenizer.json` in a folder, or `vocab.json` and `merges.txt`
`Characters`   each character of a text is a token: `characters.json` in a folder (nanoGPT's vocabulary of Tiny
               Shakespeare has 65)
`TokenTable`   what each token writes, and no more: gpt.c's `tokenizer.bin`
"""

import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Protocol, TypeAlias, final

import numpy as np

from typednn.arguments import integer
from typednn.arrays import IntArray1
from typednn.data.token_files import packed, read_token_table
from typednn.data.tokenizer import VOCAB, WHOLE, Tokenizer, checked_tokens, half_at, read_tokenizer
from typednn.errors import ArgumentError, DataError, explain
from typednn.files import opened, parsed, path_of, write_whole

CHARACTERS: Final = "characters.json"
TABLE: Final = "tokenizer.bin"
END: Final = "<|endoftext|>"
_TEXTS: Final = (CHARACTERS, WHOLE, VOCAB)  # of vocabularies that read text


class Vocabulary(Protocol):
    """Text to tokens and back: `Tokenizer`, `Characters`, or your own. Tokens are 0 to ``len(vocabulary) - 1``."""

    def __len__(self) -> int: ...
    def encode(self, text: str, /) -> IntArray1: ...
    def decode(self, tokens: Iterable[int], /) -> str: ...
    def bytes_of(self, token: int, /) -> bytes: ...


@final
class Characters:
    """Each distinct character of ``text`` is a token, in the order of code points: ``Characters("hello")`` has e, h, l,
    o.
    """

    def __init__(self, text: str) -> None:
        whole: object = text
        if not isinstance(whole, str) or not text:
            got = repr(whole) if isinstance(whole, str) else type(whole).__name__
            raise ArgumentError(explain("Characters", "text is a str of one character at least", got), "text")
        self.characters: str = "".join(sorted(set(text)))
        self._points = _points(self.characters)
        half = half_at(text)
        if half is not None:
            got = f"half of a surrogate pair at {half}"
            raise ArgumentError(explain("Characters", "text is whole Unicode characters", got), "text")

    def __len__(self) -> int:
        return len(self.characters)

    def __repr__(self) -> str:
        return f"Characters({self.characters!r})" if len(self) <= 20 else f"<Characters {len(self)}>"

    def encode(self, text: str) -> IntArray1:
        """Tokens of ``text``, int32."""
        whole: object = text
        if not isinstance(whole, str):
            raise ArgumentError(explain("Characters.encode", "text is a str", type(whole).__name__), "text")
        points = _points(text)
        tokens = np.searchsorted(self._points, points).astype(np.int32)
        unknown = np.flatnonzero(self._points[np.minimum(tokens, len(self) - 1)] != points)
        if unknown.size:
            got = f"{text[unknown[0]]!r} at {unknown[0]}"
            cure = f"the vocabulary has the {len(self)} characters of its own text only"
            raise ArgumentError(
                explain("Characters.encode", "text is of the vocabulary's characters", got, cure), "text"
            )
        return tokens

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of ``tokens``."""
        return "".join(self.characters[token] for token in checked_tokens("Characters", tokens, len(self)))

    def bytes_of(self, token: int) -> bytes:
        """What one token writes, in UTF-8."""
        return self.decode([token]).encode()

    def save(self, folder: str | Path) -> None:
        """Write ``characters.json``."""
        write_whole(
            path_of("Characters.save", folder) / CHARACTERS, json.dumps({"characters": self.characters}).encode()
        )


@final
class TokenTable:
    """gpt.c's vocabulary: what each token writes, and the token ``end`` of a text. It has no merges, so its texts are
    lists of tokens.
    """

    def __init__(self, table: Sequence[bytes], end: int) -> None:
        self.table: tuple[bytes, ...] = tuple(table)
        self.end: int = integer("TokenTable", "end", end, least=0)
        if self.end >= len(self.table):
            raise ArgumentError(explain("TokenTable", f"end is one of the {len(self.table)} tokens", f"{end}"), "end")
        self._content = packed("TokenTable", "table", self.table, self.end)

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return f"<TokenTable {len(self)}>"

    def encode(self, text: str) -> IntArray1:
        """The tokens of a list, such as ``[50256, 8643]``."""
        try:
            return tokens_in("tokenizer.bin", text, len(self))
        except ArgumentError as error:
            cure = "for text give a folder with tokenizer.json, or with vocab.json and merges.txt"
            raise ArgumentError(f"{error}; a table of tokens reads no text: {cure}", "text") from None

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of ``tokens``; bytes that are no UTF-8 become U+FFFD."""
        return b"".join(self.table[token] for token in checked_tokens("tokenizer.bin", tokens, len(self))).decode(
            errors="replace"
        )

    def bytes_of(self, token: int) -> bytes:
        """What one token writes."""
        return self.table[checked_tokens("tokenizer.bin", [token], len(self))[0]]

    def save(self, folder: str | Path) -> None:
        """Write ``tokenizer.bin``."""
        write_whole(path_of("TokenTable.save", folder) / TABLE, self._content)


# Those that a folder can hold.
Stored: TypeAlias = Tokenizer | Characters | TokenTable


def read_vocabulary(folder: str | Path) -> Stored:
    """The vocabulary in ``folder``: ``characters.json`` where there is one, else ``tokenizer.json``, or ``vocab.json``
    and ``merges.txt``, else ``tokenizer.bin``.

    Also of such a ``tokenizer.bin`` alone, by its own name.
    """
    place = path_of("read_vocabulary", folder)
    path = place / CHARACTERS
    alone = os.path.isfile(place)
    if alone or (os.path.exists(place / TABLE) and not any(os.path.exists(place / name) for name in _TEXTS)):
        return TokenTable(*read_token_table(place if alone else place / TABLE))
    if not os.path.exists(path):
        return read_tokenizer(folder)
    with opened("read_vocabulary", path) as file:
        content = parsed(bytes(file.exactly(file.stream, file.size)))
    text = (content or {}).get("characters")
    try:
        vocabulary = Characters(text) if isinstance(text, str) else None
    except ArgumentError as error:
        raise DataError(explain(str(path), "must hold the characters of a vocabulary", str(error))) from None
    if vocabulary is None or vocabulary.characters != text:
        rule = 'must be {"characters": "…"}, each character once, in the order of code points'
        raise DataError(explain(str(path), rule, "something else"))
    return vocabulary


def holds_vocabulary(folder: Path) -> bool:
    """Whether `read_vocabulary` finds one there."""
    return any(os.path.isfile(folder / name) for name in (*_TEXTS, TABLE))


def tokens_in(where: str, text: str, count: int) -> IntArray1:
    """The tokens that ``[50256, 8643]`` lists, each of a vocabulary of ``count``."""
    listed = text.strip()
    inner = listed[1:-1].strip() if listed.startswith("[") and listed.endswith("]") else listed
    words = re.split(r"\s*,\s*|\s+", inner) if inner else []
    wrong = next((word for word in words if not re.fullmatch(r"[+-]?[0-9]{1,18}", word)), None)
    if wrong is not None:
        raise ArgumentError(explain(where, "tokens are whole numbers, such as [50256, 8643]", repr(wrong[:80])))
    return np.array(checked_tokens(where, map(int, words), count), np.int32)


def token_of(vocabulary: Vocabulary, text: str) -> int | None:
    """The one token that writes exactly ``text``, such as ``<|endoftext|>``; None where there is none."""
    if isinstance(vocabulary, Tokenizer):
        return vocabulary.vocab.get(text)
    if isinstance(vocabulary, TokenTable) and text == END:
        return vocabulary.end
    return next((token for token in range(len(vocabulary)) if vocabulary.bytes_of(token) == text.encode()), None)


def prompt_tokens(where: str, vocabulary: Vocabulary, text: str, end: int | None) -> IntArray1:
    """The tokens of ``text``, in which <|endoftext|> is the token ``end``; of no text, that token alone."""
    if not text:
        if end is None:
            rule = f"a text begins with a prompt, or with {END}"
            cure = "give a prompt of one character at least"
            raise ArgumentError(explain(where, rule, "a vocabulary without it", cure))
        return np.array([end], np.int32)
    first, *others = [vocabulary.encode(part) for part in ([text] if end is None else text.split(END))]
    return np.concatenate([first, *(array for other in others for array in (np.array([end], np.int32), other))])


def _points(text: str) -> IntArray1:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
