"""The command that turns text into tokens and back: tokens."""

import os
from argparse import Namespace

import numpy as np

from typednn.arrays import IntArray1
from typednn.cli.output import say
from typednn.data import Vocabulary, read_tiny_stories, read_tokenizer, read_vocabulary, write_token_table, write_tokens
from typednn.data.vocabulary import END, token_of, tokens_in
from typednn.errors import ArgumentError, DataError, explain, listed
from typednn.files import opened, path_of, read_utf8


def tokens(options: Namespace) -> int:
    """What ``options.action`` says: encode, decode, table, file."""
    {"encode": _encode, "decode": _decode, "table": _table, "file": _file}[options.action](options)
    return 0


def end_of(vocabulary: Vocabulary, option: str) -> int:
    """The token ``<|endoftext|>``, which ``option`` needs."""
    end = token_of(vocabulary, END)
    if end is None:
        raise ArgumentError(explain(option, f"needs a vocabulary with {END}", "one without", "leave it out"))
    return end


def _encode(options: Namespace) -> None:
    vocabulary = read_vocabulary(path_of("--tokenizer", options.tokenizer))
    first = [end_of(vocabulary, "--eot")] if options.eot else []
    for text in options.values:
        say(str([*first, *vocabulary.encode(text).tolist()]))


def _decode(options: Namespace) -> None:
    vocabulary = read_vocabulary(path_of("--tokenizer", options.tokenizer))
    for text in options.values:
        say(vocabulary.decode(tokens_in("tokens decode", text, len(vocabulary))))


def _table(options: Namespace) -> None:
    (path,) = _files(options, "tokens table", "takes one file, OUT.bin", 1)
    tokenizer = read_tokenizer(options.tokenizer)
    write_token_table(tokenizer, path)
    say(f"{path}: {len(tokenizer):,} tokens")


def _file(options: Namespace) -> None:
    """A file of tokens; with ``--val N`` the first N go into a second. Of the shards of TinyStories, shard 0 does."""
    stories = os.path.isdir(options.values[0])
    rule = "takes TEXT.txt OUT.bin, or with --val N TEXT.txt TRAIN.bin VAL.bin"
    if stories:
        rule = "takes TinyStories' folder, TRAIN.bin and VAL.bin"
        given = {
            "--val": options.val is not None,
            "--eot-between": options.eot_between,
            "--encoding": options.encoding != "utf-8",
        }
        if any(given.values()):
            wrong = listed([name for name, is_given in given.items() if is_given])
            raise ArgumentError(
                explain(wrong, "of a text", f"the folder {options.values[0]}", "leave out what is of a text")
            )
    source, *outputs = _files(options, "tokens file", rule, 2 if options.val is None and not stories else 3)
    vocabulary = read_vocabulary(path_of("--tokenizer", options.tokenizer))
    if stories:
        for path, part in zip(outputs, read_tiny_stories(source, vocabulary), strict=True):
            write_tokens(path, part)
            say(f"{path}: {len(part):,} tokens")
        return
    text = read_utf8("tokens file", source) if options.encoding == "utf-8" else _latin1(source)
    encoded = _between(vocabulary, text) if options.eot_between else vocabulary.encode(text)
    first = options.val or 0
    if len(encoded) <= first:
        rule = f"must have more than {first:,} tokens" if first else "must have one token at least"
        raise DataError(explain(source, rule, f"{len(encoded):,}"))
    for path, part in zip(outputs, (encoded[first:], encoded[:first]), strict=False):
        write_tokens(path, part)
        say(f"{path}: {len(part):,} tokens")


def _latin1(path: str) -> str:
    """The text of a file in which a byte is a character, its lines ended by a line feed alone."""
    with opened("tokens file", path) as file:
        return bytes(file.exactly(file.stream, file.size)).decode("latin-1").replace("\r\n", "\n")


def _files(options: Namespace, where: str, rule: str, count: int) -> list[str]:
    if len(options.values) != count:
        raise ArgumentError(explain(where, rule, f"{len(options.values)} files"))
    files: list[str] = options.values
    return files


def _between(vocabulary: Vocabulary, text: str) -> IntArray1:
    """``<|endoftext|>``, the text up to and with the first empty line, ``<|endoftext|>``, and so on."""
    end = np.array([end_of(vocabulary, "--eot-between")], np.int32)
    *parts, last = text.split("\n\n")
    return np.concatenate(
        [array for part in [*(f"{part}\n\n" for part in parts), last] for array in (end, vocabulary.encode(part))]
    )
