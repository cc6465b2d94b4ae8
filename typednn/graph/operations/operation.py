"""What all operations have in common: a number, a name, a row, and how a node of them is made."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np


class Operation(IntEnum):
    """An operation is the number of its row, counted from 0, as nodes and instructions store it.

    Called with tensors it makes its node: ``Unary.COS(x)``.
    """

    row: Any
    node: Callable[..., Any]  # from the operation and its tensors; `typednn.graph.tensor`, above this file, sets it

    def __new__(cls, row: Any) -> Operation:
        number = len(cls.__members__)
        member = int.__new__(cls, number)
        member._value_ = number
        member.row = row
        return member

    def __call__(self, *tensors: Any) -> Any:
        """The node of this operation of ``tensors``."""
        return self.__class__.node(self, *tensors)

    @property
    def title(self) -> str:
        """What it is called in messages."""
        return self.name.lower()

    @property
    def numpy(self) -> Any:
        """NumPy's function of this name, which takes anything that NumPy's functions take; None if there is none."""
        return getattr(np, self.title, None)
