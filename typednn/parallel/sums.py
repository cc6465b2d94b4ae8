"""Sums of gradients: shards in one fixed tree, each sum in one vector that travels in one message.

The tree adds neighbours first, then pairs of these: ((0+1)+(2+3))+((4+5)+(6+7)). Shards come one by one, and what can
be added is added at once: of n shards at most log2(n) + 1 sums are in memory. A sum is written over the first of two.
"""

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from typednn.arrays import device_of, namespace
from typednn.engines import empty


@final
class Flat:
    """Arrays (``arrays``) that are views of one vector for each dtype (``vectors``), in the order in which they are."""

    def __init__(self, like: Sequence[npt.NDArray[Any]]) -> None:
        """Arrays of these shapes and types, with arbitrary values."""
        self.arrays: list[Any] = list(like)
        self.vectors: dict[np.dtype[Any], Any] = {}
        for dtype in sorted({each.dtype for each in like}, key=str):
            places = [place for place, each in enumerate(like) if each.dtype == dtype]
            vector, start = _vector(sum(like[place].size for place in places), like[places[0]]), 0
            for place in places:
                stop = start + like[place].size
                self.arrays[place] = vector[start:stop].reshape(like[place].shape)
                start = stop
            self.vectors[dtype] = vector

    @classmethod
    def of(cls, arrays: "Flat | Sequence[npt.NDArray[Any]]") -> "Flat":
        """A copy of these; those that are flat themselves."""
        if isinstance(arrays, Flat):
            return arrays
        made = cls(arrays)
        for target, array in zip(made.arrays, arrays, strict=True):
            target[...] = array
        return made

    @classmethod
    def zeros(cls, like: Sequence[npt.NDArray[Any]]) -> "Flat":
        made = cls(like)
        for vector in made.vectors.values():
            vector[...] = 0
        return made


def added(first: "Flat | Sequence[Any]", second: "Flat | Sequence[Any]") -> Flat:
    """The sum, written over one that is flat, if there is one."""
    if isinstance(first, Flat) and isinstance(second, Flat):
        for dtype, vector in first.vectors.items():
            namespace(vector).add(vector, second.vectors[dtype], out=vector)
        return first
    ours, theirs = (each.arrays if isinstance(each, Flat) else each for each in (first, second))
    made = first if isinstance(first, Flat) else second if isinstance(second, Flat) else Flat(ours)
    for target, one, other in zip(made.arrays, ours, theirs, strict=True):
        namespace(target).add(one, other, out=target)
    return made


def _vector(size: int, like: Any) -> Any:
    """So many numbers of the type of ``like`` and on its device, with arbitrary values."""
    make = empty if device_of(like) == "cpu" else namespace(like).empty
    return make((size,), like.dtype)


@final
class Tree:
    """The sum of a power of two of values that come one by one; None counts as nothing."""

    def __init__(self, add: Callable[[Any, Any], Any]) -> None:
        self._add = add
        self._sums: list[Any] = []  # of 2ⁿ values each, the largest first
        self._count = 0

    def put(self, value: Any) -> None:
        self._count += 1
        count = self._count
        while not count & 1:
            before = self._sums.pop()
            value = before if value is None else value if before is None else self._add(before, value)
            count >>= 1
        self._sums.append(value)

    @property
    def total(self) -> Any:
        """Of as many values as have come, a power of two."""
        (value,) = self._sums
        return value


def tree_sum(values: Sequence[Any], add: Callable[[Any, Any], Any]) -> Any:
    """The sum of a power of two of ``values``, in the tree."""
    tree = Tree(add)
    for value in values:
        tree.put(value)
    return tree.total


def sum_of(rows: Any, present: Sequence[bool]) -> Any:
    """The sum of those rows that are ``present``, in the tree, written over one of them."""
    there = [row if is_there else None for row, is_there in zip(rows, present, strict=True)]
    return tree_sum(there, lambda first, second: namespace(first).add(first, second, out=first))
