"""Kernels for sizes that change: the first few sizes of a family get kernels; others run on the op's next engine, or on
its reference.

A kernel is compiled for its sizes, which takes seconds, and it stays loaded. So a loop in which every image has another
size must not compile kernels for each. The factories of kernels are decorated, where sizes can't change with
``functools.cache``, else like this::

    @specialised("max_pool2d", "image sizes")
    def _kernels(image: Pair, channels: int, kernel_size: Pair) -> tuple[Kernel, Kernel]: ...

    def plan(x, kernel_size):  # the engine's
        return _kernels[x.shape[1:3], x.shape[3], kernel_size]

Calls that differ in the first argument alone are one family: what a loop over images leaves as it is. A size that has
kernels keeps them. A second limit, for all families together, is reached by searches over the widths of models. Counts
decide, never the time, so the same calls in the same order run on the same engines.
"""

import os
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any, Generic, TypeVar, final

from typednn.engines.halide import compiled, rehearsal
from typednn.engines.locks import Lock
from typednn.errors import ArgumentError, explain

Made = TypeVar("Made")

_setting = os.environ.get("TYPEDNN_SIZES", "").strip()
if _setting and (not _setting.isdecimal() or int(_setting) < 1):
    raise ArgumentError(explain("TYPEDNN_SIZES", "must be an integer of at least 1", repr(_setting)))

FEW = int(_setting or 8)  # sizes of one family that get kernels
MOST = 1024  # kernels of a process: each takes five memory maps, of which Linux allows 65,530

_lock = Lock()
_warned: set[str] = set()


@final
class Specialised(dict[tuple[Any, ...], Made | None], Generic[Made]):
    """What a factory gave, by its arguments; None where it gives nothing, or a limit is reached."""

    def __init__(self, op: str, sizes: str, factory: Callable[..., Made | None]) -> None:
        super().__init__()
        self._op: str = op
        self._sizes: str = sizes
        self._factory: Callable[..., Made | None] = factory
        self._families: Counter[tuple[Any, ...]] = Counter()  # how many sizes of each have kernels

    def __missing__(self, arguments: tuple[Any, ...]) -> Made | None:
        with _lock():
            if arguments in self:  # another thread was here first
                return self[arguments]
            family = arguments[1:]
            if self._sizes and self._families[family] >= FEW:
                cure = "resize or pad to a few sizes, or set TYPEDNN_SIZES to a larger number"
                _warn(
                    "sizes",
                    f"{self._op} has kernels for {FEW} {self._sizes} and computes others without, more slowly; {cure}",
                )
                return None
            if compiled.count() >= MOST:
                _warn(
                    "kernels",
                    f"{self._op}: this process has {MOST} kernels and computes new sizes without, more slowly",
                )
                return None
            made = self._factory(*arguments)
            if made is not None and not rehearsal.rehearsing():  # the calls themselves take the places, in their order
                self[arguments] = made
                self._families[family] += 1
            return made


def specialised(op: str, sizes: str = "") -> Callable[[Callable[..., Made | None]], Specialised[Made]]:
    """A decorator for a factory of the kernels of ``op``.

    ``sizes`` says what its first argument is, such as "image sizes". Without it only the limit for all families holds.
    """
    return lambda factory: Specialised(op, sizes, factory)


def _warn(limit: str, text: str) -> None:
    """Warn, once in a process for each limit."""
    if limit not in _warned and not rehearsal.rehearsing():
        _warned.add(limit)
        warnings.warn(text, RuntimeWarning, stacklevel=3)
