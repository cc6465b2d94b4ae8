"""run: from command-line arguments to an exit code.

0 done, 1 an error of typednn (one message on standard error, no traceback unless ``--debug``), 2 the command line is
wrong, 130 stopped by Ctrl-C, 143 by SIGTERM.
"""

import importlib
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Any

from typednn.cli.commands import COMMANDS
from typednn.cli.interrupts import deferred
from typednn.cli.output import hint
from typednn.cli.parser import WELCOME, parsed
from typednn.errors import TypednnError


def run(arguments: Sequence[str] | None) -> int:
    """The command's exit code; an exception becomes one message."""
    where, debug = "typednn", False
    try:
        try:
            if not (sys.argv[1:] if arguments is None else arguments):
                sys.stdout.write(WELCOME)
                return 0
            options = parsed(arguments)
            where, debug = f"typednn {options.command}", options.debug
            # a user's layers are in this folder, which `python -m` puts in front
            if not sys.flags.safe_path and "" not in sys.path:
                sys.path.append("")
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                with deferred():
                    module: Any = importlib.import_module(f"typednn.cli.{COMMANDS[options.command].module}")
                command: Callable[[Namespace], int] = getattr(
                    module, "evaluate" if options.command == "eval" else options.command
                )
                return command(options)
        finally:
            sys.stdout.flush()
    except (TypednnError, OSError) as error:
        if debug:
            raise
        message = str(error)
        if isinstance(error, OSError):
            message = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
        hint(f"{where}: {message}")
        return 1


def _show_warning(message: Warning | str, *where: Any, **more: Any) -> None:
    """Print a warning without the place in our code."""
    hint(f"warning: {message}")
