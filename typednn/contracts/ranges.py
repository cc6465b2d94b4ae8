"""Integers that must lie in a range, such as tokens and class labels, which no annotation can say."""

from typing import Any

import numpy as np

from typednn.contracts.checks import switch
from typednn.errors import CheckError, explain
from typednn.hooks import repeated


def within(values: Any, least: int, most: int) -> bool:
    """Whether all integers of a NumPy array are from ``least`` to ``most``; False for an array of a device, which is
    not looked at.
    """
    if type(values) is not np.ndarray or not values.size:
        return False
    if least == 0 and values.dtype == np.int64 and values.flags.c_contiguous:
        # one pass: as unsigned numbers, negative ones are the largest
        return bool(values.view(np.uint64).max() <= most)
    return bool(least <= values.min() and values.max() <= most)


def first_outside(values: Any, least: int, most: int, but: int | None = None) -> str:
    """The first integer of a NumPy array that is neither from ``least`` to ``most`` nor ``but``, with its place; empty
    where there is none.

    Empty too while checks are off.
    """
    if switch.mode == "off" or within(values, least, most):
        return ""
    outside = (values < least) | (values > most)
    if but is not None:
        outside &= values != but
    if not outside.any():
        return ""
    row, *positions = (int(axis[0]) for axis in outside.nonzero())
    place = f", position {', '.join(map(str, positions))}" if positions else ""
    return f"{int(values[(row, *positions)])} in row {row}{place}"


@repeated
def check_range(layer: Any, what: str, values: Any, least: int, most: int) -> None:
    """`CheckError` where a layer's input has an integer that is not from ``least`` to ``most``, with its place.

    Arrays of a device are not looked at: that would wait for the device at each step.
    """
    if type(values) is np.ndarray and (got := first_outside(values, least, most)):
        raise CheckError(explain(f"{layer.label()}.forward", f"{what} are {least} to {most}", got), layer)
