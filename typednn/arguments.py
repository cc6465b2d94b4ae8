"""Constructor arguments as people write them, brought into one form; a wrong one is an `ArgumentError`
that names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import SupportsIndex, TypeVar, cast

from typednn.errors import ArgumentError, explain, shown
from typednn.errors.habits import value_cure

Choice = TypeVar("Choice", bound=str)


def integer(
    where: str, name: str, value: SupportsIndex, least: int = 1, *, below: int | None = None, argument: str = ""
) -> int:
    """``value`` as an int, at least ``least`` and less than ``below``; a bool or a float is refused. ``argument``: what
    it is a part of.
    """
    try:
        given = least - 1 if isinstance(value, bool) else value.__index__()
    except (AttributeError, TypeError):  # an array has the method, which refuses all but one number
        given = least - 1
    if given < least or (below is not None and given >= below):
        rule = (
            f"{name} must be an integer of at least {least}"
            if below is None
            else f"{name} is an integer from {least} to {below - 1}"
        )
        raise ArgumentError(explain(where, rule, shown(value), value_cure(name, value)), argument or name)
    return given


def pair(where: str, name: str, value: int | Sequence[int], least: int = 1) -> tuple[int, int]:
    """``5`` or ``(5, 3)`` as (height, width)."""
    if isinstance(value, SupportsIndex):
        both = integer(where, name, value, least)
        return both, both
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ArgumentError(explain(where, f"{name} must be one integer or a pair (height, width)", shown(value)), name)
    return integer(where, name, value[0], least), integer(where, name, value[1], least)


def divisor(where: str, name: str, value: int, **sizes: int) -> int:
    """``value`` as an integer of at least 1 that divides each of the named ``sizes``."""
    least = integer(where, name, value)
    for size, total in sizes.items():
        if total % least:
            raise ArgumentError(explain(where, f"{name} must divide {size}", f"{name}={least}, {size}={total}"), name)
    return least


def number(
    where: str,
    name: str,
    value: float,
    *,
    least: float = float("-inf"),
    below: float = float("inf"),
    most: float | None = None,
    argument: str = "",
) -> float:
    """``value`` as a finite float, ``least <= value < below`` or ``<= most``; ``argument``: what
    ``name`` is a part of.
    """
    written, got = cast("object", value), ""
    try:
        given = float(written) if isinstance(written, Real) and not isinstance(written, bool) else float("nan")
    except OverflowError:
        given, got = float("inf"), "an integer beyond the largest float"
    if given == float("-inf") or not least <= given or not (given < below if most is None else given <= most):
        upper = f"< {below:g}" if most is None else f"<= {most:g}"
        bounds = (
            ""
            if least == float("-inf") and below == float("inf") and most is None
            else f" with {least:g} <= {name} {upper}"
        )
        raise ArgumentError(
            explain(where, f"{name} must be a finite number{bounds}", got or shown(value), value_cure(name, value)),
            argument or name,
        )
    return given


def choice(where: str, name: str, value: Choice, choices: Sequence[str]) -> Choice:
    """``value`` if it is one of ``choices``."""
    if not isinstance(cast("object", value), str) or value not in choices:
        raise ArgumentError(
            explain(where, f"{name} must be one of {', '.join(map(repr, choices))}", shown(value)), name
        )
    return value


def zeros_around(
    where: str,
    padding: int | Sequence[int] | str,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
) -> tuple[int, int, int, int]:
    """A convolution's padding as (left, right, top, bottom): of ``2``, ``(2, 1)`` as (height, width), ``"valid"`` or
    ``"same"``.

    "same" keeps an image's size; where the window's reach is odd, the last row and column get the larger share.
    """
    if not isinstance(padding, str):
        down, across = pair(where, "padding", padding, least=0)
        return across, across, down, down
    if choice(where, "padding", padding, ("same", "valid")) == "valid":
        return 0, 0, 0, 0
    if tuple(stride) != (1, 1):
        raise ArgumentError(
            explain(where, 'padding="same" needs stride 1', f"stride={max(stride)}", "give the padding in numbers"),
            "padding",
        )
    down, across = (step * (taps - 1) for step, taps in zip(dilation, kernel_size, strict=True))
    return across // 2, across - across // 2, down // 2, down - down // 2


def flag(where: str, name: str, value: bool) -> bool:
    """``value`` if it is True or False."""
    if value is not True and value is not False:
        raise ArgumentError(explain(where, f"{name} must be True or False", shown(value)), name)
    return value
