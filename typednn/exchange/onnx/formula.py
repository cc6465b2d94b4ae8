"""Operators of an ONNX file as one layer: a `GraphLayer`, or a `GraphMultiInput`, whose formula is what they compute.

The file's weights that they read are the layer's parameters, the statistics of a BatchNormalization its buffers.
Between the model's layout and the file's the axes change places at both ends. Sizes that a file computes of its input
are computed anew for each size of a batch; while nothing has a batch yet, `BATCH` stands for it.
"""

# What stands under a name may be a tensor or an array.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import inspect
import keyword
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from types import new_class
from typing import Any, Final, NoReturn, TypeAlias, cast, final

import numpy as np
from jaxtyping import Bool, Float, Integer

from typednn import graph
from typednn.arrays import AnyArray
from typednn.errors import DataError, TypednnError
from typednn.exchange.onnx.nodes import Array, Call, Context, Operation
from typednn.exchange.onnx.operators import evaluate
from typednn.graph.nodes import lazily, tensor
from typednn.graph.tensor import AnyTensor, Tensor
from typednn.graph_layer import GraphLayer, GraphMultiInput
from typednn.module.fields import Buffer, Parameter
from typednn.module.gradients import Gradient

BATCH: Final = 1009  # a prime: a size that is a multiple of it is taken for the batch's
Order: TypeAlias = "tuple[int, ...]"

