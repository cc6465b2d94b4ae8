"""The command line, ``typednn`` or ``python -m typednn``: arguments in, exit code out; every command is
a library call.
"""

import os  # any other import here would run before Ctrl-C is guarded


def main(arguments: list[str] | None = None) -> int:
    """Run the command, and return its exit code; ``arguments`` is ``sys.argv[1:]`` by default."""
    try:  # imports are inside, as Ctrl-C may come while they run
        from typednn.cli.interrupts import deferred, repeated

        with deferred():
            from typednn.cli.command import run
            from typednn.cli.output import safe_streams
        with safe_streams(), repeated():
            return run(arguments)
    except KeyboardInterrupt:
        from contextlib import suppress

        with suppress(OSError):  # standard error is closed
            os.write(2, b"stopped\n")
        return 130


__all__ = ["main"]
