"""CIFAR-10's binary version: its records, its archive, and archives that mean harm."""

import gzip
import io
import tarfile
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_data import cifar_archive as archive
from small_data import small_cifar as files

from typednn.data import cifar10
from typednn.errors import DataError


@pytest.mark.parametrize("kind", ["files", "subfolder", "archive"])
def test_images_and_labels(tmp_path: Path, kind: str) -> None:
    """Z-S1: records of 3,073 bytes, channels first, in six files or their archive."""
    if kind == "archive":
        (tmp_path / "cifar-10-binary.tar.gz").write_bytes(archive(files()))
    else:
        folder = tmp_path / "cifar-10-batches-bin" if kind == "subfolder" else tmp_path
        folder.mkdir(exist_ok=True)
        for name, content in files().items():
            (folder / name).write_bytes(content)
    data = cifar10(str(tmp_path))
    assert (data.train_images.shape, data.test_images.shape) == ((20, 32, 32, 3), (7, 32, 32, 3))
    assert data.train_images.dtype == np.float32
    third = np.frombuffer(files()["data_batch_2.bin"], np.uint8)[:3073]  # two records before it
    assert data.train_labels[2] == third[0]
    for row, column, channel in ((0, 0, 0), (5, 31, 1), (31, 7, 2)):
        assert data.train_images[2, row, column, channel] == third[1 + 1024 * channel + 32 * row + column]
    assert data.test_labels.tolist() == np.frombuffer(files()["test_batch.bin"], np.uint8)[::3073].tolist()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"data_batch_3.bin": bytes(3072)},
            "data_batch_3.bin: must be records of 3073 bytes, a label and 3072 pixels, got 3072 bytes",
        ),
        (
            {"test_batch.bin": b""},
            "test_batch.bin: must be records of 3073 bytes, a label and 3072 pixels, got 0 bytes",
        ),
        ({"test_batch.bin": bytes(3073) + b"\x0a" + bytes(3072)}, "a label of CIFAR-10 is 0 to 9, got 10 in record 1"),
    ],
)
def test_records_that_are_refused(tmp_path: Path, changes: dict[str, bytes], message: str) -> None:
    """Z-S1: sizes that are no records, and labels beyond 9."""
    (tmp_path / "cifar-10-binary.tar.gz").write_bytes(archive({**files(), **changes}))
    with pytest.raises(DataError, match=message):
        cifar10(tmp_path)
    for name, content in {**files(), **changes}.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        cifar10(tmp_path)


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"the folder must hold cifar-10-binary\.tar\.gz or its six \.bin files, got neither"
    ):
        cifar10(tmp_path)
    (tmp_path / "cifar-10-binary.tar.gz").write_bytes(
        archive({name: content for name, content in files().items() if "4" not in name})
    )
    with pytest.raises(DataError, match=r"must hold data_batch_1\.bin, .*, got no data_batch_4\.bin; fetch it again"):
        cifar10(tmp_path)
    (tmp_path / "test_batch.bin").write_bytes(bytes(3073))
    with pytest.raises(DataError, match=r"data_batch_1\.bin: must be a readable file, got No such file"):
        cifar10(tmp_path)


def test_archives_that_are_damaged(tmp_path: Path) -> None:
    path = tmp_path / "cifar-10-binary.tar.gz"
    for content in (archive(files())[:-2000], b"", b"not gzip", gzip.compress(b"no tar" * 1000)):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"must be a whole \.tar\.gz archive, got|must hold data_batch_1"):
            cifar10(tmp_path)


def test_nothing_is_unpacked_to_the_disk(tmp_path: Path) -> None:
    """Names that lead elsewhere lead nowhere."""
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "cifar-10-binary.tar.gz").write_bytes(archive(files(), "../../../"))
    assert len(cifar10(folder).train_images) == 20
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "cifar-10-binary.tar.gz"]


def sparse(content: bytes) -> Any:
    member = tarfile.TarInfo("test_batch.bin")
    member.size = len(content)
    member.pax_headers = {
        "GNU.sparse.major": "0",
        "GNU.sparse.minor": "1",
        "GNU.sparse.size": str(10**12),
        "GNU.sparse.map": "0,0",
    }
    return member


def test_archives_that_stand_for_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import typednn.data.cifar as module

    path = tmp_path / "cifar-10-binary.tar.gz"
    monkeypatch.setattr(module, "_MOST", 1 << 20)
    path.write_bytes(archive({**files(), "data_batch_1.bin": bytes(1 << 24)}))
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match="unpacks to at most 1048576 bytes, got more"):
            cifar10(tmp_path)
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
            tar.addfile(sparse(b"x"), io.BytesIO(b"x"))
        path.write_bytes(stream.getvalue())
        with pytest.raises(DataError, match=r"got no data_batch_1|whole"):
            cifar10(tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


def test_the_memory_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the archive's members together, and of each file in a folder."""
    content = files()
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "cifar-10-binary.tar.gz").write_bytes(archive(content))
    (tmp_path / "folder").mkdir()
    for name, part in content.items():
        (tmp_path / "folder" / name).write_bytes(part)
    most = {"archive": sum(map(len, content.values())), "folder": max(map(len, content.values()))}
    for place, size in most.items():
        monkeypatch.setenv("TYPEDNN_DATA_LIMIT", str(size))
        cifar10(tmp_path / place)
        monkeypatch.setenv("TYPEDNN_DATA_LIMIT", str(size - 1))
        with pytest.raises(DataError, match=f"may take at most {size - 1:,} bytes of memory, got {size:,}"):
            cifar10(tmp_path / place)
