"""P-C4: epochs in shuffled batches."""

from typing import Any

import numpy as np
import pytest

from typednn.data import batches, in_order
from typednn.errors import ArgumentError
from typednn.random import PCG32


def test_every_row_once_and_the_last_batch_short() -> None:
    """P-C4: sizes 4, 4, 2; together a permutation."""
    chunks = list(batches(10, 4, PCG32(42, 6)))
    assert [len(chunk) for chunk in chunks] == [4, 4, 2]
    assert sorted(np.concatenate(chunks)) == list(range(10))


def test_the_order_is_the_papers() -> None:
    """P-C4: the golden shuffle of PCG(42, 6)."""
    assert [row for chunk in batches(10, 3, PCG32(42, 6)) for row in chunk] == [0, 5, 2, 3, 8, 4, 7, 6, 9, 1]


def test_each_epoch_draws_anew() -> None:
    """P-C4: two epochs from one generator differ; from equal generators they are equal."""
    rng = PCG32(1)
    first, second = (np.concatenate(list(batches(50, 8, rng))) for _ in range(2))
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, np.concatenate(list(batches(50, 50, PCG32(1)))))


def test_data_and_labels_stay_together() -> None:
    """P-C4: the same rows of both."""
    x, y = np.arange(20.0), np.arange(20)
    for rows in batches(20, 6, np.random.default_rng(0)):
        np.testing.assert_array_equal(x[rows], y[rows])


def test_in_order() -> None:
    assert list(in_order(5, 2)) == [slice(0, 2), slice(2, 4), slice(4, 5)]


@pytest.mark.parametrize(
    ("n", "batch_size", "message"), [(0, 4, "n must be"), (4, 0, "batch_size must be"), (4, 2.5, "got 2.5")]
)
def test_sizes_are_checked_at_the_call(n: int, batch_size: int, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        batches(n, batch_size, PCG32(0))


@pytest.mark.parametrize("rng", [None, 0])
def test_a_seed_is_no_generator(rng: Any) -> None:
    with pytest.raises(
        ArgumentError, match=r"batches: rng must be a generator, got \w+; pass numpy.random.default_rng\(0\)"
    ):
        batches(4, 2, rng)
