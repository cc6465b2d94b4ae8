"""What a model is when it is recorded, as far as a plan rests on it."""

from __future__ import annotations

import dataclasses
from copy import copy
from operator import is_
from typing import Any, cast, final

import numpy as np

from typednn.module.module import Module
from typednn.module.state import CallState, Storage


@final
class State:
    """The attributes of each module, with what lists, dicts and dataclasses among them hold; the array of each cell."""

    def __init__(self, model: Module) -> None:
        modules = [module for _, module in model.named_modules()]
        cells = {id(cell): cell for each in modules for cell in each.__typednn_storage__.cells.values()}
        held = [inner for each in modules for value in vars(each).values() for inner in _containers(value)]
        self._now: list[Any] = [*map(vars, modules), *held]
        self._then: list[Any] = [*map(copy, self._now)]
        self._cells: list[Any] = [*cells.values()]
        self.arrays: list[Any] = [cell.array for cell in cells.values()]

    def holds(self) -> bool:
        """Whether the model is still as it was."""
        if not all(map(is_, [cell.array for cell in self._cells], self.arrays)):
            return False
        try:
            return self._now == self._then  # by identity first
        except ValueError:  # an attribute that is another array
            return False


def _containers(value: Any) -> list[Any]:
    """What may change within an attribute."""
    if isinstance(value, Module | type | Storage | CallState):
        return []
    if isinstance(value, list | tuple):
        inner = [held for each in cast("list[Any]", value) for held in _containers(each)]
        return [cast("Any", value), *inner] if isinstance(value, list) else inner
    if isinstance(value, dict):
        inner = [held for each in value.values() for held in _containers(each)]
        return [cast("Any", value), *inner]
    return _containers(vars(value)) if dataclasses.is_dataclass(value) and hasattr(value, "__dict__") else []


def scattered(model: Module) -> str:
    """Which of the model's arrays has another layout than a plan reads; empty where none has."""
    for name, _, _, cell in model.named_fields("parameter", "buffer"):
        if type(cell.array) is np.ndarray and not cell.array.flags.c_contiguous:
            return f"{name} is not C-contiguous: assign numpy.ascontiguousarray of it"
    return ""
