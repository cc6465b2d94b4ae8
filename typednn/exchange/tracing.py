"""A model's forward as a list of nodes: which layers it called on what, and the arithmetic between them.

`trace` runs the forward of a copy of the model, in eval, on stand-ins for arrays: each has the numbers of an example,
so that shapes and Python's branches are those of a real call, and notes what is computed with it. Layers that the
caller knows become one node; others are looked into, so that a class that calls layers and does arithmetic of NumPy in
between is traced like a chain. What is neither in `UFUNCS` nor made of `OTHERS` cannot be traced: an `ArgumentError`
names it and the layer that calls it.

The trace is that of one example: a branch that depends on numbers is taken as the example takes it.

The graph's tensors (`typednn.graph`) can't stand in for the arrays of such a forward: NumPy's functions refuse them,
their dtypes never mix, and they have no numbers to decide a branch. They also split a product or a slice into nodes
from which ONNX's one operator would have to be found again, and know no layers.
"""

# Functions of NumPy take whatever NumPy's take.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import EllipsisType
from typing import Any, Final, NoReturn, cast, final

import numpy as np
import numpy.typing as npt

from typednn.arrays import is_array, register_array_type
from typednn.backends import to_numpy
from typednn.contracts.checks import contract_of
from typednn.errors import ArgumentError, LocatedError, TypednnError, explain
from typednn.graph.operations import Binary, Unary
from typednn.graph_layer import GraphElementwise, GraphLayer, GraphMultiInput, interpreted
from typednn.layer import Input
from typednn.module.module import Module
from typednn.module.stack import Stack

SAMPLES: Final = 11  # a size that few others are multiples of: what is a multiple of it is taken for the batch's

