"""Linear's kernels and BLAS against the reference in more digits: float64, or for float64 long doubles."""

from typing import Any

import numpy as np
import pytest
from effort import expensive
from fast_ops import on_every_target, widened
from hypothesis import example, given
from hypothesis import strategies as st

from typednn.engines import available, counting, get_threads, set_threads, using
from typednn.kernels import linear
from typednn.kernels.activations import IDENTITY, Activation
from typednn.kernels.linear import cpu, reference

pytestmark = pytest.mark.skipif(not available(), reason="Halide is not installed")

FLOATS = [np.float32, np.float64]
# 1, odd, one vector of 4, 8 or 16 lanes, one more, one less; and what no tile divides.
extents = st.sampled_from([1, 2, 3, 5, 6, 7, 8, 9, 10, 15, 16, 17, 23, 31, 32, 33, 47, 64, 67, 84, 120, 130])
batches = st.sampled_from([1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 16, 33, 70])
Case = tuple[Any, Any, Any, Any]


def case(batch: int, in_features: int, out_features: int, seed: int = 0, dtype: Any = np.float32) -> Case:
    rng = np.random.default_rng(seed)
    shapes = (batch, in_features), (out_features, in_features), (out_features,), (batch, out_features)
    x, weight, bias, next_grad = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
    return x, weight, bias, next_grad


def close(got: Any, exact: Any, magnitudes: Any, terms: int) -> None:
    """Within the error of a sum of ``terms`` products in any order; ``magnitudes`` is the sum of their
    absolute values.
    """
    assert widened(got).dtype == exact.dtype
    assert got.shape == exact.shape
    assert (np.abs(got - exact) <= (terms + 2) * np.finfo(got.dtype).eps * magnitudes + 1e-30).all()


def check(
    batch: int,
    in_features: int,
    out_features: int,
    biased: bool,
    seed: int,
    engine: str | None = None,
    dtype: Any = np.float32,
) -> None:
    x, weight, bias, next_grad = case(batch, in_features, out_features, seed, dtype)
    before = [array.copy() for array in (x, weight, bias, next_grad)]
    with counting() as counts:
        y = linear.forward(x, weight, bias if biased else None)
        gradients = linear.backward(next_grad, x, weight)
    assert {op for op, _ in counts} == {"linear.forward", "linear.backward"}
    assert {name for _, name in counts} <= ({engine} if engine else {"halide", "blas"})
    for array, earlier in zip((x, weight, bias, next_grad), before, strict=True):
        np.testing.assert_array_equal(array, earlier)

    x, weight, bias, next_grad = map(widened, (x, weight, bias, next_grad))
    sizes = [np.abs(array) for array in (x, weight, bias, next_grad)]
    given_bias, bias_size = (bias, sizes[2]) if biased else (None, None)
    close(
        y, reference.forward(x, weight, given_bias), reference.forward(sizes[0], sizes[1], bias_size), in_features + 1
    )
    exact, magnitudes = reference.backward(next_grad, x, weight), reference.backward(sizes[3], sizes[0], sizes[1])
    for got, wanted, size, terms in zip(gradients, exact, magnitudes, (out_features, batch, batch), strict=True):
        close(got, wanted, size, terms)


@expensive
@given(
    batch=batches,
    in_features=extents,
    out_features=extents,
    biased=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
    dtype=st.sampled_from(FLOATS),
)
@example(batch=1, in_features=17, out_features=256, biased=True, seed=0, dtype=np.float32)
@example(batch=256, in_features=17, out_features=256, biased=True, seed=0, dtype=np.float32)
@example(batch=70, in_features=256, out_features=6, biased=True, seed=0, dtype=np.float32)
@example(batch=70, in_features=256, out_features=6, biased=True, seed=0, dtype=np.float64)
def test_small_is_the_reference(
    batch: int, in_features: int, out_features: int, biased: bool, seed: int, dtype: Any
) -> None:
    check(batch, in_features, out_features, biased, seed, dtype=dtype)


@pytest.mark.parametrize(
    ("sizes", "engine"), [((3, 17, 9), "halide"), ((12, 20, 10), "halide"), ((5, 401, 402), "blas")], ids=str
)
def test_derivatives_are_slopes(sizes: tuple[int, int, int], engine: str, assert_slope: Any) -> None:
    """By central differences, in float64."""
    x, weight, bias, next_grad = case(*sizes, dtype=np.float64)
    tanh = Activation("tanh")
    weight /= np.sqrt(sizes[1])
    few_weights, few_pixels = weight[:2, :3], x[:2, :5]

    def forward(of_x: Any, of_weight: Any, of_bias: Any) -> Any:
        changed_x, changed_weight = x.copy(), weight.copy()
        changed_x[:2, :5], changed_weight[:2, :3] = of_x, of_weight
        return linear.forward(changed_x, changed_weight, of_bias, tanh)

    with counting() as counts:
        y = linear.forward(x, weight, bias, tanh)
        dx, dweight, dbias = linear.backward(next_grad, x, weight, y, tanh)
        assert_slope(dx[:2, :5], lambda at: forward(at, few_weights, bias), few_pixels, next_grad)
        assert_slope(dweight[:2, :3], lambda at: forward(few_pixels, at, bias), few_weights, next_grad)
        assert_slope(dbias, lambda at: forward(few_pixels, few_weights, at), bias, next_grad)
    assert {each for _, each in counts} == {engine}


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("sizes", [(5, 401, 30), (70, 30, 401), (9, 500, 500), (1, 1024, 700), (3, 403, 1031)], ids=str)
def test_large_is_the_reference(sizes: tuple[int, int, int], biased: bool) -> None:
    """Z-T6: products by BLAS, with bias and activation."""
    check(*sizes, biased, 1)
    check(*sizes, biased, 1, dtype=np.float64)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("in_features", "out_features"), [(515, 513), (63, 4200), (3, 90001), (262147, 1)])
