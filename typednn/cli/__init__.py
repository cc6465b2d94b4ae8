"""The command line, ``typednn`` or ``python -m typednn``: arguments in, exit code out; every command is a library call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress


def main(given: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code; ``given`` is ``sys.argv[1:]`` unless told."""
    try:  # imports too, as Ctrl-C may come while they run
        from typednn.cli.command import run
        from typednn.cli.output import patient

        with patient():
            return run(given)
    except KeyboardInterrupt:
        with suppress(OSError):  # standard error may be closed
            os.write(2, b"stopped\n")
        return 130


__all__ = ["main"]
