"""Files from outside: what is no plain file, what is no path, and what would take more memory than there is."""

import gzip
import inspect
import io
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn import config, data
from typednn.data.download import fetch
from typednn.data.tokenizer import BYTES
from typednn.errors import ArgumentError, ConfigError, DataError, TypednnError
from typednn.files import LIMIT, limit_of, opened, replace_file
from typednn.reports.html import write_report

GIB = 1 << 30
BYTES_ONLY = data.Tokenizer({name: number for number, name in enumerate([*BYTES.values(), "<|endoftext|>"])}, [])

# Every reader of the library that is handed a path.
FILES: dict[str, Callable[[Any], object]] = {
    "image_size": data.image_size,
    "read_columns": lambda path: data.read_columns(path, ["a"]),
    "read_csv": data.read_csv,
    "read_idx": data.read_idx,
    "read_image": data.read_image,
    "read_inputs": data.read_inputs,
    "read_npy": data.read_npy,
    "read_npy mapped": lambda path: data.read_npy(path, mmap=True),
    "read_npz": data.read_npz,
    "read_optdigits": data.read_optdigits,
    "read_table": data.read_table,
    "read_text": data.read_text,
    "read_token_table": data.read_token_table,
    "read_tokens": data.read_tokens,
    "read_tokens read": lambda path: data.read_tokens(path, "uint64"),
    "config.load": config.load,
}
FOLDERS: dict[str, Callable[[Any], object]] = {
    "cifar10": data.cifar10,
    "cifar10_pixels": data.cifar10_pixels,
    "mnist": data.mnist,
    "mnist_pixels": data.mnist_pixels,
    "open_image_folder": data.open_image_folder,
    "read_image_folder": data.read_image_folder,
    "read_text_folder": data.read_text_folder,
    "read_tiny_stories": lambda path: data.read_tiny_stories(path, BYTES_ONLY),
    "read_tokenizer": data.read_tokenizer,
    "read_vocabulary": data.read_vocabulary,
    "write_report": write_report,
    "fetch": lambda path: fetch("http://localhost:9/a", path, checksum=f"md5:{'0' * 32}"),
}
WRITERS: dict[str, Callable[[Any], object]] = {
    "write_token_table": lambda path: data.write_token_table(BYTES_ONLY, path),
    "write_tokens": lambda path: data.write_tokens(path, np.array([1])),
}


def test_no_reader_is_forgotten() -> None:
    taking = {"path", "folder"}
    names: list[str] = data.__all__
    found = {
        name
        for name in names
        if inspect.isfunction(vars(data)[name]) and taking & set(inspect.signature(vars(data)[name]).parameters)
    }
    assert found - set(FILES) - set(FOLDERS) - set(WRITERS) == {"find", "load", "load_pixels", "source_folder"}, (
        "these take None for no folder"
    )


@contextmanager
def soon() -> Generator[None]:
    """An error where what is within hangs."""

    def late(number: int, frame: Any) -> None:
        raise AssertionError("it hangs")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(10)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", sorted(FILES))
