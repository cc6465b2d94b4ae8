"""``jax.lax``: what ``jax.numpy`` is made of. It converts less: arrays of other numbers of axes do not broadcast."""

from __future__ import annotations

from typednn.mypy_plugin.array_functions import dtypes
from typednn.mypy_plugin.array_functions.jax_numpy import TABLE as JAX_NUMPY
from typednn.mypy_plugin.array_functions.jax_numpy import as_in
from typednn.mypy_plugin.array_functions.rows import (
    ONE,
    Kind,
    Misfit,
    Operands,
    Row,
    Rule,
    Shape,
    certain,
    fits_into,
    inserted,
    kind_of,
    like,
    made,
    outside,
    places_of,
    replaced,
    sizes_of,
    written,
)
from typednn.mypy_plugin.array_functions.signatures import parameters_of
from typednn.mypy_plugin.values import Constant, Number, Pack, Slice, Value, integer_of, number
from typednn.shapes import Dim


def _elements(kind: Kind, *names: str) -> Rule:
    """Of numbers, or of arrays with as many axes."""

    def rule(o: Operands) -> Value:
        shapes = [o.shape(name) for name in names]
        ranks = {len(shape): shape for shape in shapes if shape}
        if len(ranks) > 1:
            several = " and ".join(map(written, ranks.values()))
            raise Misfit(f"{several}: lax needs as many axes of each; jax.numpy broadcasts")
        return made(o.broadcast(*names), kind(*(kind_of(o[name]) for name in names)))

    return rule


def _equal(o: Operands, name: str, other: str) -> None:
    """Two arguments of one shape."""
    shapes = o.both(name, other)
    if shapes is None:
        return
    message = f"{name} is {written(shapes[0])}, {other} is {written(shapes[1])}: they need one shape"
    if len(shapes[0]) != len(shapes[1]):
        raise Misfit(message)
    for place, (a, b) in enumerate(zip(*shapes, strict=True)):
        o.meet(a, b, message, o[other], place)


def _selected(o: Operands) -> Value:
    _equal(o, "on_true", "on_false")
    if o.shape("pred"):
        _equal(o, "pred", "on_true")
    return made(o.shape("on_true"), o.kind("on_true", "on_false"))


def _clamped(o: Operands) -> Value:
    for end in ("min", "max"):
        if o.shape(end):
            _equal(o, end, "x")
    return made(o.shape("x"), o.kind("x"))


def _dot_general(o: Operands) -> Value:
    """``((axes of lhs that are summed over, of rhs), (axes of lhs that stay together, of rhs))``."""
    a, b = certain(o.both("lhs", "rhs"))
    numbers = o["dimension_numbers"]
    pairs = [each.items for each in numbers.items if isinstance(each, Pack)] if isinstance(numbers, Pack) else []
    if len(pairs) != 2 or any(len(each) != 2 for each in pairs):
        return made(None)
    (one, other), (first, second) = ((certain(places_of(pair[0], a)), certain(places_of(pair[1], b))) for pair in pairs)
    for left, right in ((one, other), (first, second)):
        if len(left) != len(right):
            raise Misfit(f"dot_general: {len(left)} axes meet {len(right)}")
        for x, y in zip(left, right, strict=True):
            message = f"dot_general of {written(a)} and {written(b)}: axis {x} is {a[x]}, axis {y} is {b[y]}"
            o.meet(a[x], b[y], message, o["rhs"], y)
    together = [a[place] for place in first]
    return made([*together, *outside(a, [*one, *first]), *outside(b, [*other, *second])])


def _sliced(o: Operands) -> Value:
    """``dynamic_slice(x, (i, 0), (1, 4))``: as large as asked."""
    shape, sizes, starts = o.shape("operand"), sizes_of(o["slice_sizes"]), o["start_indices"]
    if shape is not None:
        given = [len(each) for each in (sizes, starts.items if isinstance(starts, Pack) else None) if each is not None]
        if any(count != len(shape) for count in given):
            raise Misfit(f"dynamic_slice of {written(shape)}: {given[0]} numbers for {len(shape)} axes")
        if sizes is not None:
            _smaller(o, "dynamic_slice", sizes, shape)
    return made(sizes, o.kind("operand"))


