"""An ONNX file as a model: layers where operators have a counterpart, and formulas of the graph where they have none.

The graph is read as a tree of values, each a layer behind another value. Where two branches of it are added they become
a `Residual`, where they are joined along the channels a `Concat`; what remains from the input to the output is a chain.
Between two values through which everything goes, `ROWS` are tried first: a row makes a layer of an operator. Where one
of them finds none, the operators between these two values become one layer, a formula of
`typednn.exchange.onnx_operators`, with the file's arrays as its parameters.

ONNX's images are channels first, the model's channels last: it reads ``batch, height, width, channels``. Weights of
windows change their layout, a Transpose becomes none, and of what reads a flattened image the features change places.
The input of a file of `export_onnx`, whose first node is a Transpose to channels first, is channels last already. A
formula computes in the file's layout, between two changes.

A file names no code, and none is run. Weights in other files are read from its own folder only. Before the model is
given its results are compared with the file's, which ONNX Runtime runs, or ONNX's own reference.

Source: the operators of ONNX's standard, github.com/onnx/onnx/blob/main/docs/Operators.md.
"""

# Rows are functions of what they read.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final, NoReturn, TypeAlias, cast, final

import numpy as np

from typednn import layers
from typednn.arrays import is_floating
from typednn.errors import ArgumentError, DataError, StackError, TypednnError, explain, optional
from typednn.exchange.onnx_export import EXTRA, TOLERANCE, difference, opened_onnx
from typednn.exchange.onnx_formula import BATCH, Formula, Source, formula_of, refuse
from typednn.exchange.onnx_operators import (
    FLOATS,
    HARMLESS,
    OPERATORS,
    Call,
    Operation,
    blocks,
    cell_of,
    constant_of,
    evaluate,
    padding,
)
from typednn.files import File, opened, path_of
from typednn.layer import Input, MultiInput, Sequential
from typednn.module.module import DTYPES, Module
from typednn.shapes import Flow

Array = np.ndarray[Any, Any]
Order: TypeAlias = "tuple[int, ...]"

# Of the input of one of these the channels are axis 1.
_CHANNELS_FIRST: Final = frozenset(
    {
        "AveragePool", "BatchNormalization", "Conv", "ConvTranspose", "GlobalAveragePool", "GlobalMaxPool",
        "GroupNormalization",
        "InstanceNormalization", "MaxPool", "Resize",
    }
)  # fmt: skip

# operators: each takes a millisecond or two, and the largest models that are exported have half of that
NODES: Final = 10_000
READINGS: Final = 4  # times the memory that the reader may take: more is not read to compute constants

_MOVEMENT: Final = frozenset({"Cast", "Reshape", "Squeeze", "Transpose", "Unsqueeze"})  # behind a formula, parts of it


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Value:
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
    before: _Value | None = None
    features: Array | None = None
    formula: Formula | None = None
    build: Callable[[bool], Any] | None = None  # makes a layer like this, with a bias or without
    dtype: Any = None  # of an input that has no floats

    @property
    def first(self) -> bool:
        """Whether the channels are axis 1 there, and the last here."""
        return self.order == _first(len(self.order))

    @property
    def there(self) -> tuple[int, ...]:
        """The shape there, of a batch of `BATCH` samples."""
        sizes = (BATCH, *self.shape)
        return tuple(1 if axis < 0 else sizes[axis] for axis in self.order)


def _first(rank: int) -> Order:
    return (0, rank - 1, *range(1, rank - 1))


def _plain(rank: int) -> Order:
    return tuple(range(rank))


def import_onnx(path: str | os.PathLike[str], *, limit: int | None = None) -> Sequential[Any] | MultiInput[Any, Any]:
    """The model in an ONNX file, in training, its parameters filled: it gives the file's numbers to 1e-5, in eval.

    A chain; of a file with several inputs a `MultiInput` that takes them in their order. Images are channels last.
    ``limit``: the bytes of memory that the file, what is computed of its constants, and each value of the comparison
    may take; see `typednn.files`.

    An `ArgumentError` names the operator and the node that have no counterpart; a `DataError` tells what is no ONNX
    file, or leads out of its folder. `MissingExtra` without the package ``onnx``.
    """
    place = path_of("import_onnx", path)
    onnx: Any = optional("onnx", "import_onnx", "needs the package onnx", EXTRA)
    reader = _Reader(onnx, place, *_read(onnx, place, limit))
    with np.errstate(all="ignore"):  # the numbers are the file's, whatever they are
        try:
            model: Any = reader.model()
        except (AttributeError, LookupError, OverflowError, TypeError, ValueError, TypednnError) as error:
            if isinstance(error, TypednnError) and str(place) in str(error):
                raise
            # Of ONNX's own functions, on what its checker let through.
            got = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:120]}"
            raise DataError(explain(str(place), "must be valid ONNX", got)) from None
        reader.compare(model)
    made: Sequential[Any] | MultiInput[Any, Any] = model.train()
    return made


def _read(onnx: Any, place: Path, limit: int | None) -> tuple[Any, File]:
    """The file, with the weights that lie in others of its folder; and what is left of the memory that its reader may
    take.
    """
    with opened("import_onnx", place, limit) as file:
        content = bytes(file.exactly(file.stream, file.size))
        whole: Any = None
        try:
            whole = onnx.load_model_from_string(content)
            problem = "" if whole.graph.output and whole.opset_import else "a file without outputs or operators"
        except Exception as error:  # of protobuf, whose errors have no class that its package promises
            problem = str(error).strip().partition("\n")[0][:80] or type(error).__name__
        if problem:
            raise DataError(explain(str(place), "must be an ONNX file", problem))
        _prune(place, whole.graph)
        helper = onnx.external_data_helper
        elsewhere = [each.external_data for each in helper._get_all_tensors(whole) if helper.uses_external_data(each)]
        for location in {
            next((entry.value for entry in entries if entry.key == "location"), "") for entries in elsewhere
        }:
            _check_location(place, location, limit)
        try:
            onnx.external_data_helper.load_external_data_for_model(whole, str(place.parent))
            onnx.checker.check_model(whole)
        except Exception as error:  # a ValidationError, or what reading the other file met
            got = str(error).strip().partition("\n")[0][:160] or type(error).__name__
            raise DataError(explain(str(place), "must be valid ONNX", got)) from None
    return whole, file


