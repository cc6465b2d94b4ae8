"""Byte-level byte-pair encoding: any text to tokens and back.

text → chunks, by the pattern → each byte a character → merges, the lowest rank first → tokens

A vocabulary is one file, ``tokenizer.json``, as `tokenizers` and so Hugging Face's `transformers` writes it; or two, as
GPT-2's were published: ``vocab.json``, from token to number, and ``merges.txt``, a pair of tokens per line in the order
in which they merge. Bytes 33-126, 161-172 and 174-255 are written as themselves, the other 68 as the characters from
U+0100 on, in order. A token that is no byte and that no merge makes is special: it stands for the text of its name, in
whatever characters. Patterns: "gpt2" is GPT-2's own, by Unicode categories. "seed" is an approximation by ASCII
letters, as published in a tutorial: it reads bytes, breaks words at other letters, and drops underscores; no file tells
of it. Merging and training are done by `tokenizers`, the extra ``text``. Sources: Sennrich et al. 2016, "Neural Machine
Translation of Rare Words with Subword Units"; Radford et al. 2019, section 2.2.
"""

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeGuard, final

import numpy as np

from typednn.arguments import choice, integer
from typednn.arrays import IntArray1
from typednn.errors import ArgumentError, DataError, explain, optional, shown
from typednn.files import as_list, as_object, json_of, parsed, path_of, read_object, read_utf8, write_whole

WHOLE, VOCAB, MERGES = "tokenizer.json", "vocab.json", "merges.txt"
_KEPT = [*range(33, 127), *range(161, 173), *range(174, 256)]
_OTHERS = [byte for byte in range(256) if byte not in _KEPT]
BYTES: Final = {**{byte: chr(byte) for byte in _KEPT}, **{byte: chr(256 + place) for place, byte in enumerate(_OTHERS)}}
_BYTE_OF = {character: byte for byte, character in BYTES.items()}
# What a tokenizer.json may say of the way from text to tokens: what GPT-2's does, in words of `tokenizers`. The first
# value is the rule; the others come to the same.
_FIXED: Final[Mapping[str, tuple[object, ...]]] = {
    "normalizer": (None,),
    "pre_tokenizer.type": ("ByteLevel",),
    "pre_tokenizer.add_prefix_space": (False,),
    "pre_tokenizer.use_regex": (True, None),
    "post_processor.type": (None, "ByteLevel", "TemplateProcessing"),
    "post_processor.special_tokens": ({}, None),
    "model.type": ("BPE",),
    "model.dropout": (None, 0),
    "model.continuing_subword_prefix": (None, ""),
    "model.end_of_word_suffix": (None, ""),
    "model.byte_fallback": (False, None),
    "model.ignore_merges": (False, None),
}
# And of each token that was added to those of the model.
_ADDED: Final[Mapping[str, tuple[object, ...]]] = {
    "special": (True,),
    "lstrip": (False, None),
    "rstrip": (False, None),
    "single_word": (False, None),
}
_SEED = re.compile(rb"'s|'t|'re|'ve|'m|'ll|'d| ?[a-zA-Z]+| ?[0-9]+| ?[^\s\w]+|\s+(?!\S)|\s+")


