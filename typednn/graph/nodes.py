"""Nodes: the functions that make them, one for each kind, and leaves and constants. All other operations are made of
these.

Arguments are checked here: shapes, dtypes, axes. What changes nothing makes no node.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, cast, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from typednn.arrays import described, device_of, is_array, is_floating
from typednn.errors import ArgumentError, DTypeError, ShapeError, explain
from typednn.graph.graph import GRAPH, Shape, bits_of, product
from typednn.graph.kinds import CODES, DTYPES, Kind
from typednn.graph.operations import Binary, Reduce, Unary
from typednn.graph.slab import NONE
from typednn.graph.tensor import D2, R2, AnyTensor, Axes, Number, Operand, Registered, Tensor, registered

MOST_AXES: Final = 32

# ------------------------------------------------------------------ leaves and constants


@overload
def tensor(values: np.ndarray[R2, np.dtype[D2]], *, name: str = "") -> Tensor[R2, D2]: ...
@overload
def tensor(values: Any, *, dtype: type[D2], name: str = "") -> Tensor[Any, D2]: ...
@overload
def tensor(values: Any, *, dtype: DTypeLike | None = None, name: str = "") -> AnyTensor: ...
def tensor(values: AnyTensor | ArrayLike, *, dtype: DTypeLike | None = None, name: str = "") -> AnyTensor:
    """A leaf that holds ``values``: an array, which is not copied and must not be changed afterwards, or numbers in
    lists.
    """
    if isinstance(values, Tensor):
        return values if dtype is None else cast_to(values, dtype)
    wanted = None if dtype is None else DTYPES[code_of("tensor", dtype)]
    try:
        array: Any = values if is_array(values) else np.asarray(values, wanted)
    except (ValueError, TypeError, OverflowError) as error:
        raise ArgumentError(
            explain("tensor", "takes an array, or numbers in lists of equal lengths", str(error)), "values"
        ) from None
    code = code_of("tensor", array.dtype if wanted is None else wanted)
    if wanted is not None and array.dtype != wanted:
        array = array.astype(wanted)
    if array.ndim > MOST_AXES:
        raise ShapeError(explain("tensor", f"has at most {MOST_AXES} axes", f"{array.ndim}"))
    made: AnyTensor = Tensor(GRAPH.push(Kind.LEAF, 0, code, tuple(array.shape)))
    GRAPH.arrays[made.id] = array
    return made.named(name) if name else made


def constant(value: Number, dtype: DTypeLike, shape: Shape = ()) -> AnyTensor:
    """One number everywhere."""
    code = code_of("constant", dtype)
    kind = DTYPES[code]
    try:
        low, high = bits_of(value, kind)
    except (OverflowError, ValueError, TypeError) as error:
        raise DTypeError(
            explain("constant", f"a number that {kind} holds", repr(value), "cast the tensor first")
        ) from error
    return Tensor(GRAPH.push(Kind.CONST, 0, code, shape, low, high))


def sizes_of(where: str, shape: int | Sequence[int]) -> Shape:
    """A shape as NumPy takes it: one size, or several."""
    try:
        sizes = tuple(map(operator.index, (shape,) if isinstance(shape, int | np.integer) else shape))
    except TypeError:
        sizes = (-1,)
    if min(sizes, default=0) < 0 or len(sizes) > MOST_AXES:
        rule = f"shape is an integer from 0 on, or a sequence of at most {MOST_AXES}"
        raise ArgumentError(explain(where, rule, repr(shape)), "shape")
    return sizes


def full(shape: int | Sequence[int], value: Number, dtype: DTypeLike = np.float32) -> AnyTensor:
    """A tensor of this shape, one size or several, with one number everywhere."""
    return constant(value, dtype, sizes_of("full", shape))


def zeros(shape: int | Sequence[int], dtype: DTypeLike = np.float32) -> AnyTensor:
    """A tensor of zeros."""
    return constant(0, dtype, sizes_of("zeros", shape))


def ones(shape: int | Sequence[int], dtype: DTypeLike = np.float32) -> AnyTensor:
    """A tensor of ones."""
    return constant(1, dtype, sizes_of("ones", shape))


def zeros_like(x: AnyTensor) -> AnyTensor:
    """Zeros of the shape and dtype of ``x``."""
    return constant(0, x.dtype, x.shape)


def ones_like(x: AnyTensor) -> AnyTensor:
    """Ones of the shape and dtype of ``x``."""
    return constant(1, x.dtype, x.shape)


def lazily(read: Callable[[], Any], shape: Sequence[int], dtype: DTypeLike, *, name: str = "") -> AnyTensor:
    """A leaf whose array ``read()`` gives when it is first needed, such as an array in a file."""
    made: AnyTensor = Tensor(GRAPH.push(Kind.LEAF, 0, code_of("lazily", dtype), tuple(shape)))

    def checked() -> Any:
        array = read()
        if tuple(array.shape) != tuple(shape) or array.dtype != np.dtype(dtype):
            expected = f"{np.dtype(dtype)} of shape {tuple(shape)}"
            raise ShapeError(explain(f"lazily({name!r})", f"the array is {expected}, as was said", described(array)))
        return array

    GRAPH.arrays[made.id] = checked
    return made.named(name) if name else made


# ------------------------------------------------------------------ the nodes


@registered
def unary(operation: Unary, x: AnyTensor) -> AnyTensor:
    """A function of each number of ``x``."""
    number = x.id
    code = GRAPH.slab.tag(number) >> 16 & 0xFF
    dtype = GRAPH.dtype(number)
    takes = operation.row.takes
    if takes == "floats" or takes == "rounded":
        if not is_floating(dtype):
            if takes == "rounded":
                return x  # an integer is rounded already
            raise _wrong_dtype(operation.title, "floats", x, "cast it to a float dtype")
    elif takes == "whole" and is_floating(dtype):
        raise _wrong_dtype(operation.title, "integers or booleans", x)
    elif takes == "signed" and dtype.kind == "b":
        raise _wrong_dtype(operation.title, "numbers", x, "use ~ for the opposite of a boolean")
    return Tensor(GRAPH.push(Kind.UNARY, operation, code, GRAPH.shapes[number], number))


def code_of(where: str, dtype: DTypeLike) -> int:
    """The number of a dtype in nodes."""
    try:
        return CODES[np.dtype(dtype)]
    except (KeyError, TypeError):
        rule = f"a dtype is one of {', '.join(each.name for each in CODES)}"
        raise DTypeError(explain(where, rule, str(dtype), "convert the numbers")) from None


def _wrong_dtype(what: str, rule: str, x: AnyTensor, cure: str = "cast it") -> DTypeError:
    return DTypeError(explain(what, f"takes {rule}", f"{x.dtype}: {GRAPH.expression(x.id)}", cure))


def as_tensor(value: Operand, beside: AnyTensor, shape: Shape = ()) -> AnyTensor:
    """``value`` as a tensor that fits ``beside``: a Python number takes its dtype, and this shape."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, bool | int | float):
        dtype = beside.dtype
        if type(value) is float and not is_floating(dtype):
            raise DTypeError(
                explain("a number beside a tensor", f"fits {dtype}", repr(value), "cast the tensor to a float dtype")
            )
        return constant(value, dtype, shape)
    if is_array(value):
        return tensor(value)
    if isinstance(value, np.generic):
        return tensor(np.asarray(value))
    got = type(value).__name__
    raise ArgumentError(explain("an operation of tensors", "takes tensors, arrays and numbers", got))