def test_few_rows_read_many_weights_once(in_features: int, out_features: int, dtype: Any) -> None:
    """Sizes beside whole vectors, four of them, and whole tasks; forward alone, as backward has other sizes."""
    for batch in (1, 2, 8):
        x, weight, bias, _ = case(batch, in_features, out_features, 3, dtype)
        with counting() as counts:
            y = linear.forward(x, weight, bias)
        assert set(counts) == {("linear.forward", "halide")}
        x, weight, bias = map(widened, (x, weight, bias))
        close(y, reference.forward(x, weight, bias), reference.forward(abs(x), abs(weight), abs(bias)), in_features + 1)


@pytest.mark.parametrize(
    ("batch", "size", "engine"),
    [(64, 24, "halide"), (64, 600, "blas"), (1, 600, "halide"), (3, 600, "halide"), (9, 600, "blas")],
)
def test_each_engine_has_its_sizes(batch: int, size: int, engine: str) -> None:
    check(batch, size, size, True, 2, engine)


@expensive
@given(
    batch=batches,
    in_features=extents,
    out_features=extents,
    value=st.sampled_from([np.nan, np.inf, -np.inf]),
    seed=st.integers(0, 999),
    dtype=st.sampled_from(FLOATS),
)
def test_nan_and_infinity_go_where_the_reference_sends_them(
    batch: int, in_features: int, out_features: int, value: float, seed: int, dtype: Any
) -> None:
    rng = np.random.default_rng(seed)
    arrays = case(batch, in_features, out_features, seed, dtype)
    for array in arrays:
        array[tuple(rng.integers(0, size) for size in array.shape)] = value
    x, weight, bias, next_grad = arrays
    wide = [widened(array) for array in arrays]
    with np.errstate(invalid="ignore"):
        wanted = (reference.forward(wide[0], wide[1], wide[2]), *reference.backward(wide[3], wide[0], wide[1]))
    got = (linear.forward(x, weight, bias), *linear.backward(next_grad, x, weight))
    for ours, theirs in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
        np.testing.assert_array_equal(np.where(np.isinf(ours), ours, 0), np.where(np.isinf(theirs), theirs, 0))


@pytest.mark.parametrize(
    "sizes", [(256, 17, 256), (256, 256, 256), (300, 120, 84), (256, 256, 6), (1, 700, 700), (3, 700, 700)], ids=str
)
def test_kernels_give_the_same_bits_on_one_thread_and_two(sizes: tuple[int, int, int]) -> None:
    x, weight, bias, next_grad = case(*sizes)
    threads = get_threads()
    results = []
    try:
        for count in (1, 2, 2):
            set_threads(count)
            results.append(
                [array.tobytes() for array in (linear.forward(x, weight, bias), *linear.backward(next_grad, x, weight))]
            )
    finally:
        set_threads(threads)
    assert results[0] == results[1] == results[2]


def test_results_are_never_written_again() -> None:
    x, weight, bias, next_grad = case(64, 64, 64)
    y, gradients = linear.forward(x, weight, bias), linear.backward(next_grad, x, weight)
    copies = [array.copy() for array in (y, *gradients)]
    for _ in range(3):
        linear.forward(2 * x, weight, bias)
        linear.backward(2 * next_grad, x, weight)
    for kept, copied in zip((y, *gradients), copies, strict=True):
        np.testing.assert_array_equal(kept, copied)


def test_the_rest_is_the_references() -> None:
    x, weight, bias, next_grad = case(6, 4, 5)
    halves = tuple(array.astype(np.float16) for array in (x, weight, bias, next_grad))
    transposed = np.asfortranarray(x), weight, bias, next_grad
    mixed = x, weight.astype(np.float64), bias, next_grad
    for a, b, c, d in (halves, transposed, mixed):
        with counting() as counts:
            y, gradients = linear.forward(a, b, c), linear.backward(d, a, b)
        assert {engine for _, engine in counts} == {"reference"}
        for got, wanted in zip(
            (y, *gradients), (reference.forward(a, b, c), *reference.backward(d, a, b)), strict=True
        ):
            np.testing.assert_array_equal(got, wanted)
    with using("reference"), counting() as counts:
        linear.forward(x, weight, bias)
    assert counts["linear.forward", "reference"] == 1


@pytest.mark.parametrize(("in_features", "out_features"), [(515, 513), (3, 90001)])
def test_few_rows_on_every_target(in_features: int, out_features: int, tmp_path: Any) -> None:
    on_every_target(
        cpu._forward[True, (out_features, in_features), True, IDENTITY, np.dtype(np.float32)], tmp_path, extent=3
    )


def test_many_rows_of_few_outputs() -> None:
    """Weights that come from memory, but x too: outputs are computed together."""
    check(70, 65537, 4, True, 5, "halide")


@pytest.mark.parametrize(("in_features", "out_features"), [(17, 33), (3, 2)])
@pytest.mark.parametrize("dtype", [np.dtype(each) for each in FLOATS], ids=str)
def test_on_every_target(in_features: int, out_features: int, dtype: Any, tmp_path: Any) -> None:
    weight = out_features, in_features
    kernels = [cpu._forward[few, weight, True, IDENTITY, dtype] for few in (True, False)]
    for kernel in (*kernels, *(cpu._backward[weight, IDENTITY, wanted, True, dtype] for wanted in (False, True))):
        on_every_target(kernel, tmp_path, extent=9)
