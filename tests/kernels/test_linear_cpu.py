"""Linear's kernels and BLAS, with an activation or without, against the reference in more digits: float64, or for
float64 long doubles.
"""

from typing import Any

import numpy as np
import pytest
from effort import expensive
from fast_ops import needs_halide, on_every_target, quiet, same_on_all_threads, widened
from hypothesis import example, given
from hypothesis import strategies as st
from slopes import assert_slopes

from typednn.engines import counting, using
from typednn.kernels import linear
from typednn.kernels.activations import IDENTITY, RELU, Activation
from typednn.kernels.linear import cpu, reference

pytestmark = needs_halide

FLOATS = [np.float32, np.float64]
LEAKY, SIGMOID, TANH = Activation("leaky_relu", 0.1), Activation("sigmoid"), Activation("tanh")
ACTIVATIONS = [IDENTITY, RELU, LEAKY, SIGMOID, TANH]
each_activation = pytest.mark.parametrize("activation", ACTIVATIONS, ids=repr)
# 1, odd, one vector of 4, 8 or 16 lanes, one more, one less; and what no tile divides.
extents = st.sampled_from([1, 2, 3, 5, 6, 7, 8, 9, 10, 15, 16, 17, 23, 31, 32, 33, 47, 64, 67, 84, 120, 130])
batches = st.sampled_from([1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 15, 16, 17, 33, 67, 70, 120])
seeds = st.integers(0, 2**31)
Sizes = tuple[int, int, int]  # batch, in_features, out_features


def arrays(sizes: Sizes, seed: int = 0, dtype: Any = np.float32) -> list[Any]:
    """x, weight, bias, next_grad; weights so small that sigmoid and tanh are not at their ends."""
    batch, in_features, out_features = sizes
    rng = np.random.default_rng(seed)
    shapes = (batch, in_features), (out_features, in_features), (out_features,), (batch, out_features)
    made = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    made[1] /= dtype(np.sqrt(in_features))
    return made


def close(got: Any, exact: Any, bound: Any) -> None:
    """``bound`` in units of a rounding."""
    assert widened(got).dtype == exact.dtype
    assert got.shape == exact.shape
    assert (np.abs(got - exact) <= bound * np.finfo(got.dtype).eps + 1e-30).all()


def check(
    sizes: Sizes, biased: bool, activation: Activation = IDENTITY, seed: int = 0, dtype: Any = np.float32
) -> set[str]:
    """Compare forward, backward, and backward without dx, each within the error of its sums of products in any order;
    the engines that ran.
    """
    x, weight, bias, next_grad = given = arrays(sizes, seed, dtype)
    before = [array.copy() for array in given]
    of_bias = bias if biased else None
    with counting() as counts:
        y = linear.forward(x, weight, of_bias, activation)
        of_y = () if activation == IDENTITY else (y, activation)
        gradients = linear.backward(next_grad, x, weight, *of_y)
        dx, *without = linear.backward(next_grad, x, weight, y, activation, wants_input=False)
    assert dx is None
    assert {op for op, _ in counts} == {"linear.forward", "linear.backward"}
    for array, earlier in zip(given, before, strict=True):
        np.testing.assert_array_equal(array, earlier)

    exact: list[Any] = [widened(array) for array in (x, weight, of_bias, next_grad)]
    magnitudes: list[Any] = [None if array is None else np.abs(array) for array in exact]
    # No activation is steeper than 1, but a leaky one that was asked for; those with exponentials add some roundings of
    # their own.
    own, (batch, in_features, out_features) = activation != IDENTITY, sizes
    sums = reference.forward(*magnitudes[:3])
    close(y, reference.forward(exact[0], exact[1], exact[2], activation), (in_features + 3) * sums + 8 * own)
    # Where rounding decides on which side of a kink a sum falls, y says what was decided.
    wanted = reference.backward(exact[3], exact[0], exact[1], widened(y), activation)
    bounds = reference.backward(magnitudes[3] * max(1, activation.slope), magnitudes[0], magnitudes[1])
    places = [*zip(gradients, wanted, bounds, (out_features, batch, batch), strict=True)]
    for got, right, bound, terms in (*places, *zip(without, wanted[1:], bounds[1:], (batch, batch), strict=True)):
        close(got, right, (terms + 2 + 4 * own) * bound)
    return {engine for _, engine in counts}


