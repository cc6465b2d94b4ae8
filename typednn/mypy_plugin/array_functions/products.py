"""Products of matrices and tensors, and linear algebra."""

from __future__ import annotations

import re
from collections.abc import Callable

from typednn.mypy_plugin.array_functions import dtypes
from typednn.mypy_plugin.array_functions.rows import (
    ONE,
    Conflict,
    Misfit,
    Operands,
    Row,
    Shape,
    broadcast,
    dtype_of,
    fits_into,
    gathered,
    into,
    kind_of,
    made,
    position,
    shape_of,
    total,
    written,
)
from typednn.mypy_plugin.values import UNKNOWN, Constant, Pack, Value, integer_of
from typednn.shapes import Dim


def _two(o: Operands, a: str, b: str) -> tuple[Shape, Shape] | None:
    first, second = o.shape(a), o.shape(b)
    return None if first is None or second is None else (first, second)


def _sum_kind(o: Operands, a: str, b: str) -> str:
    return dtypes.promoted(o.kind(a), o.kind(b))


def _meet(o: Operands, x: Dim | None, y: Dim | None, message: str, blamed: Value, axis: int) -> None:
    try:
        o.meet(x, y)
    except Conflict:
        raise Misfit(message, blamed, axis) from None


def matmul(o: Operands) -> Value:
    """``a @ b``: the last axis of a with the last but one of b; those before broadcast."""
    kind, shapes = _sum_kind(o, "x1", "x2"), _two(o, "x1", "x2")
    if shapes is None:
        return made(None, kind)
    a, b = shapes
    if not a or not b:
        raise Misfit(f"{written(a)} @ {written(b)}: a number has no axis to sum over; write *")
    rows = b[-2] if len(b) > 1 else b[0]
    left, right = written(a), written(b)
    turned = len(a) == len(b) == 2 and _equal(o, a[-1], b[-1])
    cure = "; transpose the second one: .T" if turned else ""
    _meet(o, a[-1], rows, f"{left} @ {right}: {a[-1]} columns meet {rows} rows{cure}", o["x2"], max(0, len(b) - 2))
    before = broadcast([made(a[:-2]), made(b[:-2])], o.differ) if len(a) > 2 or len(b) > 2 else []
    if before is None:
        return made(None, kind)
    ends = [*(a[-2:-1] if len(a) > 1 else []), *(b[-1:] if len(b) > 1 else [])]
    out = o.shape("out") if o.values.get("out", Constant(None)) != Constant(None) else None
    if out is not None and len(out) >= len(ends):
        fits_into(out[len(out) - len(ends) :], ends, o.differ, "out")
    return into(o, [*before, *ends], kind, stretched=True, deeper=True)


def _equal(o: Operands, x: Dim | None, y: Dim | None) -> bool:
    return x is not None and x == y


def _dot(o: Operands) -> Value:
    kind, shapes = _sum_kind(o, "a", "b"), _two(o, "a", "b")
    if shapes is None:
        return made(None, kind)
    a, b = shapes
    if not a or not b:
        return into(o, [*a, *b], kind)
    rows = b[-2] if len(b) > 1 else b[0]
    _meet(
        o,
        a[-1],
        rows,
        f"dot of {written(a)} and {written(b)}: {a[-1]} columns meet {rows} rows",
        o["b"],
        max(0, len(b) - 2),
    )
    return into(o, [*a[:-1], *b[:-2], *(b[-1:] if len(b) > 1 else [])], kind)


def _inner(o: Operands) -> Value:
    shapes = _two(o, "a", "b")
    if shapes is None:
        return UNKNOWN
    a, b = shapes
    if not a or not b:
        return made([*a, *b], _sum_kind(o, "a", "b"))
    _meet(o, a[-1], b[-1], f"inner of {written(a)} and {written(b)}: last axes {a[-1]} and {b[-1]}", o["b"], len(b) - 1)
    return made([*a[:-1], *b[:-1]], _sum_kind(o, "a", "b"))


def _outer(o: Operands) -> Value:
    shapes = _two(o, "a", "b")
    return into(
        o,
        None if shapes is None else [total(each) for each in shapes],
        _sum_kind(o, "a", "b"),
        stretched=True,
        deeper=True,
    )


def _vdot(o: Operands) -> Value:
    shapes = _two(o, "a", "b")
    if shapes is not None:
        a, b = map(total, shapes)
        _meet(o, a, b, f"vdot of {written(shapes[0])} and {written(shapes[1])}: {a} and {b} elements", o["b"], 0)
    return made([], _sum_kind(o, "a", "b"))


