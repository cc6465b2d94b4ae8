"""Linear algebra: functions of matrices, on the last two axes or on two that are named."""

from __future__ import annotations

from functools import reduce

from typednn.mypy_plugin.array_functions import dtypes
from typednn.mypy_plugin.array_functions.products import matmul, together
from typednn.mypy_plugin.array_functions.rows import (
    Kind,
    Misfit,
    Operands,
    Row,
    Shape,
    certain,
    gathered,
    into,
    made,
    matrix,
    outside,
    written,
)
from typednn.mypy_plugin.values import UNKNOWN, Constant, Pack, Value
from typednn.shapes import Dim


def _square(o: Operands, what: str) -> Shape | None:
    """The shape of a square matrix, or of several."""
    shape = matrix(o, "a", what)
    if shape is not None:
        rows, columns = shape[-2:]
        message = f"{what} of {written(shape)}: {rows} rows and {columns} columns; the matrix must be square"
        o.meet(rows, columns, message, o["a"], len(shape) - 1)
    return shape


def _of_square(what: str, *lost: int, parameters: str = "a", kind: Kind = dtypes.solved) -> Row:
    """What a square matrix gives, one or several arrays, each with the number of axes that it loses: 0 a matrix, 1 real
    numbers, one for each column, 2 a number.
    """

    def rule(o: Operands) -> Value:
        shape, own = _square(o, what), kind(o.kind("a"))
        arrays = tuple(
            made(None if shape is None else shape[: len(shape) - axes], dtypes.real(own) if axes == 1 else own)
            for axes in lost
        )
        return arrays[0] if len(arrays) == 1 else Pack(arrays, frozen=True)

    return Row(parameters, rule)


def _smaller(shape: Shape) -> Dim | None:
    """The smaller one of the sizes of a matrix."""
    a, b = shape[-2:]
    if a is None or b is None:
        return None
    if a == b or a.value is None or b.value is None:
        return a if a == b else None
    return a if a.value < b.value else b


def _svd(o: Operands) -> Value:
    shape, kind, full = certain(matrix(o, "a", "svd")), dtypes.solved(o.kind("a")), o.flag("full_matrices")
    less = _smaller(shape)
    values = made([*shape[:-2], less], dtypes.real(kind))
    if not certain(o.flag("compute_uv")):
        return values
    left, right = (shape[-2], shape[-1]) if certain(full) else (less, less)
    return Pack(
        (made([*shape[:-2], shape[-2], left], kind), values, made([*shape[:-2], right, shape[-1]], kind)), frozen=True
    )


def _singular_values(o: Operands) -> Value:
    shape = certain(matrix(o, "x", "svdvals"))
    return made([*shape[:-2], _smaller(shape)], dtypes.real(dtypes.solved(o.kind("x"))))


def _qr(o: Operands) -> Value:
    shape, kind = certain(matrix(o, "a", "qr")), dtypes.solved(o.kind("a"))
    match o["mode"]:
        case Constant(value="reduced" | "r" as mode):
            left = _smaller(shape)
        case Constant(value="complete" as mode):
            left = shape[-2]
        case _:
            return UNKNOWN
    right = made([*shape[:-2], left, shape[-1]], kind)
    return right if mode == "r" else Pack((made([*shape[:-1], left], kind), right), frozen=True)


def _pinv(o: Operands) -> Value:
    kind = dtypes.solved(o.kind("a")) if dtypes.family(o.kind("a")) == "Float" else ""
    shape = certain(matrix(o, "a", "pinv"), kind)
    return made([*shape[:-2], shape[-1], shape[-2]], kind)


def _solve(o: Operands) -> Value:
    kind = dtypes.solved(o.kind("a"), o.kind("b"))
    a, b = certain(o.both("a", "b"), kind)
    _square(o, "solve")
    if not b:
        raise Misfit("solve: a number has no axis; the right sides need one")
    if len(b) == 1:
        o.meet(a[-1], b[0], f"solve: {a[-1]} equations, got {b[0]} right sides", o["b"], 0)
        return made(a[:-1], kind)
    o.meet(a[-1], b[-2], f"solve: {a[-1]} equations, got {b[-2]} rows", o["b"], len(b) - 2)
    return made([*together(o, a[:-2], b[:-2]), *b[-2:]], kind)


