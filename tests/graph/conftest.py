"""Which engines the graph's tests run on: the interpreter, and compiled kernels with few examples, as new shapes may be
new kernels.
"""

from collections.abc import Iterator

import pytest
from effort import LONG, OWN, with_examples
from hypothesis import is_hypothesis_test

from typednn.engines import available, using

# Tests of kernels, and of layers and programs that name their engine where it is not the default one.
COMPILED = {
    "test_debugging",
    "test_graph_layer",
    "test_grouping",
    "test_kernels",
    "test_random_programs",
    "test_running",
    "test_whole",
}
# Tests of nodes, which compute nothing, or of the interpreter itself.
INTERPRETED = {"test_graph_package", "test_interpreter", "test_leaks", "test_operations", "test_plot", "test_slab"}
ORACLES = "test_the_oracle_sees"
EXAMPLES = 25 if LONG else 1  # of a property, by compiled kernels: most draw shapes, and each shape is compiled


def _module(name: str) -> str:
    return name.rpartition(".")[2]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test on both engines, but for the modules above, and for tests of an oracle that is to see a fault."""
    both = _module(
        metafunc.module.__name__
    ) not in COMPILED | INTERPRETED and not metafunc.function.__name__.startswith(ORACLES)
    if both and "computed_by" in metafunc.fixturenames:
        metafunc.parametrize("computed_by", ["reference", "fast"], indirect=True, scope="module")


@pytest.fixture(scope="module", autouse=True)
def computed_by(request: pytest.FixtureRequest) -> Iterator[str]:
    """The engine of a module's tests."""
    name = getattr(request, "param", "fast" if _module(request.module.__name__) in COMPILED else "reference")
    if hasattr(request, "param") and name == "fast" and not available():
        pytest.skip("needs Halide")
    with using(name):
        yield name


@pytest.fixture(autouse=True)
def few_examples(computed_by: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A property that runs on both engines has few examples on compiled kernels."""
    function = getattr(request, "function", None)
    if (
        computed_by == "fast"
        and hasattr(request.node, "callspec")
        and "computed_by" in request.node.callspec.params
        and is_hypothesis_test(function)
    ):
        # Not by a decorator: the other engine has the same function.
        monkeypatch.setattr(function, OWN, with_examples(function, lambda count: min(count, EXAMPLES)))
