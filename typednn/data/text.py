"""Texts as tokens: a folder per class, a text per file, a token per byte.

    reviews/                    names, sorted, become the labels 0, 1, …
        bad/    a.txt b.txt     → label 0
        good/   c.txt           → label 1

A byte becomes its value plus 1, so tokens are 1 to 256 and any text can be read; 0 is padding, which stands before
shorter texts, so that the last token of each is a text's last. Of longer texts the end is kept. ``.txt`` files only,
UTF-8 or anything else.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from typednn.arguments import integer
from typednn.arrays import IntArray1, IntArray2
from typednn.data.class_folders import class_folders
from typednn.errors import DataError, explain
from typednn.files import allow, limit_of, opened, path_of
from typednn.screen import brief

TOKENS: Final = np.dtype(np.int32)
LONGEST: Final = 4096  # tokens of one text


@final
@dataclass(frozen=True, slots=True, eq=False)
class TextFolder:
    """Tokens (n, length), labels (n) in ``0 … len(names)-1``, the classes' names, and where each text came from."""

    tokens: IntArray2
    labels: IntArray1
    names: tuple[str, ...]
    paths: tuple[Path, ...]

    def __repr__(self) -> str:
        return brief(self)


def read_text(path: str | Path, length: int | None = None, *, limit: int | None = None) -> IntArray2:
    """One text, (1, ``length``): its last tokens, behind padding where it is shorter; without ``length`` all of it."""
    size = None if length is None else integer("read_text", "length", length)
    with opened("read_text", path, limit) as file:
        content = file.exactly(file.stream, file.size)
        if not content:
            raise DataError(explain(file.where, "must hold a text", "an empty file"))
    return text_tokens(content, size)


def text_tokens(content: bytes | bytearray, length: int | None = None) -> IntArray2:
    """The tokens of a text, (1, ``length``), as `read_text` has them."""
    tokens = np.frombuffer(content, np.uint8).astype(TOKENS)[None] + 1
    text: IntArray2 = padded(tokens, tokens.shape[1] if length is None else length)
    return text


def padded(tokens: Any, length: int) -> Any:
    """Rows of tokens made as long as ``length``: cut or padded at their beginning."""
    missing = length - tokens.shape[1]
    return tokens[:, -missing:] if missing < 0 else np.pad(tokens, ((0, 0), (missing, 0)))


def read_text_folder(folder: str | Path, *, length: int | None = None, limit: int | None = None) -> TextFolder:
    """Every text below ``folder``, which holds a folder per class; classes and files in the order of their names.

    Without ``length`` rows are as long as the longest text, up to `LONGEST`. A file of another kind is an error that
    names it. ``limit`` is how many bytes the tokens may take together.
    """
    where = str(path_of("read_text_folder", folder))
    classes = class_folders(where, "texts")
    paths = tuple(path for inside in classes.values() for path in inside)
    other = next((path for path in paths if path.suffix.lower() != ".txt"), None)
    if other is not None:
        got = repr(other.suffix or other.name)
        raise DataError(explain(str(other), "texts are files whose names end in .txt", got, "move it elsewhere"))
    size = (
        min(max(1, *(path.stat().st_size for path in paths)), LONGEST)
        if length is None
        else integer("read_text_folder", "length", length)
    )
    allow(where, TOKENS.itemsize * len(paths) * size, limit_of("read_text_folder", limit))
    tokens = np.concatenate([read_text(path, size, limit=limit) for path in paths])
    return TextFolder(tokens, np.repeat(np.arange(len(classes)), [*map(len, classes.values())]), tuple(classes), paths)