def test_only_plain_files_are_opened(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for path, kind in (
            (tmp_path, "a folder"),
            (tmp_path / "pipe", r"a pipe \(FIFO\)"),
            (tmp_path / "socket", "a socket"),
            (Path("/dev/zero"), "a device"),
            (tmp_path / "link", "a device"),
        ):
            with (
                soon(),
                pytest.raises((DataError, ConfigError), match=f"{path.name}: must be a plain file, got {kind}$"),
            ):
                FILES[name](path)


def test_a_file_that_becomes_a_pipe_before_it_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    plain = os.stat(__file__)

    def as_it_was(path: object) -> os.stat_result:
        return plain

    def read() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(os, "stat", as_it_was)
            with opened("here", tmp_path / "pipe"):
                pass

    with soon(), pytest.raises(DataError, match="got a pipe"):
        read()


@pytest.mark.parametrize("name", sorted(FILES | FOLDERS | WRITERS))
@pytest.mark.parametrize(
    ("path", "got"),
    [
        (None, "None"),
        (["a"], "list"),
        (7, "int"),
        (b"a", "b'a'"),
        ("", "''"),
        ("a\0b", r"'a\\x00b'"),
        ("a\ud800", r"'a\\ud800'; it holds a character that no name has here"),
    ],
    ids=repr,
)
def test_what_is_no_path(name: str, path: object, got: str) -> None:
    caller = name.partition(" ")[0].replace("cifar10_pixels", "cifar10").replace("mnist_pixels", "mnist")
    with pytest.raises(
        ArgumentError, match=rf"^({caller}|image_size|cifar10): path must be the name of a file or folder, got {got}$"
    ):
        (FILES | FOLDERS | WRITERS)[name](path)


@pytest.mark.parametrize("name", sorted(set(FILES | FOLDERS) - {"fetch"}))
def test_a_name_that_is_no_utf8(tmp_path: Path, name: str) -> None:
    """It is read like any other, and named so that it can be printed."""
    path = tmp_path / os.fsdecode(b"\xff.csv")
    with pytest.raises((DataError, ConfigError), match=r"\\udcff\.csv") as caught:
        (FILES | FOLDERS)[name](path)
    assert str(caught.value).encode()
    path.write_bytes(b"1,2\n")
    assert data.read_csv(path).tolist() == [[1.0, 2.0]]
    for folder in (lambda: data.load("mnist", path), lambda: data.find("mnist", "a\0b")):
        with pytest.raises(TypednnError) as caught_too:
            folder()
        assert str(caught_too.value).encode()


# --- memory ---------------------------------------------------------------------------------------------------------


def gzip_bomb(start: bytes, size: int) -> bytes:
    """``start`` and ``size`` zero bytes, as a thousandth of them."""
    return gzip.compress(start) + gzip.compress(bytes(1 << 24)) * (size >> 24)


def npz_bomb(start: bytes, size: int) -> bytes:
    """The same as the only entry of a zip archive."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)
    zeros = packer.compress(bytes(1 << 24)) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = first + zeros * (size >> 24) + packer.flush()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a.npy", packed)
    content = bytearray(stream.getvalue())
    for place in (0, content.rindex(b"PK\1\2")):
        fields = place + (22 if place == 0 else 24)
        content[fields : fields + 4] = (len(start) + size).to_bytes(4, "little")
        content[fields - 14 : fields - 12] = zipfile.ZIP_DEFLATED.to_bytes(2, "little")
    return bytes(content)


def npy_header(count: int) -> bytes:
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({count},), }}\n".encode()
    return b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header


def sparse(path: Path, start: bytes, size: int) -> None:
    with path.open("wb") as file:
        file.write(start)
        file.truncate(len(start) + size)


def png(height: int, width: int) -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    rows = zlib.compress(bytes((4 * width + 1) * height), 1)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 6, 0, 0, 0))
        + chunk(b"IDAT", rows)
        + chunk(b"IEND", b"")
    )


SMALL = """
import json, resource, sys
import numpy
from typednn import data
from typednn.errors import TypednnError
try:
    import PIL.PngImagePlugin
except ImportError:
    pass
with open("/proc/self/statm") as statm:
    used = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (400 << 20),) * 2)
for name, path in json.loads(sys.argv[1]):
    try:
        read = getattr(data, name)(path)
    except TypednnError as error:
        print(str(error))
    except BaseException as error:
        print("foreign", repr(error))
    else:
        print("read", getattr(read, "shape", type(read).__name__))
        del read
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of a process's memory is Linux's")
def test_what_is_larger_than_memory_is_refused_by_size_and_limit(tmp_path: Path) -> None:
    """In a process that may take 400 MB: small files that stand for gigabytes, and honest ones of 100 MB and more."""
    pytest.importorskip("PIL.Image")
    most = 78 * 10**9
    (tmp_path / "idx.gz").write_bytes(gzip_bomb(struct.pack(">HBBI", 0, 8, 1, 2 * GIB), 2 * GIB))
    (tmp_path / "a.npz").write_bytes(npz_bomb(npy_header(238 << 24), 238 << 24))
    sparse(tmp_path / "a.npy", npy_header(most), most)
    sparse(tmp_path / "idx", struct.pack(">HBBI", 0, 14, 1, 1 << 31), 8 << 31)
    sparse(tmp_path / "a.csv", b"", most)
    sparse(tmp_path / "rows.csv", b"1,2\n", most)
    (tmp_path / "large.png").write_bytes(png(4096, 4096))
    (tmp_path / "cifar").mkdir()
    for part in (*range(1, 6), "test"):
        sparse(
            tmp_path / "cifar" / ("test_batch.bin" if part == "test" else f"data_batch_{part}.bin"), b"", 3073 * 10**6
        )
    (tmp_path / "honest.gz").write_bytes(gzip_bomb(struct.pack(">HBBI", 0, 8, 1, 6 << 24), 6 << 24))
    sparse(tmp_path / "honest.npy", npy_header(150 << 20), 150 << 20)
    (tmp_path / "honest.png").write_bytes(png(2048, 2048))
    calls = [
        ("read_idx", "idx.gz", "2,147,483,648"),
        ("read_npz", "a.npz", f"{238 << 24:,}"),
        ("read_npy", "a.npy", "78,000,000,000"),
        ("read_idx", "idx", "17,179,869,184"),
        ("read_csv", "a.csv", "a line may have at most"),
        ("read_csv", "rows.csv", "a line may have at most"),
        ("read_table", "rows.csv", "a line may have at most"),
        ("read_image", "large.png", "268,435,456"),
        ("cifar10", "cifar", "3,073,000,000"),
        ("read_idx", "honest.gz", f"read ({6 << 24},)"),
        ("read_npy", "honest.npy", f"read ({150 << 20},)"),
        ("read_image", "honest.png", "read (1, 2048, 2048, 1)"),
    ]
    arguments = json.dumps([(name, str(tmp_path / file)) for name, file, _ in calls])
    done = subprocess.run(
        [sys.executable, "-c", SMALL, arguments], capture_output=True, text=True, check=True, timeout=60
    )
    for (_, file, told), line in zip(calls, done.stdout.splitlines(), strict=True):
        assert told in line, (file, line)
        if "read" not in told:
            assert "limit" in line
            assert "TYPEDNN_DATA_LIMIT" in line


