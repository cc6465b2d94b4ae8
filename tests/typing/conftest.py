"""What tests of type checkers share."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def mypy_cache(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A cache of mypy's for settings of this name, in which NumPy's stubs and typednn are read once for all tests of a
    process.
    """
    return cache(tmp_path_factory.mktemp)
