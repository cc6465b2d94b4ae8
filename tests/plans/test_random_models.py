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
