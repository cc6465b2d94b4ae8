"""``jax.nn``, ``jax.random`` and ``jax.scipy.special``."""

from __future__ import annotations

from typednn.mypy_plugin.array_functions import dtypes
from typednn.mypy_plugin.array_functions.creation import asked
from typednn.mypy_plugin.array_functions.jax_numpy import TABLE as JAX_NUMPY
from typednn.mypy_plugin.array_functions.jax_numpy import as_in
from typednn.mypy_plugin.array_functions.rows import (
    ONE,
    Misfit,
    Operands,
    Row,
    Rule,
    Shape,
    certain,
    fits_into,
    inserted,
    like,
    made,
    outside,
    replaced,
    share,
    sizes_of,
    written,
)
from typednn.mypy_plugin.values import UNKNOWN, Number, Value
from typednn.shapes import Dim

# ------------------------------------------------------------------ nn


def _along(o: Operands) -> Value:
    """``softmax(x, axis=-1)``: the same shape."""
    shape = certain(o.shape("x"))
    o.axes("axis", shape)
    return made(shape)


def _summed(o: Operands) -> Value:
    """``logsumexp``: one number for all elements along an axis, or along several."""
    shape, keeps = certain(o.shape("a")), certain(o.flag("keepdims"))
    if o.given("b"):
        shape = certain(o.broadcast("a", "b"))
    if o.flag("return_sign") is not False:
        return UNKNOWN
    axes = certain(o.axes("axis", shape))
    return made(
        [Dim.of(1) if place in axes else size for place, size in enumerate(shape) if keeps or place not in axes]
    )


def _encoded(o: Operands) -> Value:
    """``one_hot(labels, 10)``: a further axis."""
    shape, sizes = certain(o.shape("x")), sizes_of(o["num_classes"])
    return made(inserted(shape, certain(o.integer("axis")), sizes[0] if sizes else None))


def _gated(o: Operands) -> Value:
    """``glu(x)``: half of an axis."""
    shape = certain(o.shape("x"))
    place = certain(o.axis("axis", shape))
    size = shape[place]
    if size is not None and (size.value or 0) % 2:
        raise Misfit(f"glu of {written(shape)}: axis {place} has {size} elements, no even number", o["x"], place)
    return made(replaced(shape, place, share(size, Dim.of(2))))


def _attention(o: Operands) -> Value:
    """Query ``batch time heads features``, key and value ``batch time heads features``, each also without batch."""
    shapes = [o.shape(name) for name in ("query", "key", "value")]
    for name, shape in zip(("query", "key", "value"), shapes, strict=True):
        if shape is not None and len(shape) > 4:
            raise Misfit(f"{name} is {written(shape)}: needs batch, time, heads and features")
    if o.flag("return_residual") is not False:
        return UNKNOWN
    front: Shape = [ONE] * 4
    query, key, value = (front[: 4 - len(shape)] + shape for shape in map(certain, shapes))
    for place, (a, b) in enumerate(zip(key, value, strict=True)):
        o.meet(a, b, f"key is {written(key)}, value is {written(value)}", o["value"], place)
    for place in (0, 3):
        message = f"query is {written(query)}, key is {written(key)}: axis {place} is {query[place]} and {key[place]}"
        o.meet(query[place], key[place], message, o["key"], place)
    heads, groups = (None if shape[-2] is None else shape[-2].value for shape in (query, key))
    if heads is not None and groups and heads % groups:
        raise Misfit(f"{heads} heads of the query are no multiple of the {groups} of the key")
    return made(shapes[0])


