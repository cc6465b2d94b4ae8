"""The files of a run folder: reading tolerates missing files, writing is atomic.

A killed or running run can be read. No reader follows a link out of the run folder, takes more than
`FILE_LIMIT` bytes of a file, or runs anything; what cannot be read is a `DataError` that names the file.
"""

import contextlib
import json
import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, TypeVar, cast

from typednn.errors import DataError, explain
from typednn.files import path_of, sync_folder

T = TypeVar("T")

FILE_LIMIT = 1 << 26


def existing_run(where: str, run_folder: str | os.PathLike[str]) -> Path:
    """``run_folder`` as a path; a `DataError` where there is no such folder."""
    folder = path_of(where, run_folder)
    if not folder.is_dir():
        raise DataError(
            explain(where, "needs the folder of a run", f"{str(folder)!r}, which is no folder", "give the folder that training wrote")
        )
    return folder


def read_bytes(run_folder: Path, name: str, limit: int = FILE_LIMIT) -> bytes | None:
    """The bytes of the file ``name`` of the run, None where it is missing."""
    path = run_folder / name
    try:
        if not is_inside(run_folder, path):
            return None
        with path.open("rb") as stream:
            content = stream.read(min(limit, os.fstat(stream.fileno()).st_size) + 1)  # this much memory is allocated at once
    except (OSError, ValueError) as error:
        raise DataError(explain(name, "must be readable", reason(error))) from None
    if len(content) > limit:
        raise DataError(explain(name, f"may have {limit:,} bytes at most", "more"))
    return content


def read_text(run_folder: Path, name: str) -> str | None:
    """The file ``name`` of the run as text, None where it is missing; bytes that are no UTF-8 become U+FFFD."""
    content = read_bytes(run_folder, name)
    return None if content is None else content.decode("utf-8-sig", errors="replace")


def read_json(run_folder: Path, name: str) -> dict[str, Any] | None:
    """The JSON object in the file ``name`` of the run, None where it is missing."""
    content = read_bytes(run_folder, name)
    if content is None:
        return None
    table = parsed(content)
    if table is None:
        raise DataError(
            explain(name, "must hold one JSON object", "something else", "it may have been cut off; write it anew with `typednn eval`")
        )
    return table


def write_file(path: Path, content: bytes) -> None:
    """A new file with that content, on the disk when this returns."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_file(path: Path, content: bytes) -> None:
    """Replace the file's content, or leave it unchanged; on the disk when this returns."""
    new = path.with_name(f".new-{path.name}")
    new.unlink(missing_ok=True)
    try:
        write_file(new, content)
        os.rename(new, path)
    except OSError:
        with contextlib.suppress(OSError):  # the next start removes it
            new.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_whole(path: Path, content: bytes) -> None:
    """As `replace_file`, in a folder that is made where it is missing; a `DataError` where it cannot be written."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, content)


@contextlib.contextmanager
def writing(path: Path, what: str = "") -> Generator[None]:
    """Errors of writing to ``path`` in this block become a `DataError`; ``what`` describes the content."""
    try:
        yield
    except OSError as error:
        raise DataError(
            explain(str(path), f"{what} must be writable".lstrip(), reason(error), "make room, or make the folder writable, and try again")
        ) from None


def attempted(remarks: list[str], read: Callable[..., T], *arguments: Any) -> T | None:
    """The result of ``read`` for the run; None, and a remark, where it is damaged."""
    try:
        return read(*arguments)
    except DataError as error:
        remarks.append(str(error))
        return None


def is_inside(run_folder: Path, path: Path) -> bool:
    """Whether ``path`` is there, as a plain file of the run folder; a `DataError` where it is anything else."""
    if not path.exists():
        return False
    name = path.relative_to(run_folder).as_posix()
    if not path.is_file():
        raise DataError(explain(name, "must be a file", "something else"))
    if not path.resolve().is_relative_to(run_folder.resolve()):
        raise DataError(explain(name, "must lie in the run folder", "a link out of it", "put a copy in its place"))
    return True


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


def as_number(value: Any) -> float | None:
    """A value from JSON if it is a number that a float can hold; true and false are not numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None