def _tensordot(o: Operands) -> Value:
    kind, shapes, axes = _sum_kind(o, "a", "b"), _two(o, "a", "b"), o["axes"]
    if shapes is None:
        return made(None, kind)
    a, b = shapes
    count = integer_of(axes)
    if count is not None:
        if count > min(len(a), len(b)):
            raise Misfit(f"tensordot over {count} axes of {written(a)} and {written(b)}")
        first, second = list(range(len(a) - count, len(a))), list(range(count))
    elif isinstance(axes, Pack) and len(axes.items) == 2:
        places = [
            [integer_of(each) for each in (side.items if isinstance(side, Pack) else (side,))] for side in axes.items
        ]
        if None in places[0] or None in places[1]:
            return made(None, kind)
        first, second = (
            [position(each or 0, len(shape), shape) for each in side]
            for side, shape in zip(places, (a, b), strict=True)
        )
        if len(first) != len(second):
            raise Misfit(f"tensordot: {len(first)} axes meet {len(second)}")
    else:
        return made(None, kind)
    for x, y in zip(first, second, strict=True):
        _meet(
            o,
            a[x],
            b[y],
            f"tensordot of {written(a)} and {written(b)}: axis {x} is {a[x]}, axis {y} is {b[y]}",
            o["b"],
            y,
        )
    kept = (
        [size for place, size in enumerate(a) if place not in first],
        [size for place, size in enumerate(b) if place not in second],
    )
    return made([*kept[0], *kept[1]], kind)


def _einsum(o: Operands) -> Value:
    operands, subscripts = o["operands"], o["subscripts"]
    text = subscripts.value if isinstance(subscripts, Constant) else None
    if not isinstance(operands, Pack) or not isinstance(text, str):
        return UNKNOWN
    kind = dtypes.promoted(*map(kind_of, operands.items))
    inputs, arrow, output = text.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if not re.fullmatch(r"[A-Za-z.,]*", inputs) or not re.fullmatch(r"[A-Za-z.]*", output):
        raise Misfit(f'einsum "{text}": letters, commas, dots and one -> stand in it')
    if len(terms) != len(operands.items):
        raise Misfit(f'einsum "{text}": {len(terms)} terms, got {len(operands.items)} arrays')
    sizes: dict[str, Dim | None] = {}
    dots: list[Value] = []
    known = True
    for term, operand in zip(terms, operands.items, strict=True):
        shape = shape_of(operand, o.differ)
        before, has_dots, after = term.partition("...")
        if shape is None:
            known = known and not has_dots
            for letter in before + after:
                sizes.setdefault(letter, None)
            continue
        extra = len(shape) - len(before) - len(after)
        if extra < 0 or (extra and not has_dots):
            raise Misfit(
                f'einsum "{text}": {term} names {len(before) + len(after)} axes, {written(shape)} has {len(shape)}',
                operand,
            )
        places = [
            *zip(before, shape[: len(before)], strict=True),
            *zip(after, shape[len(shape) - len(after) :], strict=True),
        ]
        own: dict[str, Dim | None] = {}
        for letter, size in places:
            if letter in own:
                axis, message = shape.index(size), f'einsum "{text}": {letter} is {own[letter]} and {size}'
                _meet(o, own[letter], size, message, operand, axis)
            own[letter] = size
            _unify(o, text, sizes, letter, size, operand, shape)
        if has_dots:
            dots.append(made(shape[len(before) : len(shape) - len(after)]))
    letters = "".join(terms).replace(".", "")
    if not arrow:
        output = ("..." if dots or "..." in inputs else "") + "".join(
            sorted(each for each in set(letters) if letters.count(each) == 1)
        )
    before, has_dots, after = output.partition("...")
    for letter in before + after:
        if letter not in letters:
            raise Misfit(f'einsum "{text}": {letter} stands in the output alone')
        if (before + after).count(letter) > 1:
            raise Misfit(f'einsum "{text}": {letter} stands twice in the output')
    middle = broadcast(dots, o.differ) if dots and known else None if not known else []
    if dots and not has_dots and middle:
        raise Misfit(f'einsum "{text}": the output lacks the axes of ...')
    if has_dots and middle is None:
        return made(None, kind)
    result = [
        *(sizes[each] for each in before),
        *((middle or []) if has_dots else []),
        *(sizes[each] for each in after),
    ]
    return into(o, result, kind, stretched=True)