@pytest.mark.parametrize("activations", [[IDENTITY], ACTIVATIONS], ids=["plain", "activated"])
@expensive
@given(
    sizes=st.tuples(batches, extents, extents),
    biased=st.booleans(),
    which=st.integers(0, 4),
    seed=seeds,
    dtype=st.sampled_from(FLOATS),
)
@example(sizes=(1, 17, 256), biased=True, which=0, seed=0, dtype=np.float32)
@example(sizes=(256, 17, 256), biased=True, which=0, seed=0, dtype=np.float32)
@example(sizes=(70, 256, 6), biased=True, which=0, seed=0, dtype=np.float32)
@example(sizes=(70, 256, 6), biased=True, which=0, seed=0, dtype=np.float64)
def test_small_is_the_reference(
    activations: list[Activation], sizes: Sizes, biased: bool, which: int, seed: int, dtype: Any
) -> None:
    assert check(sizes, biased, activations[which % len(activations)], seed, dtype) == {"halide"}


@each_activation
@pytest.mark.parametrize(
    ("sizes", "engines"),
    [
        ((1, 17, 256), "halide"),  # rows
        ((1, 450, 600), "halide"),  # a row of many weights
        ((7, 450, 600), "blas halide"),  # some rows of them: BLAS backward
        ((64, 40, 6), "halide"),  # rows, for few outputs
        ((300, 17, 120), "halide"),  # tiles
        ((70, 401, 500), "blas"),
        ((9, 16, 500), "blas halide"),  # many outputs: BLAS forward, a kernel backward
    ],
    ids=str,
)
def test_every_size_class(sizes: Sizes, engines: str, activation: Activation) -> None:
    assert check(sizes, activation.name not in ("leaky_relu", "sigmoid"), activation) == set(engines.split())


@each_activation
def test_by_blas_in_float64(activation: Activation) -> None:
    assert check((70, 401, 500), True, activation, dtype=np.float64) == {"blas"}


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("sizes", [(5, 401, 30), (70, 30, 401), (9, 500, 500), (1, 1024, 700), (3, 403, 1031)], ids=str)
def test_large_is_the_reference(sizes: Sizes, biased: bool, dtype: Any) -> None:
    """Z-T6: products by BLAS, with bias and activation."""
    assert check(sizes, biased, seed=1, dtype=dtype) <= {"halide", "blas"}


@pytest.mark.parametrize(
    ("sizes", "engine"),
    [
        *(((64, 24, 24), "halide"), ((64, 600, 600), "blas"), ((1, 600, 600), "halide"), ((3, 600, 600), "halide")),
        ((9, 600, 600), "blas"),
        ((70, 65537, 4), "halide"),  # weights that come from memory, but x too: outputs are computed together
    ],
)
def test_each_engine_has_its_sizes(sizes: Sizes, engine: str) -> None:
    assert check(sizes, True, seed=2) == {engine}


