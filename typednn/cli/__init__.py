"""The command line, ``typednn`` or ``python -m typednn``: arguments in, exit code out; every command is a library call."""

from typednn.cli.main import main

__all__ = ["main"]