def _unify(
    o: Operands, text: str, sizes: dict[str, Dim | None], letter: str, size: Dim | None, operand: Value, shape: Shape
) -> None:
    earlier = sizes.get(letter)
    if (
        earlier is not None
        and size is not None
        and (earlier.value == 1) != (size.value == 1)
        and (earlier.value or size.value) is not None
    ):
        one = earlier.value == 1  # NumPy stretches an axis of one element
        sizes[letter] = (
            (size if size.value is not None else None) if one else earlier if earlier.value is not None else None
        )
        return
    try:
        sizes[letter] = o.meet(earlier, size)
    except Conflict:
        raise Misfit(f'einsum "{text}": {letter} is {earlier} and {size}', operand, shape.index(size)) from None


def _square(shape: Shape, what: str, o: Operands, name: str) -> None:
    if len(shape) < 2:
        raise Misfit(f"{what} of {written(shape)}: needs a matrix, 2 axes")
    _meet(
        o,
        shape[-2],
        shape[-1],
        f"{what} of {written(shape)}: {shape[-2]} rows and {shape[-1]} columns; the matrix must be square",
        o[name],
        len(shape) - 1,
    )


def _matrix(o: Operands, what: str, *, square: bool = False) -> Shape | None:
    shape = o.shape("a")
    if shape is not None and square:
        _square(shape, what, o, "a")
    elif shape is not None and len(shape) < 2:
        raise Misfit(f"{what} of {written(shape)}: needs a matrix, 2 axes")
    return shape


def _of_square(what: str, parameters: str = "a") -> Row:
    """A square matrix from a square matrix."""
    return Row(parameters, lambda o: made(_matrix(o, what, square=True), dtypes.solved(o.kind("a"))))


def _determinant(o: Operands) -> Value:
    shape = _matrix(o, "det", square=True)
    return made(None if shape is None else shape[:-2], dtypes.solved(o.kind("a")))


def _slogdet(o: Operands) -> Value:
    result = _determinant(o)
    return Pack((result, result), frozen=True) if result is not UNKNOWN else UNKNOWN


def _power(o: Operands) -> Value:
    return made(_matrix(o, "matrix_power", square=True))


def _eigenvalues(*, vectors: bool, symmetric: bool) -> Callable[[Operands], Value]:
    def rule(o: Operands) -> Value:
        shape = _matrix(o, "eigenvalues", square=True)
        if shape is None:
            return UNKNOWN
        kind = dtypes.solved(o.kind("a")) if symmetric else ""  # eig gives complex numbers where it must
        values = made(shape[:-1], dtypes.real(kind))
        return Pack((values, made(shape, kind)), frozen=True) if vectors else values

    return rule


def _smaller(shape: Shape) -> Dim | None:
    """The smaller one of the sizes of a matrix."""
    a, b = shape[-2:]
    if a is None or b is None:
        return None
    if a == b or a.value is None or b.value is None:
        return a if a == b else None
    return a if a.value < b.value else b


def _svd(o: Operands) -> Value:
    shape, kind, full = _matrix(o, "svd"), dtypes.solved(o.kind("a")), o.flag("full_matrices")
    if shape is None:
        return UNKNOWN
    less = _smaller(shape)
    values = made([*shape[:-2], less], dtypes.real(kind))
    if o.flag("compute_uv") is not True:
        return values if o.flag("compute_uv") is False else UNKNOWN
    if full is None:
        return UNKNOWN
    left, right = (shape[-2], shape[-1]) if full else (less, less)
    return Pack(
        (made([*shape[:-2], shape[-2], left], kind), values, made([*shape[:-2], right, shape[-1]], kind)), frozen=True
    )


def _singular_values(o: Operands) -> Value:
    shape = o.shape("x")
    if shape is None:
        return UNKNOWN
    if len(shape) < 2:
        raise Misfit(f"svdvals of {written(shape)}: needs a matrix, 2 axes")
    return made([*shape[:-2], _smaller(shape)], dtypes.real(dtypes.solved(o.kind("x"))))


def _qr(o: Operands) -> Value:
    shape, kind = _matrix(o, "qr"), dtypes.solved(o.kind("a"))
    match o["mode"]:
        case Constant(value="reduced") if shape is not None:
            left = _smaller(shape)
        case Constant(value="complete") if shape is not None:
            left = shape[-2]
        case Constant(value="r") if shape is not None:
            return made([*shape[:-2], _smaller(shape), shape[-1]], kind)
        case _:
            return UNKNOWN
    return Pack((made([*shape[:-1], left], kind), made([*shape[:-2], left, shape[-1]], kind)), frozen=True)