def test_what_unpacks_to_more_than_the_limit(tmp_path: Path) -> None:
    """Whatever the machine: the header is refused before anything is unpacked, and nothing lies on the disk for it."""
    (tmp_path / "idx.gz").write_bytes(gzip_bomb(struct.pack(">HBBI", 0, 8, 1, 1 << 31 | 1), 4 << 24))
    sparse(tmp_path / "a.npy", npy_header(3 * GIB), 3 * GIB)
    for read, name in ((data.read_idx, "idx.gz"), (data.read_npy, "a.npy")):
        with pytest.raises(
            DataError,
            match=r"may take at most [\d,]+ bytes of memory, got (2,147,483,649|3,221,225,472); if that much is",
        ):
            read(tmp_path / name)
    mapped = data.read_npy(tmp_path / "a.npy", mmap=True)
    assert (mapped.shape, int(mapped[-1])) == ((3 * GIB,), 0), "what stays on the disk is not limited"


def test_the_limit_is_told_by_argument_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TYPEDNN_DATA_LIMIT", raising=False)
    Image: Any = pytest.importorskip("PIL.Image")
    numbers = np.arange(5000, dtype=np.uint8)
    np.save(tmp_path / "a.npy", numbers)
    np.savez_compressed(tmp_path / "a.npz", a=numbers, b=numbers)
    (tmp_path / "a.csv").write_text("1,2\n" * 1000)
    (tmp_path / "a.idx").write_bytes(struct.pack(">HBBI", 0, 8, 1, 5000) + numbers.tobytes())
    (tmp_path / "0").mkdir()
    Image.fromarray(numbers.reshape(50, 100)).save(tmp_path / "0" / "a.png")
    image = 16 * 5000 + (tmp_path / "0" / "a.png").stat().st_size
    (tmp_path / "optdigits").write_bytes((b"3," * 64 + b"7\n") * 99)
    needs: dict[str, tuple[Callable[..., object], str, int]] = {
        "npy": (data.read_npy, "a.npy", 5000),
        "npz, together": (data.read_npz, "a.npz", 10000),
        "csv": (data.read_csv, "a.csv", 8000),
        "idx": (data.read_idx, "a.idx", 5000),
        "inputs": (partial(data.read_inputs, height=50, width=100), "a.npy", 5000),
        "optdigits": (data.read_optdigits, "optdigits", 99 * 65 * 4),
        "image": (data.read_image, "0/a.png", image),
        "images": (data.read_image_folder, ".", image),
    }
    for name, (read, file, size) in needs.items():
        read(tmp_path / file, limit=size)
        read(tmp_path / file)
        with pytest.raises(
            DataError, match=rf"at most {size - 1:,} bytes of memory, got [\d,]+; .* set TYPEDNN_DATA_LIMIT="
        ):
            read(tmp_path / file, limit=size - 1)
        monkeypatch.setenv("TYPEDNN_DATA_LIMIT", str(size - 1))
        with pytest.raises(DataError, match=f"at most {size - 1:,} bytes of memory"):
            read(tmp_path / file)
        read(tmp_path / file, limit=size)
        monkeypatch.delenv("TYPEDNN_DATA_LIMIT")
        assert name


