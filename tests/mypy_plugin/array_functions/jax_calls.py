"""Random calls of each function of JAX in the table. One that NumPy has too gets NumPy's calls, as JAX takes them; to
add another, add its generator to `CALLS`.
"""

from typing import Any

import numpy as np

from tests.mypy_plugin.array_functions import calls
from tests.mypy_plugin.array_functions.calls import MISTAKES, PRECISE, Call, Draw, plain
from tests.mypy_plugin.array_functions.comparison import Case
from typednn.mypy_plugin.array_functions import TABLE

ROWS = [name for name in TABLE if name.startswith("jax.")]
FLOAT = ("float32",)
# What JAX refuses outright, or has not.
_NOT_JAX = ("out", "order", "casting", "subok", "like", "kind")
_UNARY_WITHOUT = ("where", "dtype")


class Key(np.ndarray[Any, Any]):
    """Stands for a key of random numbers."""

    def __new__(cls) -> "Key":
        return np.zeros((), "uint32").view(cls)


# ---------------------------------------------------------------------------------------------------- nn


def floats(low: int = 0, high: int = 4) -> Call:
    return plain(low, high, FLOAT)


def along(d: Draw) -> Case:
    x = d.any(1, 4, FLOAT)
    return Case((x,), d.some(axis=lambda: d.axes(x.ndim)))


def summed(d: Draw) -> Case:
    x = d.any(types=FLOAT)
    return Case((x,), d.some(axis=lambda: d.axes(x.ndim), keepdims=d.flag, b=lambda: d.array(d.beside(x.shape), FLOAT)))


def encoded(d: Draw) -> Case:
    x = d.any(types=("int32",))
    return Case((x, d.random.randint(0, 5)), d.some(axis=lambda: d.axis(x.ndim + 1)))


def gated(d: Draw) -> Case:
    x = d.any(1, 3, FLOAT)
    return Case((x,), d.some(axis=lambda: d.axis(x.ndim)))


def attention(d: Draw) -> Case:
    batch, times, sources, heads, features = (d.random.randint(1, 4) for _ in range(5))
    groups = d.one((heads, 1))
    front = (batch,) if d.flag() else ()
    shapes = (
        (*front, times, heads, features),
        (*front, sources, groups, features),
        (*front, sources, groups, features),
    )
    return Case([d.array(d.maybe(shape), FLOAT) for shape in shapes])


# ---------------------------------------------------------------------------------------------------- random


def of_shape(*before: Any) -> Call:
    return lambda d: Case((Key(), *before), {"shape": d.shape()} if d.chance(0.8) else {})


def needs_shape(d: Draw) -> Case:
    shape = d.shape()
    return Case((Key(), shape, 0, d.one((9, d.array(d.into(shape), ["int32"]) + 1))))


def uniform(d: Draw) -> Case:
    shape = d.shape()
    return Case((Key(), shape), d.some(minval=lambda: d.array(d.into(shape), FLOAT), maxval=lambda: 5.0))


def of_parameters(count: int) -> Call:
    """A function of so many parameters, each of which may be an array."""

    def draw(d: Draw) -> Case:
        shape = d.shape(0, 3)
        given = [
            d.array(d.into(shape), FLOAT) * np.float32(0.1) + np.float32(0.3) if d.flag() else 0.5 for _ in range(count)
        ]
        return Case((Key(), *given), {"shape": shape} if d.flag() else {})

    return draw


def truncated(d: Draw) -> Case:
    case = of_parameters(1)(d)
    return Case((Key(), case.arguments[1], 2.0), case.keywords)


def categories(d: Draw) -> Case:
    x = d.any(1, 3, FLOAT)
    axis = d.axis(x.ndim)
    left = [size for place, size in enumerate(x.shape) if place != axis % max(1, x.ndim)]
    return Case((Key(), x), {"axis": axis} | d.some(shape=lambda: d.maybe((*d.shape(0, 1), *left))))


def chosen(d: Draw) -> Case:
    x = d.one((5, d.any(1, 3, FLOAT)))
    axis = {} if isinstance(x, int) else d.some(axis=lambda: d.axis(x.ndim))
    return Case((Key(), x, d.shape(0, 2)), axis)


def squeezed(d: Draw) -> Case:
    x, axis = (*calls.squeeze(d).arguments, 0)[:2]
    return Case((x, axis if isinstance(axis, tuple) else (axis or 0,)))


def permuted(d: Draw) -> Case:
    x = d.any(1, 3, FLOAT)
    return Case((Key(), 5)) if d.chance(0.3) else Case((Key(), x), d.some(axis=lambda: d.axis(x.ndim)))


def vectors(d: Draw) -> Case:
    x = d.any(0 if d.chance(0.1) else 1, 2, FLOAT)
    return Case((Key(), x), {"shape": (*d.shape(0, 1), *x.shape[:-1])} if d.flag() else {})


