"""Texts: what a language model learns from, with the vocabulary that turns it into tokens.

--data            a text file; a folder of .txt files, joined in the order of their names; "tinyshakespeare"; a folder
                  with the shards of TinyStories; or tokens: a .bin file (`typednn.data.read_tokens`), or a folder with
                  train.bin and val.bin
vocabulary        "characters"  each character of the text is a token
                  "gpt2"        GPT-2's 50,257 tokens; its files are found or downloaded as data sets are
                  "nina"        byte pairs learned from the cleaned text, up to 30,000 tokens, 19 of them special
                  FOLDER        the vocabulary in a folder, or a file tokenizer.bin, which reads tokens only
tokens            what a .bin file holds; "auto" looks at it: numbers that say their count are uint64; else it is int32
                  where that gives tokens of the vocabulary; else uint16, as nanoGPT has it, where that does, unless
                  half of every second number is 0, as in a file of int32 with another vocabulary

The end of the text, a share of it, is held out for the validation. Where nothing is held out, the validation is its
last tenth, which was learned. Tokens in files are mapped, not read, and may be larger than memory.
"""

import os
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from typednn.data import (
    Characters,
    TokenTable,
    read_tiny_stories,
    read_tokens,
    read_vocabulary,
    source_folder,
    train_tokenizer,
)
from typednn.data.text import TOKENS
from typednn.data.tiny_stories import shards_in
from typednn.data.token_files import Kind
from typednn.data.vocabulary import Stored
from typednn.errors import ArgumentError, DataError, explain
from typednn.files import opened, path_of, read_utf8
from typednn.recipes.recipe import TokensName
from typednn.recipes.samples import Samples

TINY_SHAKESPEARE: Final = "tinyshakespeare"
VOCABULARIES: Final = ("characters", "gpt2", "nina")
_NAMED = ("user", "bot", "action", "emotion", "thought", "narration", "location", "info")
SPECIAL: Final = ("<|endoftext|>", "<pad>", "<unk>", *(f"<{end}{name}>" for name in _NAMED for end in ("", "/")))
NINA_SIZE: Final = 30_000  # at most; Tiny Shakespeare has pairs for 12,729
_LOOKED_AT = 1 << 22  # bytes of a file of tokens
_PLAIN = {
    "\u2018": "'",
    "\u2019": "'",
    "\u201c": '"',
    "\u201d": '"',
    "\u2013": "-",
    "\u2014": "-",
    "\ufeff": "",
    "\r\n": "\n",
    "\r": "\n",
}


def load_text(
    name: str,
    vocabulary: str,
    share: float,
    announce: Callable[[str], object] | None = None,
    *,
    kind: TokensName = "auto",
) -> Samples:
    """The text or tokens of that name, with ``share`` of it, its end, held out.

    ``kind`` is what a file of tokens holds. ``announce`` is told of a download, and of what a file was taken for.
    """
    path = path_of("--data", name)
    if name != TINY_SHAKESPEARE and not os.path.exists(path):
        cure = f"such as --data input.txt, or {TINY_SHAKESPEARE}"
        raise ArgumentError(
            explain("--data", "expects a text, a file of tokens or a folder of either", repr(name), cure)
        )
    if path.suffix.lower() == ".bin" or (path / "train.bin").is_file():
        coder = _vocabulary(vocabulary, None, announce)
        if path.is_dir():
            train, test = (_tokens(path / part, coder, kind, announce) for part in ("train.bin", "val.bin"))
            return _samples(name, train, test, coder)
        return _samples(name, *_parts(_tokens(path, coder, kind, announce), share), coder)
    if path.is_dir() and shards_in(path):
        coder = _vocabulary(
            vocabulary, None, announce, "stories begin with <|endoftext|>, which a vocabulary must have"
        )
        return _samples(name, *read_tiny_stories(path, coder), coder)
    text = _text(path if name != TINY_SHAKESPEARE else _source(name, announce) / "input.txt")
    text = cleaned(text) if vocabulary == "nina" else text
    if not text:
        raise DataError(explain(name, "must hold a text", "an empty one"))
    coder = _vocabulary(vocabulary, text, announce)
    if isinstance(coder, TokenTable):
        got, cure = (
            "gpt.c's table, which reads no text",
            "give the folder with tokenizer.json, or with vocab.json and merges.txt, or files of tokens",
        )
        raise ArgumentError(
            explain("vocabulary", f"{name} is a text, and needs one that makes tokens of it", got, cure)
        )
    train, test = (coder.encode(part).astype(TOKENS, copy=False) for part in _parts(text, share))
    return _samples(name, train, test, coder)


