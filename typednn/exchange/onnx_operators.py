"""What each operator of ONNX computes, as a function of tensors of `typednn.graph`, or of NumPy's arrays where all
inputs are constants.

`OPERATORS` has a row for each operator that `import_onnx` knows. A row gets a `Call`, which has the node's attributes,
and the inputs in the operator's order, None for one that is left out. It gives the result, or a tuple of results. Axes
are those of the file, so images are channels first here. All floats of a file have one dtype in the model, so that a
Cast between two kinds of floats does nothing.

A formula is recorded for a batch whose size is known, so that what a file computes of the sizes of its inputs are
constants here.

Source: the operators of ONNX's standard, opsets 7 to 22, github.com/onnx/onnx/blob/main/docs/Operators.md.
"""

# Rows are functions of what may be a tensor, an array or None.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn, TypeAlias, final

import numpy as np

from typednn import graph
from typednn.arrays import is_floating, is_number
from typednn.errors import ArgumentError
from typednn.files import File
from typednn.graph.graph import Shape
from typednn.graph.nodes import tensor
from typednn.graph.operations import Binary, Reduce, Unary
from typednn.graph.tensor import AnyTensor, Tensor
from typednn.kernels import recurrent

Array = np.ndarray[Any, Any]
FEW: Final = 1 << 16  # numbers in a list of sizes, axes or places
STEPS: Final = 1 << 36  # multiplications of constants by each other: some seconds of them

# What an attribute may say without changing anything here.
HARMLESS: Final = frozenset({
    ("storage_order", 0), ("ceil_mode", 0), ("auto_pad", "NOTSET"), ("training_mode", 0), ("spatial", 1), ("is_test",
        1), ("allowzero", 0),
    ("consumed_inputs", 0), ("noop_with_empty_axes", 0), ("stash_type", 1), ("select_last_index", 0), ("fmod", 0),
    ("antialias", 0),
    ("keep_aspect_ratio_policy", "stretch"), ("exclude_outside", 0), ("saturate", 1),
})  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class Operation:
    """A node of a file, its attributes read."""

    kind: str
    name: str
    inputs: tuple[str, ...]  # empty for one that is left out
    outputs: tuple[str, ...]
    options: Mapping[str, Any]
    domain: str = ""

    def label(self) -> str:
        """What messages call it."""
        return self.name or next(filter(None, self.outputs), self.kind)


@final
@dataclass(slots=True)
class Call:
    """One use of an operation: its attributes, and what is known of the file and of the batch."""

    operation: Operation
    opset: int
    dtype: Any  # of the model's floats
    batch: int = 0  # samples, of the batch for which a formula is recorded
    fixed: int = 0  # samples, where the file has a batch of one size; constants of it mean the batch's
    # constants that were computed: the same array each time
    own: dict[Any, Array] = field(default_factory=dict[Any, Array])
    file: File | None = None  # whose reader may take so much memory
    read: set[str] = field(default_factory=set[str])

    def refuse(self, got: str) -> NoReturn:
        """The error for what an operator is not asked to do here."""
        raise ArgumentError(got, "path")

    def option(self, name: str, default: Any = None) -> Any:
        """An attribute, or its default."""
        self.read.add(name)
        return self.operation.options.get(name, default)

    def rest(self) -> None:
        """Refuse an attribute that nobody has asked for, unless it says what is so anyway."""
        for name, value in self.operation.options.items():
            if name not in self.read and (isinstance(value, list) or (name, value) not in HARMLESS):
                self.refuse(f"{self.operation.kind} with {name}={value!r}")

    # -------------------------------------------------------------- inputs

    def constant(self, value: Any, what: str) -> Array:
        """An input that must be known before the model runs."""
        if isinstance(value, Tensor) or value is None:
            self.refuse(
                f"{self.operation.kind} whose {what} is {'missing' if value is None else 'computed from the input'}"
            )
        return np.asarray(value)

    def integers(self, value: Any, what: str) -> list[int]:
        """The same as a list of integers."""
        array = self.constant(value, what).reshape(-1)
        if array.size > FEW:
            self.refuse(f"{self.operation.kind} whose {what} has {array.size:,} numbers")
        if array.size and array.dtype.kind not in "iu":
            self.refuse(f"{self.operation.kind} whose {what} is {array.dtype}, not integers")
        found: list[int] = array.astype(np.int64).tolist()
        return found

    def given(self, name: str, value: Any, default: Any = None) -> Any:
        """Integers that are an input in newer operator sets, and an attribute in older ones."""
        return self.option(name, default) if value is None else self.integers(value, name)

    def tensor(self, value: Any) -> AnyTensor:
        """An input as a tensor; floats have the model's dtype."""
        if isinstance(value, Tensor):
            return value
        array = np.asarray(value)
        if is_floating(array.dtype) and array.dtype != self.dtype:
            array = array.astype(self.dtype)
        if array.flags.writeable or not array.flags.c_contiguous:
            array = np.ascontiguousarray(array).reshape(array.shape)
            array = self.own.setdefault((array.dtype.str, array.shape, array.tobytes()), array)
            array.flags.writeable = False
        return tensor(array)

    def beside(self, value: Any, other: Any) -> Any:
        """An input beside another; one number is a number."""
        if not isinstance(value, Tensor):
            array = np.asarray(value)
            alike = is_number(array.dtype) and is_floating(array.dtype) == is_floating(other.dtype)
            if array.size == 1 and array.ndim <= other.ndim and alike:
                return array.reshape(-1)[0].item()
        return self.tensor(value)

    def bounded(self, shape: Sequence[int]) -> Shape:
        """The shape of an array that is made of constants; a `DataError` where that takes more memory than the reader
        may.
        """
        if min(shape, default=0) < 0:
            self.refuse(f"{self.operation.kind} to the shape {tuple(shape)[:8]}")
        if self.file is not None:
            self.file.room(8 * math.prod(shape))
        return tuple(shape)


