"""files: what every reader of outside bytes shares, so that no file can block it, crash it or exhaust the memory;
writing is atomic.

A path is checked before it is used. Only plain files are read: a pipe, a device or a folder is refused before it is
opened. A reader takes no more memory than its limit: it asks `File.take` for what a header declares before it
allocates, and `File.exactly` unpacks in pieces.

The limit is the reader's argument ``limit`` in bytes, else ``TYPEDNN_DATA_LIMIT`` (bytes, or ``500M``, ``8G``), else
`LIMIT` or what the file takes on the disk, whichever is more; but never more than half of the memory that is free.
"""

import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol, cast, final

from typednn import system
from typednn.arguments import integer
from typednn.errors import ArgumentError, DataError, explain

LIMIT: Final = 2 << 30
VARIABLE: Final = "TYPEDNN_DATA_LIMIT"

# The temporary file of a writer: the first letters of the name, the process, and digits at random.
_WRITER = re.compile(r"(\.new-.*-)([0-9]{1,10})-[0-9a-f]{16}", re.DOTALL)
_LETTERS = 100
_TRIES = 3

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe (FIFO)",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


class Readable(Protocol):
    """A source of bytes that is read in pieces."""

    def read(self, size: int, /) -> bytes: ...


@final
@dataclass(slots=True)
class File:
    """An open file: ``where`` is its name for messages, ``size`` its length, ``limit`` the memory that its reader may
    take.
    """

    where: str
    stream: BinaryIO
    size: int
    limit: int
    taken: int = 0

    def take(self, size: int) -> None:
        """Count ``size`` bytes of memory that are about to be needed; a `DataError` where that makes more than the
        limit.
        """
        self.room(size)
        self.taken += size

    def room(self, size: int) -> None:
        """A `DataError` where ``size`` bytes more would be more than the limit."""
        allow(self.where, self.taken + size, self.limit)

    def exactly(self, stream: Readable, size: int) -> bytearray:
        """The next ``size`` bytes of ``stream``, or as many as there are; read in pieces, so that a false size takes no
        memory.
        """
        self.take(size)
        content = bytearray()
        while len(content) < size and (piece := stream.read(min(1 << 20, size - len(content)))):
            content += piece
        return content


def allow(where: str, size: int, limit: int) -> None:
    """A `DataError` where ``size`` bytes of memory are more than ``limit``."""
    if size > limit:
        cure = f"if that much is free, pass limit={size} or set {VARIABLE}={size}"
        raise DataError(explain(where, f"may take at most {limit:,} bytes of memory", f"{size:,}", cure))


@contextmanager
def opened(caller: str, path: object, limit: int | None = None) -> Generator[File]:
    """The plain file at ``path``; whatever the system refuses, then or within, is a `DataError` that names the file."""
    place = path_of(caller, path)
    where = str(place)
    try:
        _refuse_special(where, os.stat(place).st_mode)  # opening a pipe may wait, opening a device may do something
        with open(place, "rb", opener=lambda name, flags: os.open(name, flags | system.PLAIN)) as stream:
            about = os.fstat(stream.fileno())
            _refuse_special(where, about.st_mode)
            on_disk = getattr(about, "st_blocks", 0) * 512  # a file with holes is longer than that
            yield File(where, stream, about.st_size, limit_of(caller, limit, on_disk))
    except OSError as error:
        raise DataError(explain(where, "must be a readable file", reason(error))) from None
    except MemoryError:
        raise _too_large(where) from None


@contextmanager
def held(caller: str, content: bytes, limit: int | None = None) -> Generator[File]:
    """As `opened`, of the content of a file that is in memory, such as what a request brought."""
    where = f"{len(content):,} bytes"
    try:
        yield File(where, BytesIO(content), len(content), limit_of(caller, limit))
    except MemoryError:
        raise _too_large(where) from None


def _too_large(where: str) -> DataError:
    got, cure = "more than this process may take", f"set {VARIABLE} to less than is free"
    return DataError(explain(where, "must fit into memory", got, cure))


def read_utf8(caller: str, path: object, limit: int | None = None) -> str:
    """The text of a file in UTF-8, its lines ended by a line feed alone; a `DataError` where it is something else."""
    with opened(caller, path, limit) as file:
        content = bytes(file.exactly(file.stream, file.size))
    try:
        return content.decode().removeprefix("\ufeff").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise DataError(explain(str(path), "must be UTF-8", f"another byte at {error.start}")) from None


def read_object(caller: str, path: object, most: int = 1 << 26) -> dict[str, Any]:
    """The JSON object in a file of at most so many bytes; a `DataError` where it is something else."""
    with opened(caller, path) as file:
        if file.size > most:
            raise DataError(explain(file.where, f"may have {most:,} bytes at most", f"{file.size:,}"))
        table = parsed(bytes(file.exactly(file.stream, file.size)))
    if table is None:
        raise DataError(explain(str(path), "must hold one JSON object", "something else"))
    return table


