"""JAX's functions of functions: ``jit(f)``, ``vmap(f)``, ``grad(f)``; and its loops, ``scan(f, init, xs)``.

What ``vmap(f)`` and ``grad(f)`` give is a `Partial` by their name: a call of it is the entry ``jax.vmap()``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from typednn.mypy_plugin.context import Analysis, Call
from typednn.mypy_plugin.sizes import settled
from typednn.mypy_plugin.values import (
    UNKNOWN,
    Array,
    Constant,
    Layer,
    Number,
    Pack,
    Partial,
    Value,
    integer_of,
    join,
    number,
    written_shape,
)
from typednn.shapes import Dim, Flow, leave, same

_NONE = Constant(None)
_SCALAR = Array(Flow.of(()), library="jax")


def same_function(call: Call) -> Value:
    """``jit(f)``: computes what f does."""
    return call.argument(0, "fun", call.keywords.get("f", UNKNOWN)) if not call.spread else UNKNOWN


def made(call: Call) -> Value:
    """``vmap(f)``, ``grad(f)``: a function, with the arguments that say how."""
    if call.spread or not call.arguments:
        return UNKNOWN
    name = _NAMES[call.name]
    return Partial(Constant(name), (call.arguments[0],), (*_by_name(call, name), *call.keywords.items()))


_POSITIONS = {"jax.vmap": ("in_axes", "out_axes"), "jax.grad": ("argnums", "has_aux")}


def _by_name(call: Call, name: str) -> Iterator[tuple[str, Value]]:
    """The arguments after the function, by name."""
    return zip(_POSITIONS.get(name, _POSITIONS["jax.grad"]), call.arguments[1:], strict=False)


def _called(call: Call, function: Value, arguments: Sequence[Value]) -> Value:
    """What a function gives for other arguments than those of the call."""
    return call.context.apply(function, replace(call, arguments=tuple(arguments), keywords={}, receiver=UNKNOWN))


# ------------------------------------------------------------------ vmap


def mapped(call: Call) -> Value:
    """``vmap(f)(x)``: f gets each argument without the axis that is mapped, and its result gets it back."""
    told = dict(call.receiver.keywords)
    axes = told.get("in_axes", number(0))
    if call.spread:
        return UNKNOWN
    each = axes.items if isinstance(axes, Pack) else (axes,) * len(call.arguments)
    if len(each) < len(call.arguments):
        return UNKNOWN
    sizes: list[Dim] = []
    inner = [_without(call, argument, axis, sizes) for argument, axis in zip(call.arguments, each, strict=False)]
    named = {name: _without(call, argument, number(0), sizes) for name, argument in call.keywords.items()}
    if None in inner or None in named.values():
        return UNKNOWN
    given = replace(
        call,
        arguments=tuple(value for value in inner if value is not None),
        keywords={name: value for name, value in named.items() if value is not None},
        receiver=UNKNOWN,
    )
    result = call.context.apply(call.receiver.arguments[0], given)
    return _with(call, result, told.get("out_axes", number(0)), _common(sizes))


def _common(sizes: Sequence[Dim]) -> Dim | None:
    return next((size for size in sizes if size.value is not None), sizes[0] if sizes else None)


def _without(call: Call, value: Value, axis: Value, sizes: list[Dim]) -> Value | None:
    """A value without the axis that is mapped, whose size goes to ``sizes``; None where it cannot be mapped, which is
    reported.
    """
    if axis == _NONE:
        return value
    match value, axis:
        case Pack(items=items), Pack(items=axes) if len(items) == len(axes):
            parts = [_without(call, each, place, sizes) for each, place in zip(items, axes, strict=True)]
            return _pack(value, parts)
        case Pack(items=items), Number():
            return _pack(value, [_without(call, each, axis, sizes) for each in items])
        case Array(flow=flow), Number() if flow.shape is not None and (place := integer_of(axis)) is not None:
            shape = list(flow.shape)
            if not -len(shape) <= place < len(shape):
                call.complain(f"vmap over axis {place} of ({written_shape(shape, ', ')}): has {len(shape)} axes")
                return None
            size = shape.pop(place)
            if not _agrees(call, "vmap", size, sizes):
                return None
            return settled(call.context, replace(value, flow=Flow.of(shape), open=()))
        case Array(), _:
            return replace(value, flow=Flow.start(None), open=())
        case _:
            return UNKNOWN


def _pack(value: Pack, parts: Sequence[Value | None]) -> Value | None:
    known = tuple(each for each in parts if each is not None)
    return replace(value, items=known) if len(known) == len(parts) else None


def _agrees(call: Call, what: str, size: Dim | None, sizes: list[Dim]) -> bool:
    """Whether an axis may be as long as the others; else it is reported."""
    compare = call.context.comparison()
    for other in sizes:
        if size is None or same(size, other):
            continue
        if (size.value is not None and other.value is not None) or compare(size, other):
            call.complain(f"{what}: the axis that is mapped has {other} elements in one array, {size} in another")
            return False
    if size is None:
        leave(None, None)
    else:
        sizes.append(size)
    return True


def _with(call: Call, value: Value, axis: Value, size: Dim | None) -> Value:
    """A result with the mapped axis."""
    match value, axis:
        case Pack(items=items), Pack(items=axes) if len(items) == len(axes):
            parts = [_with(call, each, place, size) for each, place in zip(items, axes, strict=True)]
            return replace(value, items=tuple(parts))
        case Pack(items=items), Number():
            return replace(value, items=tuple(_with(call, each, axis, size) for each in items))
        case Array(), Constant(value=None):
            return value
        case Array(flow=flow), Number() if flow.shape is not None and (place := integer_of(axis)) is not None:
            rank = len(flow.shape) + 1
            if not -rank <= place < rank:
                return UNKNOWN
            shape = list(flow.shape)
            shape.insert(place % rank, size)
            return settled(call.context, replace(value, flow=Flow.of(shape), open=()))
        case _:
            return UNKNOWN


# ------------------------------------------------------------------ grad


def differentiated(call: Call) -> Value:
    """``grad(f)(x)``: as large as x. f gives one number."""
    told = dict(call.receiver.keywords)
    has_aux, argnums = told.get("has_aux", Constant(False)), told.get("argnums", number(0))
    result = call.context.apply(call.receiver.arguments[0], replace(call, receiver=UNKNOWN))
    auxiliary: Value = UNKNOWN
    if has_aux == Constant(True):
        result, auxiliary = result.items if isinstance(result, Pack) and len(result.items) == 2 else (UNKNOWN, UNKNOWN)
    elif has_aux != Constant(False):
        return UNKNOWN
    if isinstance(result, Array) and result.flow.shape:
        return call.complain(f"grad of ({written_shape(result.flow.shape, ', ')}): the function must give one number")
    loss = result if isinstance(result, Array) and result.flow.shape is not None else _SCALAR
    gradients = _chosen(call, argnums)
    first = Pack((loss, auxiliary), frozen=True) if has_aux == Constant(True) else loss
    if call.name == "jax.value_and_grad()":
        return Pack((first, gradients), frozen=True)
    return Pack((gradients, auxiliary), frozen=True) if has_aux == Constant(True) else gradients


def _chosen(call: Call, argnums: Value) -> Value:
    """The arguments that a derivative is taken by."""
    if isinstance(argnums, Pack):
        return Pack(tuple(_chosen(call, each) for each in argnums.items), frozen=True)
    place = integer_of(argnums)
    if place is None or call.spread or not -len(call.arguments) <= place < len(call.arguments):
        return UNKNOWN
    value = call.arguments[place]
    return value if isinstance(value, Array | Pack | Layer) else UNKNOWN


# ------------------------------------------------------------------ loops


def scanned(call: Call) -> Value:
    """``scan(f, init, xs)``: the carry keeps its shape, the ys are stacked."""
    function, carry, xs = (call.argument(place, name) for place, name in enumerate(("f", "init", "xs")))
    sizes: list[Dim] = []
    if call.spread or (xs is UNKNOWN and "xs" not in call.keywords and len(call.arguments) < 3):
        xs = _NONE
    x = xs if xs == _NONE else _without_first(call, xs, sizes)
    if x is None:
        return UNKNOWN
    length = call.argument(3, "length", _NONE)
    size = _common(sizes) or (length.size if isinstance(length, Number) else None)
    result = _called(call, function, (carry, x))
    after, y = result.items if isinstance(result, Pack) and len(result.items) == 2 else (UNKNOWN, UNKNOWN)
    if not _keeps(call, "scan", carry, after):
        return UNKNOWN
    return Pack((_better(carry, after), _with(call, y, number(0), size) if y != _NONE else _NONE), frozen=True)


def _without_first(call: Call, xs: Value, sizes: list[Dim]) -> Value | None:
    """One of the elements that a loop runs over."""
    match xs:
        case Pack(items=items):
            return _pack(xs, [_without_first(call, each, sizes) for each in items])
        case Array(flow=flow) if flow.shape is not None and not flow.shape:
            call.complain("scan over a number: it has no axis")
            return None
        case Array(flow=flow) if flow.shape is not None:
            if not _agrees(call, "scan", flow.shape[0], sizes):
                return None
            return settled(call.context, replace(xs, flow=Flow.of(flow.shape[1:]), open=()))
        case _:
            return xs if xs == _NONE else UNKNOWN


def _differ(call: Call, one: Sequence[Dim | None], other: Sequence[Dim | None]) -> bool:
    """Whether two shapes are certainly not the same."""
    compare = call.context.comparison()
    return len(one) != len(other) or any(
        a is not None and b is not None and not same(a, b) and compare(a, b) for a, b in zip(one, other, strict=True)
    )


def _keeps(call: Call, what: str, before: Value, after: Value) -> bool:
    """Whether what a loop carries may be what it was before; else it is reported."""
    match before, after:
        case Pack(items=one, keys=keys), Pack(items=other, keys=others) if len(one) == len(other) and keys == others:
            return all(_keeps(call, what, a, b) for a, b in zip(one, other, strict=True))
        case Array(flow=flow), Array(flow=later) if flow.shape is not None and later.shape is not None:
            shapes = (flow.shape, later.shape)
            differ = _differ(call, *shapes)
            if differ:
                before_it, after_it = (f"({written_shape(shape, ', ')})" for shape in shapes)
                call.complain(f"{what}: the carry is {before_it}, the function gives back {after_it}")
            return not differ
        case _:
            return True


def _better(carry: Value, after: Value) -> Value:
    """What is known of a carry after a loop."""
    match carry, after:
        case Pack(items=one), Pack(items=other) if len(one) == len(other):
            return replace(carry, items=tuple(map(_better, one, other)), frozen=True)
        case Array(flow=flow), _ if flow.shape is not None:
            return carry if not isinstance(after, Array) or after.kind == carry.kind else replace(carry, kind="")
        case Array() | Number() | Constant(), _:
            return after if isinstance(after, Array) else UNKNOWN
        case _:
            return after


def looped(call: Call) -> Value:
    """``fori_loop(0, n, body, init)``, ``while_loop(condition, body, init)``."""
    if call.spread:
        return UNKNOWN
    counts = call.name.endswith("fori_loop")
    function = call.argument(2, "body_fun") if counts else call.argument(1, "body_fun")
    carry = call.argument(3, "init_val") if counts else call.argument(2, "init_val")
    index = Array(Flow.of(()), "Int", library="jax")
    after = _called(call, function, (index, carry) if counts else (carry,))
    what = "fori_loop" if counts else "while_loop"
    return _better(carry, after) if _keeps(call, what, carry, after) else UNKNOWN


def branched(call: Call) -> Value:
    """``cond(condition, yes, no, *operands)``: both give the same shape."""
    if call.spread or call.keywords or len(call.arguments) < 3:
        return UNKNOWN
    _, yes, no, *operands = call.arguments
    one, other = (_called(call, each, operands) for each in (yes, no))
    if isinstance(one, Array) and isinstance(other, Array) and one.flow.shape is not None:
        shape, second = one.flow.shape, other.flow.shape
        if second is not None and _differ(call, shape, second):
            sizes = (f"({written_shape(each, ', ')})" for each in (shape, second))
            return call.complain(f"cond: the branches give {' and '.join(sizes)}")
    return join(one, other)


def mapped_over(call: Call) -> Value:
    """``lax.map(f, xs)``."""
    sizes: list[Dim] = []
    x = _without_first(call, call.argument(1, "xs"), sizes)
    if call.spread or x is None:
        return UNKNOWN
    return _with(call, _called(call, call.argument(0, "f"), (x,)), number(0), _common(sizes))


_SAME = ("jax.jit", "jax.checkpoint", "jax.remat", "equinox.filter_jit", "equinox.filter_checkpoint")
_NAMES = {
    "jax.vmap": "jax.vmap",
    "jax.grad": "jax.grad",
    "jax.value_and_grad": "jax.value_and_grad",
}
TABLE: dict[str, Analysis] = {
    **dict.fromkeys(_SAME, same_function),
    **dict.fromkeys(_NAMES, made),
    "jax.vmap()": mapped,
    **dict.fromkeys(("jax.grad()", "jax.value_and_grad()"), differentiated),
    "jax.lax.scan": scanned,
    **dict.fromkeys(("jax.lax.fori_loop", "jax.lax.while_loop"), looped),
    "jax.lax.cond": branched,
    "jax.lax.map": mapped_over,
}