@registered
def binary(operation: Binary, x: Operand, y: Any) -> AnyTensor:
    """A function of two tensors, number by number; axes broadcast."""
    graph = GRAPH
    second: AnyTensor = y  # where x is no tensor, y is one
    if not isinstance(x, Tensor):
        x = as_tensor(x, second, graph.shapes[second.id])
    elif not isinstance(y, Tensor):
        second = as_tensor(y, x, graph.shapes[x.id])
    a, b = x.id, second.id
    shape = graph.shapes[a]
    if shape != graph.shapes[b]:
        x, second = broadcast(operation.title, x, second)
        a, b = x.id, second.id
        shape = graph.shapes[a]
    code = graph.slab.tag(a) >> 16 & 0xFF
    other = graph.slab.tag(b) >> 16 & 0xFF
    takes = operation.row.takes
    if takes == "a mask":
        if code != 0:
            raise _wrong_dtype("where", "a mask of booleans", x, "compare it, as in x > 0")
        code = other
    elif code != other:
        got = f"{graph.dtype(a)} and {graph.dtype(b)}: {graph.expression(a)} and {graph.expression(b)}"
        raise DTypeError(explain(operation.title, "takes two tensors of one dtype", got, "cast one of them"))
    elif takes == "any":
        code = 0
    elif code == 0 and takes != "booleans":
        raise _wrong_dtype(operation.title, "numbers", x)
    elif code != 0 and takes == "booleans":
        raise _wrong_dtype(operation.title, "booleans", x, "compare it, as in x != 0")
    elif takes == "integers" and is_floating(graph.dtype(a)):
        raise _wrong_dtype(operation.title, "integers", x, "cast it to an integer dtype")
    return Tensor(graph.push(Kind.BINARY, operation, code, shape, a, b))