# From this input on, an operator reads numbers that it must know before.
_SETTINGS: Final = {"Dropout": 1, "GRU": 5, "LSTM": 5, "Pad": 1, "RNN": 5, "Resize": 1, "Upsample": 1}
_STATISTICS: Final = {"BatchNormalization": (3, 4)}
# what an operator may raise that cannot compute its inputs
_WRONG: Final = (TypednnError, ValueError, TypeError, IndexError, KeyError, AttributeError, ArithmeticError)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A value of a file that a formula reads: its name there, and its layout here."""

    name: str
    sizes: tuple[int, ...]  # of a sample here
    order: Order  # the axes here of each axis there; -1 is an axis of size 1 that is not here
    features: Array | None  # of a row, the places here of the numbers there, where they differ
    dtype: Any  # None where it has the floats of the model

    @property
    def axes(self) -> str:
        return f"batch {' '.join(map(str, self.sizes))}"


@final
@dataclass(slots=True, eq=False)
class Formula:
    """Operations from one value of a file, or from all of its inputs, to another, and what they need to know of the
    rest of it.

    It grows node by node: what each of them computes of a batch of `BATCH` is ``known`` then, and is not computed
    again.
    """

    sources: tuple[Source, ...]
    context: Context
    nodes: list[Operation] = field(default_factory=list[Operation])
    result: str = ""
    # of the arrays that become fields of the layer, the kind of field
    kinds: dict[str, Any] = field(default_factory=dict[str, Any])
    # what is computed of sizes, as far as it is read
    behind: dict[int, Operation] = field(default_factory=dict[int, Operation])
    known: dict[str, Any] = field(default_factory=dict[str, Any])
    own: dict[Any, Array] = field(default_factory=dict[Any, Array])

    def begin(self) -> None:
        """Know what is read, without its numbers."""
        for source in self.sources:
            x = lazily(_unknown, (BATCH, *source.sizes), source.dtype or self.context.dtype)
            self.known[source.name] = self.there(source, x)
            self.result = source.name

    def grow(self, nodes: Iterable[Operation], result: str) -> None:
        """Compute ``nodes`` too, of which ``result`` is wanted."""
        added = [*nodes]
        self.nodes += added
        for node in self.reached(added):
            for place, name in enumerate(node.inputs):
                if name in self.context.learnt and place < _SETTINGS.get(node.kind, place + 1):
                    self.kinds[name] = Buffer if place in _STATISTICS.get(node.kind, ()) else Parameter
                    if name not in self.known:
                        self.known[name] = lazily(_unknown, self.context.constants[name].shape, self.context.dtype)
        for node in added:
            self.compute(node, self.known, BATCH, self.context.dtype)
            found = ((name, self.known[name]) for name in node.outputs if name in self.known)
            self.context.shapes.update((name, tuple(value.shape)) for name, value in found)
        if result not in self.known:
            self.missing(result, added[-1])
        self.result = result

    def reached(self, nodes: Iterable[Operation]) -> list[Operation]:
        """These nodes, and what they read that is computed of sizes and was not read before."""
        found = [*nodes]
        for node in found:  # which becomes longer
            for name in node.inputs:
                later = self.context.late.get(name)
                if later is not None and id(later) not in self.behind:
                    self.behind[id(later)] = later
                    found.append(later)
        return found

    def alone(self) -> Formula:
        """The same without what only the reader of the file needs, which may be all that it has read."""
        context = self.context
        names = {name for node in (*self.nodes, *self.behind.values()) for name in node.inputs}
        fixed = names - self.kinds.keys()
        kept = replace(
            context,
            file=None,
            constants={name: array for name, array in context.constants.items() if name in fixed},
            learnt=set[str](),
            late={name: node for node in self.behind.values() for name in node.outputs},
            shapes={name: shape for name, shape in context.shapes.items() if name in names},
        )
        return replace(self, context=kept, known={}, own={})

    def run(self, inputs: Sequence[AnyTensor], weights: Mapping[str, Any], dtype: Any) -> Any:
        """The result there, of ``inputs`` here."""
        given = {source.name: self.there(source, x) for source, x in zip(self.sources, inputs, strict=True)}
        known: dict[str, Any] = {**weights, **given}
        for node in self.nodes:
            self.compute(node, known, inputs[0].shape[0], dtype)
        return known[self.result]

    def missing(self, name: str, reader: Operation) -> NoReturn:
        """The error for an output that an operator has, and that is not computed here."""
        node = next((each for each in self.nodes if name in each.outputs), reader)
        self.context.refuse(node, f"{node.kind} whose output {name!r} is read")

    def compute(self, node: Operation, known: dict[str, Any], batch: int, dtype: Any) -> None:
        """Put the results of an operation beside what is ``known``, and what it needs that is computed of sizes."""
        context, waiting = self.context, [node]
        while waiting:
            now = waiting[-1]
            of_shape = now.kind in ("Shape", "Size") and now.inputs[0] not in known and now.inputs[0] in context.shapes
            read = [] if of_shape else [name for name in now.inputs if name and name not in known]
            missing = [name for name in read if name not in context.constants]
            if missing:
                waiting += [context.late[name] if name in context.late else self.missing(name, now) for name in missing]
                continue
            waiting.pop()
            if of_shape:
                sizes = [size // BATCH * batch if size % BATCH == 0 else size for size in context.shapes[now.inputs[0]]]
                inputs: list[Any] = [np.broadcast_to(np.int8(0), sizes)]
            else:
                inputs = [known.get(name, context.constants.get(name)) if name else None for name in now.inputs]
            try:
                found = evaluate(Call(now, context, dtype, batch, self.own), inputs)
                self.measure(found)
            except DataError:  # there is no memory for it
                raise
            except _WRONG as error:
                got = str(error).partition("\n")[0][:200]
                context.refuse(now, got if got.startswith(now.kind) else f"{now.kind}: {got}")
            known |= zip(now.outputs, found, strict=False)

    def measure(self, found: Iterable[Any]) -> None:
        """A `DataError` where a result is larger than what the reader may take, when the file is compared with the
        model.
        """
        file = self.context.file
        if file is None:
            return
        for each in found:
            samples = 2 * (self.context.fixed or 2) if any(size % BATCH == 0 for size in each.shape) else BATCH
            file.room(math.prod(each.shape) * samples // BATCH * each.dtype.itemsize)

    def there(self, source: Source, x: AnyTensor) -> AnyTensor:
        """What is read, in the file's layout."""
        if source.features is not None:
            # the same leaf at each call, so that a formula that was recorded with it holds
            kept = self.own.setdefault(("features", source.features.tobytes()), source.features.astype(np.int64))
            kept.flags.writeable = False
            return graph.take(x, tensor(kept), 1)
        y = x.permute(tuple(axis for axis in source.order if axis >= 0))
        sizes = iter(y.shape)
        return y.reshape(tuple(1 if axis < 0 else next(sizes) for axis in source.order))

    def result_of(self, wanted: Callable[[int], Order]) -> tuple[tuple[int, ...], Order] | None:
        """The sizes of a sample of the result here, and the axes here of each axis there; None where it
        has no batch.
        """
        y = self.known[self.result]
        if (
            not isinstance(y, Tensor)
            or y.shape.count(BATCH) != 1
            or any(size % BATCH == 0 and size != BATCH for size in y.shape)
        ):
            return None
        axis = y.shape.index(BATCH)
        axes = [axis, *(each for each in range(y.ndim) if each != axis)]
        order = wanted(y.ndim) if axis == 0 else tuple(axes.index(each) for each in range(y.ndim))
        return tuple(y.shape[order.index(each)] for each in range(1, y.ndim)), order


