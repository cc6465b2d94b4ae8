"""Code that typednn writes while it runs: debuggers, tracebacks and profilers show its lines, as those of a file."""

from __future__ import annotations

import linecache
import weakref
from collections import Counter
from collections.abc import Iterator
from itertools import count
from types import CodeType
from typing import Any, Final

_numbers: Final = count(1)
_functions: Final[Counter[str]] = Counter()  # of each source, how many of its functions are alive


def execute(source: str, title: str, scope: dict[str, Any]) -> None:
    """Run ``source``, which defines functions, in ``scope``. Its lines are those of a file ``<typednn: TITLE,
    NUMBER>``.

    They are kept as long as one of the functions. What a user gave is never part of ``source``.
    """
    filename = f"<typednn: {title}, {next(_numbers)}>"
    scope.setdefault("__name__", __name__)  # a line of typednn's: see `typednn.errors.tracebacks`
    code = compile(source, filename, "exec")
    linecache.cache[filename] = len(source), None, source.splitlines(keepends=True), filename
    for function in _defined(code):
        _functions[filename] += 1
        weakref.finalize(function, _forget, filename).atexit = False
    exec(code, scope)


def _defined(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _defined(constant)


def _forget(filename: str) -> None:
    """One function of this source is gone."""
    _functions[filename] -= 1
    if not _functions[filename]:
        del _functions[filename]
        linecache.cache.pop(filename, None)