def _smaller(o: Operands, what: str, part: Shape, whole: Shape) -> None:
    """Whether a part is no larger than the whole, as far as numbers tell."""
    if len(part) != len(whole):
        raise Misfit(f"{what}: {written(part)} and {written(whole)} need as many axes")
    for place, (small, large) in enumerate(zip(part, whole, strict=True)):
        less = None if small is None or large is None else (large - small).value
        if less is not None and less < 0:
            raise Misfit(f"{what}: {written(part)} is larger than {written(whole)} along axis {place}")


def _sliced_along(o: Operands) -> Value:
    shape = certain(o.shape("operand"))
    place = certain(o.axis("axis", shape))
    sizes = sizes_of(o["slice_size"])
    after = replaced(shape, place, sizes[0] if sizes else None)
    _smaller(o, "dynamic_slice_in_dim", after, shape)
    return made(after, o.kind("operand"))


def _picked(o: Operands) -> Value:
    shape = certain(o.shape("operand"))
    place, keeps = certain(o.axis("axis", shape)), certain(o.flag("keepdims"))
    return made(replaced(shape, place, *[ONE] * keeps), o.kind("operand"))


def _written_over(o: Operands) -> Value:
    shapes = o.both("operand", "update")
    if shapes is not None:
        _smaller(o, "dynamic_update_slice", shapes[1], shapes[0])
    return o["operand"]


def _written_along(o: Operands) -> Value:
    shape, update = certain(o.both("operand", "update"))
    o.axis("axis", shape)
    _smaller(o, "dynamic_update_slice_in_dim", update, shape)
    return o["operand"]


def _written_at(o: Operands) -> Value:
    shape, update = certain(o.both("operand", "update"))
    place = o.axis("axis", shape)
    if len(update) == len(shape) - 1 and place is not None:
        update = inserted(update, place, ONE)
    _smaller(o, "dynamic_update_index_in_dim", update, shape)
    return o["operand"]


def _top(o: Operands) -> Value:
    shape, sizes = certain(o.shape("operand")), sizes_of(o["k"])
    place = certain(o.axis("axis", shape))
    after = replaced(shape, place, sizes[0] if sizes else None)
    _smaller(o, "top_k", after, shape)
    return Pack((made(after, o.kind("operand")), made(after, "Int64")), frozen=True)


def _along(kind: Kind, name: str = "axis") -> Rule:
    """The same shape; an axis is counted from the front."""

    def rule(o: Operands) -> Value:
        shape = certain(o.shape("operand"))
        _front(o, name, shape)
        return made(shape, kind(o.kind("operand")))

    return rule


def _front(o: Operands, name: str, shape: Shape) -> int | None:
    place = o.integer(name)
    if place is not None and not 0 <= place < len(shape):
        raise Misfit(f"axis {place} of {written(shape)}: lax counts from 0 to {len(shape) - 1}")
    return place


def _greatest(o: Operands) -> Value:
    shape = certain(o.shape("operand"))
    return made(outside(shape, [certain(_front(o, "axis", shape))]), "Int64")


def _transposed(o: Operands) -> Value:
    axes = o["permutation"]
    if isinstance(axes, Pack) and any(isinstance(each, Number) and (each.size.value or 0) < 0 for each in axes.items):
        raise Misfit("transpose: lax counts axes from 0")
    return JAX_NUMPY["jax.numpy.transpose"].rule(Operands({"a": o["operand"], "axes": axes}, o.differ))


def _reshaped(o: Operands) -> Value:
    sizes = sizes_of(o["new_sizes"])
    if sizes is not None and any((size.value or 0) < 0 for size in sizes if size is not None):
        raise Misfit(f"reshape to {written(sizes)}: lax works out no size")
    return JAX_NUMPY["jax.numpy.reshape"].rule(Operands({"a": o["operand"], "shape": o["new_sizes"]}, o.differ))


def _broadcast(o: Operands) -> Value:
    shape, sizes = o.shape("operand"), sizes_of(o["sizes"])
    return made(None if shape is None or sizes is None else [*sizes, *shape], o.kind("operand"))


def _broadcast_in(o: Operands) -> Value:
    shape, sizes = o.shape("operand"), certain(sizes_of(o["shape"]))
    places = places_of(o["broadcast_dimensions"], sizes)
    if shape is not None and places is not None:
        if len(places) != len(shape):
            raise Misfit(f"broadcast_in_dim of {written(shape)}: {len(places)} places")
        fits_into(shape, [sizes[place] for place in places], o.differ, "broadcast_in_dim")
    return made(sizes, o.kind("operand"))