# Of each operation of the graph that ONNX has too, NumPy's name of it; ``+`` is ``add``.
POINTWISE: Final[dict[str, Unary | Binary]] = {
    each.numpy.__name__: each for each in (*Unary, *Binary) if each.row.onnx and isinstance(each.numpy, np.ufunc)
}
# Functions of NumPy that work number by number, and products of matrices.
UFUNCS: Final = frozenset(
    {*POINTWISE, "isnan", "less_equal", "logical_not", "matmul", "minimum", "not_equal", "square"}
)
# What else a node may be; other functions and methods are made of these.
OTHERS: Final = frozenset(
    {"astype", "broadcast_to", "concatenate", "getitem", "max", "mean", "min", "reshape", "sum", "transpose", "where"}
)
_ALIASES: Final = {
    "bitwise_and": "logical_and",
    "bitwise_or": "logical_or",
    "bitwise_xor": "logical_xor",
    "invert": "logical_not",
}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One step: ``what`` is a layer, or the name of an operation; ``path`` is the place of the layer that takes it.

    ``inputs`` are `Traced` values, arrays, numbers or None, in the order of the layer's or the function's arguments.
    """

    what: Module | str
    path: str
    inputs: tuple[Any, ...]
    output: Traced
    options: dict[str, Any] = field(default_factory=dict[str, Any])


@final
@dataclass(slots=True, eq=False)
class Trace:
    """The nodes of a forward in their order, what goes in and what comes out."""

    inputs: list[Traced] = field(default_factory=list["Traced"])
    nodes: list[Node] = field(default_factory=list[Node])
    output: Any = None
    # the layers that are being called
    stack: list[tuple[str, Module]] = field(default_factory=list[tuple[str, Module]])

    @property
    def where(self) -> str:
        """The innermost layer that is being called, by label and path."""
        path, layer = self.stack[-1]
        return f'{layer.label()}.forward, layer "{path}"' if path else f"{layer.label()}.forward"

    def refuse(self, what: str) -> NoReturn:
        """The error for what cannot be traced."""
        cure = "call layers, or operations that `typednn docs exchange` lists"
        raise ArgumentError(
            explain(self.where, "must be made of layers and operations that can be traced", what, cure), "model"
        )

    def note(self, what: Module | str, inputs: Sequence[Any], value: Any, **options: Any) -> Traced:
        """A new node, and what comes out of it."""
        output = Traced(self, np.asarray(value))
        self.nodes.append(Node(what, self.stack[-1][0], tuple(inputs), output, options))
        return output


@final
class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """What stands for an array in a forward that is traced; ``value`` has the example's numbers."""

    __slots__ = ("trace", "value")

    def __init__(self, trace: Trace, value: np.ndarray[Any, Any]) -> None:
        self.trace: Trace = trace
        self.value: np.ndarray[Any, Any] = value

    # ------------------------------------------------------------------ what is known of it

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.value.shape
        return shape

    ndim: property = property(lambda self: self.value.ndim)
    size: property = property(lambda self: self.value.size)
    dtype: property = property(lambda self: self.value.dtype)
    flags: property = property(lambda self: self.value.flags)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Any:
        self.trace.refuse("a loop over an array")

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        self.trace.refuse("a function that needs the numbers of an array")

    # A branch on numbers would hold for the example alone.
    __bool__: Any = __array__
    __float__: Any = __array__
    __int__: Any = __array__
    __index__: Any = __array__

    # ------------------------------------------------------------------ what is computed with it

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        name = _ALIASES.get(ufunc.__name__, ufunc.__name__)
        if method != "__call__" or options or name not in UFUNCS or (name != ufunc.__name__ and self.dtype != np.bool_):
            self.trace.refuse(
                f"numpy.{ufunc.__name__}{'' if method == '__call__' else '.' + method}"
                + (" with options" if options else "")
            )
        if any(not isinstance(each, Traced | np.ndarray | np.generic | int | float) for each in inputs):
            self.trace.refuse(f"numpy.{name} of {', '.join(type(each).__name__ for each in inputs)}")
        with np.errstate(all="ignore"):
            return self.trace.note(name, inputs, ufunc(*(_value(each) for each in inputs)))

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        known = _FUNCTIONS.get(function)
        if known is None:
            self.trace.refuse(f"numpy.{function.__name__}")
        try:
            return known(*arguments, **options)
        except TypeError:
            self.trace.refuse(f"numpy.{function.__name__} with options")

    def reshape(self, *shape: Any) -> Traced:
        sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int | np.integer) else shape
        return self._new("reshape", self.value.reshape(tuple(sizes)))

    def transpose(self, *axes: Any) -> Traced:
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int | np.integer) else axes
        order = tuple(axis % self.ndim for axis in order) if order else tuple(range(self.ndim))[::-1]
        return self._new("transpose", self.value.transpose(order), order=order)

    @property
    def T(self) -> Traced:  # noqa: N802  # NumPy's name
        return self.transpose()

    def swapaxes(self, first: int, second: int) -> Traced:
        order = list(range(self.ndim))
        order[first], order[second] = order[second], order[first]
        return self.transpose(order)

    def astype(self, dtype: npt.DTypeLike, copy: bool = True) -> Traced:
        return self._new("astype", self.value.astype(dtype))

    def copy(self, order: str = "C") -> Traced:
        return self

    def ravel(self) -> Traced:
        return self.reshape(-1)

    def sum(self, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Traced:
        return self._reduced("sum", axis, keepdims, dtype)

    def mean(self, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Traced:
        return self._reduced("mean", axis, keepdims, dtype)

    def max(self, axis: Any = None, *, keepdims: bool = False) -> Traced:
        return self._reduced("max", axis, keepdims)

    def min(self, axis: Any = None, *, keepdims: bool = False) -> Traced:
        return self._reduced("min", axis, keepdims)

    def squeeze(self, axis: Any = None) -> Traced:
        return self.reshape(np.squeeze(self.value, axis).shape)

    def __getitem__(self, index: Any) -> Traced:
        parts: tuple[Any, ...] = index if index.__class__ is tuple else (index,)
        if any(
            isinstance(part, bool) or not isinstance(part, int | np.integer | slice | EllipsisType | None)
            for part in parts
        ):
            self.trace.refuse("an index that is an array or a list")
        if Ellipsis in parts:
            place, given = parts.index(Ellipsis), len(parts) - parts.count(None)
            parts = (*parts[:place], *[slice(None)] * (self.ndim - given + 1), *parts[place + 1 :])
        found = self.value[parts]
        cuts: list[tuple[int, int, int, int]] = []  # axis, start, stop, step
        for axis, part in enumerate(part for part in parts if part is not None):
            size = self.shape[axis]
            place = 0 if isinstance(part, slice) else cast("int", part) % size
            start, stop, step = part.indices(size) if isinstance(part, slice) else (place, place + 1, 1)
            if step < 0:
                self.trace.refuse("a slice that runs backwards")
            if not isinstance(part, slice) or (start, stop, step) != (0, size, 1):
                cuts.append((axis, start, stop, step))
        if any(axis == 0 for axis, *_ in cuts):
            self.trace.refuse("a part of the batch")
        sliced = self._new("getitem", self.value[tuple(_slices(cuts, self.ndim))], cuts=cuts) if cuts else self
        return sliced if sliced.shape == found.shape else sliced.reshape(found.shape)

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        self.trace.refuse("an assignment into an array")

    def _new(self, name: str, value: Any, **options: Any) -> Traced:
        return self.trace.note(name, [self], value, **options)

    def _reduced(self, name: str, axis: Any, keepdims: bool, dtype: Any = None) -> Traced:
        axes = (
            tuple(range(self.ndim))
            if axis is None
            else tuple(each % self.ndim for each in np.atleast_1d(axis).tolist())
        )
        if 0 in axes:
            self.trace.refuse(f"numpy.{name} over the batch")
        if dtype is not None and np.dtype(dtype) != self.dtype:
            return self.astype(dtype)._reduced(name, axis, keepdims)
        value = getattr(self.value, name)(axis=axes, keepdims=keepdims)
        return self._new(name, value, axes=axes, keepdims=keepdims)

    def __repr__(self) -> str:
        return f"<traced {self.shape}>"


register_array_type(Traced, "cpu", lambda: np)


# ------------------------------------------------------------------ functions of NumPy


def _first(values: Sequence[Any]) -> Traced:
    return next(value for value in values if isinstance(value, Traced))


def _concatenate(arrays: Sequence[Any], axis: int = 0) -> Traced:
    values = [_value(each) for each in arrays]
    return _first(arrays).trace.note("concatenate", arrays, np.concatenate(values, axis), axis=axis % values[0].ndim)


def _where(condition: Any, x: Any, y: Any) -> Traced:
    given = (condition, x, y)
    return _first(given).trace.note("where", given, np.where(*map(_value, given)))


def _clip(x: Any, low: Any = None, high: Any = None) -> Any:
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def _moveaxis(x: Traced, source: int, destination: int) -> Traced:
    order = [axis for axis in range(x.ndim) if axis != source % x.ndim]
    order.insert(destination % x.ndim, source % x.ndim)
    return x.transpose(order)


_FUNCTIONS: Final[dict[Any, Callable[..., Any]]] = {
    np.concatenate: _concatenate,
    np.where: _where,
    np.clip: _clip,
    np.var: lambda x, axis=None, keepdims=False: np.square(x - x.mean(axis, keepdims=True)).mean(
        axis, keepdims=keepdims
    ),
    np.std: lambda x, axis=None, keepdims=False: np.sqrt(np.var(x, axis, keepdims=keepdims)),
    np.moveaxis: _moveaxis,
    np.reshape: lambda x, shape: x.reshape(shape),
    np.transpose: lambda x, axes=None: x.transpose(*([] if axes is None else [axes])),
    np.swapaxes: Traced.swapaxes,
    np.squeeze: Traced.squeeze,
    np.expand_dims: lambda x, axis: x.reshape(np.expand_dims(x.value, axis).shape),
    np.broadcast_to: lambda x, shape: x._new("broadcast_to", np.broadcast_to(x.value, shape)),  # pyright: ignore[reportPrivateUsage]
    np.sum: Traced.sum,
    np.mean: Traced.mean,
    np.max: Traced.max,
    np.amax: Traced.max,
    np.min: Traced.min,
    np.amin: Traced.min,
    np.ravel: Traced.ravel,
    np.copy: Traced.copy,
    np.ascontiguousarray: lambda x: x,
    np.shape: lambda x: x.shape,
    np.ndim: lambda x: x.ndim,
}


def _value(given: Any) -> Any:
    return given.value if isinstance(given, Traced) else given


def _slices(cuts: Sequence[tuple[int, int, int, int]], rank: int) -> list[slice]:
    slices = [slice(None)] * rank
    for axis, start, stop, step in cuts:
        slices[axis] = slice(start, stop, step)
    return slices


# ------------------------------------------------------------------ a model


def trace(model: Module, inputs: Sequence[Any], known: Callable[[Module], bool]) -> Trace:
    """The nodes of ``model.forward(*inputs)`` in eval; layers that are ``known`` are one node each. ``model`` is left
    as it is.
    """
    found = Trace()
    other: Any = copy.copy(model)  # on the same arrays
    for path, layer in other.named_modules():
        if type(layer).foreign:
            rule, got = (
                "must be made of layers and operations that can be traced",
                f"{layer.label()}, which derives from no class of typednn",
            )
            raise ArgumentError(explain(f'{model.label()}, layer "{path}"', rule, got, "write it as a Layer"), "model")
        vars(layer)["forward"] = partial(_called, found, path, layer, known)
    other.eval()
    given = [Traced(found, np.asarray(to_numpy(each))) if is_array(each) else each for each in inputs]
    try:
        found.output = other.forward(*given)
    except LocatedError as error:
        raise ArgumentError(
            explain(f"{model.label()}.forward", "must take the example", str(error)), "inputs"
        ) from None
    found.inputs = [each for each in given if isinstance(each, Traced)]
    if not isinstance(found.output, Traced):
        found.stack.append(("", model))
        found.refuse(f"an output that is a {type(found.output).__name__}")
    return found


def is_leaf(layer: Module) -> bool:
    """Whether this is a layer of typednn's own with no layers inside."""
    return type(layer).__module__.startswith("typednn.layers.") and next(layer.children(), None) is None


def _called(found: Trace, path: str, layer: Any, known: Callable[[Module], bool], *inputs: Any) -> Any:
    """What stands in for ``layer.forward`` in the copy."""
    function: Any = layer.__class__.forward
    found.stack.append((path, layer))
    try:
        if known(layer):
            return found.note(layer, inputs, function(layer, *map(_value, inputs)))
        try:
            return (
                interpreted(layer, *inputs)
                if isinstance(layer, GraphLayer | GraphElementwise | GraphMultiInput)
                else function(layer, *inputs)
            )
        except (TypeError, AttributeError, ValueError, IndexError) as error:
            if isinstance(error, TypednnError):
                raise
            found.refuse(f"{type(error).__name__}: {error}")
    finally:
        found.stack.pop()


def example(where: str, model: Module, inputs: Any = None) -> tuple[Any, ...]:
    """A batch to trace ``model`` with: ``inputs``, one array or several, else `SAMPLES` of the input that the model
    declares.

    That is its `Input`, or the annotation of its forward, where that has numbers alone: ``"batch 28 28 1"``.
    """
    if inputs is not None:
        given = tuple(cast("Sequence[Any]", inputs)) if isinstance(inputs, list | tuple) else (inputs,)
        if not given or not is_array(given[0]) or len(given[0]) < 1:
            raise ArgumentError(
                explain(where, "inputs are a batch of samples, an array or several", type(inputs).__name__), "inputs"
            )
        return tuple(to_numpy(each) if is_array(each) else each for each in given)
    rng = np.random.default_rng(0)
    sample: Any = getattr(model, "sample", None)
    if isinstance(sample, Input):
        if sample.dtype is int:
            return (rng.integers(0, _tokens(model), (SAMPLES, *sample.sizes)),)
        sizes = (math.prod(sample.sizes),) if isinstance(model, Stack) else sample.sizes
        return (rng.standard_normal((SAMPLES, *sizes)).astype(model.dtype),)
    contract: Any = contract_of(type(model), "forward")
    texts: list[str] = (
        contract.hints[0].dim_str.split()[1:] if contract is not None and len(contract.hints) == 1 else []
    )
    if texts and all(text.isdecimal() for text in texts):
        return (rng.standard_normal((SAMPLES, *map(int, texts))).astype(model.dtype),)
    rule, cure = "needs the shape of a sample", "begin the model with Input(...), or pass inputs=, an example batch"
    raise ArgumentError(explain(where, rule, f"{model.label()}, which declares none", cure), "inputs")


def _tokens(model: Module) -> int:
    sizes = [
        int(vars(layer)["num_embeddings"]) for _, layer in model.named_modules() if "num_embeddings" in vars(layer)
    ]
    return min(sizes, default=2)
