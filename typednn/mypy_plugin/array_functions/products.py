"""Products of matrices and tensors, and linear algebra."""

from __future__ import annotations

import re
from collections.abc import Sequence

from typednn.mypy_plugin.array_functions import dtypes
from typednn.mypy_plugin.array_functions.elementwise import into
from typednn.mypy_plugin.array_functions.rows import Conflict, Misfit, Operands, Row, Shape, broadcast, dtype_of, made, shape_of, written
from typednn.mypy_plugin.array_functions.rows import kind_of as _kind
from typednn.mypy_plugin.values import UNKNOWN, Constant, Pack, Value, integer_of
from typednn.shapes import Dim


def _two(o: Operands, a: str, b: str) -> tuple[Shape, Shape] | None:
    first, second = o.shape(a), o.shape(b)
    return None if first is None or second is None else (first, second)


def _sum_kind(o: Operands, a: str, b: str) -> str:
    return dtypes.strong(dtypes.promoted(o.kind(a), o.kind(b)))


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
    return into(o, [*before, *ends], kind)


def _equal(o: Operands, x: Dim | None, y: Dim | None) -> bool:
    return x is not None and x == y


def _dot(o: Operands) -> Value:
    kind, shapes = _sum_kind(o, "a", "b"), _two(o, "a", "b")
    if shapes is None:
        return made(None, kind)
    a, b = shapes
    if not a or not b:
        return made([*a, *b], kind)
    rows = b[-2] if len(b) > 1 else b[0]
    _meet(o, a[-1], rows, f"dot of {written(a)} and {written(b)}: {a[-1]} columns meet {rows} rows", o["b"], max(0, len(b) - 2))
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
    return UNKNOWN if shapes is None else made([_elements(each) for each in shapes], _sum_kind(o, "a", "b"))


def _elements(shape: Shape) -> Dim | None:
    result = Dim.of(1)
    for size in shape:
        if size is None:
            return None
        result = result * size
    return result


def _vdot(o: Operands) -> Value:
    shapes = _two(o, "a", "b")
    if shapes is not None:
        a, b = map(_elements, shapes)
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
        places = [[integer_of(each) for each in (side.items if isinstance(side, Pack) else (side,))] for side in axes.items]
        if None in places[0] or None in places[1]:
            return made(None, kind)
        first, second = ([_place(each or 0, shape) for each in side] for side, shape in zip(places, (a, b), strict=True))
        if len(set(first)) < len(first) or len(set(second)) < len(second):
            raise Misfit(f"tensordot of {written(a)} and {written(b)}: give each axis once")
        if len(first) != len(second):
            raise Misfit(f"tensordot: {len(first)} axes meet {len(second)}")
    else:
        return made(None, kind)
    for x, y in zip(first, second, strict=True):
        _meet(o, a[x], b[y], f"tensordot of {written(a)} and {written(b)}: axis {x} is {a[x]}, axis {y} is {b[y]}", o["b"], y)
    kept = [size for place, size in enumerate(a) if place not in first], [size for place, size in enumerate(b) if place not in second]
    return made([*kept[0], *kept[1]], kind)


def _place(place: int, shape: Shape) -> int:
    if not -len(shape) <= place < len(shape):
        raise Misfit(f"axis {place} of {written(shape)}: has {len(shape)} axes")
    return place % len(shape)


def _einsum(o: Operands) -> Value:
    operands, subscripts = o["operands"], o["subscripts"]
    if not isinstance(operands, Pack) or not isinstance(subscripts, Constant) or not isinstance(subscripts.value, str):
        return UNKNOWN
    text = subscripts.value
    kind = dtypes.strong(dtypes.promoted(*map(_kind, operands.items)))
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
            raise Misfit(f'einsum "{text}": {term} names {len(before) + len(after)} axes, {written(shape)} has {len(shape)}', operand)
        places = [*zip(before, shape[: len(before)], strict=True), *zip(after, shape[len(shape) - len(after) :], strict=True)]
        for letter in set(before + after):
            _diagonal_of(o, text, letter, [size for each, size in places if each == letter], operand)
        for letter, size in places:
            _unify(o, text, sizes, letter, size, operand, shape)
        if has_dots:
            dots.append(made(shape[len(before) : len(shape) - len(after)]))
    letters = "".join(terms).replace(".", "")
    if not arrow:
        output = ("..." if dots or "..." in inputs else "") + "".join(sorted(each for each in set(letters) if letters.count(each) == 1))
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
    return made([*(sizes[each] for each in before), *((middle or []) if has_dots else []), *(sizes[each] for each in after)], kind)


def _diagonal_of(o: Operands, text: str, letter: str, sizes: Shape, operand: Value) -> None:
    """A letter that stands twice in one term: NumPy stretches nothing there."""
    for size in sizes[1:]:
        if sizes[0] != Dim.of(0):  # then NumPy takes the other size
            _meet(o, sizes[0], size, f'einsum "{text}": {letter} is {sizes[0]} and {size}', operand, 0)