@final
class Tokenizer:
    """A vocabulary and its merges; `read_tokenizer` reads one, `train_tokenizer` makes one."""

    def __init__(
        self, vocab: dict[str, int], merges: Sequence[tuple[str, str]], pattern: Literal["gpt2", "seed"] = "gpt2"
    ) -> None:
        self.vocab: dict[str, int] = dict(vocab)
        self.merges: tuple[tuple[str, str], ...] = tuple(merges)
        self.pattern: Literal["gpt2", "seed"] = choice("Tokenizer", "pattern", pattern, ("gpt2", "seed"))
        self._names = sorted(self.vocab, key=self.vocab.__getitem__)
        if [self.vocab[name] for name in self._names] != list(range(len(self._names))):
            raise ArgumentError(
                explain("Tokenizer", "vocab must number its tokens 0, 1, 2, … without a gap", "other numbers"), "vocab"
            )
        broken = next((name for name in self._names if half_at(name) is not None), None)
        if broken is not None:
            raise ArgumentError(
                explain("Tokenizer", "vocab's tokens are whole Unicode characters", ascii(broken)[:60]), "vocab"
            )
        missing = next((byte for byte in BYTES.values() if byte not in self.vocab), None)
        if missing is not None:
            raise ArgumentError(
                explain("Tokenizer", "vocab must have a token for each of the 256 bytes", f"none for {missing!r}"),
                "vocab",
            )
        for pair in self.merges:
            unknown = next((token for token in (*pair, "".join(pair)) if token not in self.vocab), None)
            if unknown is not None:
                rule = f"merge {shown(' '.join(pair))} needs its tokens in vocab"
                raise ArgumentError(explain("Tokenizer", rule, shown(unknown)), "merges")
        library = _library("Tokenizer")
        self._model: Any = library.models.BPE(self.vocab, list(self.merges))
        self._engine: Any = library.Tokenizer(self._model)
        self._engine.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
        merged = {*BYTES.values(), *map("".join, self.merges)}
        self._special = [name for name in self._names if name not in merged]
        self._bytes = [_bytes_of(name) if name in merged else name.encode() for name in self._names]

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"Tokenizer({len(self)} tokens, pattern={self.pattern!r})"

    def encode(self, text: str, allowed_special: Collection[str] = ()) -> IntArray1:
        """Tokens of ``text``, int32. Special tokens are read as such where ``allowed_special`` names them, else as the
        text they are.
        """
        whole: object = text
        if not isinstance(whole, str):
            raise ArgumentError(explain("Tokenizer.encode", "text is a str", type(whole).__name__), "text")
        unknown = next((name for name in allowed_special if name not in self.vocab), None)
        if unknown is not None:
            rule = "allowed_special names tokens of the vocabulary"
            raise ArgumentError(explain("Tokenizer.encode", rule, shown(unknown)), "allowed_special")
        half = half_at(text)
        if half is not None:
            got = f"half of a surrogate pair at {half}"
            raise ArgumentError(explain("Tokenizer.encode", "text is whole Unicode characters", got), "text")
        tokens: list[int] = []
        longest_first = "|".join(re.escape(name) for name in sorted(allowed_special, key=len, reverse=True))
        for place, piece in enumerate(re.split(f"({longest_first})", text) if longest_first else [text]):
            tokens += [self.vocab[piece]] if place % 2 else self._encoded(piece)
        return np.array(tokens, np.int32)

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of ``tokens``; bytes that are no UTF-8, as a cut character's, become U+FFFD."""
        written = b"".join(self._bytes[token] for token in checked_tokens("Tokenizer", tokens, len(self)))
        return written.decode(errors="replace")

    def tokens(self, tokens: Iterable[int]) -> list[str]:
        """The tokens as they stand in the vocabulary: ``Ġto`` is " to"."""
        return [self._names[token] for token in checked_tokens("Tokenizer", tokens, len(self))]

    def bytes_of(self, token: int) -> bytes:
        """What one token writes; a text that is written token by token may have to wait for the rest of a character."""
        return self._bytes[checked_tokens("Tokenizer", [token], len(self))[0]]

    def save(self, folder: str | Path) -> None:
        """Write ``tokenizer.json``, which `transformers` reads too: ``PreTrainedTokenizerFast.from_pretrained``."""
        path, library = path_of("Tokenizer.save", folder) / WHOLE, _library("Tokenizer.save")
        whole = library.Tokenizer(self._model)
        whole.pre_tokenizer, whole.decoder = self._engine.pre_tokenizer, library.decoders.ByteLevel()
        whole.add_special_tokens([library.AddedToken(name, normalized=False) for name in self._special])
        write_whole(path, whole.to_str(pretty=True).encode())

    def _encoded(self, text: str) -> list[int]:
        if self.pattern == "gpt2":
            numbers: list[int] = self._engine.encode(text).ids
            return numbers
        chunks = ("".join(map(BYTES.__getitem__, chunk)) for chunk in _SEED.findall(text.encode()))
        return [token.id for chunk in chunks for token in self._model.tokenize(chunk)]


