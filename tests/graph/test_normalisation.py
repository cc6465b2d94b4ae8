"""Normalisations, against NumPy; gradients by central differences."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.differences import arithmetic, check_gradients, kinds_of, values
from typednn.errors import ArgumentError, DTypeError, ShapeError
from typednn.graph.kinds import Kind
from typednn.graph.nodes import realize, tensor
from typednn.graph.normalisation import batch_norm, group_norm, layer_norm, moments, rms_norm, running_statistics

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)


def normal(x: Any, axis: Any, eps: float, correction: int = 0) -> Any:
    return (x - x.mean(axis=axis, keepdims=True)) / np.sqrt(x.var(axis=axis, keepdims=True, ddof=correction) + eps)


@given(shape=shapes, data=st.data())
def test_layer_norm(shape: Any, data: st.DataObject) -> None:
    """Z-F1, Z-F3: biased, over the axes of the weight, or those that are named."""
    rng, axes = np.random.default_rng(0), tuple(range(-data.draw(st.integers(1, len(shape))), 0))
    x, own = rng.normal(size=shape) * 2 + 3, shape[len(shape) - len(axes) :]
    weight, bias = rng.normal(size=own), rng.normal(size=own)
    np.testing.assert_allclose(
        values(lambda x: layer_norm(x, axis=axes), x), normal(x, axes, 1e-5), rtol=1e-9, atol=1e-9
    )
    expected = normal(x, axes, 1e-3) * weight + bias
    np.testing.assert_allclose(
        values(lambda *t: layer_norm(*t, eps=1e-3), x, weight, bias), expected, rtol=1e-9, atol=1e-9
    )
    check_gradients(lambda *t: layer_norm(*t, eps=1e-2), x, weight, bias)


def test_both_variances() -> None:
    """X-A16: zyx's own values need the unbiased variance; PyTorch's and GPT-2's layer has the biased one."""
    x, weight = np.array([3.0, 5, 2, 1]), np.array([4.0, 5, 1, 2])
    unbiased = values(lambda *t: layer_norm(*t, correction=1), x, weight)
    np.testing.assert_allclose(unbiased, [0.585539, 6.587314, -0.439154, -2.049387], atol=1e-6)
    biased = values(layer_norm, x, weight)
    np.testing.assert_allclose(biased, normal(x, 0, 1e-5) * weight, rtol=1e-9)
    assert abs(biased - unbiased).max() > 0.05