@pytest.mark.parametrize(
    ("sizes", "engine"), [((3, 17, 9), "halide"), ((12, 20, 10), "halide"), ((5, 401, 402), "blas")], ids=str
)
def test_derivatives_are_slopes(sizes: Sizes, engine: str) -> None:
    """By central differences, in float64."""
    x, weight, bias, next_grad = arrays(sizes, dtype=np.float64)

    def forward(of_x: Any, of_weight: Any, of_bias: Any) -> Any:
        changed_x, changed_weight = x.copy(), weight.copy()
        changed_x[:2, :5], changed_weight[:2, :3] = of_x, of_weight
        return linear.forward(changed_x, changed_weight, of_bias, TANH)

    with counting() as counts:
        dx, dweight, dbias = linear.backward(next_grad, x, weight, linear.forward(x, weight, bias, TANH), TANH)
        assert_slopes((dx[:2, :5], dweight[:2, :3], dbias), forward, (x[:2, :5], weight[:2, :3], bias), next_grad)
    assert {each for _, each in counts} == {engine}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("in_features", "out_features"), [(515, 513), (63, 4200), (3, 90001), (262147, 1)])
def test_few_rows_read_many_weights_once(in_features: int, out_features: int, dtype: Any) -> None:
    """Sizes beside whole vectors, four of them, and whole tasks; forward alone, as backward has other sizes."""
    for batch in (1, 2, 8):
        x, weight, bias, _ = arrays((batch, in_features, out_features), 3, dtype)
        with counting() as counts:
            y = linear.forward(x, weight, bias)
        assert set(counts) == {("linear.forward", "halide")}
        wide = [widened(array) for array in (x, weight, bias)]
        close(y, reference.forward(*wide), (in_features + 3) * reference.forward(*map(np.abs, wide)))


@expensive
@given(
    sizes=st.tuples(batches, extents, extents),
    value=st.sampled_from([np.nan, np.inf, -np.inf]),
    seed=st.integers(0, 999),
    dtype=st.sampled_from(FLOATS),
)
def test_nan_and_infinity_go_where_the_reference_sends_them(sizes: Sizes, value: float, seed: int, dtype: Any) -> None:
    rng = np.random.default_rng(seed)
    given_arrays = arrays(sizes, seed, dtype)
    for array in given_arrays:
        array[tuple(rng.integers(0, size) for size in array.shape)] = value
    wide = [widened(array) for array in given_arrays]
    with np.errstate(invalid="ignore"):
        wanted = (reference.forward(wide[0], wide[1], wide[2]), *reference.backward(wide[3], wide[0], wide[1]))
    x, weight, bias, next_grad = given_arrays
    for ours, theirs in zip(
        (linear.forward(x, weight, bias), *linear.backward(next_grad, x, weight)), wanted, strict=True
    ):
        np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
        np.testing.assert_array_equal(np.where(np.isinf(ours), ours, 0), np.where(np.isinf(theirs), theirs, 0))


@quiet
@each_activation
@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("sizes", [(1, 5, 18), (9, 5, 18), (9, 405, 418)])
def test_nan_and_infinity_meet_an_activation(value: float, sizes: Sizes, activation: Activation) -> None:
    x, weight, bias, next_grad = arrays(sizes, 1)
    x[-1, 3], bias[4], next_grad[0, 7], next_grad[0, 8] = value, value, value, np.inf
    y = linear.forward(x, weight, bias, activation)
    gradients = linear.backward(next_grad, x, weight, y, activation)
    with using("reference"):
        np.testing.assert_allclose(y, linear.forward(x, weight, bias, activation), rtol=1e-5, atol=1e-5)
        wanted = linear.backward(next_grad, x, weight, y, activation)
    for got, right in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-4)


SHARED = [(256, 17, 256), (256, 256, 256), (300, 120, 84), (256, 256, 6), (1, 700, 700), (3, 700, 700)]


@pytest.mark.parametrize(
    ("sizes", "activation"),
    [
        *((sizes, IDENTITY) for sizes in SHARED),
        *(((600, 100, out), each) for out in (120, 250) for each in (IDENTITY, RELU, TANH)),
    ],
    ids=str,
)
def test_kernels_give_the_same_bits_on_one_thread_and_two(sizes: Sizes, activation: Activation) -> None:
    x, weight, bias, next_grad = arrays(sizes, 2)
    y = linear.forward(x, weight, bias, activation)
    same_on_all_threads(
        lambda: (linear.forward(x, weight, bias, activation), *linear.backward(next_grad, x, weight, y, activation))
    )


