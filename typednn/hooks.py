"""What lower floors call of higher ones. `typednn/__init__.py`, which is above all floors and runs before any of them,
sets each.
"""

from __future__ import annotations

TYPE_CHECKING = False  # to type checkers it is true; `typing` would be much of `import typednn`'s time
if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

save: Callable[[Any, str | os.PathLike[str]], None]
"""Write a model into a file: `typednn.exchange.save`."""

repeaters: list[Callable[[Callable[..., Any], tuple[Any, ...], Any], object]] = []
"""Each is told of a call of what is `repeated`: the function, its arguments and its result."""


def repeated(function: F) -> F:
    """Mark what is no op, but belongs to every forward: a check of its numbers, a draw, a count. Whoever repeats a
    forward from a record of it, calls it again.
    """

    def called(*arguments: Any) -> Any:
        result = function(*arguments)
        if repeaters:
            for told in tuple(repeaters):
                told(function, arguments, result)
        return result

    called.__doc__, called.__wrapped__ = function.__doc__, function  # type: ignore[attr-defined]
    return called  # type: ignore[return-value]
