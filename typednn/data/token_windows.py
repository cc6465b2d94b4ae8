"""Windows: what a language model learns from, rows of tokens and, for each token, the one that follows it.

    x[i] = tokens[i·stride : i·stride + length]        y[i] = tokens[i·stride + 1 : i·stride + length + 1]

``stride`` is how far a window begins behind the one before it. With ``stride=length``, the default, every token is read
once. With ``stride=1`` a shuffled loader draws windows that begin anywhere. Both are views: of a mapped file only the
rows that are used are read, so the file may be larger than memory, and a loader's position is the position in the file.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from typednn.arguments import integer
from typednn.arrays import IntArray1, IntArray2
from typednn.errors import ArgumentError, explain


def windows(
    tokens: IntArray1, length: int, stride: int | None = None, *, pad: int | None = None, ignore_index: int = -100
) -> tuple[IntArray2, IntArray2]:
    """Inputs and targets, each (windows, ``length``).

    Tokens that fill no window are left out, unless ``pad`` is a token: then a last window is filled up with it, and its
    targets beyond the text are ``ignore_index``, in a signed dtype. The tokens are copied then. An `ArgumentError`
    where there is no window.
    """
    size = integer("windows", "length", length)
    step = size if stride is None else integer("windows", "stride", stride)
    if tokens.ndim != 1 or tokens.dtype.kind not in "iu":
        raise ArgumentError(
            explain("windows", "tokens are integers (n)", f"{tokens.dtype} of shape {tokens.shape}"), "tokens"
        )
    x, y = tokens[:-1], tokens[1:]
    if pad is not None:
        filler = integer("windows", "pad", pad, least=0)
        missing = size - len(tokens) if len(tokens) <= size else -(len(tokens) - size) % step
        x = np.append(tokens, np.full(missing, filler, tokens.dtype))
        signed = np.int64 if tokens.dtype == np.uint64 else np.result_type(tokens.dtype, np.int32)
        y = np.append(tokens[1:].astype(signed), np.full(missing + 1, ignore_index, signed))
    if len(x) < size or not len(tokens):
        got = f"{len(tokens):,}"
        raise ArgumentError(
            explain("windows", f"a window needs {size + 1:,} tokens", got, "shorter windows, or a longer text"),
            "tokens",
        )
    rows: tuple[IntArray2, IntArray2] = (sliding_window_view(x, size)[::step], sliding_window_view(y, size)[::step])
    return rows
