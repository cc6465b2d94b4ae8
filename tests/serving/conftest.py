"""Served runs of each kind."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import trained_runs

from typednn.recipes import Predictor, load_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module", autouse=True)
def without_kernels() -> Iterator[None]:
    """What is served is not what is computed: no test here waits for kernels."""
    from typednn.engines import using

    with using("reference"):
        yield


@pytest.fixture(scope="module")
def houses(runs: Path, without_kernels: None) -> Predictor:
    return load_run(trained_runs.table(runs))


@pytest.fixture(scope="module")
def kinds(runs: Path, without_kernels: None) -> Predictor:
    return load_run(trained_runs.table(runs, "classification"))


@pytest.fixture(scope="module")
def pictures(runs: Path, without_kernels: None) -> Predictor:
    return load_run(trained_runs.images(runs))


@pytest.fixture(scope="module")
def texts(runs: Path, without_kernels: None) -> Predictor:
    return load_run(trained_runs.texts(runs))


@pytest.fixture(scope="module")
def speaker(runs: Path, without_kernels: None) -> Predictor:
    return load_run(trained_runs.language(runs))