def _unify(o: Operands, text: str, sizes: dict[str, Dim | None], letter: str, size: Dim | None, operand: Value, shape: Shape) -> None:
    earlier = sizes.get(letter)
    if earlier is not None and size is not None and (earlier.value == 1) != (size.value == 1) and (earlier.value or size.value) is not None:
        one = earlier.value == 1  # NumPy stretches an axis of one element
        sizes[letter] = (size if size.value is not None else None) if one else earlier if earlier.value is not None else None
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


def _of_square(what: str, gives: "Sequence[int] | None") -> Row:
    def rule(o: Operands) -> Value:
        shape = o.shape("a")
        if shape is None:
            return UNKNOWN
        _square(shape, what, o, "a")
        return made(shape if gives is None else [*shape[:-2], *(shape[place] for place in gives)], dtypes.quotient(o.kind("a")))

    return Row("a", rule)


def _solve(o: Operands) -> Value:
    shapes = _two(o, "a", "b")
    if shapes is None:
        return UNKNOWN
    a, b = shapes
    kind = dtypes.promoted(*(dtypes.quotient(o.kind(name)) for name in ("a", "b")))
    _square(a, "solve", o, "a")
    if len(b) == 1:
        _meet(o, a[-1], b[0], f"solve: {a[-1]} equations, got {b[0]} right sides", o["b"], 0)
        return made([*a[:-2], a[-1]], kind)
    if not b:
        raise Misfit("solve: the right side is a number, it needs an axis")
    _meet(o, a[-1], b[-2], f"solve: {a[-1]} equations, got {b[-2]} rows", o["b"], len(b) - 2)
    before = broadcast([made(a[:-2]), made(b[:-2])], o.differ)
    return made(None if before is None else [*before, *b[-2:]], kind)


def _kron(o: Operands) -> Value:
    shapes = _two(o, "a", "b")
    if shapes is None:
        return UNKNOWN
    rank = max(map(len, shapes))
    ones: Shape = [Dim.of(1)] * rank
    pairs = zip(*(ones[len(each) :] + each for each in shapes), strict=True)
    return made([None if x is None or y is None else x * y for x, y in pairs], _sum_kind(o, "a", "b"))


def _matrix(o: Operands, what: str) -> tuple[Shape, Dim | None, Dim | None] | None:
    """The further axes, the rows and the columns."""
    shape = o.shape("a")
    if shape is None:
        return None
    if len(shape) < 2:
        raise Misfit(f"{what} of {written(shape)}: needs 2 axes")
    first, second = o.axis("axis1", len(shape), shape), o.axis("axis2", len(shape), shape)
    if first is None or second is None:
        return None
    if first == second:
        raise Misfit(f"{what} of {written(shape)}: axis1 and axis2 are both axis {first}")
    return [size for place, size in enumerate(shape) if place not in (first, second)], shape[first], shape[second]


def _trace(o: Operands) -> Value:
    matrix, wanted = _matrix(o, "trace"), dtype_of(o["dtype"])
    return UNKNOWN if matrix is None else into(o, matrix[0], dtypes.summed(o.kind("a")) if wanted is None else wanted, exactly=True)


def _diagonal(o: Operands) -> Value:
    matrix, offset = _matrix(o, "diagonal"), o.integer("offset")
    if matrix is None:
        return UNKNOWN
    return made([*matrix[0], diagonal_size(*matrix[1:], offset)], dtypes.strong(o.kind("a")))


def diagonal_size(rows: Dim | None, columns: Dim | None, offset: int | None) -> Dim | None:
    """The number of elements on a diagonal of a matrix."""
    if rows is None or columns is None or offset is None:
        return None
    if rows.value is None or columns.value is None:
        return rows if offset == 0 and rows == columns else None
    return Dim.of(max(0, min(rows.value + min(offset, 0), columns.value - max(offset, 0))))


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
    "numpy.einsum": Row("subscripts, *operands, out=None, dtype=None, order='K', casting='safe', optimize=False", _einsum),
    "numpy.kron": Row("a, b", _kron),
    "numpy.linalg.inv": _of_square("inv", None),
    "numpy.linalg.cholesky": Row("a, /, *, upper=False", _of_square("cholesky", None).rule),
    "numpy.linalg.det": _of_square("det", ()),
    "numpy.linalg.solve": Row("a, b", _solve),
    "numpy.trace": Row("a, offset=0, axis1=0, axis2=1, dtype=None, out=None", _trace),
    "Array.trace()": Row("a, offset=0, axis1=0, axis2=1, dtype=None, out=None", _trace),
    "numpy.diagonal": Row("a, offset=0, axis1=0, axis2=1", _diagonal),
    "Array.diagonal()": Row("a, offset=0, axis1=0, axis2=1", _diagonal),
}
