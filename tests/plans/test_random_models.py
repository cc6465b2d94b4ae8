"""Random trainings, planned and layer by layer; `make torture` has 2,000 of them."""

from collections import Counter

import pytest
from effort import LONG

from tests.plans.random_trainings import told

PORTION = 4
COUNT = 2000 if LONG else 48


@pytest.mark.parametrize("first", range(0, COUNT, PORTION))
def test_random_trainings(first: int) -> None:
    """Whatever happens between the steps, the bits are the same."""
    found: Counter[str] = told(range(first, first + PORTION))
    assert found["trainings"] == PORTION


def test_trials_have_all_digits() -> None:
    """Trials with float32's digits took another order of sums in float64 for the same: of the derivative of a first
    layer, without that by the images.
    """
    assert told(range(6377, 6378))["trainings"] == 1
