"""A chain of affine maps as one kernel, against the maps one after another in float64."""

import copy
from typing import Any

import numpy as np
import pytest
from fast_ops import on_every_target
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.engines import available, counting, get_threads, set_threads, using
from typednn.errors import ShapeError
from typednn.kernels import linear
from typednn.kernels.activations import IDENTITY, RELU, Activation
from typednn.kernels.linear import Layout
from typednn.kernels.linear.cpu import FEW_ROWS

pytestmark = pytest.mark.skipif(not available(), reason="Halide is not installed")

ACTIVATIONS = [IDENTITY, RELU, Activation("leaky_relu", 0.1), Activation("sigmoid"), Activation("tanh")]
CONTROL = Layout((17, 256, 256, 6), (True,) * 3, (RELU, RELU, IDENTITY))


def case(batch: int, layout: Layout, seed: int = 0) -> tuple[Any, list[Any]]:
    rng = np.random.default_rng(seed)
    parameters: list[Any] = []
    for before, after, biased in zip(layout.features, layout.features[1:], layout.biased, strict=False):
        parameters.append((rng.standard_normal((after, before)) / np.sqrt(before)).astype(np.float32))
        parameters += [rng.standard_normal(after).astype(np.float32)] if biased else []
    arrays = [rng.standard_normal((batch, layout.features[0])).astype(np.float32), *parameters]
    for array in arrays:
        array.setflags(write=False)
    return arrays[0], arrays[1:]


def check(batch: int, layout: Layout, seed: int = 0) -> None:
    x, parameters = case(batch, layout, seed)
    with counting() as counts:
        y = linear.chain(x, layout, *parameters)
    assert dict(counts) == {("linear.chain", "halide"): 1}
    assert y.dtype == np.float32
    exact = linear.chain(x.astype(np.float64), layout, *(array.astype(np.float64) for array in parameters))
    # Numbers of about 1: each map adds roundings of its sums, and passes on those before.
    np.testing.assert_allclose(y, exact, rtol=0, atol=2e-5 * (1 + np.abs(exact).max()))


@settings(max_examples=25, deadline=None)
@given(
    batch=st.integers(1, FEW_ROWS),
    features=st.lists(st.sampled_from([1, 2, 3, 7, 8, 9, 16, 17, 33, 67, 120]), min_size=3, max_size=5),
    choose=st.randoms(use_true_random=False),
    seed=st.integers(0, 2**31),
)
def test_kernels_are_the_reference(batch: int, features: list[int], choose: Any, seed: int) -> None:
    maps = len(features) - 1
    layout = Layout(
        tuple(features), tuple(choose.random() < 0.7 for _ in range(maps)), tuple(choose.choice(ACTIVATIONS) for _ in range(maps))
    )
    check(batch, layout, seed)


@pytest.mark.parametrize("batch", range(1, FEW_ROWS + 1))
def test_a_control_network(batch: int) -> None:
    check(batch, CONTROL)


def test_more_rows_go_one_map_after_another() -> None:
    x, parameters = case(FEW_ROWS + 1, CONTROL)
    with counting() as counts:
        y = linear.chain(x, CONTROL, *parameters)
    assert ("linear.chain", "halide") not in counts
    np.testing.assert_allclose(y[:2], linear.chain(x[:2], CONTROL, *parameters), atol=1e-4)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the reference on infinities
@pytest.mark.parametrize("activation", ACTIVATIONS, ids=repr)
@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf])
def test_nan_and_infinity_go_where_the_reference_sends_them(value: float, activation: Activation) -> None:
    layout = Layout((5, 18, 3), (True, True), (activation, activation))
    x, parameters = case(3, layout)
    parameters = [array.copy() for array in parameters]
    x = x.copy()
    x[0, 3], parameters[1][4] = value, value
    y = linear.chain(x, layout, *parameters)
    with using("reference"):
        np.testing.assert_allclose(y, linear.chain(x, layout, *parameters), rtol=1e-5, atol=1e-5)


def test_parameters_that_the_kernel_cannot_take() -> None:
    layout = Layout((4, 6, 2), (False, True), (RELU, IDENTITY))
    x, (first, second, bias) = case(2, layout)
    right = linear.chain(x, layout, first, second, bias)
    turned, doubled = np.asfortranarray(first), bias.astype(np.float64)
    for parameters in ((turned, second, bias), (first, second, doubled)):
        with counting() as counts:
            np.testing.assert_allclose(linear.chain(x, layout, *parameters), right, rtol=1e-5)
            np.testing.assert_array_equal(linear.chain(x, layout, first, second, bias), right)
        assert dict(counts) == {("linear.chain", "reference"): 1, ("linear.chain", "halide"): 1}
    with pytest.raises((ShapeError, ValueError)):
        linear.chain(x, layout, first[:, :3].copy(), second, bias)
    np.testing.assert_array_equal(linear.chain(x, layout, first, second, bias), right)


def test_a_map_of_many_weights_is_left_to_threads() -> None:
    assert (Layout((512, 512), (True,), (RELU,)).most_rows, Layout((513, 512), (True,), (RELU,)).most_rows) == (FEW_ROWS, 0)


def test_a_copy_of_a_layout_has_the_same_kernel() -> None:
    x, parameters = case(1, CONTROL)
    y = linear.chain(x, CONTROL, *parameters)
    for copied in (copy.deepcopy(CONTROL), copy.copy(CONTROL)):
        assert copied.kernel is CONTROL.kernel
        np.testing.assert_array_equal(linear.chain(x, copied, *parameters), y)


def test_results_do_not_depend_on_the_threads() -> None:
    x, parameters = case(4, CONTROL)
    before, seen = get_threads(), []
    try:
        for count in (1, 2):
            set_threads(count)
            seen.append(linear.chain(x, CONTROL, *parameters).tobytes())
    finally:
        set_threads(before)
    assert seen[1] == seen[0]


def test_on_every_target(tmp_path: Any) -> None:
    on_every_target(Layout((17, 20, 6), (True, False), (Activation("tanh"), RELU)).kernel, tmp_path)