def _counted(o: Operands) -> Value:
    return made(sizes_of(o["size"]))


def _cut(o: Operands) -> Value:
    """``slice_in_dim(x, 0, 4, axis=1)``."""
    shape = certain(o.shape("operand"))
    place = certain(o.axis("axis", shape))
    steps = o["stride"] if o.integer("stride") != 1 else number(1)
    part = Slice(o["start_index"], o["limit_index"], steps)
    ends = part.numbers
    size = shape[place]
    if size is None or size.value is None or ends is None:
        return made(replaced(shape, place, None), o.kind("operand"))
    start, stop = (size.value + end if end is not None and end < 0 else end for end in (ends.start, ends.stop))
    start, stop = start or 0, size.value if stop is None else stop
    if not 0 <= start <= stop <= size.value:
        raise Misfit(f"slice_in_dim of {written(shape)}: axis {place} has {size} elements")
    return made(replaced(shape, place, Dim.of(len(range(start, stop, ends.step or 1)))), o.kind("operand"))


def _joined(o: Operands) -> Value:
    operands = o["operands"]
    if isinstance(operands, Pack) and len(operands.items) == 1:
        return operands.items[0]  # whatever the axis
    return JAX_NUMPY["jax.numpy.concatenate"].rule(
        Operands(
            {**parameters_of("arrays, axis, out=None, dtype=None"), "arrays": operands, "axis": o["dimension"]},
            o.differ,
        )
    )


def _convolved(o: Operands) -> Value:
    """``conv(images, kernels, strides, "SAME")``: batch, channels, height, width; and out, in, height, width.

    ``dimension_numbers=("NHWC", "HWIO", "NHWC")`` says where they stand.
    """
    images, kernels = certain(o.both("lhs", "rhs"))
    what = f"convolution of {written(images)} and {written(kernels)}"
    if len(images) != len(kernels):
        raise Misfit(f"{what}: needs as many axes of each")
    spatial = "0123456789"[: len(images) - 2]
    orders = _orders(o.values.get("dimension_numbers", Constant(None)), f"NC{spatial}", f"OI{spatial}")
    groups = integer_of(o.values.get("feature_group_count", number(1)))
    if len(images) < 2 or orders is None or groups is None:
        return made(None)
    read, weigh, give = orders
    if any(len(order) != len(images) for order in orders):
        raise Misfit(f"{what}: dimension_numbers name {len(read)} axes")
    named, weights = dict(zip(read, images, strict=True)), dict(zip(weigh, kernels, strict=True))
    channels, wanted = named["C"], weights["I"]
    message = f"{what}: {channels} channels, the kernels have {wanted}"
    o.meet(channels, wanted if wanted is None else wanted * groups, message, o["rhs"], weigh.index("I"))
    sizes: dict[str, Dim | None] = {"N": named["N"], "C": weights["O"]}
    for place, axis in enumerate(each for each in read if each not in "NC"):
        sizes[axis] = _slid(o, named[axis], weights.get(axis), place)
    return made([sizes.get(axis) for axis in give])


def _orders(given: Value, images: str, kernels: str) -> tuple[str, str, str] | None:
    """The axes of images, kernels and results by letters."""
    match given:
        case Constant(value=None):
            return images, kernels, images
        case Pack(items=(Constant(value=str() as read), Constant(value=str() as weigh), Constant(value=str() as give))):
            known = {*"NC"} <= {*read} and {*"OI"} <= {*weigh} and {*read} == {*give}
            return (read, weigh, give) if known and {*read} - {*"NC"} == {*weigh} - {*"OI"} else None
        case _:
            return None


def _slid(o: Operands, size: Dim | None, window: Dim | None, place: int) -> Dim | None:
    """How often a window fits."""
    strides, padding = o["window_strides"], o["padding"]
    step = integer_of(strides.items[place]) if isinstance(strides, Pack) and place < len(strides.items) else None
    if any(o.given(name) for name in ("lhs_dilation", "rhs_dilation") if name in o.values):
        return None
    if size is None or window is None or step is None or step < 1:
        return None
    match padding:
        case Constant(value="SAME"):
            return (size + (step - 1)) // step
        case Constant(value="VALID"):
            zeros: Dim | None = Dim.of(0)
        case Pack(items=pairs) if place < len(pairs):
            pair = sizes_of(pairs[place])
            zeros = (
                pair[0] + pair[1] if pair and len(pair) == 2 and pair[0] is not None and pair[1] is not None else None
            )
        case _:
            zeros = None
    return None if zeros is None else (size + zeros - window) // step + 1


