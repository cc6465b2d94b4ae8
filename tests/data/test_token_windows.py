"""Windows of tokens, against their definition."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from typednn.data import Loader, read_tokens, windows, write_tokens
from typednn.errors import ArgumentError

WRONG: list[Any] = [np.zeros(9), np.zeros((9, 1), int)]


@given(st.integers(0, 40), st.integers(1, 9), st.integers(1, 12), st.booleans())
def test_the_definition(count: int, length: int, stride: int, padded: bool) -> None:
    """Each window as its formula has it, written out token by token; each y is the token behind its x. Z-N4."""
    tokens = np.arange(100, 100 + count, dtype=np.int32)
    listed: list[int] = tokens.tolist()
    starts = list(range(0, count - length, stride))  # a whole window, and the token behind its last
    if padded and count:
        starts = (
            [0, *(start for start in range(stride, count + stride - length, stride) if start)]
            if count > length
            else [0]
        )
    if not starts:
        with pytest.raises(ArgumentError, match=f"windows: a window needs {length + 1} tokens, got {count};"):
            windows(tokens, length, stride, pad=7 if padded else None)
        return
    x, y = windows(tokens, length, stride, pad=7 if padded else None)
    inputs, targets = dict(enumerate(listed)), dict(enumerate(listed[1:]))
    assert x.tolist() == [[inputs.get(start + place, 7) for place in range(length)] for start in starts]
    assert y.tolist() == [[targets.get(start + place, -100) for place in range(length)] for start in starts]


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_a_padded_text_is_read_to_its_end(dtype: str) -> None:
    """Of every dtype of integers, also where it has no number below 0."""
    x, y = windows(np.arange(10, dtype=dtype), 4, pad=99)
    assert x.dtype == dtype
    assert x.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 99, 99]]
    assert y.tolist() == [[1, 2, 3, 4], [5, 6, 7, 8], [9, -100, -100, -100]]


def test_published_counts() -> None:
    """Z-N1: 2,396 windows of Nina's text, 150 batches of 16. G-D24: Tiny Shakespeare's files at 8 x 128 tokens."""
    nina, _ = windows(np.zeros(306_635, np.int32), 128, pad=1)
    assert (len(nina), -(-len(nina) // 16)) == (2_396, 150)
    train, val = (windows(np.zeros(count, np.int32), 128)[0] for count in (305_260, 32_768))
    assert (-(-len(train) // 8), -(-len(val) // 8)) == (298, 32)


def test_a_mapped_file_is_not_copied(tmp_path: Path) -> None:
    write_tokens(tmp_path / "a.bin", np.arange(1000))
    tokens = read_tokens(tmp_path / "a.bin")
    x, y = windows(tokens, 10, 1)
    assert np.shares_memory(x, tokens)
    assert np.shares_memory(y, tokens)
    assert x.shape == (990, 10)
    loader = Loader(x, y, batch_size=7, rng=np.random.default_rng(0))
    batch = next(loader.batches())
    assert (batch.y == batch.x + 1).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: windows(WRONG[0], 4), r"tokens are integers \(n\), got float64 of shape \(9,\)"),
        (lambda: windows(WRONG[1], 4), r"tokens are integers \(n\), got int64 of shape \(9, 1\)"),
        (lambda: windows(np.zeros(9, int), 0), "length must be an integer of at least 1, got 0"),
        (lambda: windows(np.zeros(9, int), 4, 0), "stride must be an integer of at least 1, got 0"),
        (lambda: windows(np.zeros(9, int), 4, pad=-1), "pad must be an integer of at least 0, got -1"),
    ],
)
def test_refusals(call: object, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()  # type: ignore[operator]