def test_passes_around_blas_do_not_depend_on_the_threads() -> None:
    """dz and dbias, and bias and activation; OpenBLAS's own sums do depend on them."""
    rng = np.random.default_rng(3)
    y, next_grad = rng.standard_normal((2, 700, 450), dtype=np.float32)
    activation = Activation("leaky_relu", 0.5)

    def computed() -> tuple[Any, ...]:
        dz, dbias, z = np.empty_like(y), np.empty(450, np.float32), y.copy()
        cpu._bias_activation_backward[450, activation](next_grad, y, dz, dbias)
        cpu._finished[450, True, activation](z, dbias)
        return dz, dbias, z

    dz, dbias, z = same_on_all_threads(computed)
    np.testing.assert_array_equal(dz, activation.backward(next_grad, y))
    np.testing.assert_array_equal(z, activation.forward(y + dbias))
    bound = 700 * np.finfo(np.float32).eps * np.abs(dz).sum(axis=0).max()
    np.testing.assert_allclose(dbias, dz.sum(axis=0, dtype=np.float64), atol=bound)


def test_results_are_never_written_again() -> None:
    x, weight, bias, next_grad = arrays((64, 64, 64))
    kept = linear.forward(x, weight, bias), *linear.backward(next_grad, x, weight)
    copies = [array.copy() for array in kept]
    for _ in range(3):
        linear.forward(2 * x, weight, bias)
        linear.backward(2 * next_grad, x, weight)
    for array, copied in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(array, copied)


def test_the_rest_is_the_references() -> None:
    """Half precision, a transposed array, two dtypes; all where the reference is asked for."""
    x, weight, bias, next_grad = arrays((6, 4, 5))
    halves = tuple(array.astype(np.float16) for array in (x, weight, bias, next_grad))
    transposed = np.asfortranarray(x), weight, bias, next_grad
    mixed = x, weight.astype(np.float64), bias, next_grad
    for a, b, c, d in (halves, transposed, mixed):
        with counting() as counts:
            found = linear.forward(a, b, c), *linear.backward(d, a, b)
        assert {engine for _, engine in counts} == {"reference"}
        for got, wanted in zip(found, (reference.forward(a, b, c), *reference.backward(d, a, b)), strict=True):
            np.testing.assert_array_equal(got, wanted)
    with using("reference"), counting() as counts:
        linear.forward(x, weight, bias)
    assert counts["linear.forward", "reference"] == 1


FLOAT32 = np.dtype(np.float32)
COMPILED = {
    **{
        f"weights of {out}, {features} {dtype}": lambda shape=(out, features), dtype=dtype: [
            *(cpu._forward[few, shape, True, IDENTITY, dtype] for few in (True, False)),
            *(cpu._backward[shape, IDENTITY, wanted, True, dtype] for wanted in (False, True)),
        ]
        for features, out in ((17, 33), (3, 2))
        for dtype in map(np.dtype, FLOATS)
    },
    **{
        activation.name: lambda activation=activation: [
            *(cpu._forward[few, (20, 17), few, activation] for few in (True, False)),
            *(cpu._backward[(20, 17), activation, wanted, True] for wanted in (False, True)),
            *(cpu._backward[shape, activation, False, True] for shape in ((20, 30), (20, 3))),
            *(cpu._finished[20, True, activation], cpu._bias_activation_backward[20, activation]),
        ]
        for activation in (RELU, TANH)
    },
    "a few rows": lambda: [cpu._forward[True, shape, True, IDENTITY, FLOAT32] for shape in ((513, 515), (90001, 3))],
}


@pytest.mark.parametrize("name", COMPILED)
def test_on_every_target(name: str, tmp_path: Any) -> None:
    for kernel in COMPILED[name]():
        on_every_target(kernel, tmp_path, extent=3 if name == "a few rows" else 9)