_UNARY = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh", "digamma", "erf",
    "erf_inv", "erfc", "exp", "exp2", "expm1", "floor", "lgamma", "log", "log1p", "logistic", "neg", "reciprocal",
    "round", "rsqrt", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "real", "imag", "conj",
    "stop_gradient",
)  # fmt: skip
_BINARY = ("add", "atan2", "div", "max", "min", "mul", "pow", "rem", "sub")
_BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_ALONG = ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
_NUMPY = {
    "expand_dims": ("expand_dims", "array, dimensions"),
    "squeeze": ("squeeze", "array, dimensions"),
    "full": ("full", "shape, fill_value, dtype=None"),
    "full_like": ("full_like", "x, fill_value, dtype=None, shape=None"),
}
_ROWS: dict[str, Row] = {
    **{name: Row("x", like("x", dtypes.same)) for name in _UNARY},
    "is_finite": Row("x", like("x", dtypes.boolean)),
    "bitwise_not": Row("x", like("x", dtypes.same)),
    "integer_pow": Row("x, y", like("x", dtypes.same)),
    "convert_element_type": Row("operand, new_dtype", like("operand", dtypes.unknown)),
    **{name: Row("x, y", _elements(dtypes.promoted, "x", "y")) for name in _BINARY},
    "nextafter": Row("x1, x2", _elements(dtypes.promoted, "x1", "x2")),
    **{name: Row("a, x", _elements(dtypes.promoted, "a", "x")) for name in ("igamma", "igammac")},
    **{name: Row("x, y", _elements(dtypes.promoted, "x", "y")) for name in _BITS},
    **{name: Row("x, y", _elements(dtypes.boolean, "x", "y")) for name in _COMPARISONS},
    **{name: Row("operand, axis=0, reverse=False", _along(dtypes.same)) for name in _ALONG},
    **{name: as_in(JAX_NUMPY[f"jax.numpy.{theirs}"], parameters) for name, (theirs, parameters) in _NUMPY.items()},
    "argmax": Row("operand, axis, index_dtype", _greatest),
    "argmin": Row("operand, axis, index_dtype", _greatest),
    "dot_general": Row(
        "lhs, rhs, dimension_numbers, precision=None, preferred_element_type=None, *, out_sharding=None", _dot_general
    ),
    "select": Row("pred, on_true, on_false", _selected),
    "clamp": Row("min, x, max", _clamped),
    "dynamic_slice": Row("operand, start_indices, slice_sizes", _sliced),
    "dynamic_slice_in_dim": Row("operand, start_index, slice_size, axis=0", _sliced_along),
    "dynamic_index_in_dim": Row("operand, index, axis=0, keepdims=True", _picked),
    "index_in_dim": Row("operand, index, axis=0, keepdims=True", _picked),
    "dynamic_update_slice": Row("operand, update, start_indices", _written_over),
    "dynamic_update_slice_in_dim": Row("operand, update, start_index, axis", _written_along),
    "dynamic_update_index_in_dim": Row("operand, update, index, axis", _written_at),
    "slice_in_dim": Row("operand, start_index, limit_index, stride=1, axis=0", _cut),
    "top_k": Row("operand, k, *, axis=-1", _top),
    "transpose": Row("operand, permutation", _transposed),
    "reshape": Row("operand, new_sizes, dimensions=None", _reshaped),
    "broadcast": Row("operand, sizes", _broadcast),
    "broadcast_in_dim": Row("operand, shape, broadcast_dimensions", _broadcast_in),
    "rev": Row("operand, dimensions", like("operand", dtypes.same)),
    "iota": Row("dtype, size", _counted),
    "broadcasted_iota": Row("dtype, shape, dimension", lambda o: made(sizes_of(o["shape"]))),
    "concatenate": Row("operands, dimension", _joined),
    "conv": Row("lhs, rhs, window_strides, padding, precision=None", _convolved),
    "conv_general_dilated": Row(
        "lhs, rhs, window_strides, padding, lhs_dilation=None, rhs_dilation=None, dimension_numbers=None, "
        "feature_group_count=1",
        _convolved,
    ),
}
TABLE: dict[str, Row] = {f"jax.lax.{name}": row for name, row in _ROWS.items()}
