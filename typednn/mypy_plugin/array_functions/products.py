"""Products of matrices and tensors."""

from __future__ import annotations

from typednn.mypy_plugin.array_functions.rows import (
    ONE,
    Misfit,
    Operands,
    Row,
    Shape,
    broadcast,
    certain,
    fits_into,
    into,
    made,
    outside,
    places_of,
    replaced,
    total,
    written,
)
from typednn.mypy_plugin.values import UNKNOWN, Constant, Pack, Value, integer_of
from typednn.shapes import Dim


def _contracted(o: Operands, what: str, a: Shape, b: Shape, second: str, cure: str = "") -> tuple[Shape, Shape]:
    """What is left of two shapes after a sum over the last axis of a and the last but one of b."""
    place = max(0, len(b) - 2)
    o.meet(a[-1], b[place], f"{what}: {a[-1]} columns meet {b[place]} rows{cure}", o[second], place)
    return a[:-1], replaced(b, place)


def _last_axes_meet(o: Operands, what: str, a: Shape, b: Shape, second: str) -> None:
    message = f"{what} of {written(a)} and {written(b)}: last axes {a[-1]} and {b[-1]}"
    o.meet(a[-1], b[-1], message, o[second], len(b) - 1)


def together(o: Operands, a: Shape, b: Shape) -> Shape:
    """The common shape of the axes before those of a product."""
    return certain(broadcast([made(a), made(b)], o.differ))


def matmul(o: Operands) -> Value:
    """``a @ b``: the last axis of a with the last but one of b; those before broadcast."""
    kind = o.kind("x1", "x2")
    a, b = certain(o.both("x1", "x2"), kind)
    what = f"{written(a)} @ {written(b)}"
    if not a or not b:
        raise Misfit(f"{what}: a number has no axis to sum over; write *")
    turned = len(a) == len(b) == 2 and a[-1] is not None and a[-1] == b[-1]
    left, right = _contracted(o, what, a, b, "x2", "; transpose the second one: .T" if turned else "")
    before, ends = together(o, a[:-2], b[:-2]), [*left[-1:], *right[-1:]]
    out = o.shape("out") if o.values.get("out", Constant(None)) != Constant(None) else None
    if out is not None and len(out) >= len(ends):
        fits_into(out[len(out) - len(ends) :], ends, o.differ, "out")
    return into(o, [*before, *ends], kind, stretched=True, deeper=True)


def _dot(o: Operands) -> Value:
    kind = o.kind("a", "b")
    a, b = certain(o.both("a", "b"), kind)
    if a and b:
        a, b = _contracted(o, f"dot of {written(a)} and {written(b)}", a, b, "b")
    return into(o, [*a, *b], kind)


def _inner(o: Operands) -> Value:
    a, b = certain(o.both("a", "b"))
    if a and b:
        _last_axes_meet(o, "inner", a, b, "b")
        a, b = a[:-1], b[:-1]
    return made([*a, *b], o.kind("a", "b"))


def _outer(o: Operands) -> Value:
    kind = o.kind("a", "b")
    sizes = list(map(total, certain(o.both("a", "b"), kind)))
    return into(o, sizes, kind, stretched=True, deeper=True)


def _vdot(o: Operands) -> Value:
    shapes = o.both("a", "b")
    if shapes is not None:
        a, b = map(total, shapes)
        o.meet(a, b, f"vdot of {written(shapes[0])} and {written(shapes[1])}: {a} and {b} elements", o["b"], 0)
    return made([], o.kind("a", "b"))


