"""The code that decides what a kernel computes, as a key: a changed line makes a changed kernel.

It covers the file of the build function, the files of its options' classes, and all files of the same package that
these import functions, classes or modules from, directly or not. A file that only numbers are imported from is not
seen.
"""

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from typednn.engines.halide.cache import digest
from typednn.errors import EngineError


def digest_of(build: Callable[..., Any], *options: Any) -> str:
    """A key of all source that ``build`` and its options depend on."""
    return _digest_of_modules(
        build.__module__, *sorted({getattr(option, "__module__", None) or build.__module__ for option in options})
    )


@cache
def _digest_of_modules(*names: str) -> str:
    parts: list[str | bytes] = []
    for module in sorted({module for name in names for module in _modules_used(name)}):
        file = getattr(sys.modules[module], "__file__", None)
        if file is None:
            raise EngineError(f"a kernel's build function has to be in a file, and {module} has none")
        parts += [module, Path(file).read_bytes()]
    return digest(*parts)


def _modules_used(name: str) -> set[str]:
    """``name`` and the modules of its own package that its names come from, directly or not."""
    package = name.partition(".")[0]
    reached: set[str] = set()
    waiting = [name]
    while waiting:
        module = waiting.pop()
        if module not in reached and module in sys.modules:
            reached.add(module)
            values: list[Any] = list(vars(sys.modules[module]).values())
            homes = [
                value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
                for value in values
            ]
            waiting += [home for home in homes if isinstance(home, str) and home.partition(".")[0] == package]
    return reached
