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

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any, Final, TypeAlias

import numpy as np

from typednn import graph
from typednn.arrays import is_floating
from typednn.exchange.onnx import network_operators as network
from typednn.exchange.onnx.nodes import Array, Call, Operation, axis_of, computed
from typednn.graph.operations import Binary, Reduce, Unary

STEPS: Final = 1 << 36  # multiplications of constants by each other: some seconds of them

Row: TypeAlias = "Callable[..., Any]"


# ------------------------------------------------------------------ number by number


def _each(of_tensors: Callable[..., Any], of_arrays: Callable[..., Any] | None = None, **defaults: float | str) -> Row:
    """A function of one number, and of the node's attributes."""

    def row(call: Call, x: Any) -> Any:
        if of_arrays is not None and not computed(x):
            return of_arrays(x)
        return of_tensors(call.tensor(x), *(call.option(name, default) for name, default in defaults.items()))

    return row


def _of_two(of_tensors: Callable[..., Any], of_arrays: Callable[..., Any]) -> Row:
    """A function of two numbers, axes broadcast."""

    def row(call: Call, x: Any, y: Any) -> Any:
        if not computed(x, y):
            call.bounded(np.broadcast_shapes(x.shape, y.shape))
            return of_arrays(x, y)
        x = call.beside(x, y)
        return of_tensors(x, call.beside(y, x))

    return row


def _of_several(of_tensors: Callable[..., Any], of_arrays: Callable[..., Any]) -> Row:
    two = _of_two(of_tensors, of_arrays)
    return lambda call, *values: reduce(partial(two, call), values)


def _divided(x: Array, y: Array) -> Array:
    """Quotients; those of integers are cut off towards 0."""
    return np.divide(x, y) if is_floating(x.dtype) else np.trunc(np.divide(x, y)).astype(x.dtype)