def _pinv(o: Operands) -> Value:
    shape = _matrix(o, "pinv")
    return made(
        None if shape is None else [*shape[:-2], shape[-1], shape[-2]],
        dtypes.solved(o.kind("a")) if dtypes.family(o.kind("a")) == "Float" else "",
    )


def _solve(o: Operands) -> Value:
    kind, shapes = dtypes.solved(o.kind("a"), o.kind("b")), _two(o, "a", "b")
    if shapes is None:
        return made(None, kind)
    a, b = shapes
    _square(a, "solve", o, "a")
    if len(b) == 1:
        _meet(o, a[-1], b[0], f"solve: {a[-1]} equations, got {b[0]} right sides", o["b"], 0)
        return made(a[:-1], kind)
    if not b:
        raise Misfit("solve: a number has no axis; the right sides need one")
    _meet(o, a[-1], b[-2], f"solve: {a[-1]} equations, got {b[-2]} rows", o["b"], len(b) - 2)
    before = broadcast([made(a[:-2]), made(b[:-2])], o.differ)
    return made(None if before is None else [*before, *b[-2:]], kind)


def _least_squares(o: Operands) -> Value:
    kind, shapes = dtypes.solved(o.kind("a"), o.kind("b")), _two(o, "a", "b")
    if shapes is None:
        return UNKNOWN
    a, b = shapes
    if len(a) != 2 or len(b) not in (1, 2):
        raise Misfit(f"lstsq of {written(a)} and {written(b)}: needs a matrix, and a vector or a matrix")
    _meet(o, a[0], b[0], f"lstsq: {a[0]} equations, got {b[0]} rows", o["b"], 0)
    values = made([_smaller(a)], dtypes.real(kind))
    return Pack((made([a[1], *b[1:]], kind), made([None], dtypes.real(kind)), UNKNOWN, values), frozen=True)


def _kron(o: Operands) -> Value:
    shapes = _two(o, "a", "b")
    if shapes is None:
        return UNKNOWN
    a, b = shapes
    pairs = zip([ONE] * (len(b) - len(a)) + a, [ONE] * (len(a) - len(b)) + b, strict=True)
    return made([None if x is None or y is None else x * y for x, y in pairs], _sum_kind(o, "a", "b"))


def _cross(o: Operands) -> Value:
    shapes = _two(o, "a", "b")
    if shapes is None or o.integer("axis") != -1 or any(o.integer(name) != -1 for name in ("axisa", "axisb", "axisc")):
        return UNKNOWN
    a, b = shapes
    sizes = [shape[-1].value if shape[-1] is not None else None for shape in shapes if shape]
    if len(sizes) < 2 or any(size not in (None, 2, 3) for size in sizes):
        raise Misfit(f"cross of {written(a)} and {written(b)}: the last axis must have 2 or 3 elements")
    common = broadcast([made(a[:-1]), made(b[:-1])], o.differ)
    if common is None or None in sizes:
        return UNKNOWN
    return made([*common, *([Dim.of(3)] if 3 in sizes else [])], _sum_kind(o, "a", "b"))


def _two_places(o: Operands, what: str) -> tuple[Shape, int, int] | None:
    shape = o.shape("a")
    if shape is None:
        return None
    if len(shape) < 2:
        raise Misfit(f"{what} of {written(shape)}: needs 2 axes")
    first, second = o.axis("axis1", len(shape), shape), o.axis("axis2", len(shape), shape)
    if first is None or second is None:
        return None
    if first == second:
        raise Misfit(f"{what} of {written(shape)}: axis1 and axis2 are both {first}")
    return shape, first, second


def _trace(o: Operands) -> Value:
    found, wanted = _two_places(o, "trace"), dtype_of(o["dtype"])
    kind = dtypes.summed(o.kind("a")) if wanted is None else wanted
    return into(
        o, None if found is None else [size for place, size in enumerate(found[0]) if place not in found[1:]], kind
    )


def diagonal(rows: Dim | None, columns: Dim | None, offset: int | None) -> Dim | None:
    """How many elements a diagonal has."""
    if rows is None or columns is None or offset is None:
        return None
    if rows.value is not None and columns.value is not None:
        return Dim.of(max(0, min(rows.value + min(offset, 0), columns.value - max(offset, 0))))
    return rows if offset == 0 and rows == columns else None


def _diagonal(o: Operands) -> Value:
    found = _two_places(o, "diagonal")
    if found is None:
        return UNKNOWN
    shape, first, second = found
    rest = [size for place, size in enumerate(shape) if place not in (first, second)]
    return made([*rest, diagonal(shape[first], shape[second], o.integer("offset"))], o.kind("a"))