def _prune(place: Path, graph: Any) -> None:
    """Leave out the nodes that the output does not need; more than `NODES` others are refused."""
    needed, kept = {each.name for each in graph.output}, list[Any]()
    for node in reversed(graph.node):
        if not needed.isdisjoint(node.output):
            kept.append(node)
            needed.update(node.input)
    if len(kept) > NODES:
        got, cure = f"{len(kept):,}", "build the model by hand"
        raise DataError(explain(str(place), f"a model has at most {NODES:,} operators", got, cure))
    if len(kept) < len(graph.node):
        nodes = kept[::-1]
        del graph.node[:]
        graph.node.extend(nodes)


def _check_location(place: Path, location: str, limit: int | None) -> None:
    """Raise unless a file of weights is a plain file of the folder, which may take as much memory as
    the file itself.
    """
    parts = PurePosixPath(location.replace("\\", "/")).parts
    inside = bool(parts) and ".." not in parts and not Path(location).is_absolute() and not {":", "\0"} & {*location}
    target = place.parent / location
    if not inside or not Path(os.path.realpath(target)).is_relative_to(os.path.realpath(place.parent)):
        rule = "weights in another file lie in the folder of the file, or below it"
        raise DataError(explain(str(place), rule, repr(location[:80]), "put both into one folder"))
    with opened("import_onnx", target, limit) as file:
        file.take(file.size)


