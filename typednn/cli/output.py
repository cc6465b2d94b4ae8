"""Output of the commands: results on standard output, hints and progress on standard error."""

import io
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, final

from typednn.errors import printable
from typednn.screen import screen_width, wrapped


def say(text: str = "") -> None:
    """Print a line of the result."""
    sys.stdout.write(f"{printable(text)}\n")


def say_fitted(text: str) -> None:
    """Print sentences of the result, broken at blanks where a screen is narrower."""
    say(wrapped(text, screen_width()))


def hint(text: str) -> None:
    """Print a line that is not part of the result; below it, indented lines show code and are not broken."""
    sys.stdout.flush()
    sys.stderr.write(f"{as_shown(text)}\n")
    sys.stderr.flush()


def as_shown(text: str) -> str:
    """``text`` as standard error shows it."""
    width = screen_width(sys.stderr)
    lines = printable(text).split("\n")
    return "\n".join(line if line[:1].isspace() else wrapped(line, width) for line in lines)


@contextmanager
def safe_streams() -> Generator[None]:
    """Standard streams that don't end a command: output without a reader is dropped, characters that can't be encoded
    are escaped.

    A result that can't be written for another reason, such as a full disk, is reported as one error.
    """
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _fill_closed_descriptors()
    with (
        redirect_stdout(_wrapped(sys.stdout, sys.__stdout__, 1)),
        redirect_stderr(_wrapped(sys.stderr, sys.__stderr__, 2)),
    ):
        try:
            yield
        finally:
            sys.stderr.flush()
            sys.stdout.flush()


def _wrapped(stream: TextIO | None, own: TextIO | None, descriptor: int) -> TextIO:
    """The process's own stream, wrapped; a stream that a caller has replaced is kept."""
    if stream is not own and stream is not None:
        return stream
    if stream is not None:
        stream.flush()
    return io.TextIOWrapper(
        _Output(io.FileIO(descriptor, "w", closefd=False)),
        encoding=getattr(stream, "encoding", "utf-8"),
        errors="backslashreplace",
        line_buffering=getattr(stream, "line_buffering", False),
        write_through=getattr(stream, "write_through", False),
    )


@final
class _Output(io.BufferedWriter):
    """Standard output or error.

    An error is met here, behind the buffer, and not where the descriptor is written: Ctrl-C that came there, in Python,
    after the bytes were written would have the buffer write them again.
    """

    def write(self, data: Any, /) -> int:
        with self._kept():
            super().write(data)
        return memoryview(data).nbytes

    def flush(self) -> None:
        with self._kept():
            super().flush()

    @contextmanager
    def _kept(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            vars(self.raw)["write"] = len  # all else is dropped, also what the buffer still holds
            # the reader, such as `head`, has closed the pipe
            if self.fileno() == 2 or isinstance(error, BrokenPipeError):
                return
            raise OSError(error.errno, error.strerror, "standard output") from None


def _fill_closed_descriptors() -> None:
    """Open the null device for closed standard streams. Otherwise a file opened later would get their numbers, and
    their output.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