def normal_vectors(d: Draw) -> Case:
    count = d.random.randint(1, 4)
    mean, cov = (d.array(d.maybe((*d.shape(0, 1), *each)), FLOAT) for each in ((count,), (count, count)))
    return Case((Key(), mean, cov), {"shape": (*d.shape(0, 1), *mean.shape[:-1])} if d.chance(0.3) else {})


def split(d: Draw) -> Case:
    return Case((Key(),), d.some(num=lambda: d.one((1, 3, (2, 3)))))


def orthogonal(d: Draw) -> Case:
    return Case((Key(), d.random.randint(1, 4)), d.some(shape=lambda: d.shape(0, 2), m=lambda: d.random.randint(1, 4)))


# ---------------------------------------------------------------------------------------------------- lax


def elements(count: int) -> Call:
    """Arrays with as many axes, most of the time."""

    def draw(d: Draw) -> Case:
        shape = d.shape()
        kept = [tuple(1 if d.chance(0.15) else size for size in shape) for _ in range(count)]
        arrays = [d.array(d.maybe(each), FLOAT) for each in kept]
        if d.chance(0.2):
            arrays[0] = d.one((1.5, d.array((), FLOAT)))
        return Case(arrays)

    return draw


def bits(d: Draw) -> Case:
    return Case([np.asarray(each, "int32") for each in elements(2)(d).arguments])


def selected(d: Draw) -> Case:
    shape = d.shape()
    return Case((d.array(d.one((shape, (), d.maybe(shape))), ["bool"]), *d.together(2, shape, FLOAT)))


def clamped(d: Draw) -> Case:
    shape = d.shape()
    low, high = (d.one((d.array((), FLOAT), d.array(d.maybe(shape), FLOAT))) for _ in range(2))
    return Case((low, d.array(shape, FLOAT), high))


def front(*further: Any) -> Call:
    """An axis, counted from the front."""

    def draw(d: Draw) -> Case:
        x = d.any(1, 3, FLOAT)
        axis = d.random.randrange(x.ndim) if not d.chance(MISTAKES) else d.one((-1, x.ndim))
        return Case((x, axis, *further))

    return draw


def dot_general(d: Draw) -> Case:
    batch, summed = d.shape(0, 2), d.shape(0, 2)
    a, b = (*batch, *summed, *d.shape(0, 1)), (*batch, *d.shape(0, 1), *summed)
    pairs = (tuple(range(len(batch))),) * 2
    first = tuple(range(len(batch), len(batch) + len(summed)))
    second = tuple(range(len(b) - len(summed), len(b)))
    if d.chance(MISTAKES) and second:
        second = second[1:]
    return Case((d.array(d.maybe(a), FLOAT), d.array(d.maybe(b), FLOAT), ((first, second), pairs)))


def dynamic_slice(d: Draw) -> Case:
    x = d.any(0, 3, FLOAT)
    sizes = tuple(d.random.randint(0, size) + d.chance(MISTAKES / 2) for size in x.shape)
    return Case((x, (0,) * (x.ndim + d.chance(MISTAKES / 2)), sizes if not d.chance(0.05) else (*sizes, 1)))


def dynamic_slice_along(d: Draw) -> Case:
    x = d.any(1, 3, FLOAT)
    axis = d.axis(x.ndim)
    return Case(
        (x, 0, d.random.randint(0, x.shape[axis] if -x.ndim <= axis < x.ndim else 1) + d.chance(MISTAKES)),
        {"axis": axis},
    )


def picked(d: Draw) -> Case:
    shape = tuple(d.random.randint(1, 4) for _ in range(d.random.randint(1, 3)))
    return Case((d.array(shape, FLOAT), 0), d.some(axis=lambda: d.axis(len(shape)), keepdims=d.flag))


def written_over(d: Draw) -> Case:
    x = d.any(0, 3, FLOAT)
    part = tuple(d.random.randint(0, size) for size in x.shape)
    return Case((x, d.array(d.maybe(part), FLOAT), (0,) * x.ndim))


def written_along(d: Draw) -> Case:
    x = d.any(1, 3, FLOAT)
    part = tuple(d.random.randint(0, size) for size in x.shape)
    return Case((x, d.array(d.maybe(part), FLOAT), 0, d.axis(x.ndim)))


def written_at(d: Draw) -> Case:
    x, part, _, axis = written_along(d).arguments
    if d.flag() and part.ndim and -x.ndim <= axis < x.ndim and part.ndim == x.ndim:
        part = d.array(np.delete(np.array(part.shape, int), axis).tolist(), FLOAT)
    return Case((x, part, 0, axis))