@final
@dataclass(slots=True)
class _Reader:
    """The graph of a file, and what was made of it so far."""

    onnx: Any
    place: Path
    whole: Any
    file: File
    opset: int = 1
    operations: list[Operation] = field(default_factory=list[Operation])
    constants: dict[str, Array] = field(default_factory=dict[str, Array])
    learnt: set[str] = field(default_factory=set[str])  # constants that are weights
    # by output: what is computed of sizes, and can't be before
    late: dict[str, Operation] = field(default_factory=dict[str, Operation])
    values: dict[str, _Value] = field(default_factory=dict[str, _Value])
    # there, of a batch of `BATCH`
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    # of each layer, its parameters and buffers
    arrays: dict[int, dict[str, Array]] = field(default_factory=dict[int, dict[str, Array]])
    names: dict[str, None] = field(default_factory=dict[str, None])
    used: dict[int, None] = field(default_factory=dict[int, None])  # values that became part of a branch
    wanted: set[str] = field(default_factory=set[str])  # what a node reads, or is the output
    read_for_constants: int = 0  # bytes
    start: Any = None  # the value through which all goes to the operators that are read now
    sizing: Formula | None = None  # what was computed of sizes
    # `told_of`
    firsts: dict[int, dict[str, tuple[int, bool]]] = field(default_factory=dict[int, dict[str, tuple[int, bool]]])
    inputs: list[Any] = field(default_factory=list[Any])
    dtype: Any = None
    fixed: int = 0  # samples, where the file has a batch of one size
    node: Any = None

    # -------------------------------------------------------------- the graph

    def model(self) -> Any:
        """The chain from the input to the output; of several inputs one formula."""
        graph, numpy = self.whole.graph, self.onnx.numpy_helper
        self.opset = max(
            (each.version for each in self.whole.opset_import if each.domain in ("", "ai.onnx")), default=1
        )
        self.constants = {each.name: numpy.to_array(each) for each in graph.initializer}
        self.learnt = {name for name, array in self.constants.items() if array.ndim and is_floating(array.dtype)}
        self.operations = [self.operation(node) for node in graph.node]
        self.wanted = {
            *(each.name for each in graph.output),
            *(name for node in self.operations for name in node.inputs),
        }
        self.inputs = [each for each in graph.input if each.name not in self.constants]
        if not self.inputs or len(graph.output) != 1:
            got = f"{len(self.inputs)} and {len(graph.output)}"
            raise ArgumentError(
                explain(str(self.place), "a model has inputs and one output", got, "cut the graph before"), "path"
            )
        self.kinds()
        for each in self.inputs:
            self.values[each.name] = self.begin(each)
            self.shapes[each.name] = self.values[each.name].there
        output = graph.output[0].name
        starts = [self.values[each.name] for each in self.inputs]
        end = self.read({each.name: self.values[each.name] for each in self.inputs}, output)
        if not self.is_usual(end, starts):
            end = self.values[output] = self.by_formula({output: end}, [], output, plain=True)
        if len(starts) > 1:
            return self.filled(self.layer_of(end))
        parts = self.branch(starts[0], end) or [layers.Identity()]
        reads: Any = int if starts[0].dtype else float
        sample: Input[Any] = Input(*starts[0].shape, dtype=reads)
        try:
            model: Sequential[Any] = Sequential(cast("Any", parts), input=sample)
        except TypednnError as error:
            raise ArgumentError(explain(str(self.place), "must be a chain of layers", str(error)), "path") from None
        return self.filled(model)

    def is_usual(self, end: _Value, starts: Sequence[_Value]) -> bool:
        """Whether an output has the layout of the file, or is an image, or has its batch first that was not first
        there.
        """
        if end.features is not None or -1 in end.order:
            return False
        rank = len(end.order)
        return (
            end.order == _plain(rank)
            or bool(end.order[0])
            or (end.first and (rank == 4 or any(each.first for each in starts)))
        )

    def operation(self, node: Any) -> Operation:
        """A node, its attributes read."""
        options: dict[str, Any] = {}
        for attribute in node.attribute:
            value = self.onnx.helper.get_attribute_value(attribute)
            if attribute.type == self.onnx.AttributeProto.TENSOR:
                value = self.onnx.numpy_helper.to_array(value)
            elif isinstance(value, bytes):
                value = value.decode(errors="replace")
            elif isinstance(value, float):
                value = float(str(np.float32(value)))
            elif isinstance(value, list | tuple):
                listed = cast("Sequence[Any]", value)
                value = [each.decode(errors="replace") if isinstance(each, bytes) else each for each in listed]
            options[attribute.name] = value
        domain = "" if node.domain == "ai.onnx" else node.domain
        return Operation(node.op_type, node.name, tuple(node.input), tuple(node.output), options, domain)

    def kinds(self) -> None:
        """Find the floats of the model: those of the inputs, else of the weights."""
        floats = {kind for kind in map(self.kind_of, self.inputs) if kind in DTYPES}
        weights = {self.constants[name].dtype for name in self.learnt}
        self.dtype = (
            floats.pop()
            if len(floats) == 1
            else weights.pop()
            if len(weights) == 1 and not floats
            else np.dtype(np.float32)
        )

    def kind_of(self, source: Any) -> Any:
        """The dtype of an input of the file."""
        kind = source.type.tensor_type.elem_type
        return np.dtype(self.onnx.helper.tensor_dtype_to_np_dtype(kind) if kind else np.float32)

    def begin(self, source: Any) -> _Value:
        """What the model reads."""
        sizes = [size.dim_value if size.HasField("dim_value") else 0 for size in source.type.tensor_type.shape.dim]
        self.fixed, sizes = (sizes[0], sizes[1:]) if sizes else (0, [])
        kind, several = self.kind_of(source), len(self.inputs) > 1
        other = kind in (np.int64, np.int32) or (several and kind == np.bool_)
        if (
            (kind not in DTYPES and not other)
            or not (0 if several else 1) <= len(sizes) <= 3
            or min(sizes, default=1) < 1
            or self.fixed < 0
        ):
            got = f"{kind} {['batch', *(size or '?' for size in sizes)]}"
            rule = f"the input {source.name!r} has floats or integers, and known sizes but the batch's"
            raise ArgumentError(explain(str(self.place), rule, got, "export it with such sizes"), "path")
        rank = len(sizes) + 1
        self.file.room(self.samples * math.prod(sizes) * 8)
        order = _first(rank) if not other and self.starts_first(source.name, rank) else _plain(rank)
        return _Value(
            tuple(sizes[order.index(axis) - 1] for axis in range(1, rank)), order, dtype=kind if other else None
        )

    @property
    def samples(self) -> int:
        """How many of them are compared."""
        return 2 * (self.fixed or 2)

    def starts_first(self, name: str, rank: int) -> bool:
        """Whether the channels of a value are axis 1: what reads it, or what follows number by number, tells."""
        if rank <= 2:
            return False
        if rank not in self.firsts:
            self.firsts[rank] = self.told_of(rank)
        return self.firsts[rank].get(name, (0, rank == 4 and bool(self.whole.producer_name != "typednn")))[1]

    def told_of(self, rank: int) -> dict[str, tuple[int, bool]]:
        """For each name of which a node tells where the channels are, the place of the first such node, and what it
        tells.
        """
        told: dict[str, tuple[int, bool]] = {}
        for place in range(len(self.operations) - 1, -1, -1):
            node = self.operations[place]
            if not node.inputs:
                continue
            name, perm = node.inputs[0], node.options.get("perm")
            if node.kind in _CHANNELS_FIRST:
                told[name] = place, True
            elif node.kind == "Transpose" and perm is not None and len(perm) == rank:
                told[name] = place, perm[0] == 0 and tuple(perm) != _first(rank)
            elif (
                node.kind in ROWS
                and node.kind not in ("Flatten", "Reshape", "Gemm", "MatMul")
                and node.outputs[0] in told
            ):
                told[name] = min(told[node.outputs[0]], told.get(name, told[node.outputs[0]]))
        return told

    def read(self, starts: Mapping[str, _Value], output: str) -> _Value:
        """The value of the output, layer by layer."""
        steps = self.steps()
        last = {name: place for place, node in enumerate(steps) for name in node.inputs if name}
        last[output] = len(steps)
        alive, pending, before = {name for name in starts if name in last}, list[Operation](), starts
        for place, node in enumerate(steps):
            pending.append(node)
            alive.update(name for name in node.outputs if last.get(name, -1) > place)
            alive.difference_update(name for name in node.inputs if last.get(name, -1) == place)
            if len(alive) == 1 and (len(starts) == 1 or place == len(steps) - 1):
                (name,) = alive
                found = self.values[name] = self.between(before, pending, name)
                if found.order:
                    self.shapes[name] = found.there
                before, pending = {name: found}, []
        if pending or output not in self.values or not self.values[output].order:
            lost = bool(pending) or output in self.values
            got = (
                "a constant"
                if output in self.constants
                else "a result without an axis for the batch"
                if lost
                else "nothing"
            )
            raise ArgumentError(
                explain(str(self.place), "the output depends on the input, and has its batch", got), "path"
            )
        return self.values[output]

    def steps(self) -> list[Operation]:
        """The operations of values; those of constants are computed, and those of sizes wait for them."""
        steps: list[Operation] = []
        known = {each.name for each in self.inputs}
        for node in self.operations:
            self.node = node
            given = [name for name in node.inputs if name]
            unknown = next(
                (name for name in given if name not in known and name not in self.constants and name not in self.late),
                None,
            )
            if node.domain or node.kind not in OPERATORS:
                self.refuse(f"{node.domain}.{node.kind}" if node.domain else node.kind)
            if unknown is not None:
                self.refuse(f"{node.kind}, which reads {unknown!r}, of which nothing is known")
            constant = all(name in self.constants for name in given)
            if node.kind == "Constant":
                self.constants[node.outputs[0]] = self.constant_of(node)
            elif (given and constant and self.folded(node)) or (
                given and all(name in self.constants or name in self.late for name in given)
            ):
                if not all(name in self.constants for name in node.outputs if name):
                    self.late |= dict.fromkeys(filter(None, node.outputs), node)
            elif node.kind in ("Shape", "Size"):
                self.late |= dict.fromkeys(node.outputs, node)
            else:
                steps.append(node)
                known |= set(filter(None, node.outputs))
        return steps

    def between(self, starts: Mapping[str, _Value], nodes: Sequence[Operation], name: str) -> _Value:
        """What ``nodes`` make of a value: layers, or else a formula."""
        self.start = next(iter(starts.values()))
        behind = self.start.formula is not None and _MOVEMENT.issuperset(node.kind for node in nodes)
        grown: list[Any] = [self.values, self.arrays, self.names, self.used]
        before = [*map(len, grown)]
        try:
            if len(starts) > 1 or behind or not self.start.order:
                raise ArgumentError("a formula", "path")
            for node in nodes:
                self.node = node
                self.values[node.outputs[0]] = self.by_row(node)
            self.shapes.update((each, self.values[each].there) for node in nodes for each in node.outputs[:1])
            return self.values[name]
        except ArgumentError:
            for known, size in zip(grown, before, strict=True):
                while len(known) > size:
                    known.popitem()
        return self.by_formula(starts, nodes, name)

    def by_row(self, node: Operation) -> _Value:
        """A layer for one operator; an `ArgumentError` where none is the same."""
        inputs: list[str | None] = [name or None for name in node.inputs]
        while inputs and inputs[-1] is None:
            inputs.pop()
        row = ROWS.get(node.kind)
        if row is None or not self.wanted.isdisjoint(filter(None, node.outputs[1:])):
            self.refuse(node.kind)
        try:
            return row(self, *inputs)
        except (StackError, IndexError, ValueError, TypeError, KeyError) as error:
            self.refuse(f"{node.kind}: {str(error).partition(chr(10))[0]}")

    def by_formula(
        self, starts: Mapping[str, _Value], nodes: Sequence[Operation], name: str, *, plain: bool = False
    ) -> _Value:
        """A formula of ``nodes``, or the one before them, which grows by these."""
        read, start = next(iter(starts.items()))
        formula, before = start.formula, start.before
        if formula is None:
            sources = [
                Source(each, value.shape, value.order, value.features, value.dtype) for each, value in starts.items()
            ]
            formula, before = self.formula(sources), start
            formula.begin()
        elif formula.result != read:  # under another name, which an operator gave it that does nothing
            nodes = [Operation("Identity", "", (formula.result,), (read,), {}), *nodes]
        formula.grow(nodes, name)
        found = formula.result_of(
            lambda rank: _first(rank) if not plain and self.starts_first(name, rank) else _plain(rank)
        )
        return _Value(*(found or ((), ())), before=before, formula=formula)

    def formula(self, sources: Sequence[Source]) -> Formula:
        """One that has no operations yet."""
        return Formula(
            tuple(sources),
            self.constants,
            self.learnt,
            self.late,
            self.shapes,
            self.opset,
            self.fixed,
            self.dtype,
            str(self.place),
            self.file,
        )

    def folded(self, node: Operation) -> bool:
        """Compute a node of constants, such as the sizes for a Reshape; whether that gave arrays."""
        inputs = [self.constants[name] if name else None for name in node.inputs]
        try:
            found = evaluate(Call(node, self.opset, np.dtype(np.float32), file=self.file), inputs)
        except (ArgumentError, ValueError, TypeError, IndexError, ArithmeticError):
            return False  # a formula tells why, where one needs it
        if not all(isinstance(each, np.ndarray | np.generic) for each in found):
            return False
        self.file.take(sum(each.nbytes for each in map(np.asarray, found) if each.base is None))
        self.read_for_constants += sum(each.nbytes for each in inputs if each is not None)
        if self.read_for_constants > READINGS * self.file.limit:
            self.refuse("more computation of constants than the memory that the reader may take is worth")
        for name, array in zip(node.outputs, found, strict=False):
            self.constants[name] = np.asarray(array)
            if (
                self.constants[name].ndim
                and is_floating(self.constants[name].dtype)
                and self.learnt.intersection(node.inputs)
            ):
                self.learnt.add(name)
        return True

    def constant_of(self, node: Operation) -> Array:
        """What a Constant holds."""
        found = constant_of(node)
        if found is None:
            self.refuse(f"Constant with {', '.join(node.options) or 'nothing'}")
        return found

    def refuse(self, got: str) -> NoReturn:
        """The error for what cannot be read."""
        refuse(str(self.place), self.node, got)

    # -------------------------------------------------------------- what rows use

    def options(self, **defaults: Any) -> Any:
        """The attributes of the node, each with its default; one that is not known here is refused, unless it says what
        is so anyway.
        """
        found = dict(defaults)
        for name, value in self.node.options.items():
            if name in defaults:
                found[name] = value
            elif isinstance(value, list | np.ndarray) or (name, value) not in HARMLESS:
                self.refuse(f"{self.node.kind} with {name}={value!r}")
        return found

    def value(self, name: str | None, *, moved: bool = False) -> _Value:
        """The value of this name, whose batch may have ``moved``; a constant is refused where one is expected, and so
        are integers.
        """
        found = self.values.get(name or "")
        if found is None or found.dtype:
            self.refuse(f"{self.node.kind} of {'integers' if found else f'the constant {name!r}'}")
        if not moved and (found.order[0] != 0 or -1 in found.order):
            self.refuse(f"{self.node.kind} of axes in the order {found.order}")
        return found

    def constant(self, name: str | None) -> Array:
        """The constant of this name; a value is refused where one is expected."""
        if name not in self.constants:
            self.refuse(f"{self.node.kind} with {name!r}, which is computed")
        return self.constants[name]

    def integers(self, name: str | None) -> list[int]:
        """A constant as a list of sizes, axes or places."""
        return Call(self.node, self.opset, self.dtype).integers(self.constant(name), repr(name))

    def sizes(self, name: str) -> list[int]:
        """A shape that may be computed of the batch's size, which is `BATCH` there."""
        if name in self.constants:
            return self.integers(name)
        if name not in self.late:
            self.refuse(f"{self.node.kind} with {name!r}, which is computed")
        formula = self.sizing = self.sizing or self.formula([])
        if name not in formula.known:
            formula.compute(self.late[name], formula.known, BATCH, self.dtype)
        return [int(each) for each in formula.known[name].reshape(-1)]

    def channels_first(self, name: str) -> _Value:
        """A value whose channels are axis 1."""
        x = self.value(name)
        if not x.first or len(x.order) < 3:
            self.refuse(f"{self.node.kind} of axes in the order {x.order}")
        return x

    def layer(
        self, x: _Value, layer: Any, order: Order | None = None, features: Array | None = None, **arrays: Any
    ) -> _Value:
        """What ``layer``, whose parameters are ``arrays``, makes of ``x``."""
        self.arrays[id(layer)] = {name: np.asarray(array) for name, array in arrays.items() if array is not None}
        sizes = layer.trace(Flow.start(x.shape)).sizes()
        if sizes is None:
            self.refuse(f"{self.node.kind}, whose sizes are not known")
        shape = tuple(sizes)
        self.file.room(math.prod(shape) * self.samples * np.dtype(self.dtype).itemsize)
        return _Value(
            shape, order or (x.order if len(shape) == len(x.shape) else _plain(len(shape) + 1)), layer, x, features
        )

    def affine(self, x: _Value, build: Callable[[bool], Any], name: str, weight: Array, bias: Array | None) -> _Value:
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

    def branch(self, start: _Value, end: _Value) -> list[Module]:
        """The layers from one value to another, each of which may be in one branch only."""
        found: list[Module] = []
        value: _Value = end
        while value is not start:
            if id(value) in self.used:
                self.refuse(f"{self.node.kind} of a value that another branch has too")
            self.used[id(value)] = None
            layer = self.layer_of(value)
            if layer is not None:
                found.append(layer)
            assert value.before is not None
            value = value.before
        return found[::-1]

    def layer_of(self, value: _Value) -> Module | None:
        """What makes a value of the one before it; a formula has become a layer then."""
        if value.formula is None:
            return value.layer
        made, arrays = formula_of(value.formula, value.shape, value.order)
        layer: Module = made
        self.arrays[id(layer)] = arrays
        return layer

    def common(self, ends: Sequence[_Value]) -> _Value:
        """The last value on the way to all of these."""
        ways: list[list[_Value]] = []
        for end in ends:
            way, value = [end], end
            while value.before is not None and value is not self.start:
                value = value.before
                way.append(value)
            ways.append(way)
        shared = set[int].intersection(*({id(value) for value in way} for way in ways))
        return next(value for value in ways[0] if id(value) in shared)

    # -------------------------------------------------------------- the model

    def filled(self, model: Any) -> Any:
        """The model with the arrays of its layers."""
        state: dict[str, Array] = {}
        for path, module in model.named_modules():
            state.update(
                (f"{path}.{name}" if path else name, array) for name, array in self.arrays.get(id(module), {}).items()
            )
        model = model.astype(self.dtype).init(np.random.default_rng(0))
        own = model.state_dict()
        try:
            model.load_state_dict({**own, **{name: array.astype(own[name].dtype) for name, array in state.items()}})
        except TypednnError as error:
            raise ArgumentError(
                explain(str(self.place), "has weights that fit their operators", str(error)), "path"
            ) from None
        return model

    def compare(self, model: Any) -> None:
        """Raise unless the model gives the file's numbers, of two batches together, which the file reads one after the
        other.
        """
        end, rng = self.values[self.whole.graph.output[0].name], np.random.default_rng(0)
        given = [self.numbers(self.values[each.name], rng) for each in self.inputs]
        rule = f"the model must give the file's numbers to {TOLERANCE}"
        try:
            run = opened_onnx(self.whole.SerializeToString() if self.whole.ByteSize() < 1 << 31 else str(self.place))
            halves: list[Array] = []
            for half in zip(*(np.split(each, 2) for each in given), strict=True):
                named = zip(self.inputs, half, strict=True)
                feeds = {
                    each.name: np.ascontiguousarray(x.transpose(self.values[each.name].order)) for each, x in named
                }
                halves.append(np.asarray(run(feeds)))
            found = np.concatenate(halves, end.order.index(0))
        except Exception as error:  # of whatever runs it
            got = str(error).strip().partition("\n")[0][:200] or type(error).__name__
            raise ArgumentError(explain(str(self.place), rule, got, "the file itself cannot be run"), "path") from None
        apart = difference(found, model.eval().forward(*given).transpose(end.order))
        if apart > TOLERANCE:
            raise ArgumentError(explain(str(self.place), rule, f"a difference of {apart:.2g}"), "path")

    def numbers(self, value: _Value, rng: np.random.Generator) -> Any:
        """Two batches of what an input may read: tokens that tables have a row for, or else lengths that sequences
        have.
        """
        shape = (self.samples, *value.shape)
        if value.dtype is None:
            return rng.standard_normal(shape).astype(self.dtype)
        if value.dtype == np.bool_:
            return rng.random(shape) < 0.7
        tables = [
            len(self.constants[each.inputs[0]])
            for each in self.operations
            if each.kind == "Gather" and each.inputs[0] in self.learnt
        ]
        lengths = [self.values[each.name].shape[0] for each in self.inputs if self.values[each.name].shape]
        least, most = (0, min(tables)) if tables else (1, min(lengths) + 1)
        return rng.integers(least, max(most, least + 1), shape).astype(value.dtype)