def _unknown() -> NoReturn:
    raise AssertionError("no number is asked for")


def formula_of(grown: Formula, sizes: Sequence[int], order: Order) -> tuple[Any, dict[str, Array]]:
    """The layer, whose result has these ``sizes`` here, and the arrays of its fields."""
    kinds, sources, dtype = grown.kinds, grown.sources, grown.known[grown.result].dtype
    formula, names, constants = grown.alone(), _fields(kinds), grown.context.constants
    back = tuple(np.argsort(order).tolist())
    inputs = ["x"] if len(sources) == 1 else [f"x{place}" for place in range(len(sources))]
    hints: dict[str, Any] = {name: Float[AnyArray, " ".join(map(str, constants[name].shape))] for name in kinds}
    fields = {names[name]: kind[hints[name]] for name, kind in kinds.items()}
    gradients: dict[str, Any] = {
        "input" if name == "x" else name: None if source.dtype else Float[AnyArray, source.axes]
        for name, source in zip(inputs, sources, strict=True)
    }
    gradients |= {names[name]: hints[name] for name, kind in kinds.items() if kind is Parameter}

    def compute(self: Any, *given: Any) -> Any:
        weights = {name: tensor(getattr(self, own)) for name, own in names.items()}
        return formula.run(given, weights, self.dtype).permute(back)

    def begin(self: Any, operators: str) -> None:
        self.operators = operators

    own, some = inspect.Parameter("self", _POSITIONAL), [inspect.Parameter(name, _POSITIONAL) for name in inputs]
    compute.__signature__ = inspect.Signature([own, *some])  # type: ignore[attr-defined]
    compute.__annotations__ = {
        **{
            name: _HINTS[np.dtype(each.dtype or np.float32).kind][AnyTensor, each.axes]
            for name, each in zip(inputs, sources, strict=True)
        },
        "return": _HINTS[np.dtype(dtype).kind][AnyTensor, f"batch {' '.join(map(str, sizes))}"],
    }
    several = {} if len(sources) == 1 else {"inputs": tuple(inputs)}
    made: Any = new_class(
        "OperatorsGrad", (Gradient,), several, lambda body: body.update(__annotations__=gradients, __module__=__name__)
    )
    gradient: Any = dataclass(frozen=True)(made)
    one, many = cast("Any", GraphLayer), cast("Any", GraphMultiInput)
    base = many[AnyArray, gradient] if several else one[AnyArray, AnyArray, gradient, str]
    body = {"__annotations__": fields, "__init__": begin, "__module__": __name__, "__doc__": _DOC, "formula": compute}
    kind: Any = new_class("Operators", (base,), {}, lambda filled: filled.update(body))
    shown = [node.kind for node in formula.nodes]
    layer = kind(" ".join([*shown[:8], *(["…"] if len(shown) > 8 else [])]))
    return layer, {names[name]: constants[name] for name in kinds}


_POSITIONAL: Final = inspect.Parameter.POSITIONAL_OR_KEYWORD
_HINTS: Final[Mapping[str, Any]] = {"f": Float, "i": Integer, "u": Integer, "b": Bool}
_DOC: Final = "Operators of an ONNX file as one formula. Kept for backward, and the cost: as a `GraphLayer`'s."


def _fields(names: Sequence[str] | Mapping[str, Any]) -> dict[str, str]:
    """For each name of an array in a file one that a field can have."""
    fields: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_") or "weight"
        plain = (
            f"weight_{plain}" if plain[0].isdigit() or keyword.iskeyword(plain) or hasattr(GraphLayer, plain) else plain
        )
        taken = {*fields.values(), "input", "operators", *(f"x{place}" for place in range(9))}
        candidates = chain([plain], (f"{plain}_{place}" for place in count(2)))
        fields[name] = next(each for each in candidates if each not in taken)
    return fields