def top(d: Draw) -> Case:
    x = d.any(1, 3, FLOAT)
    axis = d.axis(x.ndim)
    size = x.shape[axis] if -x.ndim <= axis < x.ndim else 1
    return Case((x, d.random.randint(0, size) + d.chance(MISTAKES)), {"axis": axis})


def transposed(d: Draw) -> Case:
    x = d.any(0, 4, FLOAT)
    axes = d.random.sample(range(x.ndim), x.ndim)
    if d.chance(MISTAKES):
        axes = [*axes[1:], d.one((-1, x.ndim))]
    return Case((x, tuple(axes)))


def reshaped(d: Draw) -> Case:
    case = calls.reshape()(d)
    return Case((case.arguments[0], np.atleast_1d(case.arguments[1]).tolist()))


def broadcast_in(d: Draw) -> Case:
    shape = d.shape(1, 4)
    places = sorted(d.random.sample(range(len(shape)), d.random.randint(0, len(shape))))
    kept = [1 if d.chance(0.2) else shape[place] for place in places]
    return Case((d.array(d.maybe(kept), FLOAT), shape, tuple(places)))


def slice_along(d: Draw) -> Case:
    x = d.any(1, 3, FLOAT)
    axis = d.axis(x.ndim)
    size = x.shape[axis] if -x.ndim <= axis < x.ndim else 1
    ends = sorted((d.random.randint(0, size), d.random.randint(0, size) + d.chance(MISTAKES)))
    return Case((x, *ends), {"axis": axis} | d.some(stride=lambda: d.one((1, 2))))


def images(d: Draw) -> Case:
    channels = d.random.randint(1, 3)
    shapes = (d.random.randint(1, 2), channels, 6, 7), (d.random.randint(1, 3), channels, 3, d.random.randint(1, 3))
    strides = (d.random.randint(1, 3), d.random.randint(1, 3))
    return Case((*(d.array(d.maybe(shape), FLOAT) for shape in shapes), strides, d.one(("SAME", "VALID"))))


def general_images(d: Draw) -> Case:
    case = images(d)
    lhs, rhs, *rest = case.arguments
    if d.flag():
        rest[1] = ((1, 1), (0, 2))
    if lhs.ndim == rhs.ndim == 4 and d.flag():
        letters = ("NHWC", "HWIO", "NHWC")
        return Case((lhs.transpose(0, 2, 3, 1), rhs.transpose(2, 3, 1, 0), *rest), {"dimension_numbers": letters})
    return Case((lhs, rhs, *rest))