# ------------------------------------------------------------------ operators

Row: TypeAlias = "Callable[..., _Value]"


def _elementwise(make: Callable[..., Any], **defaults: Any) -> Row:
    """A layer that works number by number; the node's attributes are its arguments."""

    def row(file: _Reader, name: str) -> _Value:
        x = file.value(name, moved=True)
        return file.layer(x, make(*file.options(**defaults).values()), x.order, x.features)

    return row


def _softmax(kind: Any) -> Row:
    def row(file: _Reader, name: str) -> _Value:
        x, axis = file.value(name), file.options(axis=-1)["axis"]
        if len(x.shape) != 1 or axis not in (-1, 1) or x.features is not None:
            file.refuse(f"{file.node.kind} along axis {axis} of {len(x.shape) + 1}")
        return file.layer(x, kind())

    return row


def _columns(x: _Value, weight: Array) -> Array:
    """The weight of a Linear, its columns in the order of the numbers here."""
    return weight if x.features is None else weight[:, np.argsort(x.features)]


def _gemm(file: _Reader, name: str, weight: str, bias: str | None = None) -> _Value:
    options = file.options(alpha=1.0, beta=1.0, transA=0, transB=0)
    x, array = file.value(name), file.constant(weight)
    if len(x.shape) != 1 or options["transA"]:
        file.refuse("Gemm of what is no row")
    array = array if options["transB"] else array.T
    offset = None
    if bias is not None:
        given = file.constant(bias)
        offset = options["beta"] * np.broadcast_to(
            given, array.shape[:1] if given.ndim < 2 else (1, len(array))
        ).reshape(-1)
    build: Any = lambda biased: layers.Linear(array.shape[1], array.shape[0], bias=biased)  # noqa: E731
    return file.affine(x, build, weight, options["alpha"] * _columns(x, array), offset)


