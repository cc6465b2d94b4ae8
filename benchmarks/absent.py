"""What a machine lacks: a row that needs it is left out in one line, and the program goes on.

    speeches is left out: https://…/input.txt: must be reachable, got No route to host; is there a network? A local …
    resnet18 is left out: needs torch, got no such package; `make bench` installs it

A benchmark asks here before it measures. Data are downloaded where the machine has none. Peers' processes import this
module, so it imports typednn only in functions.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from shutil import which


def why_not(*packages: str) -> str:
    """Which packages are not installed, and the cure; empty where all are."""
    lacking = [name for name in packages if find_spec(name) is None]
    got, them = ("no such packages", "them") if len(lacking) > 1 else ("no such package", "it")
    return f"needs {' and '.join(lacking)}, got {got}; `make bench` installs {them}" if lacking else ""


def without(row: str, *packages: str) -> bool:
    """Whether packages of a row are not installed; its line is printed then."""
    reason = why_not(*packages)
    if reason:
        left_out(row, reason)
    return bool(reason)


def without_compiler(row: str, command: str) -> bool:
    """Whether a row's compiler is not installed; its line is printed then."""
    found = which(command)
    if found is None:
        left_out(row, f"needs a compiler called {command}, got none; install one, such as GCC")
    return found is None


def data_of(row: str, name: str) -> Path | None:
    """The folder of a row's data set, which is downloaded if need be. Where it can't be had the row's line is printed,
    and there is no folder.
    """
    from typednn.data import source_folder
    from typednn.errors import DataError

    try:
        return source_folder(name)
    except DataError as error:
        left_out(row, str(error))
        return None


def left_out(row: str, reason: str) -> None:
    """Print the line of a row. The reason says what it needs, what there is, and the cure."""
    print(f"  {row} is left out: {' '.join(reason.split())}", flush=True)