@registered
def divided(x: Any, y: Any) -> AnyTensor:
    """x / y; integers are divided in float64, as NumPy does it."""
    whole = [getattr(getattr(each, "dtype", None), "kind", "") in ("i", "u") for each in (x, y)]
    if True in whole and all(
        is_whole or isinstance(each, int | float) for is_whole, each in zip(whole, (x, y), strict=True)
    ):
        x, y = (
            cast_to(tensor(each), np.float64) if is_whole else each
            for is_whole, each in zip(whole, (x, y), strict=True)
        )
    return binary(Binary.DIVIDE, x, y)


def broadcast(where: str, *tensors: AnyTensor) -> list[AnyTensor]:
    """All of ``tensors`` in the shape that they broadcast to."""
    shapes = [each.shape for each in tensors]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        got = " and ".join(f"{each.shape}: {GRAPH.expression(each.id)}" for each in tensors)
        cure = "reshape one of them, or reduce with keepdims=True"
        raise ShapeError(explain(where, "sizes are equal, or one of them is 1", got, cure)) from None
    return [broadcast_to(each, shape) for each in tensors]


@registered
def broadcast_to(x: AnyTensor, shape: Sequence[int]) -> AnyTensor:
    """``x`` with axes of size 1 repeated, and further axes before its own."""
    old, shape = x.shape, tuple(shape)
    if old == shape:
        return x
    if len(old) < len(shape):
        x = reshape(x, (1,) * (len(shape) - len(old)) + old)
        old = x.shape
    if len(old) > len(shape) or any(size not in (1, new) for size, new in zip(old, shape, strict=True)):
        got = f"{old} to {shape}: {GRAPH.expression(x.id)}"
        raise ShapeError(explain("broadcast_to", "an axis of size 1 repeats, others stay", got))
    if old == shape:
        return x
    return Tensor(GRAPH.push(Kind.EXPAND, 0, GRAPH.slab.tag(x.id) >> 16 & 0xFF, shape, x.id))