def _matmul(file: _Reader, name: str, weight: str) -> _Value:
    x, array = file.value(name), file.constant(weight)
    if array.ndim != 2 or len(x.shape) > 2 or x.order != _plain(len(x.order)):
        file.refuse(f"MatMul of {len(x.shape) + 1} and {array.ndim} axes")
    kind: Any = layers.Linear if len(x.shape) == 1 else layers.SequenceLinear
    return file.affine(x, lambda biased: kind(*array.shape, bias=biased), weight, _columns(x, array.T), None)


def _add(file: _Reader, left: str, right: str) -> _Value:
    if left in file.constants or right in file.constants:
        return _bias(file, *((right, left) if left in file.constants else (left, right)))
    first, second = file.value(left), file.value(right)
    if (
        first.order != second.order
        or first.shape != second.shape
        or (first.features is None) != (second.features is None)
    ):
        file.refuse(f"Add of shapes {first.shape} and {second.shape}")
    if first.features is not None and not np.array_equal(first.features, cast("Array", second.features)):
        file.refuse("Add of rows in different orders")
    start = file.common([first, second])
    inner, shortcut = file.branch(start, first), file.branch(start, second)
    if not inner and not shortcut:
        file.refuse("Add of a value to itself")
    inner, shortcut = (inner, shortcut) if inner else (shortcut, inner)
    residual: Any = layers.Residual
    made = residual(_one(inner), _one(shortcut) if shortcut else None)
    return replace(file.layer(start, made), order=first.order, features=first.features)


