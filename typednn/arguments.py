"""Constructor arguments as people write them, brought into one form; a wrong one is an `ArgumentError` that names it."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import SupportsIndex, TypeVar

from typednn.errors import ArgumentError, explain

Choice = TypeVar("Choice", bound=str)


def integer(where: str, name: str, value: SupportsIndex, least: int = 1) -> int:
    """``value`` as an int of at least ``least``; a bool or a float is refused."""
    if not hasattr(value, "__index__") or isinstance(value, bool) or value.__index__() < least:
        raise ArgumentError(explain(where, f"{name} must be an integer of at least {least}", repr(value)), name)
    return value.__index__()


def pair(where: str, name: str, value: int | Sequence[int], least: int = 1) -> tuple[int, int]:
    """``5`` or ``(5, 3)`` as (height, width)."""
    if isinstance(value, SupportsIndex):
        both = integer(where, name, value, least)
        return both, both
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ArgumentError(explain(where, f"{name} must be one integer or a pair (height, width)", repr(value)), name)
    return integer(where, name, value[0], least), integer(where, name, value[1], least)


def number(where: str, name: str, value: float, *, least: float = float("-inf"), below: float = float("inf"), argument: str = "") -> float:
    """``value`` as a finite float with ``least <= value < below``; ``argument`` where it is a part of one, ``name`` that part."""
    if not isinstance(value, Real) or isinstance(value, bool) or not least <= float(value) < below or float(value) == float("-inf"):
        bounds = "" if least == float("-inf") and below == float("inf") else f" with {least:g} <= {name} < {below:g}"
        raise ArgumentError(explain(where, f"{name} must be a finite number{bounds}", repr(value)), argument or name)
    return float(value)


def choice(where: str, name: str, value: Choice, choices: Sequence[str]) -> Choice:
    """``value`` if it is one of ``choices``."""
    if value not in choices:
        raise ArgumentError(explain(where, f"{name} must be one of {', '.join(map(repr, choices))}", repr(value)), name)
    return value
