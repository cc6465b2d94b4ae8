"""Linear with an activation, against the reference in float64."""

from typing import Any

import numpy as np
import pytest
from effort import expensive
from fast_ops import on_every_target, widened
from hypothesis import given
from hypothesis import strategies as st

from typednn.engines import available, counting, get_threads, set_threads, using
from typednn.kernels import linear
from typednn.kernels.activations import IDENTITY, RELU, Activation
from typednn.kernels.linear import cpu, reference

pytestmark = pytest.mark.skipif(not available(), reason="Halide is not installed")

EPS = float(np.finfo(np.float32).eps)
FLOATS = [np.float32, np.float64]
ACTIVATIONS = [IDENTITY, RELU, Activation("leaky_relu", 0.1), Activation("sigmoid"), Activation("tanh")]
extents = st.sampled_from([1, 2, 3, 7, 8, 15, 16, 17, 33, 67, 120])


def arrays(batch: int, in_features: int, out_features: int, seed: int, dtype: Any = np.float32) -> list[Any]:
    """x, weight, bias, next_grad; read-only."""
    rng = np.random.default_rng(seed)
    shapes = (batch, in_features), (out_features, in_features), (out_features,), (batch, out_features)
    made = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    for array in made:
        array.setflags(write=False)
    return made


def close(got: Any, exact: Any, bound: Any) -> None:
    """``bound`` in units of a rounding."""
    assert widened(got).dtype == exact.dtype
    assert got.shape == exact.shape
    assert (np.abs(got - exact) <= bound * np.finfo(got.dtype).eps + 1e-30).all()


def check(
    batch: int,
    in_features: int,
    out_features: int,
    biased: bool,
    activation: Activation,
    seed: int = 0,
    dtype: Any = np.float32,
) -> set[str]:
    """Compare forward, backward, and backward without dx; the engines that ran."""
    x, weight, bias, next_grad = arrays(batch, in_features, out_features, seed, dtype)
    weight = weight / dtype(np.sqrt(in_features))  # so that sigmoid and tanh are not at their ends
    bias = bias if biased else None
    with counting() as counts:
        y = linear.forward(x, weight, bias, activation)
        gradients = linear.backward(next_grad, x, weight, y, activation)
        dx, *without = linear.backward(next_grad, x, weight, y, activation, wants_input=False)
    assert dx is None

    exact: list[Any] = [widened(array) for array in (x, weight, bias, next_grad)]
    sizes: list[Any] = [None if array is None else np.abs(array) for array in exact]
    # No activation is steeper than 1, but a leaky one that was asked for; those with exponentials add some roundings of
    # their own.
    sums = reference.forward(*sizes[:3])
    close(y, reference.forward(exact[0], exact[1], exact[2], activation), (in_features + 3) * sums + 8)
    # Where rounding decides on which side of a kink a sum falls, y says what was decided.
    right = reference.backward(exact[3], exact[0], exact[1], widened(y), activation)
    bounds = reference.backward(sizes[3] * max(1, activation.slope), sizes[0], sizes[1])
    for got, wanted, bound, terms in zip(gradients, right, bounds, (out_features, batch, batch), strict=True):
        close(got, wanted, (terms + 6) * bound)
    for got, wanted, bound in zip(without, right[1:], bounds[1:], strict=True):
        close(got, wanted, (batch + 6) * bound)
    assert {op for op, _ in counts} == {"linear.forward", "linear.backward"}
    return {engine for _, engine in counts}


@expensive
@given(
    batch=extents,
    in_features=extents,
    out_features=extents,
    biased=st.booleans(),
    activation=st.sampled_from(ACTIVATIONS),
    seed=st.integers(0, 2**31),
    dtype=st.sampled_from(FLOATS),
)
def test_kernels_are_the_reference(
    batch: int, in_features: int, out_features: int, biased: bool, activation: Any, seed: int, dtype: Any
) -> None:
    assert check(batch, in_features, out_features, biased, activation, seed, dtype) == {"halide"}


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=repr)
@pytest.mark.parametrize(
    ("batch", "in_features", "out_features", "engines"),
    [
        (1, 17, 256, {"halide"}),  # rows
        (1, 450, 600, {"halide"}),  # a row of many weights
        (7, 450, 600, {"halide", "blas"}),  # some rows of them: BLAS backward
        (64, 40, 6, {"halide"}),  # rows, for few outputs
        (300, 17, 120, {"halide"}),  # tiles
        (70, 401, 500, {"blas"}),
        (9, 16, 500, {"blas", "halide"}),  # many outputs: BLAS forward, a kernel backward
    ],
)
def test_every_size_class(
    batch: int, in_features: int, out_features: int, engines: set[str], activation: Activation
) -> None:
    biased = activation.name not in ("leaky_relu", "sigmoid")
    assert check(batch, in_features, out_features, biased, activation) == engines


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=repr)
def test_by_blas_in_float64(activation: Activation) -> None:
    assert check(70, 401, 500, True, activation, dtype=np.float64) == {"blas"}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the reference on infinities