def _bias(file: _Reader, name: str, constant: str) -> _Value:
    """A number for each channel, added to what was multiplied by a weight before."""
    x, array = file.value(name), file.constant(constant)
    linear: Any = x.layer
    rank, features = len(x.order), x.shape[-1]
    shape = (1,) * (rank - array.ndim) + array.shape
    if x.build is None or x.before is None or shape != tuple(features if axis == rank - 1 else 1 for axis in x.order):
        file.refuse("Add of a constant that is no bias of a product before it")
    arrays, own = file.arrays[id(linear)], linear.__typednn_storage__.name
    biased = x.build(True)
    bias = array.reshape(-1) + arrays.get("bias", np.zeros(1, array.dtype))
    made = file.layer(x.before, biased.named(own) if own else biased, weight=arrays["weight"], bias=bias)
    return replace(made, order=x.order, features=x.features, build=x.build)


def _one(parts: Sequence[Any]) -> Any:
    """Layers as one."""
    return parts[0] if len(parts) == 1 else Sequential(cast("Any", parts))


def _concat(file: _Reader, *names: str) -> _Value:
    axis, values = file.options(axis=1)["axis"], [file.value(name) for name in names]
    rank = len(values[0].order)
    if any(value.order != values[0].order or value.features is not None for value in values):
        file.refuse("Concat of values in different orders")
    if values[0].order[axis % rank] != rank - 1:
        file.refuse(f"Concat along axis {axis}, which is not that of the channels")
    start = file.common(values)
    branches = [_one(file.branch(start, value) or [layers.Identity()]) for value in values]
    made: Any = layers.Concat(*branches)
    return replace(file.layer(start, made), order=values[0].order)


def _mul(file: _Reader, left: str, right: str) -> _Value:
    """x·sigmoid(x) is a SiLU."""
    for x, gate in ((file.values.get(left), file.values.get(right)), (file.values.get(right), file.values.get(left))):
        if x is not None and gate is not None and isinstance(gate.layer, layers.Sigmoid) and gate.before is x:
            return file.layer(x, layers.SiLU(), features=x.features)
    return file.refuse("Mul, which is not x·Sigmoid(x)")


def _window(file: _Reader, x: _Value, window: Sequence[int], **more: Any) -> dict[str, Any]:
    """The attributes of windows, and the padding before and after each axis."""
    ones = [1] * len(window)
    options: dict[str, Any] = file.options(
        kernel_shape=None, strides=ones, dilations=ones, pads=None, auto_pad="NOTSET", **more
    )
    auto, strides, dilations = options["auto_pad"], options["strides"], options["dilations"]
    return {**options, "pads": padding(auto, options["pads"], x.shape[:-1], window, strides, dilations)}


def _short(sizes: Sequence[int]) -> Any:
    """One number where all are equal."""
    return sizes[0] if len(set(sizes)) == 1 else tuple(sizes)