def computed(*values: Any) -> bool:
    """Whether one of the values is a tensor."""
    return any(isinstance(each, Tensor) for each in values)


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < max(rank, 1):
        raise ArgumentError(f"axis {axis} of {rank}", "path")
    return axis % rank if rank else 0


Row: TypeAlias = "Callable[..., Any]"


# ------------------------------------------------------------------ number by number


def _each(of_tensors: Callable[..., Any], of_arrays: Callable[..., Any] | None = None) -> Row:
    """A function of one number."""

    def row(call: Call, x: Any) -> Any:
        return of_tensors(call.tensor(x)) if computed(x) or of_arrays is None else of_arrays(x)

    return row


def _of_two(of_tensors: Callable[..., Any], of_arrays: Callable[..., Any]) -> Row:
    """A function of two numbers, axes broadcast."""

    def row(call: Call, x: Any, y: Any) -> Any:
        if not computed(x, y):
            call.bounded(np.broadcast_shapes(x.shape, y.shape))
            return of_arrays(x, y)
        x = x if computed(x) else call.beside(x, y)
        return of_tensors(x, y if computed(y) else call.beside(y, x))

    return row


def _of_several(of_tensors: Callable[..., Any], of_arrays: Callable[..., Any]) -> Row:
    two = _of_two(of_tensors, of_arrays)

    def row(call: Call, first: Any, *others: Any) -> Any:
        for each in others:
            first = two(call, first, each)
        return first

    return row


def _divided(x: Array, y: Array) -> Array:
    """Quotients; those of integers are cut off towards 0."""
    return np.divide(x, y) if is_floating(x.dtype) else np.trunc(np.divide(x, y)).astype(x.dtype)


def _clip(call: Call, x: Any, low: Any = None, high: Any = None) -> Any:
    bounds = [call.option(name) if value is None else value for name, value in (("min", low), ("max", high))]
    x, dtype = call.tensor(x), call.tensor(x).dtype
    for function, bound in zip((graph.maximum, graph.minimum), bounds, strict=True):
        if bound is not None:
            x = function(x, bound if computed(bound) else call.beside(np.asarray(bound, dtype), x))
    return x


def _prelu(call: Call, x: Any, slope: Any) -> Any:
    x = call.tensor(x)
    return graph.where(x > 0, x, x * call.tensor(slope))


def _hard_sigmoid(call: Call, x: Any) -> Any:
    alpha, beta = call.option("alpha", 0.2), call.option("beta", 0.5)
    return graph.clip(call.tensor(x) * alpha + beta, 0.0, 1.0)


def _gelu(call: Call, x: Any) -> Any:
    x = call.tensor(x)
    if call.option("approximate", "none") == "tanh":
        return x * 0.5 * (1.0 + graph.tanh((x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)))
    return x * 0.5 * (1.0 + graph.erf(x * math.sqrt(0.5)))


def _softplus(call: Call, x: Any) -> Any:
    x = call.tensor(x)
    return graph.maximum(x, 0.0) + graph.log1p(graph.exp(-abs(x)))


def _elu(call: Call, x: Any) -> Any:
    x = call.tensor(x)
    return graph.where(x > 0, x, graph.expm1(graph.minimum(x, 0.0)) * call.option("alpha", 1.0))


def _celu(call: Call, x: Any) -> Any:
    x, alpha = call.tensor(x), call.option("alpha", 1.0)
    return graph.where(x > 0, x, graph.expm1(graph.minimum(x, 0.0) * (1 / alpha)) * alpha)


def _selu(call: Call, x: Any) -> Any:
    x = call.tensor(x)
    alpha, gamma = call.option("alpha", 1.6732632423543772), call.option("gamma", 1.0507009873554805)
    return graph.where(x > 0, x, graph.expm1(graph.minimum(x, 0.0)) * alpha) * gamma


def _leaky_relu(call: Call, x: Any) -> Any:
    x = call.tensor(x)
    return graph.where(x > 0, x, x * call.option("alpha", 0.01))


def _mod(call: Call, x: Any, y: Any) -> Any:
    if call.option("fmod", 0):
        call.refuse("Mod with fmod=1")
    return _of_two(graph.mod, np.mod)(call, x, y)


def _where(call: Call, condition: Any, x: Any, y: Any) -> Any:
    if not computed(condition, x, y):
        call.bounded(np.broadcast_shapes(condition.shape, x.shape, y.shape))
        return np.where(condition, x, y)
    return graph.where(call.tensor(condition), call.tensor(x), call.tensor(y))


def _cast_to(call: Call, x: Any, dtype: Any) -> Any:
    if not computed(x):
        return x.astype(dtype)
    dtype = call.dtype if is_floating(dtype) else dtype
    return x.cast(dtype) if dtype != np.bool_ else x if x.dtype == np.bool_ else graph.not_equal(x, 0)


_DTYPES: Final[Mapping[int, Any]] = {  # TensorProto's numbers
    1: np.float32, 2: np.uint8, 3: np.int8, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16,
    11: np.float64,
}  # fmt: skip


FLOATS: Final = frozenset(number for number, kind in _DTYPES.items() if is_floating(np.dtype(kind)))


def _cast(call: Call, x: Any) -> Any:
    kind = call.option("to")
    if kind not in _DTYPES:
        call.refuse(f"Cast to the data type {kind}")
    return _cast_to(call, x, np.dtype(_DTYPES[kind]))


def _dropout(call: Call, x: Any, ratio: Any = None, mode: Any = None) -> Any:
    """In eval the input itself."""
    call.read |= {"ratio", "seed"}
    if mode is not None and call.constant(mode, "training_mode").any():
        call.refuse("Dropout in training")
    return x


