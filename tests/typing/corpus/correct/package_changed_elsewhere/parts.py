"""Parts that are not what they seem."""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from package_changed_elsewhere import other
from typednn.layers import Linear

WIDTH = 8
DEPTH = 2
BUILDERS: dict[str, Callable[..., Any]] = {"deep": lambda: Linear(4, 9)}
KEPT: list[int] = [9]


def append_to(sizes: list[int]) -> None:
    sizes[0] = 8


append_to(KEPT)


def configure(width: int) -> None:
    global DEPTH
    DEPTH = width


class Config:
    def __init__(self, width: int) -> None:
        self.width = width


config = Config(9)
shared = Config(9)


def doubled(function: Callable[[int], Any]) -> Callable[[int], Any]:
    @wraps(function)
    def called(width: int) -> Any:
        return function(2 * width)

    return called


@doubled
def decorated(width: int) -> Any:
    return Linear(4, width)


def from_elsewhere() -> Any:
    from package_changed_elsewhere.other import Linear

    return Linear(4, 9)


def of_width() -> Any:
    return Linear(4, WIDTH)


def of_depth() -> Any:
    return Linear(4, DEPTH)


def of_config() -> Any:
    return Linear(4, shared.width)


def layers() -> Iterator[Any]:
    yield Linear(4, 9)


def twice() -> Any:
    return Linear(4, 9)


if other.WIDE:

    def twice() -> Any:  # the one that runs
        return Linear(4, 8)


class Base:
    def width(self) -> int:
        return 9

    def build(self) -> Any:
        return Linear(4, self.width())
