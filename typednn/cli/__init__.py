"""The command line, ``typednn`` or ``python -m typednn``: arguments in, exit code out; every command is a library call."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # to type checkers it is true; all that is imported here comes before the guard against Ctrl-C
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(given: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code; ``given`` is ``sys.argv[1:]`` unless told."""
    try:  # imports too, as Ctrl-C may come while they run
        from typednn.cli.interrupts import deferred

        with deferred():
            from typednn.cli.command import run
            from typednn.cli.output import patient
        with patient():
            return run(given)
    except KeyboardInterrupt:
        from contextlib import suppress

        with suppress(OSError):  # standard error is closed
            os.write(2, b"stopped\n")
        return 130


__all__ = ["main"]
