"""Operators of an ONNX file as one layer: a `GraphLayer`, or a `GraphMultiInput`, whose formula is what they compute.

The file's weights that they read are the layer's parameters, the statistics of a BatchNormalization its buffers. Between the model's
layout and the file's the axes change places at both ends. Sizes that a file computes of its input are computed anew for each size of a
batch; while nothing has a batch yet, `BATCH` stands for it.
"""

# What stands under a name may be a tensor or an array.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import new_class
from typing import Any, Final, NoReturn, TypeAlias, cast, final

import numpy as np
from jaxtyping import Bool, Float, Integer

from typednn import graph
from typednn.arrays import AnyArray
from typednn.errors import TypednnError
from typednn.exchange.onnx_operators import Array, Call, Operation, evaluate
from typednn.graph.tensor import AnyTensor, Tensor, lazily, tensor
from typednn.graph_layer import GraphLayer, GraphMultiInput
from typednn.module.fields import Buffer, Parameter
from typednn.module.gradients import Gradient

BATCH: Final = 1009  # a prime: a size that is a multiple of it is taken for the batch's
Order: TypeAlias = "tuple[int, ...]"

# From this input on, an operator reads numbers that it must know before.
_SETTINGS: Final = {"Dropout": 1, "Pad": 1, "Resize": 1, "Upsample": 1}
_STATISTICS: Final = {"BatchNormalization": (3, 4)}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A value of a file that a formula reads: its names there, and its layout here."""

    names: frozenset[str]
    sizes: tuple[int, ...]  # of a sample here
    order: Order  # the axes here of each axis there; -1 is an axis of size 1 that is not here
    features: Array | None  # of a row, the places here of the numbers there, where they differ
    dtype: Any  # None where it has the floats of the model

    @property
    def axes(self) -> str:
        return f"batch {' '.join(map(str, self.sizes))}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Formula:
    """Operations from one value of a file, or from all of its inputs, to another, and what they need to know of the rest of it."""

    nodes: tuple[Operation, ...]
    starts: Any  # the reader's values
    sources: tuple[Source, ...]
    result: str
    constants: Mapping[str, Array]
    learnt: set[str]
    late: Mapping[str, Operation]
    shapes: Mapping[str, tuple[int, ...]]
    opset: int
    fixed: int
    dtype: Any
    refuse: Callable[[Operation, str], NoReturn]
    own: dict[Any, Array] = field(default_factory=dict[Any, Array])
    seen: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])  # shapes there, of a batch of `BATCH`

    def weights(self) -> dict[str, str]:
        """The names of the arrays that become fields of the layer, each with the kind of field."""
        kinds: dict[str, str] = {}
        waiting, done = [*self.nodes], set[int]()
        while waiting:
            node = waiting.pop(0)
            done.add(id(node))
            for place, name in enumerate(node.inputs):
                if name in self.learnt and place < _SETTINGS.get(node.kind, place + 1):
                    kinds[name] = "buffer" if place in _STATISTICS.get(node.kind, ()) else "parameter"
                later = self.late.get(name)
                if later is not None and id(later) not in done:
                    waiting.append(later)
        return kinds

    def run(self, inputs: Sequence[AnyTensor], weights: Mapping[str, Any], dtype: Any) -> Any:
        """The result there, of ``inputs`` here."""
        known: dict[str, Any] = dict(weights)
        for source, x in zip(self.sources, inputs, strict=True):
            known |= dict.fromkeys(source.names, self.there(source, x))
        for node in self.nodes:
            self.compute(node, known, inputs[0].shape[0], dtype)
        return known[self.result]

    def compute(self, node: Operation, known: dict[str, Any], batch: int, dtype: Any) -> None:
        """Put the results of an operation beside what is ``known``, and what it needs that is computed of sizes."""
        waiting = [node]
        while waiting:
            now = waiting[-1]
            of_shape = now.kind in ("Shape", "Size") and now.inputs[0] not in known and now.inputs[0] in self.shapes
            missing = [] if of_shape else [name for name in now.inputs if name and name not in known and name not in self.constants]
            if missing:
                waiting += [self.late[name] for name in missing]
                continue
            waiting.pop()
            if of_shape:
                sizes = [size // BATCH * batch if size % BATCH == 0 else size for size in self.shapes[now.inputs[0]]]
                inputs: list[Any] = [np.broadcast_to(np.int8(0), sizes)]
            else:
                inputs = [(known[name] if name in known else self.constants[name]) if name else None for name in now.inputs]
            try:
                found = evaluate(Call(now, self.opset, dtype, batch, self.fixed, self.own), inputs)
            except (TypednnError, ValueError, TypeError, IndexError, KeyError, AttributeError, ArithmeticError) as error:
                got = str(error).partition("\n")[0][:200]
                self.refuse(now, got if got.startswith(now.kind) else f"{now.kind}: {got}")
            known |= zip(now.outputs, found, strict=False)
            if batch == BATCH:
                self.seen.update((name, tuple(each.shape)) for name, each in zip(now.outputs, found, strict=False))

    def there(self, source: Source, x: AnyTensor) -> AnyTensor:
        """What is read, in the file's layout."""
        if source.features is not None:
            return graph.take(x, self.fixed_array(source.features), 1)
        y = x.permute(tuple(axis for axis in source.order if axis >= 0))
        sizes = iter(y.shape)
        return y.reshape(tuple(1 if axis < 0 else next(sizes) for axis in source.order))

    def fixed_array(self, array: Array) -> AnyTensor:
        """The same leaf at each call, so that a formula that was recorded with it holds."""
        key = ("features", array.tobytes())
        kept = self.own.setdefault(key, array.astype(np.int64))
        kept.flags.writeable = False
        return tensor(kept)

    def result_of(self, wanted: Callable[[int], Order]) -> tuple[tuple[int, ...], Order, Any] | None:
        """The sizes of a sample of the result here, the axes here of each axis there, and its dtype; None where it has no batch."""
        inputs = [lazily(_unknown, (BATCH, *each.sizes), each.dtype or self.dtype) for each in self.sources]
        weights = {name: lazily(_unknown, self.constants[name].shape, self.dtype) for name in self.weights()}
        y = self.run(inputs, weights, self.dtype)
        if not isinstance(y, Tensor) or y.shape.count(BATCH) != 1 or any(size % BATCH == 0 and size != BATCH for size in y.shape):
            return None
        axis = y.shape.index(BATCH)
        axes = [axis, *(each for each in range(y.ndim) if each != axis)]
        order = wanted(y.ndim) if axis == 0 else tuple(axes.index(each) for each in range(y.ndim))
        return tuple(y.shape[order.index(each)] for each in range(1, y.ndim)), order, y.dtype


