"""The command that turns text into tokens and back: tokens; and how the commands read a vocabulary and a list of tokens."""

import re
from argparse import Namespace
from collections.abc import Iterable
from typing import Final, final

import numpy as np

from typednn.arrays import IntArray1
from typednn.cli.output import say
from typednn.data import Vocabulary, read_token_table, read_tokenizer, read_vocabulary, write_token_table, write_tokens
from typednn.data.tokenizer import checked_tokens
from typednn.data.vocabulary import token_of
from typednn.errors import ArgumentError, DataError, explain
from typednn.files import path_of, read_utf8

END: Final = "<|endoftext|>"


def tokens(options: Namespace) -> int:
    """What ``options.action`` says: encode, decode, table, file."""
    {"encode": _encode, "decode": _decode, "table": _table, "file": _file}[options.action](options)
    return 0


def vocabulary_at(path: str) -> Vocabulary:
    """The vocabulary of a folder, or of gpt.c's file ``tokenizer.bin``."""
    return Table(read_token_table(path)[0]) if path_of("--tokenizer", path).is_file() else read_vocabulary(path)


def tokens_in(where: str, text: str, count: int) -> IntArray1:
    """The tokens that ``[50256, 8643]`` lists, each of a vocabulary of ``count``."""
    listed = text.strip()
    inner = listed[1:-1].strip() if listed.startswith("[") and listed.endswith("]") else listed
    words = re.split(r"\s*,\s*|\s+", inner) if inner else []
    wrong = next((word for word in words if not re.fullmatch(r"[+-]?[0-9]{1,18}", word)), None)
    if wrong is not None:
        raise ArgumentError(explain(where, "tokens are whole numbers, such as [50256, 8643]", repr(wrong[:80])))
    return np.array(checked_tokens(where, map(int, words), count), np.int32)


def end_of(vocabulary: Vocabulary, option: str) -> int:
    """The token ``<|endoftext|>``, which ``option`` needs."""
    end = token_of(vocabulary, END)
    if end is None:
        raise ArgumentError(explain(option, f"needs a vocabulary with {END}", "one without", "leave it out"))
    return end


@final
class Table:
    """gpt.c's vocabulary: what each token writes. It has no merges, so its texts are lists of tokens."""

    def __init__(self, table: tuple[bytes, ...]) -> None:
        self._table = table

    def __len__(self) -> int:
        return len(self._table)

    def encode(self, text: str) -> IntArray1:
        """The tokens of a list."""
        try:
            return tokens_in("tokenizer.bin", text, len(self))
        except ArgumentError as error:
            cure = "for text give --tokenizer a folder with vocab.json and merges.txt"
            raise ArgumentError(f"{error}; a table of tokens reads no text: {cure}") from None

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of ``tokens``; bytes that are no UTF-8 become U+FFFD."""
        return b"".join(map(self.bytes_of, tokens)).decode(errors="replace")

    def bytes_of(self, token: int) -> bytes:
        """What one token writes."""
        return self._table[checked_tokens("tokenizer.bin", [token], len(self))[0]]


def _encode(options: Namespace) -> None:
    vocabulary = vocabulary_at(options.tokenizer)
    first = [end_of(vocabulary, "--eot")] if options.eot else []
    for text in options.values:
        say(str([*first, *vocabulary.encode(text).tolist()]))


def _decode(options: Namespace) -> None:
    vocabulary = vocabulary_at(options.tokenizer)
    for text in options.values:
        say(vocabulary.decode(tokens_in("tokens decode", text, len(vocabulary))))


def _table(options: Namespace) -> None:
    (path,) = _files(options, "tokens table", "takes one file, OUT.bin", 1)
    tokenizer = read_tokenizer(options.tokenizer)
    write_token_table(tokenizer, path)
    say(f"{path}: {len(tokenizer):,} tokens")


def _file(options: Namespace) -> None:
    """A file of tokens; with ``--val N`` the first N go into a second."""
    rule = "takes TEXT.txt OUT.bin, or with --val N TEXT.txt TRAIN.bin VAL.bin"
    source, *outputs = _files(options, "tokens file", rule, 2 if options.val is None else 3)
    vocabulary = vocabulary_at(options.tokenizer)
    text = read_utf8("tokens file", source)
    encoded = _between(vocabulary, text) if options.eot_between else vocabulary.encode(text)
    first = options.val or 0
    if len(encoded) <= first:
        rule = f"must have more than {first:,} tokens" if first else "must have one token at least"
        raise DataError(explain(source, rule, f"{len(encoded):,}"))
    for path, part in zip(outputs, (encoded[first:], encoded[:first]), strict=False):
        write_tokens(path, part)
        say(f"{path}: {len(part):,} tokens")


def _files(options: Namespace, where: str, rule: str, count: int) -> list[str]:
    if len(options.values) != count:
        raise ArgumentError(explain(where, rule, f"{len(options.values)} files"))
    files: list[str] = options.values
    return files


def _between(vocabulary: Vocabulary, text: str) -> IntArray1:
    """``<|endoftext|>``, the text up to and with the first empty line, ``<|endoftext|>``, and so on."""
    end = np.array([end_of(vocabulary, "--eot-between")], np.int32)
    *parts, last = text.split("\n\n")
    return np.concatenate([array for part in [*(f"{part}\n\n" for part in parts), last] for array in (end, vocabulary.encode(part))])