def _tensordot(o: Operands) -> Value:
    kind, axes = o.kind("a", "b"), o["axes"]
    a, b = certain(o.both("a", "b"), kind)
    count = integer_of(axes)
    if count is not None:
        if count > min(len(a), len(b)):
            raise Misfit(f"tensordot over {count} axes of {written(a)} and {written(b)}")
        first, second = list(range(len(a) - count, len(a))), list(range(count))
    else:
        both = axes.items if isinstance(axes, Pack) and len(axes.items) == 2 else (UNKNOWN, UNKNOWN)
        first, second = (certain(places_of(side, shape), kind) for side, shape in zip(both, (a, b), strict=True))
        if len(first) != len(second):
            raise Misfit(f"tensordot: {len(first)} axes meet {len(second)}")
    for x, y in zip(first, second, strict=True):
        message = f"tensordot of {written(a)} and {written(b)}: axis {x} is {a[x]}, axis {y} is {b[y]}"
        o.meet(a[x], b[y], message, o["b"], y)
    return made([*outside(a, first), *outside(b, second)], kind)


def _kron(o: Operands) -> Value:
    a, b = certain(o.both("a", "b"))
    pairs = zip([ONE] * (len(b) - len(a)) + a, [ONE] * (len(a) - len(b)) + b, strict=True)
    return made([None if x is None or y is None else x * y for x, y in pairs], o.kind("a", "b"))


def _cross(o: Operands) -> Value:
    a, b = shapes = certain(o.both("a", "b"))
    if any(o.integer(name) != -1 for name in ("axis", "axisa", "axisb", "axisc")):
        return UNKNOWN
    sizes = [shape[-1].value if shape[-1] is not None else None for shape in shapes if shape]
    if len(sizes) < 2 or any(size not in (None, 2, 3) for size in sizes):
        raise Misfit(f"cross of {written(a)} and {written(b)}: the last axis must have 2 or 3 elements")
    common = together(o, a[:-1], b[:-1])
    return UNKNOWN if None in sizes else made([*common, *([Dim.of(3)] if 3 in sizes else [])], o.kind("a", "b"))


def _vecdot(o: Operands) -> Value:
    a, b = certain(o.both("x1", "x2"))
    if not a or not b:
        raise Misfit(f"vecdot of {written(a)} and {written(b)}: a number has no axis to sum over")
    _last_axes_meet(o, "vecdot", a, b, "x2")
    return made(together(o, a[:-1], b[:-1]), o.kind("x1", "x2"))


def _convolved(o: Operands) -> Value:
    shapes = certain(o.both("a", "v"))
    for shape in shapes:
        if len(shape) > 1:
            raise Misfit(f"convolution of {written(shapes[0])} and {written(shapes[1])}: each needs one axis")
        if shape and shape[0] is not None and shape[0].value == 0:
            raise Misfit("convolution of no elements")
    a, b = (shape[0] if shape else ONE for shape in shapes)
    size = None
    match o["mode"]:
        case Constant(value="full") if a is not None and b is not None:
            size = a + b - 1
        case Constant(value="same" | "valid" as mode) if (
            a is not None and b is not None and a.value is not None and b.value is not None
        ):
            size = Dim.of(max(a.value, b.value) if mode == "same" else abs(a.value - b.value) + 1)
        case _:
            pass
    return made([size], o.kind("a", "v"))


def _correlated(o: Operands) -> Value:
    if [] in (o.shape("a"), o.shape("v")):
        raise Misfit("correlate: a number has no axis")
    return _convolved(o)


_PRODUCT = "x1, x2, /, out=None, *, casting='same_kind', order='K', dtype=None, subok=True"
TABLE: dict[str, Row] = {
    **dict.fromkeys(("@", "numpy.matmul"), Row(_PRODUCT, matmul)),
    **dict.fromkeys(("numpy.dot", "Array.dot()"), Row("a, b, out=None", _dot)),
    "numpy.inner": Row("a, b, /", _inner),
    "numpy.outer": Row("a, b, out=None", _outer),
    "numpy.vdot": Row("a, b, /", _vdot),
    "numpy.tensordot": Row("a, b, axes=2", _tensordot),
    "numpy.kron": Row("a, b", _kron),
    "numpy.vecdot": Row("x1, x2, /", _vecdot),
    "numpy.cross": Row("a, b, axisa=-1, axisb=-1, axisc=-1, axis=-1", _cross),
    "numpy.convolve": Row("a, v, mode='full'", _convolved),
    "numpy.correlate": Row("a, v, mode='valid'", _correlated),
}