def path_of(caller: str, path: object) -> Path:
    """``path`` as one; an `ArgumentError` for what can name no file: None, a list, bytes, an empty name, a NUL."""
    rule = "path must be the name of a file or folder"
    try:
        text = os.fspath(path)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]
    except TypeError:
        raise ArgumentError(explain(caller, rule, "None" if path is None else type(path).__name__)) from None
    if not isinstance(text, str) or not text or "\0" in text:
        raise ArgumentError(explain(caller, rule, ascii(text)[:80]))  # pyright: ignore[reportUnknownArgumentType]
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise ArgumentError(
            explain(caller, rule, ascii(text)[:80], "it holds a character that no name has here")
        ) from None
    return Path(text)


def limit_of(caller: str, limit: int | None, on_disk: int = 0) -> int:
    """The memory in bytes that a reader may take: see above."""
    if limit is not None:
        return integer(caller, "limit", limit)
    text = os.environ.get(VARIABLE, "").strip()
    if text:
        match = re.fullmatch(r"([0-9]{1,18})\s*([KMGT]?)", text.upper())
        if match is None:
            raise ArgumentError(explain(VARIABLE, "must be a number of bytes, such as 500M or 8G", repr(text[:40])))
        return int(match[1]) * _UNITS[match[2]]
    return min(max(LIMIT, on_disk), system.free_memory() // 2)


def write_file(path: Path, content: bytes) -> None:
    """A new file with that content, on the disk when this returns."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | system.PLAIN, 0o644)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_file(path: Path, content: bytes) -> None:
    """Replace the file's content, or leave it unchanged; on the disk when this returns.

    Each writer first writes a file with a name of its own beside it, ``.new-NAME-PROCESS-…``. So several may write at
    once: the file is always a whole version, in the end the last one. What a crash left there is removed by the next
    writer of the same name.
    """
    remove_leftovers(path)
    for tries in range(_TRIES):
        new = temporary_name(path)
        try:
            write_file(new, content)
            system.rename(new, path)
            break
        except FileNotFoundError:  # taken for left over, by a writer on another machine
            if tries == _TRIES - 1 or not path.parent.is_dir():
                raise
        except OSError:
            with suppress(OSError):
                new.unlink(missing_ok=True)
            raise
    system.sync_folder(path.parent)


def temporary_name(path: Path) -> Path:
    """A name beside ``path``, of this writer alone, for what becomes it."""
    return path.with_name(f"{_begin(path)}{os.getpid()}-{secrets.token_hex(8)}")


def _begin(path: Path) -> str:
    return f".new-{path.name[:_LETTERS]}-"


def remove_leftovers(path: Path) -> None:
    """Remove the files and folders with a `temporary_name` of ``path`` that writers which no longer run have begun."""
    found: list[os.DirEntry[str]] = []
    with suppress(OSError), os.scandir(path.parent) as entries:
        found += entries
    for entry in found:
        match = _WRITER.fullmatch(entry.name)
        if match is not None and match[1] == _begin(path) and not system.runs(int(match[2])):
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry)
                else:
                    os.unlink(entry)


def write_whole(path: Path, content: bytes) -> None:
    """As `replace_file`, in a folder that is made where it is missing; a `DataError` where it cannot be written."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, content)


@contextmanager
def writing(path: Path, what: str = "") -> Generator[None]:
    """Errors of writing to ``path`` in this block become a `DataError`; ``what`` describes the content."""
    try:
        yield
    except OSError as error:
        raise DataError(
            explain(
                str(path),
                f"{what} must be writable".lstrip(),
                reason(error),
                "make room, or make the folder writable, and try again",
            )
        ) from None


def reason(error: Exception) -> str:
    """The system's message for an error."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


def parsed(line: bytes) -> dict[str, Any] | None:
    """The JSON object in ``line``, None where it is not one."""
    try:
        return as_object(json.loads(line))
    except (ValueError, RecursionError):
        return None


def as_object(value: Any) -> dict[str, Any] | None:
    """A value from JSON if it is an object."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def as_list(value: Any) -> list[object] | None:
    """A value from JSON if it is a list."""
    return cast("list[object]", value) if isinstance(value, list) else None


def json_of(value: Any) -> str:
    """A value from JSON for a message: as JSON, cut where it is long."""
    try:
        return json.dumps(value)[:80]
    except RecursionError:  # it was read just within the limit
        return f"a deep {type(value).__name__}"


def _refuse_special(where: str, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise DataError(explain(where, "must be a plain file", _KINDS.get(stat.S_IFMT(mode), "something else")))
