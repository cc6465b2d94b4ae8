"""Which engine the graph's tests run on: the interpreter, as sizes are drawn at random, or compiled kernels where these are tested."""

from collections.abc import Iterator

import pytest

from typednn.engines import using

COMPILED = {"test_debugging", "test_graph_layer", "test_grouping", "test_kernels", "test_random_programs", "test_running", "test_whole"}


@pytest.fixture(scope="module", autouse=True)
def engine(request: pytest.FixtureRequest) -> Iterator[None]:
    """The engine of a module's tests."""
    with using("fast" if request.module.__name__.rpartition(".")[2] in COMPILED else "reference"):
        yield
