"""Ops that work on single numbers or on rows of features, in Halide against the reference: a row of a table for each.

Without an exponential, a logarithm or a sum, to the bit.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from effort import expensive
from fast_ops import (
    agree,
    at_any_size,
    batches,
    every_target,
    floats,
    needs_halide,
    numbers,
    quiet,
    seeds,
    sizes,
    special_pairs,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.engines import using
from typednn.kernels import dropout, glu, linear_units, log_softmax, pointwise_losses, prelu, softmax  # noqa: F401
from typednn.kernels.op import OPS

pytestmark = [needs_halide, quiet]

Bound = Callable[..., Any]
FLOAT32 = np.dtype(np.float32)
one = sizes.map(lambda size: [(size,)])
two = sizes.map(lambda size: [(size,)] * 2)
grids = st.tuples(st.integers(1, 3), sizes).map(lambda shape: [shape] * 2)
halves = st.one_of(
    st.tuples(st.integers(1, 9), st.integers(1, 70)),
    st.sampled_from([(1, 5000), (3000, 1), (700, 129), (1025, 64), (4, 20_000)]),
)
features = st.one_of(st.integers(2, 70), st.sampled_from([255, 256, 257, 300, 1023]))


class Row(NamedTuple):
    """How an op's arguments are drawn, and how near the reference its result is."""

    shapes: Any  # one for each array
    bound: Bound | None = None  # the size of what is rounded; None: the same bits
    more: Callable[[np.random.Generator], tuple[Any, ...]] = lambda rng: ()  # the arguments after the arrays
    fit: Callable[..., tuple[Any, ...]] = lambda *arrays: arrays  # the arrays that the op is made for
    special: tuple[int, ...] = (0, 1)  # the arrays that may hold NaN and infinity
    scales: tuple[float, ...] = (3.0,)
    ulps: float = 8
    least: tuple[float, float] = (2e-38, 2e-38)  # usual numbers, special ones


def chosen(*values: float) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    return lambda rng: (float(rng.choice(values)),)


def fixed(*values: float) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    return lambda rng: values


def finite(array: Any) -> Any:
    return np.nan_to_num(abs(array), posinf=1e30)


# ------------------------------------------------------------------------------------------------------------ bounds


def of_slope(next_grad: Any, x: Any, *_: Any) -> Any:
    return 2 * np.nan_to_num(abs(next_grad))  # an infinite dy gives 0 where the slope is 0