@pytest.mark.parametrize("activation", ACTIVATIONS, ids=repr)
@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("batch", "in_features", "out_features"), [(1, 5, 18), (9, 5, 18), (9, 405, 418)])
def test_nan_and_infinity_go_where_the_reference_sends_them(
    value: float, batch: int, in_features: int, out_features: int, activation: Activation
) -> None:
    x, weight, bias, next_grad = (array.copy() for array in arrays(batch, in_features, out_features, 1))
    weight /= np.float32(np.sqrt(in_features))
    x[-1, 3], bias[4], next_grad[0, 7], next_grad[0, 8] = value, value, value, np.inf
    y = linear.forward(x, weight, bias, activation)
    gradients = linear.backward(next_grad, x, weight, y, activation)
    with using("reference"):
        np.testing.assert_allclose(y, linear.forward(x, weight, bias, activation), rtol=1e-5, atol=1e-5)
        wanted = linear.backward(next_grad, x, weight, y, activation)
    for got, right in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("activation", [IDENTITY, RELU, Activation("tanh")], ids=repr)
@pytest.mark.parametrize("out_features", [120, 250])
def test_results_do_not_depend_on_the_threads(out_features: int, activation: Activation) -> None:
    x, weight, bias, next_grad = arrays(600, 100, out_features, 2)
    before, seen = get_threads(), []
    try:
        for count in (1, 2, 2):
            set_threads(count)
            y = linear.forward(x, weight, bias, activation)
            seen.append(
                [
                    result.tobytes()
                    for result in (y, *linear.backward(next_grad, x, weight, y, activation))
                    if result is not None
                ]
            )
    finally:
        set_threads(before)
    assert seen[1] == seen[0]
    assert seen[2] == seen[0]


def test_passes_around_blas_do_not_depend_on_the_threads() -> None:
    """dz and dbias, and bias and activation; OpenBLAS's own sums do depend on them."""
    rng = np.random.default_rng(3)
    y, next_grad = rng.standard_normal((2, 700, 450), dtype=np.float32)
    activation, before, seen = Activation("leaky_relu", 0.5), get_threads(), []
    try:
        for count in (1, 2):
            set_threads(count)
            dz, dbias, z = np.empty_like(y), np.empty(450, np.float32), y.copy()
            cpu._bias_activation_backward[450, activation](next_grad, y, dz, dbias)
            cpu._finished[450, True, activation](z, dbias)
            np.testing.assert_array_equal(dz, activation.backward(next_grad, y))
            np.testing.assert_array_equal(z, activation.forward(y + dbias))
            np.testing.assert_allclose(
                dbias, dz.sum(axis=0, dtype=np.float64), atol=700 * EPS * np.abs(dz).sum(axis=0).max()
            )
            seen.append([array.tobytes() for array in (dz, dbias, z)])
    finally:
        set_threads(before)
    assert seen[1] == seen[0]


@pytest.mark.parametrize("activation", [RELU, Activation("tanh")], ids=repr)
def test_on_every_target(activation: Activation, tmp_path: Any) -> None:
    kernels = [cpu._forward[True, (20, 17), True, activation], cpu._forward[False, (20, 17), False, activation]]
    kernels += [cpu._backward[(20, 17), activation, wanted, True] for wanted in (False, True)]
    kernels += [cpu._backward[(20, 30), activation, False, True], cpu._backward[(20, 3), activation, False, True]]
    kernels += [cpu._finished[20, True, activation], cpu._bias_activation_backward[20, activation]]
    for kernel in kernels:
        on_every_target(kernel, tmp_path, extent=9)