@given(shape=shapes, correction=st.integers(0, 1))
def test_moments(shape: Any, correction: int) -> None:
    """X-A16: with and without Bessel's correction, of any axis."""
    x = np.random.default_rng(1).normal(size=(*shape, 3))
    mean, variance = moments(tensor(x), -1, correction)
    np.testing.assert_allclose(mean.numpy(), x.mean(axis=-1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(variance.numpy(), x.var(axis=-1, keepdims=True, ddof=correction), rtol=1e-12)


@given(shape=shapes)
def test_rms_norm(shape: Any) -> None:
    """Z-F1, Z-F3: no mean is taken off."""
    rng = np.random.default_rng(2)
    x, weight = rng.normal(size=shape), rng.normal(size=shape[-1])
    expected = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-3) * weight
    np.testing.assert_allclose(values(lambda *t: rms_norm(*t, eps=1e-3), x, weight), expected, rtol=1e-9)
    check_gradients(lambda *t: rms_norm(*t, eps=1e-3), x, weight)


@given(leading=shapes, groups=st.integers(1, 3), each=st.integers(1, 3))
def test_group_norm(leading: Any, groups: int, each: int) -> None:
    """Each group of channels of each sample, over all places."""
    rng, channels = np.random.default_rng(3), groups * each
    x, weight, bias = rng.normal(size=(*leading, channels)), rng.normal(size=channels), rng.normal(size=channels)
    split = x.reshape(leading[0], -1, groups, each)
    expected = normal(split, (1, 3), 1e-3).reshape(x.shape) * weight + bias
    np.testing.assert_allclose(
        values(lambda *t: group_norm(t[0], groups, *t[1:], eps=1e-3), x, weight, bias), expected, rtol=1e-9, atol=1e-9
    )
    check_gradients(lambda *t: group_norm(t[0], groups, *t[1:], eps=1e-2), x, weight, bias)


@given(leading=shapes, channels=st.integers(1, 3))
def test_batch_norm(leading: Any, channels: int) -> None:
    """Z-F1, Z-F3: each channel over all the rest, of rows and of images; in evaluation by given statistics."""
    rng = np.random.default_rng(4)
    x, weight, bias = rng.normal(size=(*leading, channels)), rng.normal(size=channels), rng.normal(size=channels)
    expected = normal(x, tuple(range(len(leading))), 2e-5) * weight + bias
    np.testing.assert_allclose(
        values(lambda *t: batch_norm(*t, eps=2e-5), x, weight, bias), expected, rtol=1e-7, atol=1e-9
    )
    check_gradients(lambda *t: batch_norm(*t, eps=1e-2), x, weight, bias)
    mean, variance = rng.normal(size=channels), rng.uniform(0.5, 2, channels)
    expected = (x - mean) / np.sqrt(variance + 2e-5) * weight + bias

    def evaluated(*t):
        return batch_norm(*t[:3], 2e-5, (t[3], t[4]))

    np.testing.assert_allclose(values(evaluated, x, weight, bias, mean, variance), expected, rtol=1e-9, atol=1e-12)
    check_gradients(evaluated, x, weight, bias, mean, variance)


def test_running_statistics() -> None:
    """Z-F3: a decay of 0.9, and m/(m - 1) times the variance, of rows and of images."""
    rng = np.random.default_rng(5)
    for shape in ((6, 3), (2, 3, 2, 3)):
        x, mean, variance = rng.normal(size=shape), rng.normal(size=3), rng.uniform(1, 2, 3)
        found = running_statistics(tensor(x), tensor(mean), tensor(variance), momentum=0.1)
        realize(*found)
        rows = x.reshape(-1, 3)
        np.testing.assert_allclose(found[0].numpy(), 0.9 * mean + 0.1 * rows.mean(axis=0), rtol=1e-12)
        m = len(rows)
        np.testing.assert_allclose(found[1].numpy(), 0.9 * variance + 0.1 * rows.var(axis=0) * m / (m - 1), rtol=1e-12)


def test_few_operations_of_the_twelve_kinds() -> None:
    """X-D7: without a custom node."""
    x, weight = tensor(np.ones((2, 3, 4))), tensor(np.ones(4))
    made = [
        layer_norm(x, weight, weight),
        batch_norm(x, weight, weight),
        group_norm(x, 2, weight, weight),
        rms_norm(x, weight),
    ]
    for y, most in zip(made, (11, 11, 11, 7), strict=True):
        assert arithmetic(y) <= most
        assert Kind.CUSTOM not in kinds_of(y)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: layer_norm(x, tensor(np.ones(3))), ShapeError),
        (lambda x: layer_norm(x, axis=0), ArgumentError),
        (lambda x: layer_norm(x, eps=-1.0), ArgumentError),
        (lambda x: layer_norm(x, axis=9), ArgumentError),
        (lambda x: layer_norm(x.cast(np.int64)), DTypeError),
        (lambda x: layer_norm(x[:, :1], correction=1), ShapeError),
        (lambda x: rms_norm(x, tensor(np.ones(2))), ShapeError),
        (lambda x: group_norm(x, 3), ArgumentError),
        (lambda x: batch_norm(x[0]), ShapeError),
        (lambda x: batch_norm(x[:0]), ShapeError),
        (lambda x: batch_norm(x, statistics=(x[0], x[0, :1])), ShapeError),
        (lambda x: running_statistics(x, x[0], x[0], momentum=2.0), ArgumentError),
    ],
)
def test_refusals(call: Any, error: Any) -> None:
    with pytest.raises(error):
        call(tensor(np.ones((2, 4))))