def of_product(next_grad: Any, x: Any) -> Any:
    dy, a = finite(next_grad), finite(x[:, : x.shape[1] // 2])
    return np.concatenate((dy, dy * a), axis=1)


def of_softmax(x: Any) -> Any:
    """A rounding of the result, and one of the exponent."""
    z = x - x.max(axis=1, keepdims=True)
    y = np.exp(z)
    return (2 + abs(np.where(y > 0, z, 0))) * y / y.sum(axis=1, keepdims=True)


def of_softmax_slope(next_grad: Any, y: Any) -> Any:
    return (abs(next_grad) + abs(next_grad * y).sum(axis=1, keepdims=True) * 4) * abs(y)


def of_log_softmax(x: Any) -> Any:
    """A rounding of the difference from the largest, and of the logarithm of the sum."""
    return np.nan_to_num(abs(x - x.max(axis=1, keepdims=True))) + 1 + np.log(x.shape[1])


def of_log_softmax_slope(next_grad: Any, y: Any) -> Any:
    return abs(next_grad) + np.exp(y) * abs(next_grad).sum(axis=1, keepdims=True) * (4 + abs(y))


def of_cross_entropy(p: Any, t: Any, eps: float) -> Any:
    return np.where(t == 0, 0, abs(np.log(np.maximum(p, eps)) * t))


def of_cross_entropy_slope(p: Any, t: Any, eps: float, scale: float) -> Any:
    return np.where(t == 0, 0, abs(t / np.maximum(p, eps) * scale))


# ------------------------------------------------------------------------------------------------------------- rows

slopes, epsilons = chosen(0.0, 0.01, 0.1, 1.0, -2.5), chosen(1e-30, 1e-7, 0.1)
ROWS: dict[str, Row] = {
    "relu.forward": Row(one),
    "relu.backward": Row(grids),
    "leaky_relu.forward": Row(one, more=slopes),
    "leaky_relu.backward": Row(grids, more=slopes),
    "prelu.forward": Row(one, more=lambda rng: (np.array(slopes(rng), np.float32),)),
    "sigmoid.forward": Row(one, lambda x: 1 / (1 + np.exp(-x))),
    "sigmoid.backward": Row(grids, lambda dy, y: abs(dy) * (1 + abs(y)) * abs(y)),
    "tanh.forward": Row(one, lambda x: abs(np.tanh(x))),
    "tanh.backward": Row(grids, lambda dy, y: abs(dy) * (1 + y * y)),
    "glu.forward": Row(halves.map(lambda s: [(s[0], 2 * s[1])]), lambda x: finite(x[:, : x.shape[1] // 2])),
    "glu.backward": Row(
        halves.map(lambda s: [s, (s[0], 2 * s[1])]), of_product, special=(1,), least=(2e-38, 1e-7 + 2e-38)
    ),
    "cross_entropy.forward": Row(two, of_cross_entropy, epsilons),
    "cross_entropy.forward of probabilities": Row(
        grids, of_cross_entropy, epsilons, lambda p, t: (abs(np.modf(p)[0]), t), special=(1,)
    ),
    # 1e30 / 1e-30 is endless in float32 and not in float64, and with a scale of 0.1 not even there.
    "cross_entropy.backward": Row(
        two, of_cross_entropy_slope, lambda rng: (float(rng.choice([1e-7, 0.1])), rng.uniform(0.01, 10))
    ),
    "mse.forward": Row(two),
    "mse.backward": Row(grids, more=lambda rng: (rng.uniform(0.01, 10),)),
    "mse.forward_and_backward": Row(grids, more=lambda rng: (rng.uniform(0.01, 10),)),
    "dropout": Row(
        one,
        more=lambda rng: (
            *chosen(0.0, 0.1, 0.5, 0.99)(rng),
            int(rng.integers(2**53)),
            int(rng.choice([0, 1, 2**31, 2**32 + 3])),
        ),
    ),
}
UNITS = {"gelu": (), "gelu_tanh": (), "silu": (), "softplus": (2.0, 5.0), "elu": (1.67, 1.05)}
UNITS |= {"hardswish": (), "hardsigmoid": ()}
GATED = ("gelu", "gelu_tanh", "silu")
for _name, _numbers in UNITS.items():
    # Roundings are of x near 0, where every function is about as large as it, or of a constant. Tails below the
    # smallest normal number become 0, and are multiplied by up to a hundred.
    _constant = 0 if _name in GATED else 1
    ROWS[f"{_name}.forward"] = Row(
        one,
        lambda x, *_, constant=_constant: np.minimum(abs(x), 1e30) + constant,
        fixed(*_numbers),
        ulps=4,
        least=(1e-35, 1e-35),
    )
    ROWS[f"{_name}.backward"] = Row(two, of_slope, fixed(*_numbers), least=(1e-35, 1e-35))

of_rows = st.tuples(batches, features)
OF_FEATURES: dict[str, Row] = {
    "softmax.forward": Row(of_rows.map(lambda s: [s]), of_softmax, scales=(0.1, 3.0, 50.0)),
    "softmax.backward": Row(
        of_rows.map(lambda s: [s] * 2), of_softmax_slope, fit=lambda dy, y: (dy, abs(y)), special=(0,)
    ),
    "log_softmax.forward": Row(of_rows.map(lambda s: [s]), of_log_softmax, scales=(0.1, 3.0, 50.0)),
    "log_softmax.backward": Row(
        of_rows.map(lambda s: [s] * 2), of_log_softmax_slope, fit=lambda dy, y: (dy, -abs(y)), special=()
    ),
}


def called(name: str) -> Callable[..., Any]:
    """An op that leaves no small array to NumPy."""
    op = OPS[name.partition(" ")[0]]
    return at_any_size(op.run) if op.engines[0].least > 1 else op.run


def drawn(row: Row, shapes: Any, seed: int, special: bool, dtype: Any) -> tuple[Any, ...]:
    """The arguments."""
    rng = np.random.default_rng(seed)
    scale = float(rng.choice(row.scales))
    arrays = [
        numbers(seed + place, *shape, special=special and place in row.special, scale=scale, dtype=dtype)
        for place, shape in enumerate(shapes)
    ]
    return *row.fit(*arrays), *(each.astype(dtype) if isinstance(each, np.ndarray) else each for each in row.more(rng))


def compared(name: str, row: Row, arguments: tuple[Any, ...], special: bool = True) -> Any:
    return agree(called(name), *arguments, magnitude=row.bound, ulps=row.ulps, least=row.least[special])


@pytest.mark.parametrize("name", ROWS)
@settings(max_examples=60, deadline=None)
@given(data=st.data(), special=st.booleans(), seed=seeds, dtype=floats)
def test_the_references_results(name: str, data: st.DataObject, special: bool, seed: int, dtype: Any) -> None:
    """G-L4 among them."""
    row = ROWS[name]
    compared(name, row, drawn(row, data.draw(row.shapes), seed, special, dtype), special)


@pytest.mark.parametrize("name", OF_FEATURES)
@expensive
@given(data=st.data(), special=st.booleans(), seed=seeds, dtype=floats)
def test_the_references_results_of_features(
    name: str, data: st.DataObject, special: bool, seed: int, dtype: Any
) -> None:
    row = OF_FEATURES[name]
    compared(name, row, drawn(row, data.draw(row.shapes), seed, special, dtype), special)


POINTWISE = [name for name in ROWS if not name.startswith(("glu", "mse", "dropout")) and " " not in name]


@pytest.mark.parametrize("name", POINTWISE)
def test_special_pairs(name: str) -> None:
    """Every special number with every other."""
    row, pair = ROWS[name], special_pairs()
    for seed in range(4):
        arrays = row.fit(*(pair[:1] if row.shapes is one else pair))
        compared(name, row, (*arrays, *row.more(np.random.default_rng(seed))))


@pytest.mark.parametrize("name", POINTWISE)
def test_on_every_target(name: str, tmp_path: Any) -> None:
    row = ROWS[name]
    x, *others = drawn(row, [(1001,)] * (1 if row.shapes is one else 2), 0, False, np.float32)
    run: Any = OPS[name].engines[0].run
    kernel = prelu.cpu._forward[FLOAT32] if name == "prelu.forward" else run.__self__.kernels[FLOAT32]
    of_probabilities = name.startswith("cross_entropy")  # whose slope is steep at 0
    every_target(kernel, (abs(x) if of_probabilities else x, *others), [(x.shape, np.float32)], tmp_path)


@pytest.mark.parametrize("size", [3, 37])
def test_glu_on_every_target(size: int, tmp_path: Any) -> None:
    x, dy = numbers(0, 9, 2, size), numbers(1, 9, size)
    every_target(glu.cpu._forward[FLOAT32], (x,), [((9, size), np.float32)], tmp_path)
    every_target(glu.cpu._backward[FLOAT32], (dy, x), [((9, 2, size), np.float32)], tmp_path)


# ------------------------------------------------------------------------------------------------------------ losses


def of_bce(x: Any, t: Any, weight: float) -> Any:
    near = np.log1p(np.exp(-abs(x)))
    return np.nan_to_num(abs(1 - t) * (np.maximum(x, 0) + near) + abs(weight * t) * (np.maximum(-x, 0) + near))


def of_bce_slope(x: Any, t: Any, weight: float, scale: float) -> Any:
    share = np.exp(-abs(x)) / (1 + np.exp(-abs(x)))
    above, below = np.where(x < 0, share, 1 - share), np.where(x < 0, 1 - share, share)
    return np.nan_to_num(scale * (abs(1 - t) * above + abs(weight * t) * below) * (1 + abs(x)))


def of_kl_div(x: Any, t: Any) -> Any:
    return np.nan_to_num(abs(t) * (abs(np.log(np.where(t > 0, t, 1))) + 1 + abs(x)))


def of_kl_div_of_logs(x: Any, t: Any) -> Any:
    return np.nan_to_num(np.exp(t) * (1 + abs(t)) * abs(t - x))


def of_kl_div_of_logs_slope(x: Any, t: Any, scale: float) -> Any:
    return np.nan_to_num(scale * np.exp(t) * (1 + abs(t)))


def moderate(x: Any, t: Any) -> tuple[Any, Any]:
    """Logarithms beyond 80 would leave float32's normal numbers."""
    return x, np.where(np.isfinite(t), np.clip(t, -80, 80), t).astype(t.dtype)


class Loss(NamedTuple):
    """What a rounding of the terms may do: their sizes; of losses without an exponential nothing."""

    numbers: tuple[float, ...] = ()
    bound: Bound | None = None
    slope: Bound | None = None
    fit: Callable[[Any, Any], tuple[Any, Any]] = lambda x, t: (x, t)  # targets that it is made for


LOSSES = {
    "mse": Loss(),
    "l1": Loss(),
    "huber": Loss((0.7,)),
    "bce_with_logits": Loss((2.5,), of_bce, of_bce_slope, lambda x, t: (x, np.clip(t, 0, 1))),
    "kl_div": Loss((), of_kl_div, None, lambda x, t: (x, abs(t))),
    "kl_div_of_logs": Loss((), of_kl_div_of_logs, of_kl_div_of_logs_slope, moderate),
}
fewer_sizes = st.one_of(st.integers(1, 70), st.sampled_from([1000, 32769, 131073]))
each_loss = pytest.mark.parametrize("name", LOSSES)


def loss_and_slope(name: str, x: Any, t: Any, scale: float) -> None:
    """The same bits in one pass."""
    loss, arrays = LOSSES[name], LOSSES[name].fit(x, t)
    of_loss, of_slope, both = (called(f"{name}.{way}") for way in ("forward", "backward", "forward_and_backward"))
    least = 2e-38 * max(scale, 1)
    found = (
        *agree(of_loss, *arrays, *loss.numbers, magnitude=loss.bound),
        *agree(of_slope, *arrays, *loss.numbers, scale, magnitude=loss.slope, least=least),
    )
    # as they are compared with what was found
    together = agree(both, *arrays, *loss.numbers, scale, magnitude=lambda *_: np.inf)
    for alone, joined in zip(found, together, strict=True):
        np.testing.assert_array_equal(joined, alone)


@each_loss
@settings(max_examples=25, deadline=None)
@given(size=fewer_sizes, special=st.booleans(), scale=st.floats(0.01, 10), seed=seeds, dtype=floats)
def test_loss_and_slope(name: str, size: int, special: bool, scale: float, seed: int, dtype: Any) -> None:
    x, t = (numbers(seed + place, size, special=special, dtype=dtype) for place in range(2))
    loss_and_slope(name, x, t, scale)


@each_loss
def test_special_pairs_of_losses(name: str) -> None:
    loss_and_slope(name, *special_pairs(), 0.3)


@pytest.mark.parametrize("name", [*(f"{name}.forward_and_backward" for name in LOSSES), "mse.forward", "mse.backward"])
def test_losses_on_every_target(name: str, tmp_path: Any) -> None:
    loss, run = LOSSES[name.partition(".")[0]], OPS[name].engines[0].run
    kernel: Any = run.__self__.kernels[FLOAT32]
    arguments = *loss.fit(numbers(0, 1001), numbers(1, 1001)), *loss.numbers
    results = 2 if name.endswith("and_backward") else 1
    scale = () if name.endswith("forward") else (0.3,)
    every_target(kernel, (*arguments, *scale), [((1001,), np.float32)] * results, tmp_path)


def test_a_negative_probability_is_no_number() -> None:
    x, t = numbers(0, 4000), -abs(numbers(1, 4000)) - 1
    assert np.isnan(agree(OPS["kl_div.forward"].run, x, t)[0]).all()


# -------------------------------------------------------------------------------------------------- softmax, by rows


@pytest.mark.parametrize("size", [2, 5, 16, 17, 64, 700])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, 1e30])
def test_each_place(size: int, special: float) -> None:
    """One special number at each place of a row, and a row of nothing else; of log_softmax forth and back."""
    x = numbers(0, size + 1, size).copy()
    x[-1] = special
    np.fill_diagonal(x, special)
    agree(softmax.forward, x, magnitude=of_softmax)
    (y,) = agree(log_softmax.forward, x, magnitude=of_log_softmax)
    agree(log_softmax.backward, numbers(1, *x.shape), y, magnitude=lambda next_grad, y: np.full(y.shape, 1e3))


@pytest.mark.parametrize(
    ("op", "size"), [*((softmax, n) for n in (3, 10, 37, 300)), (log_softmax, 3), (log_softmax, 37)]
)
def test_rows_on_every_target(op: Any, size: int, tmp_path: Any) -> None:
    x, other, shapes = numbers(0, 9, size), numbers(1, 9, size), [((9, size), np.float32)]
    forward, backward = op.cpu.plan(x)
    every_target(forward, (x,), shapes, tmp_path)
    every_target(backward, (x, other) if op is softmax else (other, -abs(x)), shapes, tmp_path, rtol=1e-4)


# ------------------------------------------------------------------------------------------- prelu's and GELU's slopes


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 3),
    size=sizes,
    special=st.booleans(),
    slope=st.sampled_from([0.0, 0.01, 1.0, -2.5]),
    seed=seeds,
    dtype=floats,
)
def test_prelus_derivatives(rows: int, size: int, special: bool, slope: float, seed: int, dtype: Any) -> None:
    """dx to the bit; the slope's, a sum, where it has a bound."""
    x, next_grad = (numbers(seed + place, rows, size, special=special, dtype=dtype) for place in range(2))
    of_x = np.array([slope], dtype)
    dx, dslope = agree(prelu.backward, next_grad, x, of_x, magnitude=lambda *_: np.inf)
    with using("reference"):
        np.testing.assert_array_equal(dx, prelu.backward(next_grad, x, of_x)[0])
    if not special:
        terms = np.where(x > 0, 0, next_grad.astype(float) * x)
        assert abs(dslope[0] - terms.sum()) <= 16 * np.finfo(dtype).eps * abs(terms).sum()


def test_special_pairs_among_others() -> None:
    """In the sum of prelu's slope, at the beginning and in the rest of a vector."""
    for number, by in zip(*special_pairs(), strict=True):
        for place in (3, 100):
            x, dy = np.linspace([-1, -1], 1, 101, dtype=np.float32).T.copy()
            x[place], dy[place] = number, by
            slope = np.array([0.25], np.float32)
            agree(prelu.backward, dy, x, slope, magnitude=lambda *_: np.inf)


def test_prelus_derivatives_on_every_target(tmp_path: Any) -> None:
    given = numbers(0, 40_001), numbers(1, 40_001), np.array([0.25], np.float32)
    every_target(prelu.cpu._backward[FLOAT32], given, [((40_001,), np.float32)], tmp_path, rtol=1e-4)
    every_target(prelu.cpu._dslope.kernels[FLOAT32], given[:2], [((1,), np.float32)], tmp_path, rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", [*GATED, "softplus", "elu"])
def test_small_results_keep_their_digits(name: str, dtype: Any) -> None:
    """Not only beside x: relative to the result itself, with the rounding of the exponent."""
    op: Any = getattr(linear_units, name)
    x = np.concatenate([-np.logspace(-6, 0.6, 1000), -np.linspace(4, 8, 500)]).astype(dtype)
    exact = op.formulas[0].reference(x.astype(np.longdouble), *UNITS[name])
    got = op.forward(x, *UNITS[name])
    assert (abs(got / exact - 1) < np.finfo(dtype).eps * (4 + 2 * x * x)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_slope_of_the_tanh_form_is_exact_where_pytorchs_is_not(dtype: Any) -> None:
    """G-L4: within 2 eps of the formula as written, in long doubles."""
    x = np.linspace(-12, 12, 20001).astype(dtype)
    wide = x.astype(np.longdouble)
    root, cubic = np.longdouble("0.79788456080286535587989211986876373695"), np.longdouble("0.044715")
    v, slope_of_v = root * (wide + cubic * wide**3), root * (1 + 3 * cubic * wide**2)
    exact = (1 + np.tanh(v)) / 2 + wide * slope_of_v / (2 * np.cosh(v) ** 2)
    assert abs(linear_units.gelu_tanh.backward(np.ones_like(x), x) - exact).max() < 2 * np.finfo(dtype).eps
