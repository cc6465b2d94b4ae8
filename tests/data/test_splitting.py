"""folds: each row is held out once, and every part is like the others."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedKFold

from typednn.data import folds
from typednn.errors import ArgumentError


@given(st.lists(st.integers(0, 4), min_size=2, max_size=60), st.integers(2, 7), st.integers(0, 2**40))
def test_parts_of_classes(labels: list[int], count: int, seed: int) -> None:
    y = np.array(labels)
    if np.bincount(y)[np.unique(y)].min() < count:
        with pytest.raises(ArgumentError, match="of each class to share out"):
            folds(y, count, seed=seed)
        return
    parts = folds(y, count, seed=seed)
    assert sorted(row for _, held in parts for row in held) == list(range(len(y)))
    for stay, held in parts:
        assert sorted([*stay, *held]) == list(range(len(y)))
        assert (np.diff(stay) > 0).all()
        assert (np.diff(held) > 0).all()
    counts = np.array([np.bincount(y[held], minlength=5) for _, held in parts])
    assert np.ptp(counts, axis=0).max() <= 1, "of each class"
    assert np.ptp(counts.sum(axis=1)) <= 1, "of all"
    peer = StratifiedKFold(count, shuffle=True, random_state=0).split(np.zeros(len(y)), y)
    theirs = np.array([np.bincount(y[held], minlength=5) for _, held in peer])
    np.testing.assert_array_equal(np.sort(counts, axis=0), np.sort(theirs, axis=0))


def test_parts_without_classes() -> None:
    assert sorted(len(held) for _, held in folds(11, 4)) == [2, 3, 3, 3]
    assert len({tuple(folds(11, 4, seed=seed)[0][1]) for seed in range(20)}) > 10


@pytest.mark.parametrize(
    ("labels", "count", "message"),
    [
        (10, 1, "folds: count must be an integer of at least 2, got 1"),
        (3, 4, "folds: 4 parts need 4 samples to share out, got 3; ask for 3 at most"),
        (np.array([0, 0, 1, 0]), 2, "2 parts need 2 samples of each class .*, got 1 of class 1; add samples"),
        (np.zeros(3), 2, r"labels are integers \(n\), or their number n"),
    ],
)
def test_what_cannot_be_shared_out(labels: Any, count: int, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        folds(labels, count)
