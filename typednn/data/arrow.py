"""Parquet and Arrow files: their columns, read by pyarrow in a process of its own.

What a file can do to pyarrow it does to that process (`typednn.data.arrow_child`): to crash it, or to unpack to more
memory than the limit. Both are a `DataError` here. To start it costs half a second.
"""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from signal import Signals
from typing import IO, Any, Final, NoReturn, TypeAlias, final

import numpy as np
import numpy.typing as npt

from typednn import system
from typednn.errors import DataError, explain, optional
from typednn.files import VARIABLE, File

_CHILD: Final = Path(__file__).with_name("arrow_child.py")
_LEAST: Final = 64 << 20  # bytes: pyarrow takes some memory of its own to read anything
# numbers, NaN where there is none; or words, None where there is none
Column: TypeAlias = "npt.NDArray[np.float64] | list[str | None]"


@final
@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that a file states: names, kinds (``number``, ``boolean``, ``word``, or nothing), and pyarrow's names
    of the types.
    """

    names: list[str]
    kinds: list[str]
    types: list[str]
    reader: "_Reader"

    def batches(self, chosen: Sequence[int], size: int) -> Iterator[list[Column]]:
        """The columns with these numbers, some rows at a time, of each of which ``size`` bytes will be kept."""
        file = self.reader.file
        self.reader.say([*chosen])
        while rows := self.reader.hear().get("rows", 0):
            file.room(rows * size)
            before = file.taken
            columns = [self._column(number) for number in chosen]
            file.taken = before  # what is kept of these rows is counted by who keeps it
            yield columns

    def _column(self, number: int) -> Column:
        self.reader.hear()
        content = self.reader.content()
        words: list[str | None] = json.loads(content) if self.kinds[number] == "word" else []
        return words if self.kinds[number] == "word" else np.frombuffer(content, "<f8")


@contextmanager
def columns_stored(caller: str, file: File) -> Generator[Columns]:
    """The columns of an open file. `MissingExtra` without pyarrow; a `DataError` for what is no such file, then or
    while rows are read.
    """
    if find_spec("pyarrow") is None:  # this process does not import it
        optional("pyarrow", caller, "needs pyarrow to read Parquet and Arrow", "pip install 'typednn[arrow]'")
    # Its own allocator takes whole regions of addresses, which count against the limit.
    environment = {
        **os.environ,
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [sys.executable, "-P", str(_CHILD)]  # -P: names beside the script are not those of Python's library
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            reader = _Reader(file, process, process.stdin, process.stdout)
            reader.hear()  # it is ready, and has not read anything
            system.limit_memory(process.pid, max(_LEAST, file.limit - file.taken))
            reader.say({"path": file.where})
            told = reader.hear()
            yield Columns(told["names"], told["kinds"], told["types"], reader)
        finally:
            process.kill()


@final
@dataclass(slots=True)
class _Reader:
    """What the process says."""

    file: File
    process: subprocess.Popen[bytes]
    stdin: IO[bytes]
    stdout: IO[bytes]
    size: int = 0

    def say(self, message: Any) -> None:
        """A line to it; one that has ended is noticed when it is heard."""
        with suppress(BrokenPipeError):
            self.stdin.write(json.dumps(message).encode() + b"\n")
            self.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """Its next message; the error that it tells, or that it ended."""
        line = self.stdout.readline()
        if not line.endswith(b"\n"):
            code = self.process.wait()
            self._refuse(
                "pyarrow was ended by "
                + (Signals(-code).name if code < 0 else f"exit code {code}")
                + " as it read this"
            )
        told: dict[str, Any] = json.loads(line)
        if told.get("memory"):
            raise DataError(
                explain(
                    self.file.where,
                    f"may take at most {self.file.limit:,} bytes of memory",
                    "more, when it is unpacked",
                    f"if there is more, pass limit= or set {VARIABLE}",
                )
            )
        if "error" in told:
            self._refuse(told["error"])
        self.size = told["bytes"]
        return told

    def content(self) -> bytes:
        """What follows the message that was heard last."""
        self.file.take(self.size)
        return self.stdout.read(self.size)

    def _refuse(self, got: str) -> NoReturn:
        raise DataError(explain(self.file.where, "must be a whole Parquet or Arrow file", got, "write it anew"))
