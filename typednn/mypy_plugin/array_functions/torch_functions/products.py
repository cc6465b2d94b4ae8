"""Products of matrices and tensors, and linear algebra."""

from __future__ import annotations

from typednn.mypy_plugin.array_functions import einsum, linear_algebra, products
from typednn.mypy_plugin.array_functions.rows import (
    NONE,
    ONE,
    Misfit,
    Operands,
    Row,
    Rule,
    Shape,
    Unclear,
    borrowed,
    broadcast,
    certain,
    fits_into,
    made,
    matrix,
    outside,
    places_of,
    total,
    written,
)
from typednn.mypy_plugin.array_functions.torch_functions.arguments import dim, dims, named, row
from typednn.mypy_plugin.values import UNKNOWN, Array, Constant, Pack, Value, integer_of
from typednn.shapes import number_of_axes


def _multiplied(o: Operands) -> Value:
    value = products.matmul(o)
    return made(value.flow.shape) if isinstance(value, Array) else value


def _of_ranks(what: str, first: str, a: int, second: str, b: int) -> Rule:
    """A product of arrays of exactly so many axes; of three axes, the first ones must be equal."""

    def rule(o: Operands) -> Value:
        shapes = o.shape(first), o.shape(second)
        for shape, rank in zip(shapes, (a, b), strict=True):
            if shape is not None and len(shape) != rank:
                raise Misfit(f"{what}: {written(shape)} needs {number_of_axes(rank)}")
        x, y = certain(o.both(first, second))
        if a == 3:
            message = f"{what} of {written(x)} and {written(y)}: {x[0]} and {y[0]} matrices"
            size = o.meet(x[0], y[0], message, o[second], 0)
            x, y = [size, *x[1:]], [size, *y[1:]]
        inner = {"x1": made(x), "x2": made(y), "out": Constant(None)}
        return _multiplied(Operands(inner, o.differ))

    return rule


def _added(what: str, first: str, a: int, second: str, b: int) -> Rule:
    """``addmm``: the product, and what fits into it."""
    product = _of_ranks(what, first, a, second, b)

    def rule(o: Operands) -> Value:
        value, shape = product(o), o.shape("input")
        target = value.flow.shape if isinstance(value, Array) else None
        if target is not None and shape is not None:
            if b == 1 and total(target) == NONE:
                raise Unclear  # some are stretched then
            fits_into(shape, target, o.differ, what)
        return value

    return rule


def _matmul(o: Operands) -> Value:
    return _multiplied(Operands({"x1": o["input"], "x2": o["other"], "out": Constant(None)}, o.differ))


def _outer(o: Operands) -> Value:
    shapes = certain(o.both("input", "vec2"))
    for shape in shapes:
        if len(shape) != 1:
            raise Misfit(f"outer: {written(shape)} needs 1 axis")
    return made([shapes[0][0], shapes[1][0]])


def _einsum(o: Operands) -> Value:
    operands = o["operands"]
    if isinstance(operands, Pack) and len(operands.items) == 1 and isinstance(operands.items[0], Pack):
        operands = operands.items[0]
    equation = o["equation"]
    if not isinstance(equation, Constant) or not isinstance(equation.value, str):
        return UNKNOWN
    inputs, arrow, output = equation.value.partition("->")
    if "..." in inputs and arrow and "..." not in output:
        return UNKNOWN  # a sum over these axes too
    given = {"subscripts": equation, "operands": operands, "out": Constant(None)}
    return einsum.TABLE["numpy.einsum"].rule(Operands(given, o.differ))


def _tensordot(o: Operands) -> Value:
    a, b = certain(o.both("a", "b"))
    count, axes = integer_of(o["dims"]), o["dims"]
    if count is not None:
        if not 0 <= count <= min(len(a), len(b)):
            raise Misfit(f"tensordot over {count} axes of {written(a)} and {written(b)}")
        first, second = list(range(len(a) - count, len(a))), list(range(count))
    else:
        both = axes.items if isinstance(axes, Pack) and len(axes.items) == 2 else (UNKNOWN, UNKNOWN)
        first, second = (certain(places_of(side, shape)) for side, shape in zip(both, (a, b), strict=True))
        if len(first) != len(second):
            raise Misfit(f"tensordot: {len(first)} axes meet {len(second)}")
    for x, y in zip(first, second, strict=True):
        if ONE not in (a[x], b[y]):  # an axis of one element is stretched
            message = f"tensordot of {written(a)} and {written(b)}: axis {x} is {a[x]}, axis {y} is {b[y]}"
            o.meet(a[x], b[y], message, o["b"], y)
    return made([*outside(a, first), *outside(b, second)])


def _distances(o: Operands) -> Value:
    x, y = certain(o.both("x1", "x2"))
    for shape in (x, y):
        if len(shape) < 2:
            raise Misfit(f"cdist of {written(shape)}: needs at least 2 axes")
    o.meet(x[-1], y[-1], f"cdist of {written(x)} and {written(y)}: {x[-1]} and {y[-1]} features", o["x2"], len(y) - 1)
    return made([*products.together(o, x[:-2], y[:-2]), x[-2], y[-2]])


def _similarity(o: Operands) -> Value:
    shape = certain(broadcast([o["x1"], o["x2"]], o.differ))
    place = dim(o, shape)
    return made(outside(shape, [place]))


def _pairwise(o: Operands) -> Value:
    shape = certain(broadcast([o["x1"], o["x2"]], o.differ))
    keeps = certain(o.flag("keepdim"))
    return made([*shape[:-1], *([ONE] if keeps else [])] if shape else None)