def _least_squares(o: Operands) -> Value:
    kind, (a, b) = dtypes.solved(o.kind("a"), o.kind("b")), certain(o.both("a", "b"))
    if len(a) != 2 or len(b) not in (1, 2):
        raise Misfit(f"lstsq of {written(a)} and {written(b)}: needs a matrix, and a vector or a matrix")
    o.meet(a[0], b[0], f"lstsq: {a[0]} equations, got {b[0]} rows", o["b"], 0)
    values = made([_smaller(a)], dtypes.real(kind))
    return Pack((made([a[1], *b[1:]], kind), made([None], dtypes.real(kind)), UNKNOWN, values), frozen=True)


def _two_places(o: Operands, what: str, kind: str) -> tuple[Shape, int, int]:
    shape = certain(o.shape("a"), kind)
    if len(shape) < 2:
        raise Misfit(f"{what} of {written(shape)}: needs 2 axes")
    first, second = (certain(each, kind) for each in (o.axis("axis1", shape), o.axis("axis2", shape)))
    if first == second:
        raise Misfit(f"{what} of {written(shape)}: axis1 and axis2 are both {first}")
    return shape, first, second


def _trace(o: Operands) -> Value:
    kind = o.dtype(dtypes.summed(o.kind("a")))
    shape, *places = _two_places(o, "trace", kind)
    return into(o, outside(shape, places), kind)


def diagonal(rows: Dim | None, columns: Dim | None, offset: int | None) -> Dim | None:
    """How many elements a diagonal has."""
    if rows is None or columns is None or offset is None:
        return None
    if rows.value is not None and columns.value is not None:
        return Dim.of(max(0, min(rows.value + min(offset, 0), columns.value - max(offset, 0))))
    return rows if offset == 0 and rows == columns else None


def _diagonal(o: Operands) -> Value:
    shape, *places = _two_places(o, "diagonal", "")
    first, second = places
    return made([*outside(shape, places), diagonal(shape[first], shape[second], o.integer("offset"))], o.kind("a"))


def _chained(o: Operands) -> Value:
    values, shapes = gathered(o, "arrays")
    if len(values) < 2:
        return UNKNOWN
    for place, shape in enumerate(shapes):
        if len(shape) != 2 and not (len(shape) == 1 and place in (0, len(shapes) - 1)):
            raise Misfit(f"multi_dot: {written(shape)} is no matrix")
    return reduce(lambda a, b: matmul(Operands({"x1": a, "x2": b}, o.differ)), values)


_TRACE = Row("a, offset=0, axis1=0, axis2=1, dtype=None, out=None", _trace)
TABLE: dict[str, Row] = {
    "numpy.linalg.multi_dot": Row("arrays, *, out=None", _chained),
    "numpy.linalg.inv": _of_square("inv", 0),
    "numpy.linalg.cholesky": _of_square("cholesky", 0, parameters="a, /, *, upper=False"),
    "numpy.linalg.det": _of_square("det", 2),
    "numpy.linalg.slogdet": _of_square("det", 2, 2),
    "numpy.linalg.matrix_power": _of_square("matrix_power", 0, parameters="a, n", kind=dtypes.unknown),
    "numpy.linalg.eigh": _of_square("eigenvalues", 1, 0, parameters="a, UPLO='L'"),
    "numpy.linalg.eigvalsh": _of_square("eigenvalues", 1, parameters="a, UPLO='L'"),
    # eig gives complex numbers where it must
    "numpy.linalg.eig": _of_square("eigenvalues", 1, 0, kind=dtypes.unknown),
    "numpy.linalg.eigvals": _of_square("eigenvalues", 1, kind=dtypes.unknown),
    "numpy.linalg.svd": Row("a, full_matrices=True, compute_uv=True, hermitian=False", _svd),
    "numpy.linalg.svdvals": Row("x, /", _singular_values),
    "numpy.linalg.qr": Row("a, mode='reduced'", _qr),
    "numpy.linalg.pinv": Row("a, rcond=None, hermitian=False, *, rtol=None", _pinv),
    "numpy.linalg.lstsq": Row("a, b, rcond=None", _least_squares),
    "numpy.linalg.solve": Row("a, b", _solve),
    **dict.fromkeys(("numpy.trace", "Array.trace()"), _TRACE),
    **dict.fromkeys(("numpy.diagonal", "Array.diagonal()"), Row("a, offset=0, axis1=0, axis2=1", _diagonal)),
}
