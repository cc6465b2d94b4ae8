"""What is masked, dropped or padding has a derivative of 0, and changes no other, whatever its number is, on every
engine.
"""

from typing import Any

import numpy as np
import pytest

from typednn.engines import using
from typednn.kernels import attention
from typednn.layers import Dropout, Dropout2d, Embedding, MaxPool2d, MultiHeadAttention

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning"),
    pytest.mark.parametrize("dtype", [np.float32, np.float64]),
    pytest.mark.parametrize("engine", ["fast", "reference"]),
    pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan], ids=str),
]
SIZES = {"small": (5, 9, 4), "large": (40, 70, 16)}  # queries, keys and features: small arrays may be left to NumPy


def normal(seed: int, *shape: int, dtype: Any) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def masked(time: int, memory: int, for_each_query: bool) -> tuple[Any, Any]:
    """The keys that count, of which the first is one, (batch, memory); and the mask that says so."""
    kept = np.random.default_rng(7).random((2, memory)) < 0.6
    kept[:, 0] = True
    return kept, np.repeat(kept[:, None], time, 1) if for_each_query else kept


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("for_each_query", [False, True])
def test_masked_keys_and_values(for_each_query: bool, size: str, number: float, engine: str, dtype: Any) -> None:
    time, memory, features = SIZES[size]
    kept, mask = masked(time, memory, for_each_query)
    q, k, v, dy = (
        normal(seed, 2, count, 2, features, dtype=dtype) for seed, count in enumerate((time, memory, memory, time))
    )
    found = []
    for other in (0.0, number):
        k[~kept], v[~kept] = other, other
        with using(engine):
            y, log_sums = attention.forward(q, k, v, mask)
            found.append((y, log_sums, *attention.backward(dy, q, k, v, mask, y, log_sums)))
    for wanted, got in zip(*found, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
    for derivative in found[1][3:]:
        np.testing.assert_array_equal(derivative[~kept], 0)


def test_masked_memory(number: float, engine: str, dtype: Any) -> None:
    """Of the layer the output, and the derivatives by both sequences."""
    kept, mask = masked(6, 20, False)
    layer = MultiHeadAttention(16, 2, rng=np.random.default_rng(0)).astype(dtype)
    x, m, dy = normal(0, 2, 6, 16, dtype=dtype), normal(1, 2, 20, 16, dtype=dtype), normal(2, 2, 6, 16, dtype=dtype)
    found = []
    for other in (0.0, number):
        m[~kept] = other
        with using(engine):
            y = layer.forward(x, m, mask)
            grad = layer.backward(dy)
        assert grad.memory is not None
        found.append((y, grad.input, grad.memory))
    for wanted, got in zip(*found, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(found[1][2][~kept], 0)


@pytest.mark.parametrize("make", [Dropout, Dropout2d])
@pytest.mark.parametrize("p", [0.5, 1.0])
def test_dropped_inputs(p: float, make: Any, number: float, engine: str, dtype: Any) -> None:
    layer = make(p, rng=np.random.default_rng(0))
    x = np.full((20, 5, 6, 7), number, dtype)
    with using(engine):
        y, dx = layer.forward(x), layer.backward(x).input
    dropped = y == 0
    assert dropped.all() if p == 1 else 0.3 < dropped.mean() < 0.7
    np.testing.assert_array_equal(y[~dropped], number)
    np.testing.assert_array_equal(dx, y)


@pytest.mark.parametrize("features", [3, 16])
def test_padding_of_tokens(features: int, number: float, engine: str, dtype: Any) -> None:
    """Its row is not learnt, whatever it is and whatever comes back to it; the other rows' derivatives are as without
    it.
    """
    layer = Embedding(5, features, padding_idx=2, rng=np.random.default_rng(0)).astype(dtype)
    tokens, dy = np.random.default_rng(0).integers(0, 5, (30, 40)), normal(1, 30, 40, features, dtype=dtype)
    wanted = np.stack([dy[tokens == token].astype(np.float64).sum(0) * (token != 2) for token in range(5)])
    layer.weight[2], dy[tokens == 2] = number, number
    with using(engine):
        layer.forward(tokens)
        found = layer.backward(dy).weight
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)
    np.testing.assert_array_equal(found[2], 0)


@pytest.mark.parametrize("channels", [1, 8])
def test_padding_of_pools(channels: int, number: float, engine: str, dtype: Any) -> None:
    """Windows that reach over the border: what they win is a pixel of the image, so none of dy is lost; NaN wins
    nothing.
    """
    x, layer = normal(0, 3, 8, 9, channels, dtype=dtype) - 100, MaxPool2d(3, 2, 1)
    x[:, ::2, ::2] = number
    image = np.pad(np.where(np.isnan(x), -np.inf, x), ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=-np.inf)
    with using(engine):
        y = layer.forward(x)
        dy = normal(1, *y.shape, dtype=dtype)
        dx = layer.backward(dy).input
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (1, 2))[:, ::2, ::2]
    np.testing.assert_array_equal(y, windows.max(axis=(4, 5)))
    np.testing.assert_allclose(dx.sum(axis=(1, 2)), dy.sum(axis=(1, 2)), rtol=1e-4, atol=1e-4)
    if number != np.inf:
        np.testing.assert_array_equal(dx[:, ::2, ::2], 0)
