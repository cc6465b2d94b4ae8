"""Whatever the bytes: an array or typednn's own error, in memory that the file's size bounds."""

import gzip
import io
import struct
import tarfile
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from typednn.data import cifar10, image_size, labelled, read_csv, read_idx, read_image, read_inputs, read_npy, read_npz, read_optdigits
from typednn.errors import TypednnError

FACTOR = 3 * 1032  # what a byte of deflate can stand for, while it is copied
CONSTANT = 4 << 20

NUMBERS = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)


def idx(kind: int = 8) -> bytes:
    return struct.pack(">HBB3I", 0, kind, 3, 2, 3, 4) + NUMBERS.tobytes() * {8: 1, 13: 4}[kind]


def npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def npz(content: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr(zipfile.ZipInfo("a.npy"), content, method)
    return stream.getvalue()


def tar(content: bytes) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name in [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def png() -> bytes:
    image: Any = pytest.importorskip("PIL.Image")
    stream = io.BytesIO()
    image.fromarray(NUMBERS.reshape(4, 6)).save(stream, "PNG")
    return stream.getvalue()


def packed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def unchanged(content: bytes) -> bytes:
    return content


CSV = b"label,a,b\r\n1,2.5,3\r\n4,-5e2,6\r\n\r\n"

# name of the file, reader, a valid content, what is done to it after it was mutated
READERS: dict[str, tuple[str, Callable[[Path], object], Callable[[], bytes], Callable[[bytes], bytes]]] = {
    "idx": ("a", read_idx, idx, unchanged),
    "idx of floats": ("a", read_idx, lambda: idx(13), unchanged),
    "idx.gz": ("a", read_idx, lambda: packed(idx()), unchanged),
    "idx within gz": ("a", read_idx, idx, packed),
    "npy": ("a.npy", read_npy, lambda: npy(NUMBERS), unchanged),
    "npy mapped": ("a.npy", lambda path: read_npy(path, mmap=True), lambda: npy(NUMBERS.astype("f4")), unchanged),
    "npz": ("a.npz", read_npz, lambda: npz(npy(NUMBERS)), unchanged),
    "npy within npz": ("a.npz", read_npz, lambda: npy(NUMBERS), npz),
    "npz stored": ("a.npz", read_npz, lambda: npz(npy(NUMBERS), zipfile.ZIP_STORED), unchanged),
    "csv": ("a.csv", lambda path: read_csv(path, header=1), lambda: CSV, unchanged),
    "csv labelled": ("a.csv", lambda path: labelled(read_csv(path), 1, 2), lambda: CSV[11:], unchanged),
    "optdigits": ("a.csv", read_optdigits, lambda: b"3," * 64 + b"7\n", unchanged),
    "png": ("a.png", read_image, png, unchanged),
    "png resized": ("a.png", lambda path: read_image(path, size=8, resize=True, channels=3), png, unchanged),
    "png header": ("a.png", image_size, png, unchanged),
    "cifar file": ("test_batch.bin", lambda path: cifar10(path.parent), lambda: bytes(3073), unchanged),
    "cifar archive": ("cifar-10-binary.tar.gz", lambda path: cifar10(path.parent), lambda: packed(tar(bytes(3073))), unchanged),
    "tar within gz": ("cifar-10-binary.tar.gz", lambda path: cifar10(path.parent), lambda: tar(bytes(3073)), packed),
    "inputs npy": ("a.npy", lambda path: read_inputs(path, 3, 4), lambda: npy(NUMBERS), unchanged),
    "inputs csv": ("a.csv", lambda path: read_inputs(path, 1, 2), lambda: CSV[11:], unchanged),
}


@contextmanager
def bounded(size: int) -> Iterator[None]:
    """Only typednn's errors, no warning, and memory within what the file can stand for."""
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
    assert told is None or ", got " in told
    assert peak <= CONSTANT + FACTOR * size


def mutated(content: bytes) -> st.SearchStrategy[bytes]:
    place = st.integers(0, len(content))
    piece = st.binary(max_size=8) | st.sampled_from(
        [b"\xff" * 4, b"\xff" * 8, bytes(4), b"9" * 12, b"\n", b",", b"-1", b"'", b"(", content]
    )
    change = st.tuples(st.sampled_from(["put", "insert", "cut", "end"]), place, piece)

    def apply(changes: list[tuple[str, int, bytes]]) -> bytes:
        result = content
        for kind, start, some in changes:
            stop = {"put": start + len(some), "insert": start, "cut": start + len(some), "end": len(result)}[kind]
            result = result[:start] + (some if kind in ("put", "insert") else b"") + result[stop:]
        return result

    return st.lists(change, min_size=1, max_size=4).map(apply)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.parametrize("name", sorted(READERS))
def test_valid_files_are_read(tmp_path: Path, name: str) -> None:
    """Or nothing below would mean anything."""
    file, read, valid, finish = READERS[name]
    (tmp_path / file).write_bytes(finish(valid()))
    if name == "cifar file":
        for number in range(1, 6):
            (tmp_path / f"data_batch_{number}.bin").write_bytes(valid())
    assert read(tmp_path / file) is not None


@pytest.mark.parametrize("name", sorted(READERS))
def test_mutated_files(tmp_path: Path, name: str) -> None:
    file, read, valid, finish = READERS[name]
    path = tmp_path / file
    for number in range(1, 6) if name == "cifar file" else ():
        (path.parent / f"data_batch_{number}.bin").write_bytes(valid())

    @given(mutated(valid()))
    def check(content: bytes) -> None:
        path.write_bytes(finish(content))
        with bounded(path.stat().st_size):
            read(path)

    check()


@pytest.mark.parametrize("name", sorted(READERS))
def test_random_files(tmp_path: Path, name: str) -> None:
    file, read, valid, finish = READERS[name]
    path = tmp_path / file
    starts = st.sampled_from([b"", valid()[:4], valid()[:8], valid()[: len(valid()) // 2]])

    @given(starts, st.binary(max_size=400))
    @example(b"", bytes(100_000))
    def check(start: bytes, content: bytes) -> None:
        path.write_bytes(finish(start + content))
        with bounded(path.stat().st_size):
            read(path)

    check()


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
    file, read, _, _ = READERS[name]
    (tmp_path / file).write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(TypednnError):
            read(tmp_path / file)
        assert tracemalloc.get_traced_memory()[1] < CONSTANT
    finally:
        tracemalloc.stop()