@pytest.mark.parametrize(
    ("told", "limit"), [("500", 500), ("7k", 7 << 10), (" 500M ", 500 << 20), ("8 G", 8 << 30), ("3T", 3 << 40)]
)
def test_units(monkeypatch: pytest.MonkeyPatch, told: str, limit: int) -> None:
    monkeypatch.setenv("TYPEDNN_DATA_LIMIT", told)
    assert limit_of("here", None) == limit


@pytest.mark.parametrize("told", ["much", "-1", "1.5G", "8GB", "9" * 30])
def test_what_is_no_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str) -> None:
    monkeypatch.setenv("TYPEDNN_DATA_LIMIT", told)
    (tmp_path / "a.csv").write_text("1")
    with pytest.raises(ArgumentError, match="TYPEDNN_DATA_LIMIT: must be a number of bytes, such as 500M or 8G, got"):
        data.read_csv(tmp_path / "a.csv")
    with pytest.raises(ArgumentError, match="read_csv: limit must be an integer of at least 1, got 0"):
        data.read_csv(tmp_path / "a.csv", limit=0)


def test_what_lies_on_the_disk_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of 5 GiB that is no promise may take as much, but never more than half of what is free."""
    monkeypatch.delenv("TYPEDNN_DATA_LIMIT", raising=False)
    monkeypatch.setattr("typednn.system.free_memory", lambda: 100 * GIB)
    assert limit_of("here", None) == LIMIT
    assert limit_of("here", None, 5 * GIB) == 5 * GIB
    assert limit_of("here", None, 60 * GIB) == 50 * GIB
    monkeypatch.setattr("typednn.system.free_memory", lambda: GIB)
    assert limit_of("here", None, 5 * GIB) == GIB // 2


def test_memory_that_ends_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    with (
        pytest.raises(DataError, match="a: must fit into memory, got more than this process may take"),
        opened("here", tmp_path / "a"),
    ):
        raise MemoryError


# ------------------------------------------------------------------ writing

WRITER = """
import sys
from pathlib import Path
from typednn.files import replace_file
for turn in range(60):
    replace_file(Path(sys.argv[1]), (sys.argv[2] * 70_000).encode())
"""


def test_many_writers_of_one_name(tmp_path: Path) -> None:
    """None fails, a reader meets a whole version at any moment, and nothing else is left."""
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"0" * 70_000)
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), digit], stderr=subprocess.PIPE) for digit in "1234"
    ]
    while any(writer.poll() is None for writer in writers):
        content = path.read_bytes()
        assert len(content) == 70_000
        assert len(set(content)) == 1
    assert [writer.communicate()[1] for writer in writers] == [b""] * 4
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_what_a_crash_left_is_removed_by_the_next_writer(tmp_path: Path) -> None:
    """Of processes that no longer run; what others have begun, and a user's own files, stay."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    digits = "0123456789abcdef"
    left = f".new-a.txt-{ended.pid}-{digits}"
    others = f".new-a.txt-{os.getpid()}-{digits}", f".new-b.txt-{ended.pid}-{digits}"
    kept = [*others, ".new-a.txt", ".new-a.txt-notes", f".new-a.txt-{ended.pid}-1"]
    for name in (left, *kept):
        (tmp_path / name).write_text("half")
    folder = tmp_path / f".new-a.txt-{ended.pid}-{digits[::-1]}"  # as an export in several files has one
    folder.mkdir()
    (folder / "a.txt").write_text("half")
    replace_file(tmp_path / "a.txt", b"whole")
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", *kept}


def test_a_file_that_another_machine_took_for_left_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a shared disk the process is not seen to run: what it had begun may be gone before it gets its name."""
    rename, gone = os.rename, [1, 2]

    def stolen(new: Path, path: Path) -> None:
        if gone:
            gone.pop()
            os.unlink(new)
        rename(new, path)

    monkeypatch.setattr(os, "rename", stolen)
    replace_file(tmp_path / "a.txt", b"whole")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a.txt", b"whole")]
    gone.extend([1, 2, 3])
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "a.txt", b"other")
    assert (tmp_path / "a.txt").read_bytes() == b"whole"


def test_a_long_name_can_be_written(tmp_path: Path) -> None:
    for name in ("a" * 255, "\u00e9" * 127):
        replace_file(tmp_path / name, b"whole")
        assert (tmp_path / name).read_bytes() == b"whole"
        assert len([*tmp_path.iterdir()]) == 1
        (tmp_path / name).unlink()
