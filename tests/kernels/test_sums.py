"""Sums over many rows, images or classes keep their digits, on every engine: NumPy in float64 is the judge.

The terms are equal, or of one sign. Then each rounding of a sum that is added up term by term errs in the same
direction.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fast_ops import needs_halide, on_every_target
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.engines import available, using
from typednn.kernels import conv2d, linear, prelu, softmax, softmax_cross_entropy, sums
from typednn.kernels.activations import IDENTITY, RELU
from typednn.kernels.conv2d import Window
from typednn.kernels.conv2d.dweight import FEW_ADDED
from typednn.kernels.conv2d.geometry import Geometry as Sizes
from typednn.kernels.linear import cpu
from typednn.losses.reduction import reduced

MANY = 200_000
WORST = sums.FEW * 2.0**-25  # each addition errs by 2^-24 of the sum so far, which is half the sum on average
ONE = (1, 1)


@pytest.fixture(params=["fast", "reference"], autouse=True)
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "fast" and not available():
        pytest.skip("Halide is not installed")
    with using(request.param):
        yield request.param


def numbers(seed: int, *shape: int) -> Any:
    """All equal, or all positive."""
    if seed % 2:
        return np.full(shape, 0.1, np.float32)
    return np.random.default_rng(seed).uniform(0.1, 1, shape).astype(np.float32)


def close(got: Any, exact: Any, tolerance: float = WORST) -> None:
    assert got.dtype == np.float32
    assert got.shape == exact.shape
    np.testing.assert_allclose(got, exact, rtol=tolerance, atol=0)


def wide(*arrays: Any) -> tuple[Any, ...]:
    return tuple(array.astype(np.float64) for array in arrays)


# Around the bounds at which kernels go over to blocks, and around the ends of blocks.
rows = st.sampled_from(
    [1, 127, 129, sums.FEW - 1, sums.FEW, sums.FEW + 1, 9 * sums.BLOCK, 9 * sums.BLOCK + 1, 3 * sums.FEW - 1]
)


@settings(max_examples=20, deadline=None)
@given(
    batch=rows, features=st.sampled_from([(1, 1), (3, 5), (17, 9)]), seed=st.integers(0, 9), wants_input=st.booleans()
)
def test_linear(batch: int, features: tuple[int, int], seed: int, wants_input: bool) -> None:
    in_features, out_features = features
    next_grad, x, weight = (
        numbers(seed, *shape) for shape in ((batch, out_features), (batch, in_features), (out_features, in_features))
    )
    y = np.ones_like(next_grad)
    dx, dweight, dbias = linear.backward(next_grad, x, weight, y, RELU, wants_input)
    wide_grad, wide_x, wide_weight = wide(next_grad, x, weight)
    close(dweight, wide_grad.T @ wide_x)
    close(dbias, wide_grad.sum(axis=0))
    assert (dx is None) != wants_input
    if dx is not None:
        close(dx, wide_grad @ wide_weight)


@pytest.mark.parametrize("features", [(3, 5), (17, 8), (500, 20)], ids=str)
@pytest.mark.parametrize("seed", [0, 1])
def test_linear_of_many_rows(features: tuple[int, int], seed: int) -> None:
    batch = MANY if max(features) < 100 else 20_000
    next_grad, x = numbers(seed, batch, features[1]), numbers(seed, batch, features[0])
    for got in (
        linear.backward(next_grad, x, numbers(0, features[1], features[0])),
        linear.backward(next_grad, x, numbers(0, features[1], features[0]), np.ones_like(next_grad), RELU, False),
    ):
        close(got[1], np.einsum("bo,bi->oi", next_grad, x, dtype=np.float64))
        close(got[2], next_grad.sum(axis=0, dtype=np.float64), 2e-6)


@pytest.mark.parametrize(
    ("batch", "in_features", "out_features"), [(1, MANY, 3), (5, MANY + 3, 2), (2, 3, MANY)], ids=str
)
def test_linear_of_many_features(engine: str, batch: int, in_features: int, out_features: int) -> None:
    if engine == "reference":
        pytest.skip("what NumPy's matrix products lose is not ours")
    x, weight = numbers(1, batch, in_features), numbers(1, out_features, in_features)
    next_grad = numbers(1, batch, out_features)
    close(linear.forward(x, weight, np.ones(out_features, np.float32)), wide(x)[0] @ wide(weight)[0].T + 1)
    close(linear.backward(next_grad, x, weight)[0], wide(next_grad)[0] @ wide(weight)[0])


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize(
    ("batch", "size", "kernel", "in_channels", "out_channels"),
    [(MANY, 1, 1, 3, 5), (20_000, 3, 3, 3, 5), (20_000, 4, 3, 1, 4), (FEW_ADDED + 1, 4, 2, 16, 16), (2, 300, 1, 2, 3)],
    ids=str,
)
def test_conv2d_of_many_images(
    batch: int, size: int, kernel: int, in_channels: int, out_channels: int, fused: bool
) -> None:
    out = size - kernel + 1
    x, next_grad = numbers(1, batch, size, size, in_channels), numbers(1, batch, out, out, out_channels)
    weight = numbers(0, out_channels, kernel, kernel, in_channels)
    if fused:
        _, dweight, dbias = conv2d.backward(next_grad, x, weight, Window(), RELU, np.ones_like(next_grad), None, False)
    else:
        _, dweight, dbias = conv2d.backward(next_grad, x, weight, Window())
    close(dbias, next_grad.sum(axis=(0, 1, 2), dtype=np.float64))
    wide_grad = wide(next_grad)[0]
    for row, column in np.ndindex(kernel, kernel):
        met = x[:, row : row + out, column : column + out].astype(np.float64)
        close(
            dweight[:, row, column], np.tensordot(wide_grad, met, ((0, 1, 2), (0, 1, 2))), 1e-4 if out > 100 else WORST
        )


def test_prelu_of_many_numbers() -> None:
    x = -numbers(1, 20_000_001)
    _, dslope = prelu.backward(np.ones_like(x), x, np.full(1, 0.25, np.float32))
    close(dslope, x.sum(dtype=np.float64, keepdims=True))


@settings(max_examples=10, deadline=None)
@given(classes=st.sampled_from([8191, 8192, 8193, 16385, 33_001, 100_000]), seed=st.integers(0, 9))
def test_softmax_of_many_classes(classes: int, seed: int) -> None:
    x = -numbers(seed, 2, classes)
    x[:, classes // 2] = 1
    exact = np.exp(wide(x)[0] - 1)
    exact /= exact.sum(axis=1, keepdims=True)
    y = softmax.forward(x)
    close(y, exact, 2e-6)
    # Of equal derivatives nothing is left: what is, is what two sums lost, y's and this one.
    dx = softmax.backward(np.ones_like(y), y)
    assert (np.abs(dx) <= 2 * 2e-6 * y).all()
    labels = np.array([0, classes - 1])
    loss = softmax_cross_entropy.forward(x, labels)
    np.testing.assert_allclose(loss[[0, 1], labels], -np.log(exact[[0, 1], labels]), rtol=1e-6)
    gradient = softmax_cross_entropy.backward(x, np.full_like(x, 1 / classes), 1.0)
    # The sums of the exponentials and of the target.
    assert (np.abs(gradient - (exact - np.float32(1 / classes))) <= 2 * 2e-6 * exact + 1e-7 / classes).all()


@pytest.mark.parametrize("reduction", ["mean_batch", "mean_feature", "mean", "sum", "batchmean"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_reductions_of_many_losses(reduction: Any, order: Any) -> None:
    losses = np.full((500_000, 2) if reduction != "mean_feature" else (2, 500_000), 0.1, np.float32, order=order)
    got = reduced(losses, reduction)
    exact = {"sum": 1_000_000, "batchmean": 2}.get(reduction, 1) * float(np.float32(0.1))
    np.testing.assert_allclose(got, exact, rtol=1e-6)
    assert isinstance(got, float) or got.dtype == np.float32


@needs_halide
def test_on_every_target(engine: str, tmp_path: Path) -> None:
    if engine == "reference":
        pytest.skip("has no kernels")
    private: Any = cpu
    batch, in_features = 3 * sums.BLOCK + sums.FEW + 5, 17
    for weight, wants_input in (((5, in_features), True), ((5, 3), False)):
        on_every_target(private._backward[weight, RELU, wants_input, False], tmp_path, extent=batch)
    on_every_target(private._forward[True, (3, 20_003), True, IDENTITY], tmp_path, extent=1)
    on_every_target(softmax.cpu.plan(np.empty((1, 40_001), np.float32))[0], tmp_path, extent=2)
    on_every_target(conv2d.cpu.dweight_kernel(Sizes((3, 3), 1, 2, (2, 2)), IDENTITY, images="many"), tmp_path, extent=9)
