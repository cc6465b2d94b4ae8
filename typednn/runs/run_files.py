"""The files of a run folder: reading tolerates missing files.

A killed or running run can be read. No reader follows a link out of the run folder, takes more than
`FILE_LIMIT` bytes of a file, or runs anything; what cannot be read is a `DataError` that names the file.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from typednn.errors import DataError, explain
from typednn.files import parsed, path_of, reason

T = TypeVar("T")

FILE_LIMIT = 1 << 26


def existing_run(where: str, run_folder: str | os.PathLike[str]) -> Path:
    """``run_folder`` as a path; a `DataError` where there is no such folder."""
    folder = path_of(where, run_folder)
    if not folder.is_dir():
        raise DataError(
            explain(
                where,
                "needs the folder of a run",
                f"{str(folder)!r}, which is no folder",
                "give the folder that training wrote",
            )
        )
    return folder


def read_bytes(run_folder: Path, name: str, limit: int = FILE_LIMIT) -> bytes | None:
    """The bytes of the file ``name`` of the run, None where it is missing."""
    path = run_folder / name
    try:
        if not is_inside(run_folder, path):
            return None
        with path.open("rb") as stream:
            # this much memory is allocated at once
            content = stream.read(min(limit, os.fstat(stream.fileno()).st_size) + 1)
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
            explain(
                name,
                "must hold one JSON object",
                "something else",
                "it may have been cut off; write it anew with `typednn eval`",
            )
        )
    return table


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


def as_number(value: Any) -> float | None:
    """A value from JSON if it is a number that a float can hold; true and false are not numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None
