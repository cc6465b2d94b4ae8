"""NumPy's files: right, without pickle, and not believed."""

import io
import struct
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from typednn.data import read_npy, read_npz
from typednn.errors import DataError

KINDS = ["?", "i1", "u1", "<i2", ">i2", "<u4", "<i8", "<f2", "<f4", ">f4", "<f8", ">f8"]


def npy(array: Any, version: tuple[int, int] | None = None) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version, allow_pickle=True)
    return stream.getvalue()


def promising(shape: str, descr: str = "'<f4'") -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header


@given(
    st.sampled_from(KINDS).flatmap(
        lambda kind: arrays.arrays(kind, arrays.array_shapes(min_dims=0, min_side=0, max_side=4))
    )
)
def test_what_numpy_writes_is_read(tmp_path_factory: pytest.TempPathFactory, array: Any) -> None:
    path = tmp_path_factory.mktemp("npy") / "a.npy"
    for some in (array, array.copy(order="F")):
        for version in ((1, 0), (2, 0)):
            path.write_bytes(npy(some, version))
            for mmap in (False, True):
                read = read_npy(path, mmap=mmap)
                assert (read.dtype, read.shape) == (array.dtype, array.shape)
                assert np.asarray(read).tobytes() == array.tobytes()
    np.savez_compressed(path.with_name("b.npz"), one=array, two=array.copy(order="F"))
    for read in read_npz(path.with_name("b.npz")).values():
        assert (read.dtype, read.tobytes()) == (array.dtype, array.tobytes())


def test_mapped_files_stay_on_disk(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(12.0).reshape(3, 4))
    mapped = read_npy(str(tmp_path / "a.npy"), mmap=True)
    assert isinstance(mapped, np.memmap)
    np.testing.assert_array_equal(mapped[1], [4, 5, 6, 7])
    with pytest.raises(ValueError, match="read-only"):
        mapped[0, 0] = 1


class Bomb:
    def __reduce__(self) -> Any:
        return exec, ("raise SystemExit('it ran')",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", r"begins with \x93NUMPY, got an empty file", id="empty"),
        pytest.param(b"PK\3\4 and more", r"begins with \x93NUMPY, got 50 4b 03 04", id="a zip file"),
        pytest.param(b"\x93NUMPY\3\0\0\0", "version 1.0 or 2.0, got 3.0", id="version"),
        pytest.param(npy(np.array([Bomb()], object)), "they would need pickle, which can run code", id="pickle"),
        pytest.param(npy(np.array(["a"])), "must tell of an array of numbers", id="strings"),
        pytest.param(npy(np.zeros(2, [("a", "f4")])), "must tell of an array of numbers", id="records"),
        pytest.param(npy(np.zeros(2, "c8")), "must tell of an array of numbers", id="complex"),
        pytest.param(promising("(__import__('os'),)"), "must tell of an array of numbers", id="code"),
        pytest.param(npy(np.zeros(3))[:-1], "promises 3 of float64 = 24 bytes, got 23; fetch it again", id="cut short"),
        pytest.param(npy(np.zeros(3)) + b"x", "= 24 bytes, got 25", id="too long"),
        pytest.param(npy(np.zeros(3))[:30], "must tell of an array of numbers", id="cut in the header"),
        pytest.param(
            promising("(1000000, 1000000)"),
            "promises 1000000 x 1000000 of float32 = 4000000000000 bytes, got 0",
            id="10^12",
        ),
        pytest.param(promising("(" + "1," * 40 + ")") + bytes(4), "its shape has at most 32 sizes", id="axes"),
        pytest.param(promising("(1 2,)") + bytes(4), "its shape has at most 32 sizes", id="no size"),
        pytest.param(promising(f"({'9' * 30}, 0)"), "its shape has at most 32 sizes", id="digits"),
        pytest.param(
            promising("(9999999999999999999, 0)"),
            "must be an array that NumPy can hold",
            id="0 numbers of an absurd shape",
        ),
        pytest.param(
            b"\x93NUMPY\2\0\xff\xff\xff\xff", "its header has at most 65536 bytes, got 4294967295", id="header"
        ),
    ],
)
@pytest.mark.parametrize("mmap", [False, True])
def test_what_is_refused(tmp_path: Path, content: bytes, message: str, mmap: bool) -> None:
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_npy(tmp_path / "a.npy", mmap=mmap)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "a.npy"))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("inner.npy", content)
    with pytest.raises(DataError) as caught:
        read_npz(tmp_path / "a.npz")
    assert message in str(caught.value)
    assert f"{tmp_path / 'a.npz'}, inner.npy" in str(caught.value)


def test_archives_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../x.txt", "x")
    with pytest.raises(DataError, match=r"holds \.npy files only, got '\.\./x\.txt'"):
        read_npz(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.npy", npy(np.zeros(3)))
    with pytest.raises(
        DataError, match=r"a\.npy: must be stored or deflated, got method 14; write it with numpy\.savez"
    ):
        read_npz(path)
    np.savez(path, a=np.zeros(300))
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match=r"must be a whole \.npz file, got File is not a zip file; fetch it again"):
        read_npz(path)
    np.savez(path, a=np.zeros(300))
    path.write_bytes(path.read_bytes().replace(bytes(99), b"\1" * 99, 1))
    with pytest.raises(DataError, match=r"must be a whole \.npz file, got Bad CRC-32"):
        read_npz(path)
    for other, message in (
        (tmp_path, "plain file, got a folder"),
        (tmp_path / "nowhere", "readable file, got No such file"),
    ):
        for read in (read_npy, read_npz):
            with pytest.raises(DataError, match=f"must be a {message}"):
                read(other)


def test_a_list_of_entries_is_no_bomb_and_names_an_array_once(tmp_path: Path) -> None:
    """zipfile reads the whole list at once, and gives each entry an object ten times its size."""
    path = tmp_path / "a.npz"
    size = (1 << 24) + 1
    with path.open("wb") as file:
        file.truncate(size)
        file.seek(size)
        file.write(b"PK\5\6" + struct.pack("<4H2IH", 0, 0, 1, 1, size, 0, 0))
    with pytest.raises(DataError, match=r"a\.npz: its list of entries has at most 16777216 bytes, got 16777217"):
        read_npz(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", npy(np.zeros(3)))
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a.npy", npy(np.ones(3)))
    with pytest.raises(DataError, match=r"a\.npz: each array must have a name of its own, got one name twice"):
        read_npz(path)


def test_sizes_of_an_archive_are_not_believed(tmp_path: Path) -> None:
    """An entry that claims four gibibytes, and entries that share their bytes."""
    path = tmp_path / "a.npz"
    np.savez(path, a=np.zeros(3), b=np.zeros(3))
    content = path.read_bytes()
    size = len(npy(np.zeros(3)))
    directory = content.rindex(b"PK\1\2", 0, content.rindex(b"PK\1\2"))
    large, shared = bytearray(content), bytearray(content)
    large[directory + 24 : directory + 28] = (2**32 - 2).to_bytes(4, "little")
    shared[directory + 20 : directory + 24] = (4 * size).to_bytes(4, "little")
    tracemalloc.start()
    try:
        for changed, message in (
            (large, "cannot hold more than deflate can"),
            (shared, "its entries must not overlap"),
        ):
            path.write_bytes(changed)
            with pytest.raises(DataError, match=message):
                read_npz(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
