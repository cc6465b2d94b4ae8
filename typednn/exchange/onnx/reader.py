"""An ONNX file as a model: layers where operators have a counterpart, and formulas of the graph where they have none.

The graph is read as a tree of values, each a layer behind another value. Where two branches of it are added they become
a `Residual`, where they are joined along the channels a `Concat`; what remains from the input to the output is a chain.
Between two values through which everything goes, rows of `typednn.exchange.onnx.layers` are tried first: one makes a
layer of an operator. Where one of them finds none, the operators between these two values become one layer, a formula
of `typednn.exchange.onnx.operators`, with the file's arrays as its parameters.

ONNX's images are channels first, the model's channels last: it reads ``batch, height, width, channels``. Weights of
windows change their layout, a Transpose becomes none, and of what reads a flattened image the features change places.
The input of a file of `export_onnx`, whose first node is a Transpose to channels first, is channels last already. A
formula computes in the file's layout, between two changes.

A file names no code, and none is run. Weights in other files are read from its own folder only. Before the model is
given its results are compared with the file's, which ONNX Runtime runs, or ONNX's own reference.

Source: the operators of ONNX's standard, github.com/onnx/onnx/blob/main/docs/Operators.md.
"""

# ONNX's own package says nothing of its types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast, final

import numpy as np

from typednn import layers
from typednn.arrays import is_floating
from typednn.errors import ArgumentError, DataError, StackError, TypednnError, explain, optional
from typednn.exchange.onnx.formula import Formula, Source
from typednn.exchange.onnx.layers import READS
from typednn.exchange.onnx.nodes import Array, Call, Context, Operation
from typednn.exchange.onnx.operators import OPERATORS, constant_of, evaluate
from typednn.exchange.onnx.storage import EXTRA, TOLERANCE, difference, opened_onnx, read
from typednn.exchange.onnx.values import Value, Values, channels_first, in_order
from typednn.files import path_of
from typednn.layer import Input, MultiInput, Sequential
from typednn.module.module import DTYPES

# Of the input of one of these the channels are axis 1.
_CHANNELS_FIRST: Final = frozenset(
    {
        "AveragePool", "BatchNormalization", "Conv", "ConvTranspose", "GlobalAveragePool", "GlobalMaxPool",
        "GroupNormalization",
        "InstanceNormalization", "MaxPool", "Resize",
    }
)  # fmt: skip

# What follows these, number by number, does not tell where the channels of their input are.
_MIXING: Final = frozenset({"Flatten", "Gemm", "MatMul", "Reshape"})
_MOVEMENT: Final = frozenset({"Cast", "Reshape", "Squeeze", "Transpose", "Unsqueeze"})  # behind a formula, parts of it
READINGS: Final = 4  # times the memory that the reader may take: more is not read to compute constants


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
    whole, file = read(onnx, place, limit)
    reader = Reader(Context(str(place), file=file), file, onnx=onnx, whole=whole)
    with np.errstate(all="ignore"):  # the numbers are the file's, whatever they are
        try:
            model: Any = reader.model()
        except (AttributeError, LookupError, OverflowError, TypeError, ValueError, TypednnError) as error:
            if isinstance(error, TypednnError) and str(place) in str(error):
                raise
            # Of ONNX's own functions, on what its checker let through.
            got = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:120]}"
            raise DataError(explain(str(place), "must be valid ONNX", got)) from None
        _compare(reader, model)
    made: Sequential[Any] | MultiInput[Any, Any] = model.train()
    return made