def _vecdot(o: Operands) -> Value:
    a, b = certain(o.both("x", "y"))
    shape = certain(broadcast([o["x"], o["y"]], o.differ) if bool(a) == bool(b) else None)
    return made(outside(shape, [dim(o, shape)]))


def _vector_norm(o: Operands) -> Value:
    shape = certain(o.shape("x"))
    axes = dims(o, shape) if o.given("dim") else list(range(len(shape)))
    keeps = certain(o.flag("keepdim"))
    return made([ONE if place in axes else size for place, size in enumerate(shape) if keeps or place not in axes])


def _traced(o: Operands) -> Value:
    shape = o.shape("input")
    if shape is not None and len(shape) != 2:
        raise Misfit(f"trace of {written(shape)}: needs 2 axes")
    return made([])


def _triangular(o: Operands) -> Value:
    """``solve_triangular``: one equation for each column."""
    shape: Shape = certain(matrix(o, "A", "solve_triangular"))
    other = certain(matrix(o, "B", "solve_triangular"))
    o.meet(shape[-2], shape[-1], f"solve_triangular of {written(shape)}: no square", o["A"], len(shape) - 1)
    left = certain(o.flag("left"))
    place = -2 if left else -1
    message = f"solve_triangular of {written(shape)} and {written(other)}"
    o.meet(shape[-1], other[place], message, o["B"], len(other) + place)
    return made([*products.together(o, shape[:-2], other[:-2]), *other[-2:]])


def _linalg(name: str, parameters: str, **names: str) -> dict[str, Row]:
    return {f"torch.linalg.{name}": borrowed(linear_algebra.TABLE[f"numpy.linalg.{name}"], parameters, **names)}


TABLE: dict[str, Row] = {
    **named("matmul", "input, other, *, out=None", _matmul),
    **named("mm", "input, mat2, *, out=None", _of_ranks("mm", "input", 2, "mat2", 2)),
    **named("bmm", "input, mat2, *, out=None", _of_ranks("bmm", "input", 3, "mat2", 3)),
    **named("mv", "input, vec, *, out=None", _of_ranks("mv", "input", 2, "vec", 1)),
    **named("dot vdot", "input, tensor, *, out=None", _of_ranks("dot", "input", 1, "tensor", 1)),
    **named(
        "inner", "input, other, *, out=None", borrowed(products.TABLE["numpy.inner"], "", a="input", b="other").rule
    ),
    **named("outer ger", "input, vec2, *, out=None", _outer),
    **named("kron", "input, other, *, out=None", borrowed(products.TABLE["numpy.kron"], "", a="input", b="other").rule),
    **named("addmm", "input, mat1, mat2, *, beta=1, alpha=1, out=None", _added("addmm", "mat1", 2, "mat2", 2)),
    **named(
        "baddbmm", "input, batch1, batch2, *, beta=1, alpha=1, out=None", _added("baddbmm", "batch1", 3, "batch2", 3)
    ),
    **named("addmv", "input, mat, vec, *, beta=1, alpha=1, out=None", _added("addmv", "mat", 2, "vec", 1)),
    **named("einsum", "equation, *operands", _einsum, method=False),
    **named("tensordot", "a, b, dims=2, out=None", _tensordot, method=False),
    **named("cdist", "x1, x2, p=2.0, compute_mode='use_mm_for_euclid_dist_if_necessary'", _distances, method=False),
    **named("cosine_similarity", "x1, x2, dim=1, eps=1e-08", _similarity, method=False),
    "torch.nn.functional.cosine_similarity": row("x1, x2, dim=1, eps=1e-08", _similarity),
    **dict.fromkeys(
        ("torch.nn.functional.pairwise_distance", "torch.pairwise_distance"),
        row("x1, x2, p=2.0, eps=1e-06, keepdim=False", _pairwise),
    ),
    **named("trace", "input", _traced),
    "torch.linalg.vecdot": row("x, y, *, dim=-1, out=None", _vecdot),
    "torch.linalg.matmul": row("input, other, *, out=None", _matmul),
    "torch.linalg.vector_norm": row("x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None", _vector_norm),
    "torch.linalg.norm": row("x, ord=None, dim=None, keepdim=False, *, out=None, dtype=None", _vector_norm),
    "torch.linalg.solve_triangular": row("A, B, *, upper, left=True, unitriangular=False, out=None", _triangular),
    **_linalg("inv", "A, *, out=None", a="A"),
    **_linalg("det", "A, *, out=None", a="A"),
    **_linalg("slogdet", "A, *, out=None", a="A"),
    **_linalg("cholesky", "A, *, upper=False, out=None", a="A"),
    **_linalg("matrix_power", "A, n, *, out=None", a="A"),
    **_linalg("eigh", "A, UPLO='L', *, out=None", a="A"),
    **_linalg("eigvalsh", "A, UPLO='L', *, out=None", a="A"),
    **_linalg("eig", "A, *, out=None", a="A"),
    **_linalg("eigvals", "A, *, out=None", a="A"),
    **_linalg("svd", "A, full_matrices=True, *, driver=None, out=None", a="A"),
    **_linalg("svdvals", "A, *, driver=None, out=None", x="A"),
    **_linalg("qr", "A, mode='reduced', *, out=None", a="A"),
    **_linalg("pinv", "A, rtol=None, hermitian=False, *, atol=None, out=None", a="A"),
    **_linalg("multi_dot", "tensors, *, out=None", arrays="tensors"),
    "torch.linalg.solve": borrowed(
        linear_algebra.TABLE["numpy.linalg.solve"], "A, B, *, left=True, out=None", a="A", b="B"
    ),
}