def _vecdot(o: Operands) -> Value:
    shapes = _two(o, "x1", "x2")
    if shapes is None:
        return UNKNOWN
    a, b = shapes
    if not a or not b:
        raise Misfit(f"vecdot of {written(a)} and {written(b)}: a number has no axis to sum over")
    _meet(
        o, a[-1], b[-1], f"vecdot of {written(a)} and {written(b)}: last axes {a[-1]} and {b[-1]}", o["x2"], len(b) - 1
    )
    return made(broadcast([made(a[:-1]), made(b[:-1])], o.differ), _sum_kind(o, "x1", "x2"))


def _chained(o: Operands) -> Value:
    found = gathered(o, "arrays")
    if found is None or len(found[0]) < 2:
        return UNKNOWN
    values, shapes = found
    for place, shape in enumerate(shapes):
        if len(shape) != 2 and not (len(shape) == 1 and place in (0, len(shapes) - 1)):
            raise Misfit(f"multi_dot: {written(shape)} is no matrix")
    result = values[0]
    for each in values[1:]:
        result = matmul(Operands({"x1": result, "x2": each}, o.differ))
    return result


def _convolved(o: Operands) -> Value:
    shapes = _two(o, "a", "v")
    if shapes is None:
        return UNKNOWN
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
    return made([size], _sum_kind(o, "a", "v"))


def _correlated(o: Operands) -> Value:
    if [] in (o.shape("a"), o.shape("v")):
        raise Misfit("correlate: a number has no axis")
    return _convolved(o)


_PRODUCT = "x1, x2, /, out=None, *, casting='same_kind', order='K', dtype=None, subok=True"
TABLE: dict[str, Row] = {
    "@": Row(_PRODUCT, matmul),
    "numpy.matmul": Row(_PRODUCT, matmul),
    "numpy.dot": Row("a, b, out=None", _dot),
    "Array.dot()": Row("a, b, out=None", _dot),
    "numpy.inner": Row("a, b, /", _inner),
    "numpy.outer": Row("a, b, out=None", _outer),
    "numpy.vdot": Row("a, b, /", _vdot),
    "numpy.tensordot": Row("a, b, axes=2", _tensordot),
    "numpy.einsum": Row(
        "subscripts, *operands, out=None, dtype=None, order='K', casting='safe', optimize=False", _einsum
    ),
    "numpy.kron": Row("a, b", _kron),
    "numpy.vecdot": Row("x1, x2, /", _vecdot),
    "numpy.cross": Row("a, b, axisa=-1, axisb=-1, axisc=-1, axis=-1", _cross),
    "numpy.convolve": Row("a, v, mode='full'", _convolved),
    "numpy.correlate": Row("a, v, mode='valid'", _correlated),
    "numpy.linalg.multi_dot": Row("arrays, *, out=None", _chained),
    "numpy.linalg.inv": _of_square("inv"),
    "numpy.linalg.cholesky": _of_square("cholesky", "a, /, *, upper=False"),
    "numpy.linalg.det": Row("a", _determinant),
    "numpy.linalg.slogdet": Row("a", _slogdet),
    "numpy.linalg.matrix_power": Row("a, n", _power),
    "numpy.linalg.eigh": Row("a, UPLO='L'", _eigenvalues(vectors=True, symmetric=True)),
    "numpy.linalg.eigvalsh": Row("a, UPLO='L'", _eigenvalues(vectors=False, symmetric=True)),
    "numpy.linalg.eig": Row("a", _eigenvalues(vectors=True, symmetric=False)),
    "numpy.linalg.eigvals": Row("a", _eigenvalues(vectors=False, symmetric=False)),
    "numpy.linalg.svd": Row("a, full_matrices=True, compute_uv=True, hermitian=False", _svd),
    "numpy.linalg.svdvals": Row("x, /", _singular_values),
    "numpy.linalg.qr": Row("a, mode='reduced'", _qr),
    "numpy.linalg.pinv": Row("a, rcond=None, hermitian=False, *, rtol=None", _pinv),
    "numpy.linalg.lstsq": Row("a, b, rcond=None", _least_squares),
    "numpy.linalg.solve": Row("a, b", _solve),
    "numpy.trace": Row("a, offset=0, axis1=0, axis2=1, dtype=None, out=None", _trace),
    "Array.trace()": Row("a, offset=0, axis1=0, axis2=1, dtype=None, out=None", _trace),
    "numpy.diagonal": Row("a, offset=0, axis1=0, axis2=1", _diagonal),
    "Array.diagonal()": Row("a, offset=0, axis1=0, axis2=1", _diagonal),
}