@final
@dataclass(slots=True)
class Reader(Values):
    """The graph of a file, and what was made of it so far."""

    onnx: Any = None
    whole: Any = None
    start: Any = None  # these two are set here alone; rows read them
    call: Any = None
    operations: list[Operation] = field(default_factory=list[Operation])
    wanted: set[str] = field(default_factory=set[str])  # what a node reads, or is the output
    inputs: list[Any] = field(default_factory=list[Any])
    read_for_constants: int = 0  # bytes
    # `told_of`
    firsts: dict[int, dict[str, tuple[int, bool]]] = field(default_factory=dict[int, dict[str, tuple[int, bool]]])

    def model(self) -> Any:
        """The chain from the input to the output; of several inputs one formula."""
        graph, numpy, context = self.whole.graph, self.onnx.numpy_helper, self.context
        context.opset = max(
            (each.version for each in self.whole.opset_import if each.domain in ("", "ai.onnx")), default=1
        )
        context.constants |= {each.name: numpy.to_array(each) for each in graph.initializer}
        context.learnt |= {name for name, array in context.constants.items() if array.ndim and is_floating(array.dtype)}
        self.operations = [self.operation(node) for node in graph.node]
        self.wanted = {each.name for each in graph.output}.union(*(node.inputs for node in self.operations))
        self.inputs = [each for each in graph.input if each.name not in context.constants]
        if not self.inputs or len(graph.output) != 1:
            got = f"{len(self.inputs)} and {len(graph.output)}"
            context.wrong("a model has inputs and one output", got, "cut the graph before")
        self.kinds()
        for each in self.inputs:
            self.values[each.name] = self.begin(each)
            context.shapes[each.name] = self.values[each.name].there
        starts, output = dict(self.values), graph.output[0].name
        first, *others = starts.values()
        end = self.read(starts, output)
        if not self.is_usual(end, starts.values()):
            end = self.values[output] = self.by_formula({output: end}, [], output, plain=True)
        if others:
            return self.filled(self.layer_of(end))
        parts = self.branch(first, end) or [layers.Identity()]
        sample: Input[Any] = Input(*first.shape, dtype=cast("Any", int if first.dtype else float))
        try:
            model: Sequential[Any] = Sequential(cast("Any", parts), input=sample)
        except TypednnError as error:
            context.wrong("must be a chain of layers", str(error))
        return self.filled(model)

    def is_usual(self, end: Value, starts: Iterable[Value]) -> bool:
        """Whether an output has the layout of the file, or is an image, or has its batch first that was not first
        there.
        """
        if end.features is not None or -1 in end.order:
            return False
        return (
            end.order == in_order(end.rank)
            or bool(end.order[0])
            or (end.first and (end.rank == 4 or any(each.first for each in starts)))
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
        domain, inputs = "" if node.domain == "ai.onnx" else node.domain, [*node.input]
        while inputs and not inputs[-1]:
            inputs.pop()
        return Operation(node.op_type, node.name, tuple(inputs), tuple(node.output), options, domain)

    def kinds(self) -> None:
        """Find the floats of the model: those of the inputs, else of the weights."""
        floats = {kind for kind in map(self.kind_of, self.inputs) if kind in DTYPES}
        floats = floats or {self.context.constants[name].dtype for name in self.context.learnt}
        self.context.dtype = floats.pop() if len(floats) == 1 else np.dtype(np.float32)

    def kind_of(self, source: Any) -> Any:
        """The dtype of an input of the file."""
        kind = source.type.tensor_type.elem_type
        return np.dtype(self.onnx.helper.tensor_dtype_to_np_dtype(kind) if kind else np.float32)

    def begin(self, source: Any) -> Value:
        """What the model reads."""
        sizes = [size.dim_value if size.HasField("dim_value") else 0 for size in source.type.tensor_type.shape.dim]
        context, kind, several = self.context, self.kind_of(source), len(self.inputs) > 1
        context.fixed, sizes = (sizes[0], sizes[1:]) if sizes else (0, [])
        other = kind in (np.int64, np.int32) or (several and kind == np.bool_)
        if (
            (kind not in DTYPES and not other)
            or not (0 if several else 1) <= len(sizes) <= 3
            or min(sizes, default=1) < 1
            or context.fixed < 0
        ):
            rule = f"the input {source.name!r} has floats or integers, and known sizes but the batch's"
            got = f"{kind} {['batch', *(size or '?' for size in sizes)]}"
            context.wrong(rule, got, "export it with such sizes")
        self.room(math.prod(sizes) * 8)
        rank = len(sizes) + 1
        order = channels_first(rank) if not other and self.starts_first(source.name, rank) else in_order(rank)
        shape = tuple(sizes[order.index(axis) - 1] for axis in range(1, rank))
        return Value(shape, order, dtype=kind if other else None)

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
        for place, node in reversed([*enumerate(self.operations)]):
            (name, *_), perm = node.inputs or [""], node.options.get("perm")
            if node.kind in _CHANNELS_FIRST:
                told[name] = place, True
            elif node.kind == "Transpose" and perm is not None and len(perm) == rank:
                told[name] = place, perm[0] == 0 and tuple(perm) != channels_first(rank)
            elif node.kind in READS and node.kind not in _MIXING and node.outputs[0] in told:
                told[name] = min(told[node.outputs[0]], told.get(name, told[node.outputs[0]]))
        return told

    def read(self, starts: Mapping[str, Value], output: str) -> Value:
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
                    self.context.shapes[name] = found.there
                before, pending = {name: found}, []
        if pending or output not in self.values or not self.values[output].order:
            lost = "a result without an axis for the batch" if pending or output in self.values else "nothing"
            got = "a constant" if output in self.context.constants else lost
            self.context.wrong("the output depends on the input, and has its batch", got)
        return self.values[output]

    def steps(self) -> list[Operation]:
        """The operations of values; those of constants are computed, and those of sizes wait for them."""
        steps: list[Operation] = []
        context, known = self.context, {each.name for each in self.inputs}
        constants, late = context.constants, context.late
        for node in self.operations:
            given = [name for name in node.inputs if name]
            before = [name for name in given if name in constants or name in late]
            unknown = next((name for name in given if name not in known and name not in before), None)
            if node.domain or node.kind not in OPERATORS:
                context.refuse(node, f"{node.domain}.{node.kind}" if node.domain else node.kind)
            if unknown is not None:
                context.refuse(node, f"{node.kind}, which reads {unknown!r}, of which nothing is known")
            if node.kind == "Constant":
                found = constant_of(node)
                if found is None:
                    context.refuse(node, f"Constant with {', '.join(node.options) or 'nothing'}")
                constants[node.outputs[0]] = found
            elif given and len(before) == len(given):
                if all(name in constants for name in given):
                    self.fold(node)
                if not all(name in constants for name in node.outputs if name):
                    late |= dict.fromkeys(filter(None, node.outputs), node)
            elif node.kind in ("Shape", "Size"):
                late |= dict.fromkeys(node.outputs, node)
            else:
                steps.append(node)
                known |= set(filter(None, node.outputs))
        return steps

    def fold(self, node: Operation) -> None:
        """Compute a node of constants, such as the sizes for a Reshape, if that gives arrays."""
        context = self.context
        inputs = [context.constants[name] if name else None for name in node.inputs]
        try:
            found = evaluate(Call(node, context, np.dtype(np.float32)), inputs)
        except (ArgumentError, ValueError, TypeError, IndexError, ArithmeticError):
            return  # a formula tells why, where one needs it
        if not all(isinstance(each, np.ndarray | np.generic) for each in found):
            return
        arrays = [np.asarray(each) for each in found]
        self.file.take(sum(each.nbytes for each in arrays if each.base is None))
        self.read_for_constants += sum(each.nbytes for each in inputs if each is not None)
        if self.read_for_constants > READINGS * self.file.limit:
            got = "more computation of constants than the memory that the reader may take is worth"
            context.refuse(node, got)
        names = {name: array for name, array in zip(node.outputs, arrays, strict=False) if name}
        context.constants |= names
        if context.learnt.intersection(node.inputs):
            context.learnt |= {name for name, array in names.items() if array.ndim and is_floating(array.dtype)}

    # -------------------------------------------------------------- layers, and formulas

    def between(self, starts: Mapping[str, Value], nodes: Sequence[Operation], name: str) -> Value:
        """What ``nodes`` make of a value: layers, or else a formula."""
        self.start = next(iter(starts.values()))
        behind = self.start.formula is not None and _MOVEMENT.issuperset(node.kind for node in nodes)
        if len(starts) > 1 or behind or not self.start.order:
            return self.by_formula(starts, nodes, name)
        grown: list[Any] = [self.values, self.arrays, self.names, self.used]
        before = [*map(len, grown)]
        try:
            for node in nodes:
                self.values[node.outputs[0]] = self.by_row(node)
        except (StackError, LookupError, ValueError, TypeError):  # the formula tells why, where it has none either
            for known, size in zip(grown, before, strict=True):
                while len(known) > size:
                    known.popitem()
            return self.by_formula(starts, nodes, name)
        self.context.shapes.update((node.outputs[0], self.values[node.outputs[0]].there) for node in nodes)
        return self.values[name]

    def by_row(self, node: Operation) -> Value:
        """A layer for one operator; an error where none is the same."""
        self.require(self.wanted.isdisjoint(filter(None, node.outputs[1:])))
        self.call = Call(node, self.context, self.context.dtype)
        made: Value = READS[node.kind](self, *(name or None for name in node.inputs))
        self.call.rest()
        return made

    def by_formula(
        self, starts: Mapping[str, Value], nodes: Sequence[Operation], name: str, *, plain: bool = False
    ) -> Value:
        """A formula of ``nodes``, or the one before them, which grows by these."""
        read, start = next(iter(starts.items()))
        formula, before = start.formula, start.before
        if formula is None:
            each = starts.items()
            sources = (Source(own, value.shape, value.order, value.features, value.dtype) for own, value in each)
            formula, before = Formula(tuple(sources), self.context), start
            formula.begin()
        elif formula.result != read:  # under another name, which an operator gave it that does nothing
            nodes = [Operation("Identity", "", (formula.result,), (read,), {}), *nodes]
        formula.grow(nodes, name)
        found = formula.result_of(
            lambda rank: channels_first(rank) if not plain and self.starts_first(name, rank) else in_order(rank)
        )
        return Value(*(found or ((), ())), before=before, formula=formula)

    # -------------------------------------------------------------- the model

    def filled(self, model: Any) -> Any:
        """The model with the arrays of its layers."""
        state: dict[str, Array] = {}
        for path, module in model.named_modules():
            arrays = self.arrays.get(id(module), {})
            state |= {f"{path}.{name}" if path else name: array for name, array in arrays.items()}
        model = model.astype(self.context.dtype).init(np.random.default_rng(0))
        own = model.state_dict()
        try:
            model.load_state_dict({**own, **{name: array.astype(own[name].dtype) for name, array in state.items()}})
        except TypednnError as error:
            self.context.wrong("has weights that fit their operators", str(error))
        return model


def _compare(reader: Reader, model: Any) -> None:
    """Raise unless the model gives the file's numbers, of two batches together, which the file reads one after the
    other.
    """
    whole, place, values = reader.whole, reader.context.place, reader.values
    rng, order = np.random.default_rng(0), values[whole.graph.output[0].name].order
    starts = {each.name: values[each.name] for each in reader.inputs}
    given = [_numbers(reader, value, rng) for value in starts.values()]
    rule = f"the model must give the file's numbers to {TOLERANCE}"
    try:
        run = opened_onnx(whole.SerializeToString() if whole.ByteSize() < 1 << 31 else place)
        halves: list[Array] = []
        for half in zip(*(np.split(each, 2) for each in given), strict=True):
            named = zip(starts.items(), half, strict=True)
            feeds = {name: np.ascontiguousarray(x.transpose(value.order)) for (name, value), x in named}
            halves.append(np.asarray(run(feeds)))
        found = np.concatenate(halves, order.index(0))
    except Exception as error:  # of whatever runs it
        got = str(error).strip().partition("\n")[0][:200] or type(error).__name__
        reader.context.wrong(rule, got, "the file itself cannot be run")
    apart = difference(found, model.eval().forward(*given).transpose(order))
    if apart > TOLERANCE:
        reader.context.wrong(rule, f"a difference of {apart:.2g}")


def _numbers(reader: Reader, value: Value, rng: np.random.Generator) -> Any:
    """Two batches of what an input may read: tokens that tables have a row for, or else lengths that sequences have."""
    shape, constants = (reader.samples, *value.shape), reader.context.constants
    if value.dtype is None:
        return rng.standard_normal(shape).astype(reader.context.dtype)
    if value.dtype == np.bool_:
        return rng.random(shape) < 0.7
    gathers = [each.inputs[0] for each in reader.operations if each.kind == "Gather"]
    tables = [len(constants[name]) for name in gathers if name in reader.context.learnt]
    lengths = [sizes[0] for each in reader.inputs if (sizes := reader.values[each.name].shape)]
    least, most = (0, min(tables)) if tables else (1, min(lengths) + 1)
    return rng.integers(least, max(most, least + 1), shape).astype(value.dtype)