def read_tokenizer(folder: str | Path, *, pattern: Literal["gpt2", "seed"] = "gpt2") -> Tokenizer:
    """The vocabulary in ``folder``, from ``tokenizer.json``, else from ``vocab.json`` and ``merges.txt``; a `DataError`
    names the file, and the line or the key. Of a ``tokenizer.json`` only GPT-2's kind is read, byte-level pairs.
    """
    place = path_of("read_tokenizer", folder)
    added: dict[str, int] = {}
    if os.path.exists(place / WHOLE):
        vocab, merges, added = _whole(place / WHOLE)
    elif os.path.exists(place / VOCAB):
        vocab, merges = _vocab(place / VOCAB), _merges(place / MERGES)
    else:
        got = "a folder without these" if os.path.isdir(place) else "no such folder"
        raise DataError(explain(str(place), f"must hold {WHOLE}, or {VOCAB} and {MERGES}", got))
    try:
        tokenizer = Tokenizer(vocab, merges, pattern)
    except ArgumentError as error:
        if error.argument == "pattern":
            raise
        raise DataError(explain(str(place), "must hold a vocabulary and its merges", str(error))) from None
    other = next((name for name, number in added.items() if tokenizer.decode([number]) != name), None)
    if other is not None:
        rule, got = "a token that was added must be no byte, and nothing that merges make", shown(other)
        raise DataError(explain(f"{place / WHOLE}, added_tokens", rule, got))
    return tokenizer


def _vocab(path: Path) -> dict[str, int]:
    vocab = parsed(read_utf8("read_tokenizer", path).encode())
    if not _numbers(vocab):
        raise DataError(explain(str(path), "must be a JSON object of tokens and their numbers", "something else"))
    return vocab


def _merges(path: Path) -> list[tuple[str, str]]:
    merges: list[tuple[str, str]] = []
    for number, line in enumerate(read_utf8("read_tokenizer", path).split("\n"), 1):
        if number == 1 and line.startswith("#version"):
            continue
        if not line:  # ends the list
            break
        pair = _pair(line)
        if pair is None:
            rule = "must be two tokens with a space between"
            raise DataError(explain(f"{path}, line {number}", rule, ascii(line)[:60]))
        merges.append(pair)
    return merges


def _whole(path: Path) -> tuple[dict[str, int], list[tuple[str, str]], dict[str, int]]:
    """Tokens, merges, and the tokens that were added, of a ``tokenizer.json``."""
    table = read_object("read_tokenizer", path)
    for key, allowed in _FIXED.items():
        _require(f"{path}, {key}", _at(table, key), allowed)
    vocab, listed, more = _at(table, "model.vocab"), as_list(_at(table, "model.merges")), _at(table, "added_tokens")
    if not _numbers(vocab):
        rule = "must be an object of tokens and their numbers"
        raise DataError(explain(f"{path}, model.vocab", rule, json_of(vocab)))
    merges: list[tuple[str, str]] = []
    for merge in [None] if listed is None else listed:
        pair = _pair(merge)
        if pair is None:
            raise DataError(explain(f"{path}, model.merges", "must be a list of pairs of tokens", json_of(merge)))
        merges.append(pair)
    if more is not None and as_list(more) is None:
        raise DataError(explain(f"{path}, added_tokens", "must be a list of tokens", json_of(more)))
    added: dict[str, int] = {}
    for place, token in enumerate(as_list(more) or []):
        where, name, number = f"{path}, added_tokens[{place}]", _at(token, "content"), _at(token, "id")
        if not isinstance(name, str) or type(number) is not int:
            raise DataError(explain(where, "must have a content and an id", json_of(token)))
        for key, allowed in _ADDED.items():
            _require(f"{where}, {key}", _at(token, key), allowed)
        if vocab.setdefault(name, number) != number:
            raise DataError(explain(where, f"{shown(name)} has the number {vocab[name]} in model.vocab", f"{number}"))
        added[name] = number
    return vocab, merges, added


def _at(table: object, path: str) -> Any:
    """What stands in a JSON value under keys with dots between; None where there is nothing."""
    for key in path.split("."):
        table = (as_object(table) or {}).get(key)
    return table


