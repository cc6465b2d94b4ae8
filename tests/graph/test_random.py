"""Random leaves: moments, ranges, the same numbers of the same generator, and no generator but the one
that is given.
"""

import inspect
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from typednn import graph as ops
from typednn.errors import ArgumentError, DTypeError, OutOfMemory, TypednnError
from typednn.graph import random
from typednn.random import PCG32

G = np.random.default_rng
SIZE = (200, 50)
DRAWS: dict[str, Callable[[Any], Any]] = {
    "rand": lambda g: ops.rand(g, SIZE),
    "randn": lambda g: ops.randn(g, SIZE),
    "uniform": lambda g: ops.uniform(g, -2.0, 4.0, SIZE, np.float64),
    "randint": lambda g: ops.randint(g, -3, 5, SIZE),
    "multinomial": lambda g: ops.multinomial(
        g, np.tile([1.0, 2.0, 3.0, 0.0, 4.0], (SIZE[0], 1)), SIZE[1], replacement=True
    ),
}


def test_every_public_function_has_a_row() -> None:
    functions = {
        name for name, each in vars(random).items() if inspect.isfunction(each) and each.__module__ == random.__name__
    }
    assert {name for name in functions if not name.startswith("_")} == set(DRAWS) <= set(ops.__all__)


@pytest.mark.parametrize("name", DRAWS)
def test_moments_and_ranges(name: str) -> None:
    """X-A15: mean and variance of 10,000 draws within five deviations of theirs."""
    mean, variance, low, high = {
        "rand": (0.5, 1 / 12, 0, 1),
        "randn": (0, 1, -9, 9),
        "uniform": (1, 3, -2, 4),
        "randint": (0.5, 63 / 12, -3, 4),
        "multinomial": (2.4, 2.04, 0, 4),
    }[name]
    x = DRAWS[name](G(1)).numpy()
    assert x.shape == SIZE
    assert abs(x.mean() - mean) < 5 * (variance / x.size) ** 0.5
    assert abs(x.var() / variance - 1) < 0.1
    assert low <= x.min() < x.max() <= high


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("make", [G, PCG32])
def test_the_generator_is_all_that_counts(name: str, make: Callable[[int], Any]) -> None:
    """X-A15: any generator; the same draws from the same seed, others from the next."""
    first, again, other = (DRAWS[name](make(seed)).numpy() for seed in (7, 7, 8))
    np.testing.assert_array_equal(first, again)
    assert (first != other).mean() > 0.5


def test_dtypes_and_shapes() -> None:
    """X-A15: float32 and int64 unless another is asked for."""
    assert ops.rand(G(0), ()).dtype == np.float32
    assert ops.randn(G(0), 3).shape == (3,)
    assert ops.randn(G(0), [2, 0], np.float16).numpy().shape == (2, 0)
    assert ops.randint(G(0), 0, 256, (9,), np.uint8).dtype == np.uint8
    assert set(ops.randint(G(0), 4, 5, (9,)).numpy()) == {4}


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: ops.rand(0, (2,)), ArgumentError, "rand.*uniform.*default_rng|default_rng"),  # type: ignore[arg-type]
        (lambda: ops.randn(G(0), (-1,)), ArgumentError, "randn.*shape"),
        (lambda: ops.randn(G(0), (2.5,)), ArgumentError, "randn.*shape"),  # type: ignore[arg-type]
        (lambda: ops.uniform(G(0), 2.0, 1.0, ()), ArgumentError, "uniform.*low"),
        (lambda: ops.randint(G(0), 3, 3, ()), ArgumentError, "randint.*low"),
        (lambda: ops.randint(G(0), 0, 300, (), np.uint8), ArgumentError, "within uint8"),
        (lambda: ops.rand(G(0), (2**60,)), OutOfMemory, "uniform: its arrays must fit.*smaller"),
        (lambda: ops.randn(G(0), (2**40, 2**40)), OutOfMemory, "randn: its arrays must fit"),
        (lambda: ops.randint(G(0), 0, 9, 2**60), OutOfMemory, "randint: its arrays must fit"),
        (lambda: ops.randn(G(0), (), np.int32), DTypeError, "draws floats"),
        (lambda: ops.randint(G(0), 0, 2, (), np.float32), DTypeError, "draws integers"),
    ],
)
def test_refusals_say_what_is_wrong(make: Callable[[], Any], error: type[TypednnError], said: str) -> None:
    """X-A15: one clear error."""
    with pytest.raises(error, match=f"(?s){said}"):
        make()


def test_places_without_replacement() -> None:
    """X-A15: no place twice, none without a weight, and pairs as often as their shares say."""
    weights = np.array([1.0, 2.0, 0.0, 5.0])
    drawn = ops.multinomial(G(0), np.tile(weights, (20_000, 1)), 2).numpy()
    assert drawn.dtype == np.int64
    assert (drawn[:, 0] != drawn[:, 1]).all()
    shares = weights / weights.sum()
    for first in (0, 1, 3):
        for second in {0, 1, 3} - {first}:
            want = shares[first] * shares[second] / (1 - shares[first])
            got = (drawn == [first, second]).all(1).mean()
            assert abs(got - want) < 5 * np.sqrt(want / 20_000)
    assert sorted(ops.multinomial(G(0), ops.tensor(weights), 3).numpy()) == [0, 1, 3]


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1.0, 1e308])
def test_places_of_weights_of_any_size(scale: float, replacement: bool) -> None:
    """X-A15: the size of weights is nothing, only their shares: no place without a weight, even where sums or quotients
    leave float64.
    """
    weights = np.array([0.0, 1.0, 0.0, 1.0, 0.0]) * scale
    drawn = ops.multinomial(G(0), np.tile(weights, (4000, 1)), 2, replacement).numpy()
    assert set(drawn.ravel()) == {1, 3}
    assert abs((drawn[:, 0] == 1).mean() - 0.5) < 5 * 0.5 / np.sqrt(4000)
    small, large = ops.multinomial(G(0), np.tile([1e-310, 0.0, 1e308], (100, 1)), 2, replacement).numpy().T
    np.testing.assert_array_equal(small, 2)
    np.testing.assert_array_equal(large, 2 if replacement else 0)


def test_many_draws_of_many_places_fit_into_memory() -> None:
    """X-A15: with replacement the draws alone are held: of 10,000 places 100,000 draws, whose product would be
    gigabytes.
    """
    tracemalloc.start()
    drawn = ops.multinomial(G(0), np.ones(10_000), 100_000, replacement=True).numpy()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert abs(drawn.mean() - 4999.5) < 5 * 10_000 / np.sqrt(12 * 100_000)
    assert most < 2**24
    with pytest.raises(OutOfMemory, match="multinomial"):
        ops.multinomial(G(0), np.ones(3), 2**50, replacement=True)


@pytest.mark.parametrize(
    ("weights", "count", "said"),
    [
        ([1.0, 0.0], 2, "1 to 1"),
        ([1.0, -1.0], 1, "from 0 on"),
        ([0.0, 0.0], 1, "not all 0"),
        ([[[1.0]]], 1, "one row"),
        ([1.0], 0, "from 1"),
    ],
)
def test_weights_that_cannot_be_drawn_from(weights: Any, count: int, said: str) -> None:
    with pytest.raises(ArgumentError, match=f"multinomial.*{said}"):
        ops.multinomial(G(0), np.array(weights), count)
