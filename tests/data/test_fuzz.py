"""Whatever the bytes: what the file holds or typednn's own error, in memory that the file's size bounds."""

import random
import struct
import tracemalloc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.torture.outside import NUMBERS, mutated, npy, npz, packed, png
from tests.torture.readers import READERS
from typednn.data import read_csv
from typednn.errors import TypednnError

pytest.importorskip("PIL")
pytest.importorskip("tensorboardX")

FACTOR = 3 * 1032  # what a byte of deflate can stand for, while it is copied
CONSTANT = 4 << 20

NAMES = sorted(set(READERS) - {"report page"})  # that takes long: `make torture` has it


@contextmanager
def bounded(size: int) -> Iterator[None]:
    """Only typednn's errors, in characters that every file takes, no warning, and memory within what the file can stand
    for.
    """
    told = None
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    except TypednnError as error:
        told = str(error)
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    if told is not None:
        assert told.encode()
        assert len(told) < 4000
    assert peak <= CONSTANT + FACTOR * size


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.parametrize("name", sorted(READERS))
def test_valid_files_are_read(tmp_path: Path, name: str) -> None:
    """Or nothing below would mean anything."""
    reader = READERS[name]
    path = reader.prepare(tmp_path)
    path.write_bytes(reader.finish(reader.valid()))
    assert reader.read(path) is not None


@pytest.mark.parametrize("name", NAMES)
def test_mutated_files(tmp_path: Path, name: str) -> None:
    reader = READERS[name]
    path, valid = reader.prepare(tmp_path), reader.valid()
    path.write_bytes(reader.finish(valid))
    reader.read(path)  # what it imports is none of the file's memory

    @given(st.integers(0, 2**32))
    def check(seed: int) -> None:
        path.write_bytes(reader.finish(mutated(valid, random.Random(seed))))
        with bounded(path.stat().st_size):
            reader.read(path)

    check()


@pytest.mark.parametrize("name", NAMES)
def test_random_files(tmp_path: Path, name: str) -> None:
    reader = READERS[name]
    path, valid = reader.prepare(tmp_path), reader.valid()
    path.write_bytes(reader.finish(valid))
    reader.read(path)
    starts = st.sampled_from([b"", valid[:4], valid[:8], valid[: len(valid) // 2]])

    @given(starts, st.binary(max_size=400))
    @example(b"", bytes(100_000))
    def check(start: bytes, content: bytes) -> None:
        path.write_bytes(reader.finish(start + content))
        with bounded(path.stat().st_size):
            reader.read(path)

    check()


def test_pixels_of_a_png_that_promise_a_gigabyte(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(png()[:33] + struct.pack(">I", 1 << 30) + png()[37:])
    with bounded(path.stat().st_size):
        READERS["png"].read(path)


@given(st.text(st.sampled_from("0123456789.,eE+-_ \t\r\n\"'naif\0\u0663\ufeff"), max_size=60))
def test_text_is_a_matrix_or_an_error(folder: Path, text: str) -> None:
    (folder / "text.csv").write_bytes(text.encode())
    with bounded(len(text)):
        matrix = read_csv(folder / "text.csv")
        assert matrix.ndim == 2
        assert matrix.size
        assert np.isfinite(matrix).all()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("idx", struct.pack(">HBB3I", 0, 14, 3, 10**4, 10**4, 10**4), id="idx"),
        pytest.param("idx.gz", packed(struct.pack(">HBB3I", 0, 14, 3, 10**4, 10**4, 10**4)), id="idx.gz"),
        pytest.param("npy", npy(NUMBERS).replace(b"(2, 3, 4)", b"(1000000,1000000)"), id="npy"),
        pytest.param("npz", npz(npy(NUMBERS).replace(b"(2, 3, 4)", b"(1000000,1000000)")), id="npz"),
    ],
)
def test_a_header_that_promises_10_to_the_12_numbers(tmp_path: Path, name: str, content: bytes) -> None:
    path = READERS[name].prepare(tmp_path)
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(TypednnError):
            READERS[name].read(path)
        assert tracemalloc.get_traced_memory()[1] < CONSTANT
    finally:
        tracemalloc.stop()
