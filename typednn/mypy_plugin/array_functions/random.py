"""Random numbers: the methods of a generator, those of the older ``RandomState``, the functions of ``numpy.random``."""

from __future__ import annotations

from collections.abc import Iterator

from typednn.mypy_plugin.array_functions.creation import asked
from typednn.mypy_plugin.array_functions.rows import (
    ONE,
    Misfit,
    Operands,
    Row,
    Rule,
    Shape,
    certain,
    fits_into,
    into,
    made,
    replaced,
    written,
)
from typednn.mypy_plugin.values import UNKNOWN, Constant, Number, Value


def _drawn(kind: str, *names: str) -> Rule:
    """Random numbers of a shape, or of that of the parameters; of Python's own type where neither is given."""

    def rule(o: Operands) -> Value:
        common = o.broadcast(*names)
        if not o.given("size"):
            return made(common, o.dtype(kind)) if common else UNKNOWN
        sizes = asked(o, "size")
        if sizes is not None and common is not None:
            fits_into(common, sizes, o.differ, "size")
        return made(sizes, o.dtype(kind))

    return rule


def _of_axes(o: Operands) -> Value:
    """``randn(4, 5)``: each argument is an axis."""
    sizes = asked(o, "size")
    return made(sizes, "Float64") if sizes else UNKNOWN


def _vectors(kind: str, name: str) -> Rule:
    """So many vectors, each with one number for each of a parameter's."""

    def rule(o: Operands) -> Value:
        shape, sizes = certain(o.shape(name)), asked(o, "size")
        if len(shape) != 1:
            raise Misfit(f"{name} is {written(shape)}: needs one axis")
        return made(None if sizes is None else [*sizes, *shape], kind)

    return rule


def _normal_vectors(o: Operands) -> Value:
    mean, cov, sizes = o.shape("mean"), o.shape("cov"), asked(o, "size")
    if mean is not None and len(mean) != 1:
        raise Misfit(f"mean is {written(mean)}: needs one axis")
    if cov is not None and len(cov) != 2:
        raise Misfit(f"cov is {written(cov)}: needs a square matrix")
    numbers = certain(mean)[0]
    for axis, size in enumerate(cov or []):
        numbers = o.meet(numbers, size, f"mean is {written(certain(mean))}, cov {written(cov or [])}", o["cov"], axis)
    return made(None if sizes is None else [*sizes, numbers], "Float64")


def _permutation(o: Operands) -> Value:
    value = o["x"]
    return made([value.size], "Int64") if isinstance(value, Number) else made(_shuffled(o), o.kind("x"))


def _shuffled(o: Operands) -> Shape | None:
    """The shape of the elements; an axis must be one of them."""
    shape = o.shape("x")
    if shape is not None and "axis" in o.values and o.given("axis"):
        o.axis("axis", shape)
    return shape


def _shuffle(o: Operands) -> Value:
    _shuffled(o)
    return Constant(None)


def _permuted(o: Operands) -> Value:
    return into(o, _shuffled(o), o.kind("x"))


def _chosen(o: Operands) -> Value:
    shape = certain(o.shape("a")) or [ONE]
    if not o.given("size"):
        return UNKNOWN
    kind = "Int64" if isinstance(o["a"], Number) else o.kind("a")
    place, sizes = o.axis("axis", shape), asked(o, "size")
    return made(None if place is None or sizes is None else replaced(shape, place, *sizes), kind)


def _chosen_of_one_axis(o: Operands) -> Value:
    shape = certain(o.shape("a"))
    if len(shape) > 1:
        raise Misfit(f"choice of {written(shape)}: needs one axis")
    sizes = asked(o, "size")
    return made(sizes, "Int64" if isinstance(o["a"], Number) else o.kind("a")) if o.given("size") else UNKNOWN