def _even(file: _Reader, pads: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """The padding of each axis, where both sides have the same."""
    if any(before != after for before, after in pads):
        file.refuse(f"{file.node.kind} with pads={list(pads)}, which differ between the sides")
    return tuple(before for before, _ in pads)


def _conv(file: _Reader, name: str, weight: str, bias: str | None = None) -> _Value:
    x, array = file.channels_first(name), file.constant(weight)
    options = _window(file, x, array.shape[2:], group=1)
    offset = None if bias is None else file.constant(bias)
    channels, out, groups = array.shape[1] * options["group"], array.shape[0], options["group"]
    strides, dilations, pads = options["strides"], options["dilations"], options["pads"]
    build: Any = None
    if array.ndim == 3:
        (ends,) = _even(file, pads)
        one = (array.shape[2], strides[0], ends, dilations[0])
        build = lambda biased: layers.Conv1d(channels, out, *one, groups, biased)  # noqa: E731
    elif array.ndim == 4:
        if any(before != after for before, after in pads):
            (top, bottom), (left, right) = pads
            x, pads = file.layer(x, layers.Pad2d((left, right, top, bottom))), [(0, 0), (0, 0)]
        window: Any = list(map(_short, (array.shape[2:], strides, _even(file, pads), dilations)))
        kind: Any = layers.Conv2d
        build = lambda biased: kind(channels, out, *window, groups, biased)  # noqa: E731
    else:
        file.refuse(f"Conv of {array.ndim - 2} axes")
    return file.affine(x, build, weight, np.moveaxis(array, 1, -1), offset)


def _conv_transpose(file: _Reader, name: str, weight: str, bias: str | None = None) -> _Value:
    x, array = file.channels_first(name), file.constant(weight)
    if array.ndim != 4:
        file.refuse(f"ConvTranspose of {array.ndim - 2} axes")
    options = _window(file, x, array.shape[2:], group=1, output_padding=[0, 0])
    if options["auto_pad"] in ("SAME_UPPER", "SAME_LOWER"):
        file.refuse(f"ConvTranspose with auto_pad={options['auto_pad']!r}")
    sizes: Any = list(
        map(_short, (array.shape[2:], options["strides"], _even(file, options["pads"]), options["output_padding"]))
    )
    groups, kind, dilation = options["group"], cast("Any", layers.ConvTranspose2d), _short(options["dilations"])
    offset = None if bias is None else file.constant(bias)
    channels, out = array.shape[0], array.shape[1] * groups
    build: Any = lambda biased: kind(channels, out, *sizes, groups, biased, dilation)  # noqa: E731
    return file.affine(x, build, weight, np.moveaxis(array, 1, -1), offset)


def _pool(kind: Any, **more: Any) -> Row:
    def row(file: _Reader, name: str) -> _Value:
        x = file.channels_first(name)
        if len(x.order) != 4:
            file.refuse(f"{file.node.kind} of {len(x.order) - 2} axes")
        options = _window(file, x, file.node.options["kernel_shape"], **more)
        sizes: Any = map(_short, (options["kernel_shape"], options["strides"], _even(file, options["pads"])))
        if "count_include_pad" not in more:
            return file.layer(x, kind(*sizes, dilation=_short(options["dilations"])))
        if set(options["dilations"]) != {1}:
            file.refuse(f"{file.node.kind} with dilations={options['dilations']}")
        return file.layer(x, kind(*sizes, count_include_pad=bool(options["count_include_pad"])))

    return row


def _global_average(file: _Reader, name: str) -> _Value:
    x = file.channels_first(name)
    if len(x.order) != 4:
        file.refuse(f"GlobalAveragePool of {len(x.order) - 2} axes")
    return file.layer(x, layers.AdaptiveAvgPool2d(1))


def _reduce_mean(file: _Reader, name: str, given: str | None = None) -> _Value:
    x = file.value(name)
    options = file.options(axes=None, keepdims=1, noop_with_empty_axes=0)
    axes = options["axes"] if given is None else file.integers(given)
    if len(x.order) != 4 or axes is None or sorted(x.order[axis % 4] for axis in axes) != [1, 2]:
        file.refuse(f"ReduceMean over {axes}, which is not an image's height and width")
    return file.layer(x, layers.AdaptiveAvgPool2d(1) if options["keepdims"] else layers.GlobalAvgPool2d())


def _batch_norm(file: _Reader, name: str, *given: str) -> _Value:
    x, options = file.value(name), file.options(epsilon=1e-5, momentum=0.9)
    if len(x.order) > 2 and not x.first:
        file.refuse(f"BatchNormalization of axes in the order {x.order}")
    if len(x.order) > 4:
        file.refuse(f"BatchNormalization of {len(x.order)} axes")
    kind: Any = layers.BatchNorm2d if len(x.order) == 4 else layers.BatchNorm1d
    arrays = [file.constant(each) for each in given]
    if x.features is not None:
        arrays = [array[np.argsort(x.features)] for array in arrays]
    made = file.named(kind(x.shape[-1], options["epsilon"], round(1.0 - options["momentum"], 7)), given[0])
    weight, bias, mean, variance = arrays
    return file.layer(x, made, features=x.features, weight=weight, bias=bias, running_mean=mean, running_var=variance)


def _layer_norm(file: _Reader, name: str, weight: str, bias: str | None = None) -> _Value:
    x, options = file.value(name), file.options(axis=-1, epsilon=1e-5, stash_type=1)
    if options["axis"] % len(x.order) != len(x.order) - 1 or x.order != _plain(len(x.order)):
        file.refuse(f"LayerNormalization from axis {options['axis']}")
    arrays = [None if each is None else file.constant(each) for each in (weight, bias)]
    if any(array is not None and array.shape != x.shape[-1:] for array in arrays):
        file.refuse(f"LayerNormalization with a weight of the shape {file.constant(weight).shape}")
    if x.features is not None:
        arrays = [None if array is None else array[np.argsort(x.features)] for array in arrays]
    made = file.named(layers.LayerNorm(x.shape[-1], options["epsilon"], bias=bias is not None), weight)
    return file.layer(x, made, features=x.features, weight=arrays[0], bias=arrays[1])


def _dropout(file: _Reader, name: str, ratio: str | None = None, mode: str | None = None) -> _Value:
    x, options = file.value(name, moved=True), file.options(ratio=0.5, seed=0)
    p = options["ratio"] if ratio is None else float(file.constant(ratio))
    if mode is not None and file.constant(mode).any():
        file.refuse("Dropout in training")
    return file.layer(x, layers.Dropout(p), x.order, x.features)


def _prelu(file: _Reader, name: str, slope: str) -> _Value:
    x, array = file.value(name), file.constant(slope)
    if array.size != 1 or array.ndim > len(x.order):
        file.refuse(f"PRelu with {array.size} slopes")
    return file.layer(x, layers.PReLU(), features=x.features, slope=array.reshape(1))


def _hard_sigmoid(file: _Reader, name: str) -> _Value:
    options = file.options(alpha=0.2, beta=0.5)
    if abs(options["alpha"] - 1 / 6) > 1e-6 or options["beta"] != 0.5:
        file.refuse(f"HardSigmoid with alpha={options['alpha']:g}, beta={options['beta']:g}")
    return file.layer(file.value(name), layers.Hardsigmoid(), features=file.value(name).features)


def _pad(
    file: _Reader, name: str, pads: str | None = None, value: str | None = None, axes: str | None = None
) -> _Value:
    x, options = file.value(name), file.options(mode="constant", pads=None, value=0.0)
    widths = options["pads"] if pads is None else file.integers(pads)
    number = options["value"] if value is None else float(file.constant(value).reshape(-1)[0])
    rank = len(x.order)
    chosen = [axis % rank for axis in (range(rank) if axes is None else file.integers(axes))]
    before, after = (
        {x.order[axis]: width for axis, width in zip(chosen, side, strict=True)}
        for side in np.split(np.array(widths), 2)
    )
    around: Any = [int(side.get(axis, 0)) for axis in (2, 1) for side in (before, after)]
    if (
        rank != 4
        or options["mode"] not in ("constant", "edge")
        or any(side.get(axis) for side in (before, after) for axis in (0, 3))
    ):
        file.refuse(f"Pad of {rank} axes by {widths} in mode {options['mode']!r}")
    mode: Any = "replicate" if options["mode"] == "edge" else "constant"
    return file.layer(x, layers.Pad2d(tuple(around), mode, 0.0 if mode == "replicate" else number))


def _identity(file: _Reader, name: str) -> _Value:
    return file.value(name, moved=True)


def _cast(file: _Reader, name: str) -> _Value:
    """All floats of a model have one dtype."""
    if file.options(to=None, saturate=1)["to"] not in FLOATS:
        file.refuse(f"Cast to the data type {file.node.options['to']}")
    return file.value(name, moved=True)


def _gather(file: _Reader, weight: str, tokens: str) -> _Value:
    """The rows of a matrix that the tokens of the input name are an Embedding."""
    x, array = file.values.get(tokens), file.constant(weight)
    if (
        x is None
        or x.before is not None
        or not x.dtype
        or len(x.shape) != 1
        or array.ndim != 2
        or file.options(axis=0)["axis"]
    ):
        file.refuse("Gather of what are not tokens")
    assert x is not None
    made: Any = layers.Embedding(*array.shape)
    return file.layer(x, file.named(made, weight), weight=array)


def _recurrent(kind: Any) -> Row:
    def row(file: _Reader, name: str, weight: str, recurrence: str, *more: str | None) -> _Value:
        x = file.value(name, moved=True)
        bias, lengths, *states = (*more, None, None)[: max(2, len(more))]
        zeros = all(state is None or (state in file.constants and not file.constants[state].any()) for state in states)
        call = Call(file.node, file.opset, file.dtype)
        cell = cell_of(call, 1)
        if x.order != (1, 0, 2) or call.option("direction", "forward") != "forward" or lengths is not None or not zeros:
            file.refuse(f"{file.node.kind} backwards, with lengths or with a state")
        weights = [
            blocks(file.node.kind, file.constant(each)[0], np.split, np.concatenate) for each in (weight, recurrence)
        ]
        biases: dict[str, Array] = {}
        if bias is not None:
            halves = [
                blocks(file.node.kind, each, np.split, np.concatenate) for each in np.split(file.constant(bias)[0], 2)
            ]
            biases = {"bias_ih": halves[0], "bias_hh": halves[1]}
        options: dict[str, Any] = {"nonlinearity": cell} if kind is layers.RNN else {}
        made = kind(weights[0].shape[1], weights[1].shape[1], bias=bias is not None, **options)
        return file.layer(x, made, (1, -1, 0, 2), weight_ih=weights[0], weight_hh=weights[1], **biases)

    return row


def _transpose(file: _Reader, name: str) -> _Value:
    x = file.value(name, moved=True)
    order = file.options(perm=list(range(len(x.order)))[::-1])["perm"]
    if x.features is not None or sorted(order) != list(range(len(x.order))):
        file.refuse(f"Transpose with perm={list(order)}")
    return _Value(x.shape, tuple(x.order[axis] for axis in order), None, x)


def _flatten(file: _Reader, name: str) -> _Value:
    x, axis = file.value(name), file.options(axis=1)["axis"]
    if axis % len(x.order) != 1:
        file.refuse(f"Flatten from axis {axis}")
    return _as_row(file, x)


def _as_row(file: _Reader, x: _Value) -> _Value:
    """All of a sample in one row; where the order there is another, the place here of each number there."""
    if len(x.shape) == 1:
        return x
    places = np.arange(math.prod(x.shape)).reshape(x.shape).transpose([axis - 1 for axis in x.order[1:]]).ravel()
    features = None if np.array_equal(places, np.arange(len(places))) else places
    return file.layer(x, cast("Any", layers.Flatten)(), _plain(2), features)


def _reshape(file: _Reader, name: str, sizes: str) -> _Value:
    x, shape = file.value(name), file.sizes(sizes)
    allows_zero = file.options(allowzero=0)["allowzero"]
    there = [x.shape[axis - 1] for axis in x.order[1:]]
    if not allows_zero:
        shape = [there[place - 1] if size == 0 and place else size for place, size in enumerate(shape)]
    first, sample = shape[0], shape[1:]
    if first not in {BATCH, -1, file.fixed} - {0} and (first or allows_zero):
        file.refuse(f"Reshape to {shape}, which is not of the batch")
    known = math.prod(size for size in sample if size != -1)
    if -1 in sample and first != -1 and known > 0:
        sample = [math.prod(there) // known if size == -1 else size for size in sample]
    if math.prod(sample) != math.prod(there) or min(sample, default=0) < 1:
        file.refuse(f"Reshape to {shape}")
    if len(sample) == 1:
        return _as_row(file, x)
    if sample == there:
        return x
    if x.order != _plain(len(x.order)) or x.features is not None or len(sample) > 3:
        file.refuse(f"Reshape of axes in the order {x.order} to {shape}")
    return file.layer(x, cast("Any", layers.Reshape)(*sample), _plain(len(sample) + 1))


def _squeeze(file: _Reader, name: str, given: str | None = None) -> _Value:
    x, options = file.value(name, moved=True), file.options(axes=None)
    axes = options["axes"] if given is None else file.integers(given)
    gone = (
        [axis for axis, size in enumerate(x.there) if size == 1]
        if axes is None
        else [axis % len(x.order) for axis in axes]
    )
    if x.features is None and all(x.order[axis] < 0 for axis in gone):
        return _Value(x.shape, tuple(each for axis, each in enumerate(x.order) if axis not in gone), None, x)
    if (
        x.order[0]
        or -1 in x.order
        or len(x.shape) - len(gone) != 1
        or any(axis == 0 or x.there[axis] != 1 for axis in gone)
    ):
        file.refuse(f"Squeeze of axes {axes}")
    return _as_row(file, x)


def _resize(file: _Reader, name: str, *given: str | None) -> _Value:
    x, nearest = file.channels_first(name), ("nearest", "asymmetric", "floor")
    old = file.opset < 11 or file.node.kind == "Upsample"
    how, rounding = ("asymmetric", "floor") if old else ("half_pixel", "round_prefer_floor")
    ignored = {"cubic_coeff_a": -0.75, "extrapolation_value": 0.0}
    options = file.options(
        mode="nearest", coordinate_transformation_mode=how, nearest_mode=rounding, scales=None, **ignored
    )
    mode, at = options["mode"], options["coordinate_transformation_mode"]
    scales = np.array(options["scales"]) if options["scales"] else file.constant(given[0 if old else 1])
    whole = (
        len(x.order) == 4
        and is_floating(scales.dtype)
        and scales.shape == (4,)
        and (scales[:2] == 1).all()
        and (scales % 1 == 0).all()
    )
    bilinear = mode == "linear" and at in ("half_pixel", "pytorch_half_pixel", "align_corners")
    if not whole or len(given) > 2 or not (bilinear or (mode, at, options["nearest_mode"]) == nearest):
        file.refuse(f"Resize in mode {mode!r}, {at}, by {scales.tolist()}")
    factors = _short([int(scale) for scale in scales[2:]])
    return file.layer(x, layers.Upsample(factors, "bilinear" if bilinear else "nearest", at == "align_corners"))


def _gelu(file: _Reader, name: str) -> _Value:
    x = file.value(name)
    return file.layer(x, layers.GELU(file.options(approximate="none")["approximate"]), features=x.features)


ROWS: Final[Mapping[str, Row]] = {
    "Add": _add,
    "AveragePool": _pool(layers.AvgPool2d, count_include_pad=0),
    "BatchNormalization": _batch_norm,
    "Cast": _cast,
    "Concat": _concat,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Dropout": _dropout,
    "Elu": _elementwise(layers.ELU, alpha=1.0),
    "Flatten": _flatten,
    "GRU": _recurrent(layers.GRU),
    "Gather": _gather,
    "Gelu": _gelu,
    "Gemm": _gemm,
    "GlobalAveragePool": _global_average,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _elementwise(layers.Hardswish),
    "Identity": _identity,
    "LSTM": _recurrent(layers.LSTM),
    "LayerNormalization": _layer_norm,
    "LeakyRelu": _elementwise(layers.LeakyReLU, alpha=0.01),
    "LogSoftmax": _softmax(layers.LogSoftmax),
    "MatMul": _matmul,
    "MaxPool": _pool(layers.MaxPool2d),
    "Mul": _mul,
    "PRelu": _prelu,
    "Pad": _pad,
    "RNN": _recurrent(layers.RNN),
    "ReduceMean": _reduce_mean,
    "Relu": _elementwise(layers.ReLU),
    "Reshape": _reshape,
    "Resize": _resize,
    "Selu": _elementwise(layers.SELU),
    "Sigmoid": _elementwise(layers.Sigmoid),
    "Softmax": _softmax(layers.Softmax),
    "Softplus": _elementwise(layers.Softplus),
    "Squeeze": _squeeze,
    "Tanh": _elementwise(layers.Tanh),
    "Transpose": _transpose,
    "Upsample": _resize,
}