_PLAIN = tuple(
    name
    for name, row in TABLE.items()
    if name.startswith(("jax.nn.", "jax.lax.", "jax.scipy.")) and row.parameters[:1] == "x"
)
CALLS: dict[str, Call] = {
    **{name: floats() for name in _PLAIN},
    **{f"jax.lax.{name}": plain(types=("int32",)) for name in ("bitwise_not", "population_count")},
    "jax.lax.integer_pow": lambda d: Case((d.any(types=FLOAT), 2)),
    "jax.lax.convert_element_type": lambda d: Case((d.any(types=FLOAT), np.int32)),
    **{
        name: elements(2)
        for name, row in TABLE.items()
        if row.parameters in ("x, y", "x1, x2", "a, x") and name.startswith("jax.lax.") and "integer_pow" not in name
    },
    **{f"jax.lax.bitwise_{name}": bits for name in ("and", "or", "xor")},
    **{f"jax.lax.{name}": front() for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")},
    **{f"jax.lax.{name}": front(np.int32) for name in ("argmax", "argmin")},
    "jax.lax.concatenate": lambda d: Case((d.together(d.random.randint(1, 3), (2, 3), FLOAT), d.one((0, 1, 1, 2)))),
    "jax.lax.expand_dims": calls.expand,
    "jax.lax.squeeze": squeezed,
    "jax.lax.full": lambda d: Case((d.shape(), d.one((1.5, d.array(d.one(((), ())), FLOAT))))),
    "jax.lax.full_like": lambda d: Case((d.any(types=FLOAT), 1.5), d.some(shape=d.shape)),
    "jax.lax.dot_general": dot_general,
    "jax.lax.select": selected,
    "jax.lax.clamp": clamped,
    "jax.lax.dynamic_slice": dynamic_slice,
    "jax.lax.dynamic_slice_in_dim": dynamic_slice_along,
    **dict.fromkeys(("jax.lax.dynamic_index_in_dim", "jax.lax.index_in_dim"), picked),
    "jax.lax.dynamic_update_slice": written_over,
    "jax.lax.dynamic_update_slice_in_dim": written_along,
    "jax.lax.dynamic_update_index_in_dim": written_at,
    "jax.lax.slice_in_dim": slice_along,
    "jax.lax.top_k": top,
    "jax.lax.transpose": transposed,
    "jax.lax.reshape": reshaped,
    "jax.lax.broadcast": lambda d: Case((d.any(types=FLOAT), d.shape(0, 2))),
    "jax.lax.broadcast_in_dim": broadcast_in,
    "jax.lax.rev": lambda d: Case((x := d.any(1, 3, FLOAT), tuple(d.random.sample(range(x.ndim), 1)))),
    "jax.lax.iota": lambda d: Case((np.int32, d.size())),
    "jax.lax.broadcasted_iota": lambda d: Case((np.int32, d.shape(1, 3), 0)),
    "jax.lax.conv": images,
    "jax.lax.conv_general_dilated": general_images,
    **{f"jax.nn.{name}": along for name in ("softmax", "log_softmax", "standardize")},
    **{f"jax.scipy.special.{name}": along for name in ("softmax", "log_softmax")},
    **dict.fromkeys(("jax.nn.logsumexp", "jax.scipy.special.logsumexp"), summed),
    "jax.scipy.special.xlogy": calls.pair(FLOAT),
    "jax.nn.one_hot": encoded,
    "jax.nn.glu": gated,
    "jax.nn.dot_product_attention": attention,
    **{
        f"jax.random.{name}": of_shape()
        for name in (
            *("normal", "exponential", "gumbel", "laplace", "logistic", "cauchy", "maxwell", "bits", "rademacher"),
        )
    },
    **{
        f"jax.random.{name}": of_parameters(1)
        for name in ("chisquare", "gamma", "loggamma", "pareto", "t", "rayleigh", "bernoulli", "poisson", "geometric")
    },
    "jax.random.beta": of_parameters(2),
    "jax.random.truncated_normal": truncated,
    "jax.random.uniform": uniform,
    "jax.random.randint": needs_shape,
    "jax.random.categorical": categories,
    "jax.random.choice": chosen,
    "jax.random.permutation": permuted,
    "jax.random.dirichlet": vectors,
    "jax.random.multivariate_normal": normal_vectors,
    "jax.random.orthogonal": orthogonal,
    "jax.random.split": split,
    "jax.random.fold_in": lambda d: Case((Key(), 3)),
    **{f"jax.random.{name}": lambda d: Case((d.random.randint(0, 9),)) for name in ("key", "PRNGKey")},
    "jax.Array[]": calls.read,
    "jax.Array.at.get()": calls.read,
    **{name: calls.assigned for name in ROWS if name.startswith("jax.Array.at.") and name != "jax.Array.at.get()"},
    "jax.Array.block_until_ready()": plain(),
    "jax.Array.sort()": calls.sorting,
    "jax.Array.argpartition()": calls.partition,
    "jax.Array.searchsorted()": calls.searchsorted,
    "jax.Array.ptp()": calls.reduction("keepdims", types=PRECISE),
    "jax.numpy.unwrap": calls.plain(1, 3, FLOAT),
    "jax.numpy.astype": calls.astype,
    "jax.numpy.float_power": calls.pair(PRECISE),
    **{f"jax.numpy.{name}": calls.plain() for name in ("isneginf", "isposinf", "isreal", "iscomplex")},
    "jax.numpy.acos": calls.plain(),
}
_NAMES = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh",
    "atan2": "arctan2", "pow": "power", "bitwise_invert": "invert", "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift", "nanquantile": "quantile", "nanpercentile": "percentile",
}  # fmt: skip


def call_of(name: str) -> Call | None:
    """The generator of a row: its own, or that of NumPy's function."""
    last = name.removeprefix("jax.numpy.")
    theirs = f"numpy.{_NAMES[last]}" if last in _NAMES else name.removeprefix("jax.")
    return CALLS.get(name) or calls.call_of(theirs)


def drawn(name: str, seed: int) -> Case:
    """One call, without what only NumPy takes."""
    d = Draw(f"{name} {seed}")
    call = call_of(name)
    assert call is not None, name
    case = call(d)
    if name.startswith("jax.Array."):
        case.arguments = [np.asarray(case.arguments[0]), *case.arguments[1:]]
    left_out = {*_NOT_JAX, *(_UNARY_WITHOUT if call in (calls.unary, calls.binary_ufunc) else ())}
    keywords = {key: _single(value) for key, value in case.keywords.items() if key not in left_out}
    return Case([_single(each) for each in case.arguments], keywords)


def _single(argument: Any) -> Any:
    """An argument with arrays of 32 bits in place of 64: JAX has no others unless it is told to."""
    match argument:
        case Key():
            return argument
        case np.ndarray() | np.generic():
            kind = argument.dtype.name
            return np.asarray(argument, kind.replace("64", "32") if kind in ("int64", "float64") else kind)
        case tuple():
            return tuple(map(_single, argument))
        case list():
            return [_single(each) for each in argument]
        case _:
            return argument
