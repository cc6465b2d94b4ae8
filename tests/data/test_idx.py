"""The IDX reader: right, and strict."""

import gzip
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from typednn.data import read_idx
from typednn.errors import DataError


def idx(shape: tuple[int, ...], numbers: bytes, kind: int = 8) -> bytes:
    return struct.pack(f">HBB{len(shape)}I", 0, kind, len(shape), *shape) + numbers


@pytest.mark.parametrize("packed", [False, True])
def test_last_axis_is_fastest(tmp_path: Path, packed: bool) -> None:
    content = idx((2, 3), bytes(range(6)))
    (tmp_path / "file").write_bytes(gzip.compress(content) if packed else content)
    np.testing.assert_array_equal(read_idx(tmp_path / "file"), [[0, 1, 2], [3, 4, 5]])


def test_sizes_are_most_significant_first(tmp_path: Path) -> None:
    """Z-S1: big-endian."""
    (tmp_path / "file").write_bytes(idx((300,), bytes(300)))
    assert read_idx(tmp_path / "file").shape == (300,)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("kind", "dtype"), [(8, "u1"), (9, "i1"), (11, "i2"), (12, "i4"), (13, "f4"), (14, "f8")])
def test_every_type(tmp_path: Path, kind: int, dtype: str, packed: bool) -> None:
    numbers = np.array([[0, 1, 2], [3, 4, 100]], dtype) - np.array(dtype != "u1", dtype)
    content = idx((2, 3), numbers.astype(f">{dtype}").tobytes(), kind)
    (tmp_path / "file").write_bytes(gzip.compress(content) if packed else content)
    read = read_idx(str(tmp_path / "file"))
    assert read.dtype == np.dtype(dtype)
    assert read.dtype.isnative
    np.testing.assert_array_equal(read, numbers)


def test_unpacks_no_more_than_is_promised(tmp_path: Path) -> None:
    """A thousand bytes that stand for a million, and a header that promises a tebibyte."""
    for shape in ((2, 3), (2**20, 2**20)):
        (tmp_path / "file").write_bytes(gzip.compress(idx(shape, bytes(1 << 24))))
        size = (tmp_path / "file").stat().st_size
        tracemalloc.start()
        try:
            with pytest.raises(DataError, match=r"its header promises|may take at most"):
                read_idx(tmp_path / "file")
            assert tracemalloc.get_traced_memory()[1] < (1032 * 3 * size if shape[0] > 2 else 1 << 18)
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "begins with two zero bytes, got an empty file", id="empty"),
        pytest.param(b"<!DOCTYPE html>", "begins with two zero bytes, got 3c 21 44 4f", id="web page"),
        pytest.param(idx((2, 3), bytes(6))[:3], "begins with two zero bytes, got 00 00 08", id="three bytes"),
        pytest.param(idx((2,), bytes(8), kind=10), "must be one of 8, 9, 11, 12, 13, 14, got type 10", id="type"),
        pytest.param(idx((2,), bytes(7), kind=13), "promises 2 = 2 numbers, got 7 bytes", id="floats cut short"),
        pytest.param(
            idx((2, 3), b"")[:9], "a size for each axis, got 9 bytes for a header with 2 axes", id="cut in the header"
        ),
        pytest.param(idx((), b"\1"), "a size for each axis, got 4 bytes for a header with 0 axes", id="no axes"),
        pytest.param(idx((2, 3), bytes(5)), "promises 2 x 3 = 6 numbers, got 5", id="cut short"),
        pytest.param(idx((2, 3), bytes(7)), "promises 2 x 3 = 6 numbers, got 7", id="too long"),
        pytest.param(idx((2**32 - 1,) * 3, b""), "numbers, got 0", id="absurd sizes"),
        pytest.param(idx((2**32 - 1,) * 3 + (0,), b""), "= 0 numbers, got ", id="nothing in an absurd shape"),
        pytest.param(idx((1,) * 40, b"1"), "at most 32 axes, got 40", id="axes"),
        pytest.param(gzip.compress(idx((2, 3), bytes(5))), "= 6 numbers, got 5; fetch it again", id="gzip of too few"),
        pytest.param(
            gzip.compress(idx((2, 3), bytes(7))), "= 6 numbers, got more; fetch it again", id="gzip of too many"
        ),
        pytest.param(gzip.compress(idx((2, 3), bytes(6)))[:-4], "must be a whole gzip file", id="cut gzip"),
        pytest.param(
            gzip.compress(idx((2, 3), bytes(6)))[:10] + b"\xff" * 30, "must be a whole gzip file", id="damaged gzip"
        ),
        pytest.param(gzip.compress(idx((2, 3), bytes(6))) + b"junk", "must be a whole gzip file", id="junk after gzip"),
    ],
)
def test_what_is_no_idx_file(tmp_path: Path, content: bytes, message: str) -> None:
    """Z-S1: a wrong magic number, and sizes that do not fit."""
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_idx(tmp_path / "file")
    assert str(tmp_path / "file") in str(caught.value)


def test_missing_and_unreadable(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="must be a readable file, got No such file"):
        read_idx(tmp_path / "nowhere")
    with pytest.raises(DataError, match="must be a plain file, got a folder"):
        read_idx(tmp_path)