def _clip(call: Call, x: Any, low: Any = None, high: Any = None) -> Any:
    x = call.tensor(x)
    for function, name, given in ((graph.maximum, "min", low), (graph.minimum, "max", high)):
        bound = call.option(name) if given is None else given
        if bound is not None:
            x = function(x, bound if computed(bound) else call.beside(np.asarray(bound, x.dtype), x))
    return x


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
    if call.context.fixed:
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
        if math.prod(shape[:axis]) == before and size > 0 and size % call.context.fixed == 0:
            return [*shape[:axis], size // call.context.fixed * call.batch, *shape[axis + 1 :]]
    return shape


def _flatten(call: Call, x: Any) -> Any:
    axis = call.option("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape((math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


def _squeeze(call: Call, x: Any, axes: Any = None) -> Any:
    chosen = call.given("axes", axes)
    gone = (
        [axis for axis, size in enumerate(x.shape) if size == 1]
        if chosen is None
        else [axis_of(axis, x.ndim) for axis in chosen]
    )
    if any(x.shape[axis] != 1 for axis in gone):
        call.refuse(f"Squeeze of axes {gone}, whose sizes are {[x.shape[axis] for axis in gone]}")
    return x.reshape(tuple(size for axis, size in enumerate(x.shape) if axis not in gone))


def _unsqueeze(call: Call, x: Any, axes: Any = None) -> Any:
    chosen = call.given("axes", axes, [])
    rank = x.ndim + len(chosen)
    new = {axis_of(axis, rank) for axis in chosen}
    sizes = iter(x.shape)
    return x.reshape(tuple(1 if axis in new else next(sizes) for axis in range(rank)))


def _expand(call: Call, x: Any, sizes: Any) -> Any:
    wanted = call.integers(sizes, "shape")
    if wanted and call.batch and wanted[0] == call.context.fixed > 1:
        wanted[0] = call.batch
    shape = np.broadcast_shapes(tuple(x.shape), tuple(wanted))
    if not computed(x):
        return np.broadcast_to(x, call.bounded(shape))
    return x.reshape((1,) * (len(shape) - x.ndim) + tuple(x.shape)).expand(shape)


def _concat(call: Call, *values: Any) -> Any:
    axis = axis_of(call.option("axis", 1), values[0].ndim)
    if computed(*values):
        return graph.concatenate([call.tensor(each) for each in values], axis)
    call.bounded([sum(each.size for each in values)])
    return np.concatenate(values, axis)


def _split(call: Call, x: Any, sizes: Any = None) -> Any:
    axis, count = axis_of(call.option("axis", 0), x.ndim), len(call.operation.outputs)
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
        place = axis_of(axis, x.ndim)
        index[place] = slice(start, None if step < 0 and stop < -x.shape[place] else stop, step)
    return x[tuple(index)]


def _gather(call: Call, x: Any, indices: Any) -> Any:
    axis = axis_of(call.option("axis", 0), x.ndim)
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
    axis = axis_of(call.option("axis", 0), x.ndim)
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
    chosen = list(range(rank)) if axes is None else [axis_of(axis, rank) for axis in call.integers(axes, "axes")]
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
        if mode not in ("edge", "reflect", "wrap") or (mode == "reflect" and max(before, after) >= size):
            call.refuse(f"Pad by {pairs[axis]} of {size} in mode {mode!r}")
        places = np.pad(np.arange(size), (max(before, 0), max(after, 0)), mode)
        places = places[max(-before, 0) :][: before + size + after]
        x = graph.take(x, call.tensor(places), axis)
    return x


def _constant_of_shape(call: Call, sizes: Any) -> Any:
    value = call.option("value")
    number = np.zeros(1, np.float32) if value is None else np.asarray(value)
    return np.full(call.bounded(call.integers(sizes, "shape")), number.reshape(-1)[0])


def _range(call: Call, *ends: Any) -> Any:
    start, stop, step = (call.constant(each, "range").reshape(-1)[0] for each in ends)
    call.bounded([max(0, math.ceil((stop - start) / step)) if step else -1])
    return np.arange(start, stop, step, dtype=ends[0].dtype)


def _trilu(call: Call, x: Any, k: Any = None) -> Any:
    place = 0 if k is None else int(call.constant(k, "k").reshape(-1)[0])
    module: Any = graph if computed(x) else np
    return (module.triu if call.option("upper", 1) else module.tril)(x, place)


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
        places = tuple(sorted(axis_of(axis, x.ndim) for axis in chosen)) if chosen else tuple(range(x.ndim))
        if computed(x) or of_arrays is None:
            return of_tensors(call.tensor(x), places, keep)
        return np.asarray(of_arrays(x, axis=places, keepdims=keep))

    return row


def _arg(of_tensors: Callable[..., Any]) -> Row:
    return lambda call, x: of_tensors(call.tensor(x), call.option("axis", 0), bool(call.option("keepdims", 1)))


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
        axis = axis_of(call.option("axis", -1 if call.context.opset >= 13 else 1), x.ndim)
        if call.context.opset >= 13 or axis == x.ndim - 1:
            return function(x, axis)
        # all axes from there on
        return function(x.reshape((math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))), 1).reshape(x.shape)

    return row


# ------------------------------------------------------------------ the table


# The dtypes of a Constant's attributes; None where the attribute has its own.
_CONSTANTS: Final[Mapping[str, Any]] = {
    "value": None, "value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64,
}  # fmt: skip


def constant_of(operation: Operation) -> Array | None:
    """What a Constant holds; None of one whose value is no array of numbers."""
    (name, value), *_ = operation.options.items() or [("", None)]
    return np.asarray(value, _CONSTANTS[name]) if name in _CONSTANTS else None


OPERATORS: Final[Mapping[str, Row]] = {
    **{each.row.onnx: _each(each, each.numpy) for each in Unary if each.row.onnx},
    **{each.row.onnx: _of_two(each, each.numpy) for each in Binary if each.row.onnx},
    **{each.row.onnx: _reduced(each, each.numpy) for each in Reduce},
    "ArgMax": _arg(graph.argmax),
    "ArgMin": _arg(graph.argmin),
    "AveragePool": network.average_pool,
    "BatchNormalization": network.batch_norm,
    "Cast": _cast,
    "CastLike": lambda call, x, like: _cast_to(call, x, like.dtype),
    "Ceil": _each(graph.ceil, np.ceil),
    "Celu": _each(lambda x, a: graph.where(x > 0, x, graph.expm1(graph.minimum(x, 0.0) * (1 / a)) * a), alpha=1.0),
    "Clip": _clip,
    "Concat": _concat,
    "Constant": lambda call, *_: call.refuse("Constant without a value"),  # `constant_of` reads it
    "ConstantOfShape": _constant_of_shape,
    "Conv": network.conv,
    "ConvTranspose": network.conv_transpose,
    "Cosh": _each(graph.cosh, np.cosh),
    "CumSum": _cumsum,
    "Div": _of_two(graph.divide, _divided),
    "Dropout": _dropout,
    "Elu": _each(graph.elu, alpha=1.0),
    "Expand": _expand,
    "Flatten": _flatten,
    "GRU": network.recurrent,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "Gelu": _each(graph.gelu, approximate="none"),
    "Gemm": _gemm,
    "GlobalAveragePool": network.over_sizes(graph.mean),
    "GlobalMaxPool": network.over_sizes(graph.max),
    "GroupNormalization": network.group_norm,
    "HardSigmoid": _each(lambda x, alpha, beta: graph.clip(x * alpha + beta, 0.0, 1.0), alpha=0.2, beta=0.5),
    "HardSwish": _each(graph.hardswish),
    "Identity": lambda call, x: x,
    "InstanceNormalization": network.instance_norm,
    "IsNaN": _each(graph.isnan, np.isnan),
    "LSTM": network.recurrent,
    "LayerNormalization": network.layer_norm,
    "LeakyRelu": _each(graph.leaky_relu, alpha=0.01),
    "LessOrEqual": _of_two(graph.less_equal, np.less_equal),
    "LogSoftmax": _softmax(graph.log_softmax),
    "MatMul": _matmul,
    "Max": _of_several(graph.maximum, np.maximum),
    "MaxPool": network.max_pool,
    "Min": _of_several(graph.minimum, np.minimum),
    "Mish": _each(graph.mish),
    "Mod": _mod,
    "Not": _each(graph.logical_not, np.logical_not),
    "PRelu": lambda call, x, slope: graph.leaky_relu(call.tensor(x), call.tensor(slope)),
    "Pad": _pad,
    "RMSNormalization": network.rms_norm,
    "RNN": network.recurrent,
    "Range": _range,
    "ReduceL1": _reduced(lambda x, axes, keep: abs(x).sum(axes, keep)),
    "ReduceL2": _reduced(lambda x, axes, keep: graph.sqrt((x * x).sum(axes, keep))),
    "ReduceLogSumExp": _reduced(graph.logsumexp),
    "ReduceMean": _reduced(graph.mean, np.mean),
    "ReduceSumSquare": _reduced(lambda x, axes, keep: (x * x).sum(axes, keep)),
    "Relu": _each(graph.relu),
    "Reshape": _reshape,
    "Resize": network.resize,
    "Round": _each(graph.round, np.round),
    "Selu": _each(
        lambda x, alpha, gamma: graph.elu(x, alpha) * gamma, alpha=1.6732632423543772, gamma=1.0507009873554805
    ),
    "Shape": lambda call, x: np.array(x.shape[call.option("start", 0) : call.option("end")], np.int64),
    "Sigmoid": _each(graph.sigmoid),
    "Sign": _each(graph.sign, np.sign),
    "Sinh": _each(graph.sinh, np.sinh),
    "Size": lambda call, x: np.array(math.prod(x.shape), np.int64),
    "Slice": _slice,
    "Softmax": _softmax(graph.softmax),
    "Softplus": _each(lambda x: graph.maximum(x, 0.0) + graph.log1p(graph.exp(-abs(x)))),
    "Softsign": _each(graph.softsign),
    "Split": _split,
    "Squeeze": _squeeze,
    "Sum": _of_several(graph.add, np.add),
    "Tan": _each(graph.tan, np.tan),
    "Tile": _tile,
    "Transpose": lambda call, x: (x.permute if computed(x) else x.transpose)(
        tuple(call.option("perm", range(x.ndim)[::-1]))
    ),
    "Trilu": _trilu,
    "Unsqueeze": _unsqueeze,
    "Upsample": network.resize,
    "Where": _where,
}


def evaluate(call: Call, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """The results of an operation, each a tensor or an array."""
    found = OPERATORS[call.operation.kind](call, *inputs)
    call.rest()
    return found if isinstance(found, tuple) else (found,)
