"""Values of an ONNX file's graph as they stand in the model, and what rows of the table of layers read a node with."""

# What makes a value may be any layer.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, final

import numpy as np

from typednn.errors import ArgumentError
from typednn.exchange.onnx.formula import BATCH, Formula, formula_of
from typednn.exchange.onnx.nodes import Array, Context
from typednn.files import File
from typednn.module.module import Module
from typednn.shapes import Flow

Order: TypeAlias = "tuple[int, ...]"


def channels_first(rank: int) -> Order:
    """The axes here of each axis there, where the channels are axis 1."""
    return (0, rank - 1, *range(1, rank - 1))


def in_order(rank: int) -> Order:
    """The axes here of each axis there, where they are the same."""
    return tuple(range(rank))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A value of the graph: what ``layer`` makes of ``before``, or that itself with its axes in another order there.

    ``shape`` is a sample's here.
    ``order``: the axes here of each axis there, so that the file's array is ours, transposed so; -1 is an axis of size
    1 that is not here. Of a row, ``features`` are the places here of the numbers there, where they differ. ``formula``:
    what makes it of ``before``, in the place of a layer; it grows while operators without one follow, and then becomes
    one. No ``order``: it has no batch.
    """

    shape: tuple[int, ...]
    order: Order
    layer: Module | None = None
    before: Value | None = None
    features: Array | None = None
    formula: Formula | None = None
    build: Callable[[bool], Any] | None = None  # makes a layer like this, with a bias or without
    dtype: Any = None  # of an input that has no floats

    @property
    def rank(self) -> int:
        """How many axes it has there."""
        return len(self.order)

    @property
    def first(self) -> bool:
        """Whether the channels are axis 1 there, and the last here."""
        return self.order == channels_first(self.rank)

    @property
    def there(self) -> tuple[int, ...]:
        """The shape there, of a batch of `BATCH` samples."""
        sizes = (BATCH, *self.shape)
        return tuple(1 if axis < 0 else sizes[axis] for axis in self.order)

    def places(self, array: Array) -> Array:
        """An array whose last axis are the features there, in their order here."""
        return array if self.features is None else array[..., np.argsort(self.features)]


@dataclass(slots=True)
class Values:
    """The values that are known so far, and the layers that made them."""

    context: Context
    file: File
    values: dict[str, Value] = field(default_factory=dict[str, Value])
    # of each layer, its parameters and buffers
    arrays: dict[int, dict[str, Array]] = field(default_factory=dict[int, dict[str, Array]])
    names: dict[str, None] = field(default_factory=dict[str, None])
    used: dict[int, None] = field(default_factory=dict[int, None])  # values that became part of a branch
    start: Any = None  # the value through which all goes to the operators that are read now
    sizing: Formula | None = None  # what was computed of sizes
    call: Any = None  # the node that is read now

    @property
    def samples(self) -> int:
        """How many of them are compared."""
        return 2 * (self.context.fixed or 2)

    def room(self, size: int) -> None:
        """A `DataError` where all samples that are compared, of ``size`` bytes each, take more than the reader may."""
        self.file.room(self.samples * size)

    # -------------------------------------------------------------- what a row reads

    def require(self, holds: bool) -> None:
        """Raise unless there may be a layer for the node; what makes a formula of it says what is wrong."""
        if not holds:
            raise ArgumentError("no layer", "path")

    def option(self, name: str, default: Any = None) -> Any:
        """An attribute of the node, or its default."""
        return self.call.option(name, default)

    def value(self, name: str | None, *, moved: bool = False) -> Value:
        """The value of this name, whose batch may have ``moved``; neither a constant nor integers."""
        found = self.values[name or ""]
        self.require(not found.dtype and (moved or (found.order[0] == 0 and -1 not in found.order)))
        return found

    def image(self, name: str) -> Value:
        """A value whose channels are axis 1."""
        x = self.value(name)
        self.require(x.first and x.rank > 2)
        return x

    def constant(self, name: str | None) -> Array:
        """The constant of this name."""
        return self.context.constants[name or ""]

    def maybe(self, name: str | None) -> Array | None:
        """The constant of this name, if there is a name."""
        return None if name is None else self.constant(name)

    def integers(self, name: str | None, attribute: str) -> Any:
        """A list of integers: a constant, or in older operator sets an attribute."""
        return self.call.given(attribute, self.maybe(name))

    def sizes(self, name: str) -> list[int]:
        """A shape that may be computed of the batch's size, which is `BATCH` there."""
        if name in self.context.constants:
            found: list[int] = self.integers(name, "shape")
            return found
        formula = self.sizing = self.sizing or Formula((), self.context)
        if name not in formula.known:
            formula.compute(self.context.late[name], formula.known, BATCH, self.context.dtype)
        return [int(each) for each in formula.known[name].reshape(-1)]

    # -------------------------------------------------------------- what a row gives

    def layer(
        self, x: Value, layer: Any, order: Order | None = None, features: Array | None = None, **arrays: Any
    ) -> Value:
        """What ``layer``, whose parameters are ``arrays``, makes of ``x``."""
        self.arrays[id(layer)] = {name: np.asarray(array) for name, array in arrays.items() if array is not None}
        shape = tuple(layer.trace(Flow.start(x.shape)).sizes())
        self.room(math.prod(shape) * np.dtype(self.context.dtype).itemsize)
        own = x.order if len(shape) == len(x.shape) else in_order(len(shape) + 1)
        return Value(shape, order or own, layer, x, features)

    def alike(self, x: Value, layer: Any, **arrays: Any) -> Value:
        """The same of a layer after which each number is where it was."""
        return self.layer(x, layer, x.order, x.features, **arrays)

    def affine(self, x: Value, build: Callable[[bool], Any], name: str, weight: Array, bias: Array | None) -> Value:
        """What a layer that multiplies by a ``weight`` makes of ``x``."""
        made = self.layer(x, self.named(build(bias is not None), name), weight=weight, bias=bias)
        return replace(made, build=build)

    def named(self, layer: Any, weight: str) -> Any:
        """``layer`` under the name that its weight has in the file, where it can be one."""
        name, _, kind = weight.rpartition(".")
        if kind == "weight" and name.isidentifier() and name not in self.names:
            self.names[name] = None
            layer.named(name)
        return layer

    def branch(self, start: Value, end: Value) -> list[Module]:
        """The layers from one value to another, each of which may be in one branch only."""
        found: list[Module] = []
        value: Any = end
        while value is not start:
            self.require(id(value) not in self.used)
            self.used[id(value)] = None
            layer = self.layer_of(value)
            found += [] if layer is None else [layer]
            value = value.before
        return found[::-1]

    def layer_of(self, value: Value) -> Module | None:
        """What makes a value of the one before it; a formula has become a layer then."""
        if value.formula is None:
            return value.layer
        made, arrays = formula_of(value.formula, value.shape, value.order)
        self.arrays[id(made)] = arrays
        layer: Module = made
        return layer

    def common(self, ends: Sequence[Value]) -> Value:
        """The last value on the way to all of these."""
        ways: list[list[Value]] = []
        for end in ends:
            way = [end]
            while way[-1].before is not None and way[-1] is not self.start:
                way.append(way[-1].before)
            ways.append(way)
        shared = set[int].intersection(*({id(value) for value in way} for way in ways))
        return next(value for value in ways[0] if id(value) in shared)
