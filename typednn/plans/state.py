"""What a model is when it is recorded, as far as a plan rests on it."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Container, Sequence
from operator import attrgetter, is_
from types import FunctionType, ModuleType
from typing import Any, cast, final

import numpy as np

from typednn.module.module import Module
from typednn.module.state import CallState, Storage
from typednn.plans.code import is_ours

_array_of = attrgetter("array")


@final
class State:
    """The attributes of each module and of its class, with what lists, dicts and objects among them hold; the array of
    each cell.
    """

    def __init__(self, model: Module, without: Container[int] = ()) -> None:
        """``without``: the identities of parts of which only the arrays matter."""
        modules = [module for _, module in model.named_modules()]
        for each in modules:
            each.training = each.training  # an attribute of its own, as going to eval and back makes it
        cells = {id(cell): cell for each in modules for cell in each.__typednn_storage__.cells.values()}
        modules = [each for each in modules if id(each) not in without]
        seen: set[int] = set()
        held = [inner for each in modules for value in vars(each).values() for inner in _containers(value, seen)]
        kinds = {kind for each in modules for kind in type(each).__mro__ if _is_own(kind)}
        places = [each.__typednn_storage__.cells for each in modules]  # which `tie` changes
        self._now: list[Any] = [*map(vars, modules), *places, *held, *map(vars, kinds)]
        self._then: list[Any] = [each.copy() for each in self._now]
        self._cells: list[Any] = [*cells.values()]
        self.arrays: list[Any] = [cell.array for cell in cells.values()]

    def holds(self) -> bool:
        """Whether the model is still as it was."""
        if not all(map(is_, map(_array_of, self._cells), self.arrays)):
            return False
        try:
            return self._now == self._then  # by identity first
        except ValueError:  # an attribute that is another array
            return False


def _is_own(kind: type) -> bool:
    """Whether a class is the user's. Its ``__annotations__`` are read, as Python adds them when they first are."""
    library = kind.__module__.partition(".")[0] in sys.stdlib_module_names | {"typing_extensions"}
    return not library and not is_ours(kind) and getattr(kind, "__annotations__", None) is not None


def _containers(value: Any, seen: set[int]) -> list[Any]:
    """What may change within an attribute: lists, dicts, and the attributes of objects that are the user's own."""
    if id(value) in seen or isinstance(value, Module | Storage | CallState | type | ModuleType | FunctionType):
        return []
    seen.add(id(value))
    if isinstance(value, list | tuple):
        held = [inner for each in cast("Sequence[Any]", value) for inner in _containers(each, seen)]
        return [cast("Any", value), *held] if isinstance(value, list) else held
    if isinstance(value, dict):
        values = cast("dict[Any, Any]", value)  # type: ignore[redundant-cast]
        return [values, *(inner for each in values.values() for inner in _containers(each, seen))]
    if hasattr(value, "__dict__") and (dataclasses.is_dataclass(value) or not is_ours(type(value))):
        return _containers(vars(value), seen)
    return []


def scattered(model: Module) -> str:
    """Which of the model's arrays has another layout than a plan reads; empty where none has."""
    for name, _, _, cell in model.named_fields("parameter", "buffer"):
        if type(cell.array) is np.ndarray and not is_plain(cell.array):
            return f"{name} is not C-contiguous and aligned: assign a copy of it"
    return ""


def is_plain(array: Any) -> bool:
    """Whether an array is laid out as plans read it. Of others some ops compute by NumPy, which rounds differently."""
    flags = array.flags
    return bool(flags.c_contiguous and flags.aligned)
