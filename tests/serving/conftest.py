"""Served runs of each kind. What is served is not what is computed: no test here waits for kernels."""

from collections.abc import Callable
from pathlib import Path

import pytest
import trained_runs

from typednn.engines import using
from typednn.recipes import Predictor, load_run


@pytest.fixture(scope="module", autouse=True)
def without_kernels(on_the_reference: None) -> None:
    """In the modules here alone."""


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served")


def _made(make: Callable[[Path], Path], runs: Path) -> Predictor:
    with using("reference"):
        return load_run(make(runs))


@pytest.fixture(scope="session")
def houses(runs: Path) -> Predictor:
    return _made(trained_runs.table, runs)


@pytest.fixture(scope="session")
def kinds(runs: Path) -> Predictor:
    return _made(lambda folder: trained_runs.table(folder, "classification"), runs)


@pytest.fixture(scope="session")
def pictures(runs: Path) -> Predictor:
    return _made(trained_runs.images, runs)


@pytest.fixture(scope="session")
def texts(runs: Path) -> Predictor:
    return _made(trained_runs.texts, runs)


@pytest.fixture(scope="session")
def speaker(runs: Path) -> Predictor:
    return _made(trained_runs.language, runs)