@registered
def reshape(x: AnyTensor, shape: Sequence[int]) -> AnyTensor:
    """The numbers of ``x`` in another shape; one size may be -1."""
    old, shape = x.shape, tuple(shape)
    new = shape
    if -1 in shape:
        others = product([size for size in shape if size != -1])
        new = tuple((product(old) // others if others else 0) if size == -1 else size for size in shape)
    if product(new) != product(old) or min(new, default=0) < 0 or len(new) > MOST_AXES:
        got = f"{old} to {shape}: {GRAPH.expression(x.id)}"
        raise ShapeError(explain("reshape", f"keeps the number of elements, {product(old)}", got))
    if new == old:
        return x
    return Tensor(GRAPH.push(Kind.RESHAPE, 0, GRAPH.slab.tag(x.id) >> 16 & 0xFF, new, x.id))


@registered
def permute(x: AnyTensor, order: Sequence[int]) -> AnyTensor:
    """The axes of ``x`` in this ``order``."""
    number = x.id
    old = GRAPH.shapes[number]
    ndim = len(old)
    axes = tuple([axis + ndim if -ndim <= axis < 0 else axis for axis in order])
    in_order = list(range(ndim))
    if sorted(axes) != in_order:
        got = f"{tuple(order)} of {GRAPH.expression(number)}"
        raise ShapeError(explain("permute", f"names each of the {ndim} axes once", got))
    if axes == tuple(in_order):
        return x
    shape = tuple([old[axis] for axis in axes])
    return Tensor(GRAPH.push(Kind.PERMUTE, 0, GRAPH.slab.tag(number) >> 16 & 0xFF, shape, number, NONE, axes))


def pad(x: AnyTensor, widths: Sequence[tuple[int, int]]) -> AnyTensor:
    """``x`` with zeros before and after each axis; negative widths cut off."""
    number = x.id
    old = GRAPH.shapes[number]
    pairs = tuple([(int(before), int(after)) for before, after in widths])
    shape = tuple([before + size + after for (before, after), size in zip(pairs, old, strict=False)])
    if len(pairs) != len(old) or any(
        new < max(before, after, 0) for (before, after), new in zip(pairs, shape, strict=True)
    ):
        got = f"{pairs} of {GRAPH.expression(number)}"
        raise ShapeError(
            explain("pad", f"two widths for each of {len(old)} axes; they cut off no more than there is", got)
        )
    if shape == old and not any(before or after for before, after in pairs):
        return x
    return Tensor(GRAPH.push(Kind.PAD, 0, GRAPH.slab.tag(number) >> 16 & 0xFF, shape, number, NONE, pairs))


def every(x: AnyTensor, axis: int, start: int, count: int, step: int) -> AnyTensor:
    """``count`` numbers of an axis, every ``step``-th: a multiple of steps, with zeros where it ends later, then the
    first of each.
    """
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    x = padded(x, axis, -start, start + count * step - x.shape[axis])
    if step == 1:
        return x
    return reshape(padded(reshape(x, (*before, count, step, *after)), axis + 1, 0, 1 - step), (*before, count, *after))


def padded(x: AnyTensor, axis: int, before: int, after: int) -> AnyTensor:
    """``x`` with zeros before and after one axis; negative widths cut off."""
    return pad(x, [(before, after) if place == axis else (0, 0) for place in range(x.ndim)])


def axes_of(where: str, axis: Axes, x: AnyTensor) -> Shape:
    """``axis`` as the numbers of axes of ``x``, in order."""
    ndim = x.ndim
    if axis is None:
        return tuple(range(ndim))
    given = tuple(axis) if isinstance(axis, Sequence) else (axis,)
    whole = all(isinstance(each, int | np.integer) for each in given)
    axes = tuple(sorted([int(each) + ndim if each < 0 else int(each) for each in given])) if whole else ()
    if not whole or (axes and (axes[0] < 0 or axes[-1] >= ndim or len(set(axes)) != len(axes))):
        got = f"{axis} of {GRAPH.expression(x.id)}"
        rule = f"names axes from {-ndim} to {ndim - 1}, each once" if ndim else "names no axis, for there is none"
        raise ArgumentError(explain(where, rule, got), "axis")
    return axes


@registered
def reduce(operation: Reduce, x: AnyTensor, axis: Axes = None, keepdims: bool = False) -> AnyTensor:
    """The numbers of ``x`` along ``axis`` made one; ``keepdims`` leaves an axis of size 1."""
    axes = axes_of(operation.title, axis, x)
    number = x.id
    old, code = GRAPH.shapes[number], GRAPH.slab.tag(number) >> 16 & 0xFF
    if not operation.row.is_total:
        if 0 in [old[each] for each in axes]:
            raise ShapeError(explain(operation.title, "there is a number along each axis", GRAPH.expression(number)))
    elif code == 0:
        raise _wrong_dtype(operation.title, "numbers", x, "cast it, as in mask.cast(np.int64)")
    if not axes:
        return x
    shape = tuple([size for place, size in enumerate(old) if place not in axes])
    result: AnyTensor = Tensor(GRAPH.push(Kind.REDUCE, operation, code, shape, number, NONE, axes))
    return (
        reshape(result, tuple([1 if place in axes else size for place, size in enumerate(old)])) if keepdims else result
    )


@registered
def cast_to(x: AnyTensor, dtype: DTypeLike) -> AnyTensor:
    """``x`` in another dtype."""
    number, code = x.id, code_of("cast", dtype)
    if code == GRAPH.slab.tag(number) >> 16 & 0xFF:
        return x
    return Tensor(GRAPH.push(Kind.CAST, 0, code, GRAPH.shapes[number], number))


def to_device(x: AnyTensor, device: str) -> AnyTensor:
    """``x`` on another device: ``"cpu"``, ``"cuda"``."""
    from typednn.backends import select

    select(device)
    return Tensor(GRAPH.push(Kind.TO_DEVICE, 0, GRAPH.slab.tag(x.id) >> 16 & 0xFF, x.shape, x.id, extra=device))


def device(x: AnyTensor) -> str:
    """The device on which the numbers of ``x`` are, or will be. It computes nothing."""
    waiting = [x.id]
    while waiting:
        number = waiting.pop()
        if GRAPH.kind(number) == Kind.TO_DEVICE:
            return cast("str", GRAPH.extras[number])
        array = GRAPH.arrays.get(number)
        if array is not None and not callable(array):
            return device_of(array)
        waiting += GRAPH.inputs(number)
    return "cpu"


def realize(*tensors: AnyTensor | Iterable[AnyTensor]) -> None:
    """Compute these tensors, what they share only once. Those that are known already stay as they are."""
    flat = [each for given in tensors for each in ([given] if isinstance(given, Tensor) else given)]
    Registered.run([each.id for each in flat])


# An operation that is called with tensors makes its node.
Unary.node, Binary.node, Reduce.node = staticmethod(unary), staticmethod(binary), staticmethod(reduce)
