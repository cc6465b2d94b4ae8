"""What a module holds: what it stores, and what its calls leave.

Both are objects in attributes that no field of a layer can collide with: ``__typednn_storage__`` and
``__typednn_calls__``.

===========  ===========================================================================================================
`Storage`    written by the constructor, `typednn.module.fields` and `typednn.module.sharing`; `Module.shared` shares
             its arrays
`CallState`  written by `typednn.module.calls` and kept fields; each instance has its own
===========  ===========================================================================================================
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from typednn.arrays import Precision
from typednn.contracts.checks import Kind
from typednn.contracts.derivatives import Record
from typednn.random import Initialiser
from typednn.shapes import Flow

# How code that compares calls reads a module's arrays.
PLACEMENT = "self.__typednn_storage__.placement"
CELLS = "self.__typednn_storage__.cells"


@dataclass(slots=True, eq=False)
class Placement:
    """The precision and the device of a module's arrays; layers that share all their arrays share it."""

    precision: Precision
    device: str


# Numbers the changes of arrays: one that was changed later has a larger number.
changes: count[int] = count(1)


@dataclass(slots=True, eq=False)
class Cell:
    """The place of one array; layers that share a parameter share its cell."""

    array: Any = None
    changed: int = 0  # the number of its last change, of those made by assignment and by methods of a module
    shared: bool = False  # whether another layer was given it
    placements: tuple[Placement, ...] = ()  # of the modules that `Module.tie` made share it

    def put(self, array: Any) -> None:
        """Hold ``array``, which may be the same with other numbers."""
        self.array, self.changed = array, next(changes)


@dataclass(slots=True, eq=False)
class Storage:
    """What a module stores."""

    arguments: tuple[tuple[Any, ...], dict[str, Any]]  # the constructor's, as they were given
    placement: Placement  # the dtype and device of the arrays here
    # The place of each parameter and buffer, made when it is first read; shared layers share the places.
    cells: defaultdict[str, Cell] = field(default_factory=lambda: defaultdict(Cell))
    absent: set[str] = field(default_factory=set[str])  # optional fields that were switched off
    # by the field that they fill
    initialisers: Mapping[str, Initialiser] = field(default_factory=dict[str, Initialiser])
    name: str = ""  # in the stack that it is part of


@dataclass(slots=True, eq=False)
class CallState:
    """What a module's calls leave."""

    kept: dict[str, Any] = field(default_factory=dict[str, Any])  # what backward needs
    record: Record | tuple[()] | None = None  # what a backward is held to
    kinds: tuple[Kind, ...] = ()  # of forwards that fitted
    token: object = None  # the outer forward that this layer last took part in
    halves: Any = None  # of a chain whose first parts are frozen: these and the rest, two chains

    def drop(self) -> None:
        """What the last forward left for a backward goes."""
        self.record = None
        self.kept.clear()
        for half in self.halves or ():
            half.__typednn_calls__.drop()


class Stateful:
    """What holds such a state: a `typednn.Module`."""

    training: bool = True
    # Whether it computes as in eval, and is not updated, while the model trains: see `Parts.freeze`.
    frozen: bool = False
    __typednn_storage__: Storage
    __typednn_calls__: CallState

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the parameters; `astype` changes it."""
        return self.__typednn_storage__.placement.precision.parameters

    @property
    def precision(self) -> Precision:
        """The dtypes of the parameters, of what is computed, and of sums; `astype` sets all three."""
        return self.__typednn_storage__.placement.precision

    @property
    def device(self) -> str:
        """Where parameters and buffers are; `to` changes it."""
        return self.__typednn_storage__.placement.device

    def label(self) -> str:
        """``Linear(256, 120)``; the class name alone where there are no arguments."""
        return repr(self).removesuffix("()")

    @abstractmethod
    def trace(self, flow: Flow) -> Flow:
        """The shapes after this layer, from its annotations alone; `StackError` where they cannot fit."""
