"""Files of tokens: a corpus that was encoded once, and may be larger than memory; and gpt.c's table of what each token
writes.

"int32"    the tokens as little-endian int32, nothing else (gpt.c)
"uint16"   the tokens as little-endian uint16, nothing else (nanoGPT): vocabularies of up to 65,536 tokens
"uint64"   their number as uint64, then the tokens as uint64; several such parts may follow one another (Nina)

A file of int32 or uint16 is mapped, not read: its pages come from the disk when they are used.

tokenizer.bin: 256 uint32, of which 20240415, the number of tokens, the number of the end of a text; then for each token
a byte with its length, 1 to 255, and its bytes.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from typednn.arguments import choice
from typednn.arrays import IntArray1
from typednn.data.tokenizer import Tokenizer
from typednn.errors import ArgumentError, DataError, explain
from typednn.files import opened, path_of, write_whole

MAGIC: Final = 20240415
Kind: TypeAlias = Literal["int32", "uint16", "uint64"]
_WIDTHS: Final[Mapping[Kind, int]] = {"int32": 4, "uint16": 2, "uint64": 8}
_HEADER = 1024  # bytes


def read_tokens(path: str | Path, kind: Kind = "int32", *, limit: int | None = None) -> IntArray1:
    """The tokens of a file, read-only: int32 and uint16 mapped from the disk, uint64 read, as int64. A `DataError`
    where it is cut off.
    """
    chosen = choice("read_tokens", "kind", kind, tuple(_WIDTHS))
    with opened("read_tokens", path, limit) as file:
        width = _WIDTHS[kind]
        if file.size == 0 or file.size % width:
            raise DataError(
                explain(file.where, f"must be whole numbers of {width} bytes, one at least", f"{file.size:,} bytes")
            )
        if chosen != "uint64":
            mapped: Any = np.memmap(file.stream, "<i4" if chosen == "int32" else "<u2", "r")
            return mapped  # type: ignore[no-any-return]
        numbers = np.frombuffer(file.exactly(file.stream, file.size), "<u8")
    parts: list[Any] = []
    place = 0
    while place < len(numbers):
        count = int(numbers[place])
        if count > len(numbers) - place - 1:
            rule = f"its part at byte {8 * place} must have the {count:,} tokens that it says"
            raise DataError(explain(str(path), rule, f"{len(numbers) - place - 1:,}", "it was cut off"))
        parts.append(numbers[place + 1 : place + 1 + count])
        place += 1 + count
    tokens = np.concatenate(parts)
    if tokens.size and tokens.max() > np.iinfo(np.int64).max:
        raise DataError(explain(str(path), "tokens must fit into 63 bits", str(tokens.max())))
    tokens = tokens.astype(np.int64)
    tokens.setflags(write=False)
    return tokens


def write_tokens(path: str | Path, tokens: IntArray1, kind: Kind = "int32") -> None:
    """Write ``tokens`` (n), one at least, none negative."""
    chosen, numbers = choice("write_tokens", "kind", kind, tuple(_WIDTHS)), np.asarray(tokens)
    if numbers.ndim != 1 or not numbers.size or numbers.dtype.kind not in "iu":
        got = f"{numbers.dtype} of shape {numbers.shape}"
        raise ArgumentError(explain("write_tokens", "tokens are integers (n), one at least", got), "tokens")
    most = np.iinfo(np.int64 if chosen == "uint64" else chosen).max
    if numbers.min() < 0 or numbers.max() > most:
        wrong = numbers.min() if numbers.min() < 0 else numbers.max()
        raise ArgumentError(explain("write_tokens", f"tokens are 0 to {most}", str(wrong)), "tokens")
    head = np.array([len(numbers)], "<u8").tobytes() if chosen == "uint64" else b""
    write_whole(path_of("write_tokens", path), head + numbers.astype(np.dtype(chosen).newbyteorder("<")).tobytes())


def read_token_table(path: str | Path) -> tuple[tuple[bytes, ...], int]:
    """What each token writes, and the token that ends a text, from gpt.c's ``tokenizer.bin``."""
    with opened("read_token_table", path) as file:
        content, where = bytes(file.exactly(file.stream, file.size)), file.where
    if len(content) < _HEADER:
        raise DataError(explain(where, f"must begin with a header of {_HEADER} bytes", f"{len(content)} bytes"))
    magic, count, end = (int(number) for number in np.frombuffer(content[:12], "<u4"))
    if magic != MAGIC:
        raise DataError(explain(f"{where}, field 0", f"must be {MAGIC}", str(magic), "this is no tokenizer of gpt.c"))
    if not 0 < count <= len(content) or end >= count:
        raise DataError(
            explain(f"{where}, fields 1 and 2", "must be the number of tokens, and one of them", f"{count} and {end}")
        )
    table: list[bytes] = []
    place = _HEADER
    for token in range(count):
        length = content[place] if place < len(content) else 0
        if not length or place + 1 + length > len(content):
            got = "a length of 0" if place < len(content) and not length else "the end of the file"
            raise DataError(explain(f"{where}, token {token}", "must be its length, 1 to 255, and its bytes", got))
        table.append(content[place + 1 : place + 1 + length])
        place += 1 + length
    if place != len(content):
        raise DataError(explain(where, f"must end behind its {count} tokens", f"{len(content) - place} bytes more"))
    return tuple(table), end


def write_token_table(tokenizer: Tokenizer, path: str | Path, *, end: str = "<|endoftext|>") -> None:
    """Write gpt.c's ``tokenizer.bin``; ``end`` is the token that ends a text."""
    if end not in tokenizer.vocab:
        raise ArgumentError(explain("write_token_table", "end is a token of the vocabulary", repr(end)), "end")
    names = [*map(tokenizer.bytes_of, range(len(tokenizer)))]
    write_whole(
        path_of("write_token_table", path), packed("write_token_table", "tokenizer", names, tokenizer.vocab[end])
    )


def packed(where: str, argument: str, table: Sequence[bytes], end: int) -> bytes:
    """The content of ``tokenizer.bin``; ``argument`` of ``where`` is told of a token that it can't hold."""
    header = np.zeros(_HEADER // 4, "<u4")
    header[:3] = [MAGIC, len(table), end]
    long = next((name for name in table if not 1 <= len(name) <= 255), None)
    if long is not None:
        raise ArgumentError(explain(where, "tokens are 1 to 255 bytes", f"{len(long)} bytes"), argument)
    return b"".join([header.tobytes(), *(bytes([len(name)]) + name for name in table)])