_ACTIVATIONS = (
    "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "identity", "log_sigmoid", "mish", "relu", "relu6", "selu",
    "sigmoid", "silu", "soft_sign", "softplus", "sparse_plus", "sparse_sigmoid", "swish", "tanh",
)  # fmt: skip
_SUM = "a, axis=None, b=None, keepdims=False, return_sign=False, where=None"
_NN: dict[str, Row] = {
    **{name: Row("x", like("x", dtypes.unknown)) for name in _ACTIVATIONS},
    **{name: Row("x, alpha=1.0", like("x", dtypes.unknown)) for name in ("celu", "elu")},
    "gelu": Row("x, approximate=True", like("x", dtypes.unknown)),
    "leaky_relu": Row("x, negative_slope=0.01", like("x", dtypes.unknown)),
    "squareplus": Row("x, b=4", like("x", dtypes.unknown)),
    **{name: Row("x, axis=-1, where=None", _along) for name in ("softmax", "log_softmax")},
    "standardize": Row("x, axis=-1, mean=None, variance=None, epsilon=1e-05, where=None", _along),
    "logsumexp": Row(_SUM, _summed),
    "glu": Row("x, axis=-1", _gated),
    "one_hot": Row("x, num_classes, *, dtype=None, axis=-1", _encoded),
    "dot_product_attention": Row(
        "query, key, value, bias=None, mask=None, *, scale=None, is_causal=False, implementation=None, "
        "return_residual=False",
        _attention,
    ),
}

# ------------------------------------------------------------------ random


def _drawn(kind: str, *names: str) -> Rule:
    """Random numbers of a shape; where it is None, of that of the parameters."""

    def rule(o: Operands) -> Value:
        common = o.broadcast(*names)
        if not o.given("shape"):
            return made(common, kind)
        sizes = asked(o, "shape")
        if sizes is not None and common is not None:
            fits_into(common, sizes, o.differ, "shape")
        return made(sizes, kind)

    return rule


def _vectors(name: str) -> Rule:
    """So many vectors; the last axis is a parameter's."""

    def rule(o: Operands) -> Value:
        shape = certain(o.shape(name))
        if not shape:
            raise Misfit(f"{name} is a number: needs one axis")
        if o.given("shape"):
            sizes = asked(o, "shape")
            return made(None if sizes is None else [*sizes, shape[-1]])
        return made(shape)

    return rule


def _normal_vectors(o: Operands) -> Value:
    mean, cov = certain(o.both("mean", "cov"))
    if not mean:
        raise Misfit("multivariate_normal: mean is a number, needs one axis")
    if len(cov) < 2:
        raise Misfit(f"multivariate_normal: cov is {written(cov)}, needs a square matrix")
    for place in (-1, -2):
        message = f"multivariate_normal: mean is {written(mean)}, cov is {written(cov)}"
        o.meet(mean[-1], cov[place], message, o["cov"], len(cov) + place)
    if o.given("shape"):
        sizes = asked(o, "shape")
        return made(None if sizes is None else [*sizes, mean[-1]])
    common = Operands({"mean": made(mean[:-1]), "cov": made(cov[:-2])}, o.differ).broadcast("mean", "cov")
    return made(None if common is None else [*common, mean[-1]])


def _categories(o: Operands) -> Value:
    shape = certain(o.shape("logits"))
    left = outside(shape, [certain(o.axis("axis", shape))])
    if not o.given("shape"):
        return made(left, "Int64")
    sizes = asked(o, "shape")
    if sizes is not None:
        fits_into(left, sizes, o.differ, "shape")
    return made(sizes, "Int64")


def _chosen(o: Operands) -> Value:
    sizes = asked(o, "shape")
    if isinstance(o["a"], Number):
        return made(sizes, "Int64")
    shape = certain(o.shape("a"))
    place = certain(o.axis("axis", shape))
    return made(None if sizes is None or Dim.of(0) in sizes else replaced(shape, place, *sizes), o.kind("a"))


def _permuted(o: Operands) -> Value:
    value = o["x"]
    if isinstance(value, Number):
        return made([value.size], "Int64")
    shape = certain(o.shape("x"))
    o.axis("axis", shape)
    return made(shape, o.kind("x"))