# ------------------------------------------------------------------ movement


def _reshape(call: Call, x: Any, sizes: Any = None) -> Any:
    shape = call.given("shape", sizes)
    if shape is None:
        call.refuse("Reshape without a shape")
    if not call.option("allowzero", 0):
        shape = [x.shape[place] if size == 0 and place < len(x.shape) else size for place, size in enumerate(shape)]
    elif 0 in shape:
        call.refuse(f"Reshape to {shape} with allowzero=1, which has no numbers")
    if call.fixed:
        shape = _of_any_batch(call, x.shape, shape)
    known = math.prod(size for size in shape if size != -1)
    if math.prod(x.shape) != known and (-1 not in shape or not known or math.prod(x.shape) % known):
        call.refuse(f"Reshape of {tuple(x.shape)[1:]} to {shape}")
    return x.reshape(tuple(shape)) if computed(x) else np.reshape(x, shape)


def _of_any_batch(call: Call, old: Sequence[int], shape: list[int]) -> list[int]:
    """``shape`` for the batch that there is, where the file was written for a batch of one size."""
    place = next((axis for axis, size in enumerate(old) if call.batch and size % call.batch == 0), None)
    if place is None or (-1 not in shape and math.prod(shape) == math.prod(old)):
        return shape
    before = math.prod(old[:place])
    for axis, size in enumerate(shape):  # the axis before which there is as much as before the batch
        if math.prod(shape[:axis]) == before and size > 0 and size % call.fixed == 0:
            return [*shape[:axis], size // call.fixed * call.batch, *shape[axis + 1 :]]
    return shape


def _flatten(call: Call, x: Any) -> Any:
    axis = call.option("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape((math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


def _transpose(call: Call, x: Any) -> Any:
    order = call.option("perm", list(range(x.ndim))[::-1])
    return x.permute(tuple(order)) if computed(x) else np.transpose(x, order)


def _squeeze(call: Call, x: Any, axes: Any = None) -> Any:
    chosen = call.given("axes", axes)
    gone = (
        [axis for axis, size in enumerate(x.shape) if size == 1]
        if chosen is None
        else [_axis(axis, x.ndim) for axis in chosen]
    )
    if any(x.shape[axis] != 1 for axis in gone):
        call.refuse(f"Squeeze of axes {gone}, whose sizes are {[x.shape[axis] for axis in gone]}")
    return x.reshape(tuple(size for axis, size in enumerate(x.shape) if axis not in gone))


def _unsqueeze(call: Call, x: Any, axes: Any = None) -> Any:
    chosen = call.given("axes", axes, [])
    rank = x.ndim + len(chosen)
    new = {_axis(axis, rank) for axis in chosen}
    sizes = iter(x.shape)
    return x.reshape(tuple(1 if axis in new else next(sizes) for axis in range(rank)))


def _expand(call: Call, x: Any, sizes: Any) -> Any:
    wanted = call.integers(sizes, "shape")
    wanted = [
        call.batch if call.fixed > 1 and place == 0 and size == call.fixed else size
        for place, size in enumerate(wanted)
    ]
    shape = np.broadcast_shapes(tuple(x.shape), tuple(wanted))
    if not computed(x):
        return np.broadcast_to(x, call.bounded(shape))
    return x.reshape((1,) * (len(shape) - x.ndim) + tuple(x.shape)).expand(shape)


def _concat(call: Call, *values: Any) -> Any:
    axis = _axis(call.option("axis", 1), values[0].ndim)
    if computed(*values):
        return graph.concatenate([call.tensor(each) for each in values], axis)
    call.bounded([sum(each.size for each in values)])
    return np.concatenate(values, axis)


def _split(call: Call, x: Any, sizes: Any = None) -> Any:
    axis, count = _axis(call.option("axis", 0), x.ndim), len(call.operation.outputs)
    call.option("num_outputs")
    each = -(-x.shape[axis] // count)
    chosen = call.given("split", sizes) or [min(each, x.shape[axis] - start) for start in range(0, x.shape[axis], each)]
    if sum(chosen) != x.shape[axis]:
        call.refuse(f"Split of {x.shape[axis]} into {chosen}")
    ends = np.cumsum(chosen).tolist()
    pairs = zip([0, *ends], ends, strict=False)
    return tuple(x[(slice(None),) * axis + (slice(start, end),)] for start, end in pairs)


def _slice(call: Call, x: Any, starts: Any = None, ends: Any = None, axes: Any = None, steps: Any = None) -> Any:
    first, last = call.given("starts", starts), call.given("ends", ends)
    chosen = call.given("axes", axes, list(range(len(first))))
    strides = [1] * len(first) if steps is None else call.integers(steps, "steps")
    index = [slice(None)] * x.ndim
    for axis, start, stop, step in zip(chosen, first, last, strides, strict=True):
        place = _axis(axis, x.ndim)
        size = x.shape[place]
        if step < 0 and stop < -size:
            index[place] = slice(start, None, step)
        else:
            index[place] = slice(start, stop, step)
    return x[tuple(index)]


def _gather(call: Call, x: Any, indices: Any) -> Any:
    axis = _axis(call.option("axis", 0), x.ndim)
    if not computed(x, indices):
        call.bounded([*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]])
        return np.take(x, indices, axis)
    x = call.tensor(x)
    if computed(indices):
        if x.ndim == 2 and axis == 0 and indices.ndim == 2:
            return graph.embed(x, indices)
        return graph.take(x, indices, axis)
    if not indices.ndim:
        return x[(slice(None),) * axis + (int(indices),)]
    return graph.take(x, call.tensor(np.where(indices < 0, indices + x.shape[axis], indices)), axis)


def _gather_nd(call: Call, x: Any, indices: Any) -> Any:
    """Of each sample one row, which is what ``batch_dims=1`` and one index give."""
    if call.option("batch_dims", 0) != 1 or indices.ndim != 2 or indices.shape[1] != 1 or x.ndim < 2:
        call.refuse("GatherND of several axes")
    x = call.tensor(x)
    places = call.tensor(indices).reshape((x.shape[0],) + (1,) * (x.ndim - 1))
    return graph.gather(x, 1, graph.where(places < 0, places + x.shape[1], places)).reshape((x.shape[0], *x.shape[2:]))


def _gather_elements(call: Call, x: Any, indices: Any) -> Any:
    axis = _axis(call.option("axis", 0), x.ndim)
    if not computed(x, indices):
        call.bounded(indices.shape)
        return np.take_along_axis(x, indices, axis)
    return graph.gather(call.tensor(x), axis, call.tensor(indices))


def _tile(call: Call, x: Any, repeats: Any) -> Any:
    times = call.integers(repeats, "repeats")
    if computed(x):
        return graph.tile(x, times)
    call.bounded([size * each for size, each in zip(x.shape, times, strict=True)])
    return np.tile(x, times)


def _pad(call: Call, x: Any, pads: Any = None, value: Any = None, axes: Any = None) -> Any:
    x, widths = call.tensor(x), call.given("pads", pads)
    mode, rank = call.option("mode", "constant"), x.ndim
    number = float(
        call.option("value", 0.0) if value is None else call.constant(value, "constant_value").reshape(-1)[0]
    )
    chosen = list(range(rank)) if axes is None else [_axis(axis, rank) for axis in call.integers(axes, "axes")]
    pairs = [(0, 0)] * rank
    for place, axis in enumerate(chosen):
        pairs[axis] = (widths[place], widths[place + len(chosen)])
    if mode == "constant":
        return graph.pad_with(x, pairs, number)
    for axis, (before, after) in enumerate(pairs):
        size = x.shape[axis]
        if not before and not after:
            continue
        call.bounded([before + size + after])
        places = np.arange(-before, size + after)
        if mode == "edge":
            places = places.clip(0, size - 1)
        elif mode == "reflect" and max(before, after) < size:
            places = np.abs(places)
            places = np.where(places >= size, 2 * (size - 1) - places, places)
        elif mode == "wrap":
            places %= size
        else:
            call.refuse(f"Pad by {pairs[axis]} of {size} in mode {mode!r}")
        x = graph.take(x, call.tensor(places), axis)
    return x


def _shape(call: Call, x: Any) -> Any:
    start, end = call.option("start", 0), call.option("end")
    return np.array(x.shape[start:end], np.int64)


def _constant_of_shape(call: Call, sizes: Any) -> Any:
    value = call.option("value")
    number = np.zeros(1, np.float32) if value is None else np.asarray(value)
    return np.full(call.bounded(call.integers(sizes, "shape")), number.reshape(-1)[0])


def _range(call: Call, *ends: Any) -> Any:
    start, stop, step = (call.constant(each, "range").reshape(-1)[0] for each in ends)
    call.bounded([max(0, math.ceil((stop - start) / step)) if step else -1])
    return np.arange(start, stop, step, dtype=ends[0].dtype)


def _trilu(call: Call, x: Any, k: Any = None) -> Any:
    place, upper = 0 if k is None else int(call.constant(k, "k").reshape(-1)[0]), call.option("upper", 1)
    if computed(x):
        return (graph.triu if upper else graph.tril)(x, place)
    return (np.triu if upper else np.tril)(x, place)


def _cumsum(call: Call, x: Any, axis: Any) -> Any:
    if call.option("exclusive", 0) or call.option("reverse", 0):
        call.refuse("CumSum that is exclusive or reverse")
    (place,) = call.integers(axis, "axis")
    return graph.cumsum(x, place) if computed(x) else np.cumsum(x, place, dtype=x.dtype)


# ------------------------------------------------------------------ reductions and products


def _reduced(of_tensors: Callable[..., Any], of_arrays: Callable[..., Any] | None = None) -> Row:
    def row(call: Call, x: Any, axes: Any = None) -> Any:
        chosen, keep = call.given("axes", axes), bool(call.option("keepdims", 1))
        if not chosen and call.option("noop_with_empty_axes", 0):
            return x
        places = tuple(sorted(_axis(axis, x.ndim) for axis in chosen)) if chosen else tuple(range(x.ndim))
        if computed(x) or of_arrays is None:
            return of_tensors(call.tensor(x), places, keep)
        return np.asarray(of_arrays(x, axis=places, keepdims=keep))

    return row


def _arg(of_tensors: Callable[..., Any]) -> Row:
    def row(call: Call, x: Any) -> Any:
        return of_tensors(call.tensor(x), call.option("axis", 0), bool(call.option("keepdims", 1)))

    return row


def _matmul(call: Call, x: Any, y: Any) -> Any:
    if not computed(x, y):
        if x.ndim and y.ndim:
            shape = (
                *np.broadcast_shapes(x.shape[:-2], y.shape[:-2]),
                *x.shape[-2:-1],
                *(y.shape[-1:] if y.ndim > 1 else ()),
            )
            if math.prod(call.bounded(shape)) * x.shape[-1] > STEPS:
                call.refuse(f"MatMul of constants of the shapes {x.shape} and {y.shape}")
        return np.matmul(x, y)
    return graph.matmul(call.tensor(x), call.tensor(y))


def _gemm(call: Call, x: Any, y: Any, z: Any = None) -> Any:
    a, b = (
        call.tensor(each).T if call.option(name, 0) else call.tensor(each)
        for each, name in ((x, "transA"), (y, "transB"))
    )
    alpha, beta = call.option("alpha", 1.0), call.option("beta", 1.0)
    product = graph.matmul(a, b)
    product = product if alpha == 1.0 else product * alpha
    if z is None:
        return product
    return product + (call.tensor(z) if beta == 1.0 else call.tensor(z) * beta)


def _softmax(function: Callable[..., Any]) -> Row:
    def row(call: Call, x: Any) -> Any:
        x = call.tensor(x)
        axis = _axis(call.option("axis", -1 if call.opset >= 13 else 1), x.ndim)
        if call.opset >= 13 or axis == x.ndim - 1:
            return function(x, axis)
        # all axes from there on
        return function(x.reshape((math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))), 1).reshape(x.shape)

    return row


# ------------------------------------------------------------------ normalisations


def _by_channel(call: Call, array: Any, rank: int) -> AnyTensor:
    values = call.tensor(array)
    return values.reshape((values.shape[0],) + (1,) * (rank - 2))


def _normalised(x: AnyTensor, axes: Any, eps: float) -> AnyTensor:
    centred = x - x.mean(axes, True)
    return centred / graph.sqrt((centred * centred).mean(axes, True) + eps)


def _batch_norm(call: Call, x: Any, *arrays: Any) -> Any:
    x, eps = call.tensor(x), call.option("epsilon", 1e-5)
    call.option("momentum")
    weight, bias, mean, variance = (_by_channel(call, each, x.ndim) for each in arrays)
    return (x - mean) * (weight / graph.sqrt(variance + eps)) + bias


def _layer_norm(call: Call, x: Any, weight: Any, bias: Any = None) -> Any:
    x = call.tensor(x)
    axes = tuple(range(_axis(call.option("axis", -1), x.ndim), x.ndim))
    y = _normalised(x, axes, call.option("epsilon", 1e-5)) * call.tensor(weight)
    return y if bias is None else y + call.tensor(bias)


def _rms_norm(call: Call, x: Any, weight: Any) -> Any:
    x = call.tensor(x)
    axes = tuple(range(_axis(call.option("axis", -1), x.ndim), x.ndim))
    return x / graph.sqrt((x * x).mean(axes, True) + call.option("epsilon", 1e-5)) * call.tensor(weight)


def _instance_norm(call: Call, x: Any, weight: Any, bias: Any) -> Any:
    x = call.tensor(x)
    y = _normalised(x, tuple(range(2, x.ndim)), call.option("epsilon", 1e-5))
    return y * _by_channel(call, weight, x.ndim) + _by_channel(call, bias, x.ndim)


def _group_norm(call: Call, x: Any, weight: Any, bias: Any) -> Any:
    x, groups = call.tensor(x), call.option("num_groups")
    split = x.reshape((x.shape[0], groups, math.prod(x.shape[1:]) // groups))
    y = _normalised(split, (2,), call.option("epsilon", 1e-5))
    if call.tensor(weight).shape[0] == groups and groups != x.shape[1]:  # before opset 21 there is one for each group
        return (y * _by_channel(call, weight, 3) + _by_channel(call, bias, 3)).reshape(x.shape)
    return y.reshape(x.shape) * _by_channel(call, weight, x.ndim) + _by_channel(call, bias, x.ndim)


# ------------------------------------------------------------------ windows


def _last(x: AnyTensor) -> AnyTensor:
    """Channels last."""
    return x.permute((0, *range(2, x.ndim), 1))


def _first(x: AnyTensor) -> AnyTensor:
    return x.permute((0, x.ndim - 1, *range(1, x.ndim - 1)))


def padding(
    auto: str,
    pads: Sequence[int] | None,
    sizes: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> list[tuple[int, int]]:
    """The places before and after each axis: those of ``pads``, or what ``auto_pad`` asks for."""
    axes = len(window)
    if auto in ("NOTSET", ""):
        given = [0] * (2 * axes) if pads is None else list(pads)
        return list(zip(given[:axes], given[axes:], strict=True))
    if auto == "VALID":
        return [(0, 0)] * axes
    pairs: list[tuple[int, int]] = []
    for size, extent, stride, dilation in zip(sizes, window, strides, dilations, strict=True):
        whole = max(0, (-(-size // stride) - 1) * stride + dilation * (extent - 1) + 1 - size)
        less, more = whole // 2, whole - whole // 2
        pairs.append((less, more) if auto == "SAME_UPPER" else (more, less))
    return pairs


def _sliding(
    call: Call, sizes: Sequence[int], window: Sequence[int]
) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """Strides, dilations, and padding."""
    ones = [1] * len(window)
    strides, dilations = call.option("strides", ones), call.option("dilations", ones)
    pairs = padding(call.option("auto_pad", "NOTSET"), call.option("pads"), sizes, window, strides, dilations)
    if any(min(pair) < 0 for pair in pairs):
        call.refuse(f"{call.operation.kind} with pads={call.option('pads')}")
    return strides, dilations, pairs


def _conv(call: Call, x: Any, weight: Any, bias: Any = None) -> Any:
    x, filters = call.tensor(x), call.tensor(weight)
    axes = x.ndim - 2
    if axes not in (1, 2) or filters.ndim != x.ndim:
        call.refuse(f"{call.operation.kind} of {axes} axes")
    window = call.option("kernel_shape", list(filters.shape[2:]))
    strides, dilations, pairs = _sliding(call, x.shape[2:], window)
    function: Any = graph.conv1d if axes == 1 else graph.conv2d
    biases = None if bias is None else call.tensor(bias)
    return _first(function(_last(x), _last(filters), biases, strides, pairs, dilations, call.option("group", 1)))


def _conv_transpose(call: Call, x: Any, weight: Any, bias: Any = None) -> Any:
    x, filters = call.tensor(x), call.tensor(weight)
    axes = x.ndim - 2
    if axes not in (1, 2) or filters.ndim != x.ndim:
        call.refuse(f"ConvTranspose of {axes} axes")
    ones = [1] * axes
    strides, dilations, more = (
        call.option("strides", ones),
        call.option("dilations", ones),
        call.option("output_padding", [0] * axes),
    )
    auto, pads, shape = call.option("auto_pad", "NOTSET"), call.option("pads"), call.option("output_shape")
    window = call.option("kernel_shape", list(filters.shape[2:]))
    if auto in ("SAME_UPPER", "SAME_LOWER") or shape:
        wanted = shape or [size * stride for size, stride in zip(x.shape[2:], strides, strict=True)]
        each = zip(x.shape[2:], strides, window, dilations, more, wanted, strict=True)
        whole = [
            stride * (size - 1) + extra + dilation * (k - 1) + 1 - out for size, stride, k, dilation, extra, out in each
        ]
        pairs = [
            (each // 2, each - each // 2) if auto == "SAME_UPPER" else (each - each // 2, each // 2) for each in whole
        ]
    else:
        pairs = padding(auto, pads, x.shape[2:], window, strides, dilations)
    function: Any = graph.conv_transpose1d if axes == 1 else graph.conv_transpose2d
    biases = None if bias is None else call.tensor(bias)
    y = function(_last(x), _last(filters), biases, strides, [0] * axes, more, call.option("group", 1), dilations)
    return _first(
        y[(slice(None), *(slice(before, y.shape[1 + axis] - after) for axis, (before, after) in enumerate(pairs)))]
    )


def _pooled(call: Call, x: AnyTensor) -> tuple[list[int], list[int], list[int], list[tuple[int, int]], list[int]]:
    """Window, strides, dilations, padding, and what the last windows reach beyond it."""
    window = call.option("kernel_shape")
    if len(window) not in (1, 2):
        call.refuse(f"{call.operation.kind} of {len(window)} axes")
    if len(call.operation.outputs) > 1:
        call.refuse(f"{call.operation.kind} with indices")
    strides, dilations, pairs = _sliding(call, x.shape[2:], window)
    beyond = [0] * len(window)
    if call.option("ceil_mode", 0):
        each = zip(x.shape[2:], window, strides, dilations, pairs, strict=True)
        for axis, (size, k, stride, dilation, (before, after)) in enumerate(each):
            extent = dilation * (k - 1) + 1
            count = -(-(size + before + after - extent) // stride) + 1
            count -= (count - 1) * stride >= size + before
            beyond[axis] = max(0, (count - 1) * stride + extent - size - before - after)
    return window, strides, dilations, pairs, beyond


def _max_pool(call: Call, x: Any) -> Any:
    x = call.tensor(x)
    window, strides, dilations, pairs, beyond = _pooled(call, x)
    extents = [dilation * (k - 1) + 1 for k, dilation in zip(window, dilations, strict=True)]
    if not any(beyond) and all(
        before == after <= extent // 2 for (before, after), extent in zip(pairs, extents, strict=True)
    ):
        return _first(graph.max_pool(_last(x), window, strides, [before for before, _ in pairs], dilations))
    widths = [(0, 0), *((before, after + more) for (before, after), more in zip(pairs, beyond, strict=True)), (0, 0)]
    return _first(graph.max_pool(graph.pad_with(_last(x), widths, -math.inf), window, strides, 0, dilations))


def _average_pool(call: Call, x: Any) -> Any:
    x, counted = call.tensor(x), bool(call.option("count_include_pad", 0))
    window, strides, dilations, pairs, beyond = _pooled(call, x)
    if any(each != 1 for each in dilations):
        call.refuse(f"AveragePool with dilations={dilations}")
    if not any(beyond) and all(before == after <= k // 2 for (before, after), k in zip(pairs, window, strict=True)):
        return _first(graph.avg_pool(_last(x), window, strides, [before for before, _ in pairs], counted))
    counts = np.ones((1,) * (len(window) + 2))
    for axis, (size, k, stride, (before, after), more) in enumerate(
        zip(x.shape[2:], window, strides, pairs, beyond, strict=True)
    ):
        real = np.zeros(call.bounded([before + size + after + more]))
        real[: before + size + after] = counted
        real[before : before + size] = 1
        until = np.concatenate([[0], real.cumsum()])
        inside = until[k::stride] - until[: max(0, len(until) - k) : stride]
        shape = [1] * (len(window) + 2)
        shape[2 + axis] = len(inside)
        call.bounded([counts.size, len(inside)])
        counts = counts * inside.reshape(shape)
    widths = [(0, 0), *((before, after + more) for (before, after), more in zip(pairs, beyond, strict=True)), (0, 0)]
    means = _first(graph.avg_pool(graph.pad_with(_last(x), widths, 0.0), window, strides, 0))
    return means * call.tensor(math.prod(window) / counts)


def _global(function: Callable[..., Any]) -> Row:
    def row(call: Call, x: Any) -> Any:
        x = call.tensor(x)
        return function(x, tuple(range(2, x.ndim)), True)

    return row


def _resize(call: Call, x: Any, *given: Any) -> Any:
    """Each axis that changes is multiplied by a matrix."""
    x, old = call.tensor(x), call.operation.kind == "Upsample" or call.opset < 11
    inputs = dict(zip(("scales",) if old else ("roi", "scales", "sizes"), given, strict=False))
    scales, sizes = inputs.get("scales"), inputs.get("sizes")
    mode = call.option("mode", "nearest")
    where = call.option("coordinate_transformation_mode", "asymmetric" if old else "half_pixel")
    rounding, cubic = (
        call.option("nearest_mode", "floor" if old else "round_prefer_floor"),
        call.option("cubic_coeff_a", -0.75),
    )
    chosen = call.option("axes", list(range(x.ndim)))
    call.option("extrapolation_value")  # of a mode that is refused
    if sizes is not None and (scales is None or not np.size(scales)):
        wanted = call.integers(sizes, "sizes")
        factors = [size / x.shape[axis] for axis, size in zip(chosen, wanted, strict=True)]
    else:
        factors = [float(each) for each in call.option("scales") or call.constant(scales, "scales").reshape(-1)]
        wanted = [math.floor(x.shape[axis] * factor) for axis, factor in zip(chosen, factors, strict=True)]
    for axis, size, factor in zip(chosen, wanted, factors, strict=True):
        axis = _axis(axis, x.ndim)
        if size != x.shape[axis] or factor != 1:
            call.bounded([size, x.shape[axis]])
            matrix = _between(call, x.shape[axis], size, factor, (mode, where, rounding, cubic))
            order = [each for each in range(x.ndim) if each != axis]
            y = graph.matmul(x.permute((*order, axis)), call.tensor(matrix.T))
            x = y.permute(tuple(np.argsort([*order, axis]).tolist()))
    return x


def _between(call: Call, old: int, new: int, scale: float, how: tuple[str, str, str, float]) -> Array:
    """The matrix (new, old) that resizes an axis."""
    mode, where, rounding, cubic = how
    places = np.arange(new, dtype=np.float64)
    if where == "align_corners":
        at = places * (old - 1) / (new - 1) if new > 1 else places * 0
    elif where == "asymmetric":
        at = places / scale
    elif where == "half_pixel_symmetric":
        middle = old / 2 * (1 - new / (scale * old))
        at = middle + (places + 0.5) / scale - 0.5
    elif where in ("half_pixel", "pytorch_half_pixel"):
        at = (places + 0.5) / scale - 0.5 if where == "half_pixel" or new > 1 else places * 0
    else:
        call.refuse(f"{call.operation.kind} with coordinate_transformation_mode={where!r}")
    matrix, rows = np.zeros((new, old)), np.arange(new)
    if mode == "nearest":
        rules = {
            "floor": np.floor(at),
            "ceil": np.ceil(at),
            "round_prefer_floor": np.ceil(at - 0.5),
            "round_prefer_ceil": np.floor(at + 0.5),
        }
        if rounding not in rules:
            call.refuse(f"{call.operation.kind} with nearest_mode={rounding!r}")
        matrix[rows, rules[rounding].astype(int).clip(0, old - 1)] = 1
        return matrix
    start = np.floor(at).astype(int)
    part = at - start
    if mode == "linear":
        weights = {0: 1 - part, 1: part}
    elif mode == "cubic":

        def far(t: Array) -> Array:
            return ((cubic * t - 5 * cubic) * t + 8 * cubic) * t - 4 * cubic

        def near(t: Array) -> Array:
            return ((cubic + 2) * t - (cubic + 3)) * t * t + 1

        weights = {-1: far(part + 1), 0: near(part), 1: near(1 - part), 2: far(2 - part)}
    else:
        call.refuse(f"{call.operation.kind} in mode {mode!r}")
    for offset, weight in weights.items():
        np.add.at(matrix, (rows, (start + offset).clip(0, old - 1)), weight)
    return matrix


# ------------------------------------------------------------------ recurrent


# Blocks of the parameters in our order, by their places in ONNX's: i, o, f, g become i, f, g, o; u, r, n become r, u,
# n.
_BLOCKS: Final[Mapping[str, tuple[int, ...]]] = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}


def cell_of(call: Call, directions: int) -> str:
    """The name of the cell of a recurrent operator, whose other settings are those of `typednn.layers`."""
    kind = call.operation.kind
    gates = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}[kind] * directions
    activations = [str(each) for each in call.option("activations", gates)]
    plain = not call.option("clip") and not call.option("input_forget", 0) and not call.option("layout", 0)
    if not plain or (kind == "GRU" and not call.option("linear_before_reset", 0)):
        call.refuse(f"{kind} with clip, input_forget or layout=1" if not plain else "GRU with linear_before_reset=0")
    if activations == gates:
        return {"LSTM": "lstm", "GRU": "gru", "RNN": "tanh"}[kind]
    if kind != "RNN" or set(activations) != {"Relu"}:
        call.refuse(f"{kind} with activations={activations}")
    return "relu"


def blocks(kind: str, array: Any, split: Callable[..., Any], join: Callable[..., Any]) -> Any:
    """The rows of a weight or bias, in our order."""
    parts = split(array, len(_BLOCKS[kind]))
    return parts[0] if len(parts) == 1 else join([parts[place] for place in _BLOCKS[kind]])


def _recurrent(
    call: Call, x: Any, weight: Any, recurrence: Any, bias: Any = None, lengths: Any = None, *states: Any
) -> Any:
    kind, x = call.operation.kind, call.tensor(x)
    for state in states:
        if state is not None and (computed(state) or np.asarray(state).any()):
            call.refuse(f"{kind} with an initial state, or with peepholes")
    direction, hidden = call.option("direction", "forward"), call.option("hidden_size")
    backwards = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}[direction]
    if lengths is not None and not computed(lengths) and (np.asarray(lengths) == x.shape[0]).all():
        lengths = None
    if lengths is not None and True in backwards:
        call.refuse(f"{kind} with lengths, backwards")
    cell = cell_of(call, len(backwards))
    batch_first = x.permute((1, 0, 2))
    sequences: list[AnyTensor] = []
    for place, turned in enumerate(backwards):
        ours = [blocks(kind, call.tensor(each)[place], graph.split, graph.concatenate) for each in (weight, recurrence)]
        if bias is None:
            biases = [graph.zeros((ours[0].shape[0],), x.dtype)] * 2
        else:
            biases = [
                blocks(kind, each, graph.split, graph.concatenate) for each in graph.split(call.tensor(bias)[place], 2)
            ]
        steps = graph.flip(batch_first, 1) if turned else batch_first
        y = graph.Whole.of(
            recurrent.forward,
            (*steps.shape[:2], ours[1].shape[1]),
            x=steps,
            weight_ih=ours[0],
            weight_hh=ours[1],
            bias_ih=biases[0],
            bias_hh=biases[1],
            lengths=None if lengths is None else call.tensor(lengths),
            cell=cell,
        )
        sequences.append(graph.flip(y, 1) if turned else y)
    if hidden is not None and hidden != sequences[0].shape[2]:
        call.refuse(f"{kind} with hidden_size={hidden} and {sequences[0].shape[2]} features")
    whole = graph.stack(sequences, 0).permute((2, 0, 1, 3))  # time, directions, batch, features
    if lengths is None:
        last = graph.stack([y[:, 0 if turned else -1] for y, turned in zip(sequences, backwards, strict=True)], 0)
    else:
        places = call.tensor(lengths).reshape((-1, 1, 1)) - 1
        last = graph.gather(sequences[0], 1, places).reshape((1, x.shape[1], sequences[0].shape[2]))
    return whole, last


# ------------------------------------------------------------------ the table


def _constant(call: Call, *_: Any) -> Any:
    """An array in a node: only `constant_of` reads it."""
    call.refuse("Constant without a value")


def constant_of(operation: Operation) -> Array | None:
    """What a Constant holds; None of one whose value is no array of numbers."""
    (name, value), *_ = operation.options.items() or [("", None)]
    if name not in ("value", "value_float", "value_floats", "value_int", "value_ints"):
        return None
    kinds = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64}
    return np.asarray(value, kinds.get(name))


OPERATORS: Final[Mapping[str, Row]] = {
    **{each.row.onnx: _each(each, each.numpy) for each in Unary if each.row.onnx},
    **{each.row.onnx: _of_two(each, each.numpy) for each in Binary if each.row.onnx},
    **{each.row.onnx: _reduced(each, each.numpy) for each in Reduce},
    "ArgMax": _arg(graph.argmax),
    "ArgMin": _arg(graph.argmin),
    "AveragePool": _average_pool,
    "BatchNormalization": _batch_norm,
    "Cast": _cast,
    "CastLike": lambda call, x, like: _cast_to(call, x, like.dtype),
    "Ceil": _each(graph.ceil, np.ceil),
    "Celu": _celu,
    "Clip": _clip,
    "Concat": _concat,
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Cosh": _each(graph.cosh, np.cosh),
    "CumSum": _cumsum,
    "Div": _of_two(graph.divide, _divided),
    "Dropout": _dropout,
    "Elu": _elu,
    "Expand": _expand,
    "Flatten": _flatten,
    "GRU": _recurrent,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "Gelu": _gelu,
    "Gemm": _gemm,
    "GlobalAveragePool": _global(graph.mean),
    "GlobalMaxPool": _global(graph.max),
    "GroupNormalization": _group_norm,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _each(graph.hardswish),
    "Identity": lambda call, x: x,
    "InstanceNormalization": _instance_norm,
    "IsNaN": _each(graph.isnan, np.isnan),
    "LSTM": _recurrent,
    "LayerNormalization": _layer_norm,
    "LeakyRelu": _leaky_relu,
    "LessOrEqual": _of_two(graph.less_equal, np.less_equal),
    "LogSoftmax": _softmax(graph.log_softmax),
    "MatMul": _matmul,
    "Max": _of_several(graph.maximum, np.maximum),
    "MaxPool": _max_pool,
    "Min": _of_several(graph.minimum, np.minimum),
    "Mish": _each(graph.mish),
    "Mod": _mod,
    "Not": _each(graph.logical_not, np.logical_not),
    "PRelu": _prelu,
    "Pad": _pad,
    "RMSNormalization": _rms_norm,
    "RNN": _recurrent,
    "Range": _range,
    "ReduceL1": _reduced(lambda x, axes, keep: abs(x).sum(axes, keep)),
    "ReduceL2": _reduced(lambda x, axes, keep: graph.sqrt((x * x).sum(axes, keep))),
    "ReduceLogSumExp": _reduced(graph.logsumexp),
    "ReduceMean": _reduced(graph.mean, np.mean),
    "ReduceSumSquare": _reduced(lambda x, axes, keep: (x * x).sum(axes, keep)),
    "Relu": _each(graph.relu),
    "Reshape": _reshape,
    "Resize": _resize,
    "Round": _each(graph.round, np.round),
    "Selu": _selu,
    "Shape": _shape,
    "Sigmoid": _each(graph.sigmoid),
    "Sign": _each(graph.sign, np.sign),
    "Sinh": _each(graph.sinh, np.sinh),
    "Size": lambda call, x: np.array(math.prod(x.shape), np.int64),
    "Slice": _slice,
    "Softmax": _softmax(graph.softmax),
    "Softplus": _softplus,
    "Softsign": _each(graph.softsign),
    "Split": _split,
    "Squeeze": _squeeze,
    "Sum": _of_several(graph.add, np.add),
    "Tan": _each(graph.tan, np.tan),
    "Tile": _tile,
    "Transpose": _transpose,
    "Trilu": _trilu,
    "Unsqueeze": _unsqueeze,
    "Upsample": _resize,
    "Where": _where,
}


def evaluate(call: Call, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """The results of an operation, each a tensor or an array."""
    while inputs and inputs[-1] is None:
        inputs = inputs[:-1]
    found = OPERATORS[call.operation.kind](call, *inputs)
    call.rest()
    return found if isinstance(found, tuple) else (found,)