def cleaned(text: str) -> str:
    """``text`` in NFKC, of printable characters, with plain quotes and dashes, single blanks, and at most one empty
    line in a row.
    """
    text = unicodedata.normalize("NFKC", text)
    for odd, plain in _PLAIN.items():
        text = text.replace(odd, plain)
    text = "".join(character for character in text if character == "\n" or character.isprintable())
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[^\S\n]+", " ", text)).strip()


def _parts(whole: Any, share: float) -> tuple[Any, Any]:
    """A text or tokens without their end, a ``share`` of them, and the end."""
    held = int(len(whole) * (1.0 - (share or 0.1)))
    return whole[:held] if share else whole, whole[held:]


def _samples(name: str, train: Any, test: Any, coder: Stored) -> Samples:
    return Samples(Path(name).name, name, train, train, test, test, vocabulary=coder)


def _vocabulary(
    vocabulary: str,
    text: str | None,
    announce: Callable[[str], object] | None,
    why: str = "files of tokens need the vocabulary that made them",
) -> Stored:
    if vocabulary in ("characters", "nina") and text is None:
        cure = "--set vocabulary=gpt2, or the folder that has it"
        raise ArgumentError(explain("vocabulary", why, repr(vocabulary), cure))
    if vocabulary == "characters":
        return Characters(text or "")
    if vocabulary == "nina":
        return train_tokenizer((text or "").splitlines(keepends=True), NINA_SIZE, special=SPECIAL)
    return read_vocabulary(_source("gpt2-bpe", announce) if vocabulary == "gpt2" else vocabulary)


def _source(name: str, announce: Callable[[str], object] | None) -> Path:
    try:
        return source_folder(name, download=False)
    except DataError:
        if announce is not None:
            announce(f"{name} is not on this machine: fetching it from the network")
        return source_folder(name)


def _tokens(path: Path, coder: Stored, kind: TokensName, announce: Callable[[str], object] | None) -> Any:
    """The tokens of a file, each of the vocabulary; int32 and uint16 are mapped."""
    found: Kind = _kind(path, len(coder)) if kind == "auto" else kind
    tokens = read_tokens(path, found)
    for token in (tokens.min(), tokens.max()):
        if not 0 <= token < len(coder):
            rule, got = f"the vocabulary has tokens 0 to {len(coder) - 1}", f"token {token}"
            cure = "another vocabulary made these tokens" if kind == "auto" else f"it was read as {kind}"
            raise DataError(explain(str(path), rule, got, cure))
    if announce is not None and found == "uint16" and kind == "auto":
        announce(f"{path}: read as uint16, as nanoGPT has it; --set tokens=int32 reads it otherwise")
    return tokens if found == "uint16" else tokens.astype(TOKENS, copy=False)


def _kind(path: Path, count: int) -> Kind:
    """What the numbers at the beginning of a file are: see above."""
    with opened("load_text", path) as file:
        size, start = file.size, bytes(file.stream.read(_LOOKED_AT))
    if size % 8 == 0 and int.from_bytes(start[:8], "little") == size // 8 - 1:
        return "uint64"
    halves = np.frombuffer(start[: len(start) // 2 * 2], "<u2")
    words = np.frombuffer(start[: len(start) // 4 * 4], "<i4")
    if size % 4 == 2:
        return "uint16"
    if size % 2 or not len(halves) or halves.max() >= count or (words.min() >= 0 and words.max() < count):
        return "int32"
    if 2 * np.count_nonzero(halves[1::2]) <= len(halves[1::2]):
        rule, got = (
            "must be tokens of the vocabulary in int32, or in uint16",
            "what may be either, of another vocabulary",
        )
        raise DataError(explain(str(path), rule, got, "--set tokens=int32 or tokens=uint16 says which it is"))
    return "uint16"


def _text(path: Path) -> str:
    """The text of a file, or of the ``.txt`` files in a folder."""
    if path.is_dir():
        files = sorted(path.glob("*.txt"))
        if not files:
            raise DataError(explain(str(path), "must hold .txt files, or train.bin and val.bin", "none of these"))
        return "".join(map(_text, files))
    return read_utf8("load_text", path)