# Of each distribution its parameters, as both kinds of generators have them, and the dtype.
_DISTRIBUTIONS = {
    "normal": ("loc=0.0, scale=1.0", "Float64"),
    "uniform": ("low=0.0, high=1.0", "Float64"),
    "exponential": ("scale=1.0", "Float64"),
    "beta": ("a, b", "Float64"),
    "gamma": ("shape, scale=1.0", "Float64"),
    "chisquare": ("df", "Float64"),
    "standard_t": ("df", "Float64"),
    "laplace": ("loc=0.0, scale=1.0", "Float64"),
    "logistic": ("loc=0.0, scale=1.0", "Float64"),
    "gumbel": ("loc=0.0, scale=1.0", "Float64"),
    "lognormal": ("mean=0.0, sigma=1.0", "Float64"),
    "rayleigh": ("scale=1.0", "Float64"),
    "pareto": ("a", "Float64"),
    "weibull": ("a", "Float64"),
    "triangular": ("left, mode, right", "Float64"),
    "poisson": ("lam=1.0", "Int64"),
    "binomial": ("n, p", "Int64"),
    "geometric": ("p", "Int64"),
}
GENERATOR = "numpy.random._generator.Generator"
_STATE = "numpy.random.mtrand.RandomState."


def _older(name: str, parameters: str, rule: Rule) -> Iterator[tuple[str, Row]]:
    """A function of ``numpy.random`` and the method of the same name."""
    yield f"numpy.random.{name}", Row(parameters, rule)
    yield f"{_STATE}{name}()", Row(parameters, rule)


def _distributions() -> Iterator[tuple[str, Row]]:
    for name, (parameters, kind) in _DISTRIBUTIONS.items():
        names = [each.partition("=")[0] for each in parameters.split(", ")]
        yield f"{GENERATOR}.{name}()", Row(f"{parameters}, size=None", _drawn(kind, *names))
        # The older ones give C's long, which is not everywhere of 64 bits.
        yield from _older(name, f"{parameters}, size=None", _drawn(kind if kind == "Float64" else "", *names))


TABLE: dict[str, Row] = {
    **dict(_distributions()),
    **{
        f"{GENERATOR}.{name}()": Row("size=None, dtype=None, out=None", _drawn("Float64"))
        for name in ("standard_normal", "random")
    },
    f"{GENERATOR}.standard_exponential()": Row("size=None, dtype=None, method='zig', out=None", _drawn("Float64")),
    f"{GENERATOR}.integers()": Row("low, high=None, size=None, dtype=None, endpoint=False", _drawn("Int64", "low")),
    f"{GENERATOR}.dirichlet()": Row("alpha, size=None", _vectors("Float64", "alpha")),
    f"{GENERATOR}.multivariate_normal()": Row(
        "mean, cov, size=None, check_valid='warn', tol=1e-8, *, method='svd'", _normal_vectors
    ),
    f"{GENERATOR}.permutation()": Row("x, axis=0", _permutation),
    f"{GENERATOR}.permuted()": Row("x, *, axis=None, out=None", _permuted),
    f"{GENERATOR}.shuffle()": Row("x, axis=0", _shuffle),
    f"{GENERATOR}.choice()": Row("a, size=None, replace=True, p=None, axis=0, shuffle=True", _chosen),
    **{
        name: row
        for function in ("standard_normal", "random", "random_sample", "standard_exponential")
        for name, row in _older(function, "size=None", _drawn("Float64"))
    },
    **{name: row for function in ("rand", "randn") for name, row in _older(function, "*size", _of_axes)},
    **dict(_older("randint", "low, high=None, size=None, dtype=None", _drawn("", "low"))),
    **dict(_older("dirichlet", "alpha, size=None", _vectors("Float64", "alpha"))),
    **dict(_older("multinomial", "n, pvals, size=None", _vectors("", "pvals"))),
    **dict(_older("multivariate_normal", "mean, cov, size=None, check_valid='warn', tol=1e-8", _normal_vectors)),
    **dict(_older("permutation", "x", _permutation)),
    **dict(_older("shuffle", "x", _shuffle)),
    **dict(_older("choice", "a, size=None, replace=True, p=None", _chosen_of_one_axis)),
}