def _unknown() -> NoReturn:
    raise AssertionError("no number is asked for")


def known_batch(formula: Formula, name: str, batch: int) -> Any:
    """What a file computes of sizes, for a batch of this size."""
    known: dict[str, Any] = {}
    formula.compute(formula.late[name], known, batch, formula.dtype)
    return known[name]


def formula_of(formula: Formula, sizes: Sequence[int], order: Order, dtype: Any) -> tuple[Any, dict[str, Array]]:
    """The layer, whose result has these ``sizes`` here, and the arrays of its fields."""
    kinds, sources = formula.weights(), formula.sources
    names = _fields(kinds)
    back = tuple(np.argsort(order).tolist())
    inputs = ["x"] if len(sources) == 1 else [f"x{place}" for place in range(len(sources))]
    fields: dict[str, Any] = {}
    gradients: dict[str, Any] = {
        "input" if name == "x" else name: None if source.dtype else Float[AnyArray, source.axes]
        for name, source in zip(inputs, sources, strict=True)
    }
    for name, field_kind in kinds.items():
        hint: Any = Float[AnyArray, " ".join(map(str, formula.constants[name].shape))]
        stored: Any = Parameter if field_kind == "parameter" else Buffer
        fields[names[name]] = stored[hint]
        if field_kind == "parameter":
            gradients[names[name]] = hint

    def compute(self: Any, *given: Any) -> Any:
        weights = {name: tensor(getattr(self, own)) for name, own in names.items()}
        return formula.run(given, weights, self.dtype).permute(back)

    def begin(self: Any, operators: str) -> None:
        self.operators = operators

    own, some = inspect.Parameter("self", _POSITIONAL), [inspect.Parameter(name, _POSITIONAL) for name in inputs]
    compute.__signature__ = inspect.Signature([own, *some])  # type: ignore[attr-defined]
    compute.__annotations__ = {
        **{name: _HINTS[np.dtype(each.dtype or np.float32).kind][AnyTensor, each.axes] for name, each in zip(inputs, sources, strict=True)},
        "return": _HINTS[np.dtype(dtype).kind][AnyTensor, f"batch {' '.join(map(str, sizes))}"],
    }
    several = {} if len(sources) == 1 else {"inputs": tuple(inputs)}
    made: Any = new_class("OperatorsGrad", (Gradient,), several, lambda body: body.update(__annotations__=gradients, __module__=__name__))
    gradient: Any = dataclass(frozen=True)(made)
    one, many = cast("Any", GraphLayer), cast("Any", GraphMultiInput)
    base = many[AnyArray, gradient] if several else one[AnyArray, AnyArray, gradient, str]
    body = {"__annotations__": fields, "__init__": begin, "__module__": __name__, "__doc__": _DOC, "formula": compute}
    kind: Any = new_class("Operators", (base,), {}, lambda filled: filled.update(body))
    shown = [node.kind for node in formula.nodes]
    layer = kind(" ".join([*shown[:8], *(["…"] if len(shown) > 8 else [])]))
    return layer, {names[name]: formula.constants[name] for name in kinds}


_POSITIONAL: Final = inspect.Parameter.POSITIONAL_OR_KEYWORD
_HINTS: Final[Mapping[str, Any]] = {"f": Float, "i": Integer, "u": Integer, "b": Bool}
_DOC: Final = "Operators of an ONNX file as one formula. Kept for backward, and the cost: as a `GraphLayer`'s."


def _fields(names: Sequence[str] | Mapping[str, Any]) -> dict[str, str]:
    """For each name of an array in a file one that a field can have."""
    fields: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_") or "weight"
        plain = f"weight_{plain}" if plain[0].isdigit() or keyword.iskeyword(plain) or hasattr(GraphLayer, plain) else plain
        taken = {*fields.values(), "input", "operators", *(f"x{place}" for place in range(9))}
        place = 2
        unique = plain
        while unique in taken:
            unique, place = f"{plain}_{place}", place + 1
        fields[name] = unique
    return fields