def _split(o: Operands) -> Value:
    """A key of the new kind is a number, one of the old kind a vector."""
    sizes, key = sizes_of(o["num"]), certain(o.shape("key"))
    return made(None if sizes is None else [*sizes, *key])


def _new_key(further: Shape) -> Rule:
    def rule(o: Operands) -> Value:
        return made([*certain(o.shape("seed")), *further])

    return rule


def _orthogonal(o: Operands) -> Value:
    sizes, ends = asked(o, "shape"), [sizes_of(o[name]) if o.given(name) else None for name in ("n", "m")]
    rows = ends[0][0] if ends[0] else None
    columns = rows if not o.given("m") else ends[1][0] if ends[1] else None
    return made(None if sizes is None else [*sizes, rows, columns])


_OF_SHAPE = (
    "normal", "exponential", "gumbel", "laplace", "logistic", "cauchy", "maxwell",
)  # fmt: skip
_OF_ONE = {"chisquare": "df", "gamma": "a", "loggamma": "a", "pareto": "b", "t": "df", "rayleigh": "scale"}
_RANDOM: dict[str, Row] = {
    **{name: Row("key, shape=(), dtype=None, *, out_sharding=None", _drawn("")) for name in _OF_SHAPE},
    **{name: Row("key, shape=(), dtype=None", _drawn("Int64")) for name in ("bits", "rademacher")},
    **{name: Row(f"key, {of}, shape=None, dtype=None", _drawn("", of)) for name, of in _OF_ONE.items()},
    "uniform": Row("key, shape=(), dtype=None, minval=0.0, maxval=1.0", _drawn("", "minval", "maxval")),
    "randint": Row("key, shape, minval, maxval, dtype=None", _drawn("Int64", "minval", "maxval")),
    "truncated_normal": Row("key, lower, upper, shape=None, dtype=None", _drawn("", "lower", "upper")),
    "bernoulli": Row("key, p=0.5, shape=None, mode='low'", _drawn("Bool", "p")),
    "beta": Row("key, a, b, shape=None, dtype=None", _drawn("", "a", "b")),
    "poisson": Row("key, lam, shape=None, dtype=None", _drawn("Int64", "lam")),
    "geometric": Row("key, p, shape=None, dtype=None", _drawn("Int64", "p")),
    "categorical": Row("key, logits, axis=-1, shape=None, replace=True, mode=None", _categories),
    "choice": Row("key, a, shape=(), replace=True, p=None, axis=0", _chosen),
    "permutation": Row("key, x, axis=0, independent=False", _permuted),
    "dirichlet": Row("key, alpha, shape=None, dtype=None", _vectors("alpha")),
    "multivariate_normal": Row("key, mean, cov, shape=None, dtype=None, method='cholesky'", _normal_vectors),
    "orthogonal": Row("key, n, shape=(), dtype=None, m=None", _orthogonal),
    "split": Row("key, num=2", _split),
    "fold_in": Row("key, data", like("key", dtypes.unknown)),
    "key": Row("seed, *, impl=None", _new_key([])),
    "PRNGKey": Row("seed, *, impl=None", _new_key([None])),
}
_SPECIAL = (
    "digamma", "entr", "erf", "erfc", "erfinv", "expit", "gammaln", "i0", "i0e", "i1", "i1e", "log_ndtr", "logit",
    "ndtr", "ndtri",
)  # fmt: skip

TABLE: dict[str, Row] = {
    **{f"jax.nn.{name}": row for name, row in _NN.items()},
    **{f"jax.random.{name}": row for name, row in _RANDOM.items()},
    **{f"jax.scipy.special.{name}": Row("x", like("x", dtypes.unknown)) for name in _SPECIAL},
    "jax.scipy.special.logsumexp": Row(_SUM, _summed),
    **{f"jax.scipy.special.{name}": _NN[name] for name in ("softmax", "log_softmax")},
    "jax.scipy.special.xlogy": as_in(JAX_NUMPY["jax.numpy.add"], "x, y, /"),
}