def _require(where: str, value: object, allowed: Sequence[object]) -> None:
    if value not in allowed:
        cure = "only GPT-2's kind of tokenizer is read: byte-level BPE"
        raise DataError(explain(where, f"must be {json_of(allowed[0])}", json_of(value), cure))


def _numbers(vocab: object) -> TypeGuard[dict[str, int]]:
    """Whether a value from JSON is an object of integers."""
    table = as_object(vocab)
    return table is not None and all(type(number) is int for number in table.values())


def _pair(merge: object) -> tuple[str, str] | None:
    """Two tokens, from a list or from a text with a space between; None for anything else."""
    match merge.split(" ") if isinstance(merge, str) else merge:
        case [str(first), str(second)] if first and second:
            return first, second
        case _:
            return None


def train_tokenizer(
    texts: Iterable[str], vocab_size: int, *, special: Sequence[str] = ("<|endoftext|>",), min_frequency: int = 2
) -> Tokenizer:
    """A vocabulary of ``special``, the 256 bytes, and the pairs that are most frequent in ``texts``: up to
    ``vocab_size`` tokens.

    Merging stops early where no pair occurs ``min_frequency`` times. Of equally frequent pairs the one of smaller
    numbers merges first.
    """
    _check_special(special)
    least = 256 + len(special)
    size = integer("train_tokenizer", "vocab_size", vocab_size, least=least)
    often = integer("train_tokenizer", "min_frequency", min_frequency)
    if isinstance(texts, str):
        raise ArgumentError(
            explain("train_tokenizer", "texts are several", "a str", "give [text], or its lines"), "texts"
        )
    library = _library("train_tokenizer")
    engine = library.Tokenizer(library.models.BPE())
    engine.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = library.trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=often,
        special_tokens=list(special),
        initial_alphabet=library.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    engine.train_from_iterator(iter(texts), trainer)
    learnt = json.loads(engine.to_str())["model"]
    merges = [(first, second) for first, second in learnt["merges"]]
    usual = {*BYTES.values(), *map("".join, merges)}.intersection(special)
    if usual:
        rule, got = "a special token is no byte, and nothing that merges of the texts make", repr(min(usual))
        raise ArgumentError(explain("train_tokenizer", rule, got, "give it another name, such as <|name|>"), "special")
    return Tokenizer(learnt["vocab"], merges)


def checked_tokens(where: str, tokens: Iterable[int], count: int) -> list[int]:
    """``tokens`` as a list of integers, each of a vocabulary of ``count``."""
    numbers = np.asarray(tokens if isinstance(tokens, np.ndarray) else list(tokens))
    if numbers.size and numbers.dtype.kind not in "iu":
        raise ArgumentError(explain(where, "tokens are integers", str(numbers.dtype)), "tokens")
    wrong = numbers[(numbers < 0) | (numbers >= count)]
    if wrong.size:
        raise ArgumentError(explain(where, f"tokens are 0 to {count - 1}", str(wrong[0])), "tokens")
    listed: list[int] = numbers.ravel().tolist()
    return listed


def _library(where: str) -> Any:
    return optional("tokenizers", where, "needs the package tokenizers", "pip install 'typednn[text]'")


def _bytes_of(name: str) -> bytes:
    """The bytes that a token of merged bytes stands for, each of which is a character of its name."""
    characters = [_BYTE_OF.get(character) for character in name]
    return name.encode() if None in characters else bytes(byte for byte in characters if byte is not None)


def _check_special(special: Sequence[str]) -> None:
    for name in [special] if isinstance(special, str) else special:
        whole: object = name
        if isinstance(special, str) or not isinstance(whole, str) or not name or half_at(name) is not None:
            rule, got = (
                "special are texts, each of one character at least, of whole Unicode characters",
                ascii(whole)[:60],
            )
            raise ArgumentError(explain("train_tokenizer", rule, got, "such as special=['<|endoftext|>']"), "special")


def half_at(text: str) -> int | None:
    """Where in ``text`` half of a surrogate pair stands, which no UTF-8 can hold."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None
