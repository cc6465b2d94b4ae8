"""What every test shares: how hard Hypothesis searches and from which seed, and where data sets are."""

import gc
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from effort import OWN, PROFILE, SAME_EACH_TIME, SHARE, runs, with_examples

REPOSITORY = Path(__file__).resolve().parent.parent

os.environ.pop("COLUMNS", None)  # what is printed has no width, but where a test says one


@pytest.fixture(scope="session", autouse=True)
def kernels_for_all_sizes() -> Iterator[None]:
    """Tests draw more sizes than a program has, and each is to be computed by its kernel."""
    from typednn.engines import sizes

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizes, "FEW", 10**9)
        patch.setattr(sizes, "MOST", 10**9)
        yield


@pytest.fixture(scope="module")
def on_the_reference() -> Iterator[None]:
    """For tests of the mathematics in float64, at sizes drawn at random: each would compile kernels of its own."""
    from typednn.engines import using

    with using("reference"):
        yield


UNTIL = float(os.environ.get("TYPEDNN_TESTS_UNTIL", "inf"))  # seconds since 1970

_counted: set[int] = set()


def pytest_itemcollected(item: pytest.Item) -> None:
    """A property has its share of examples; a state machine, whose settings are its class's, has all of its own."""
    function = getattr(item, "function", None)
    if SHARE < 1 and hasattr(function, OWN) and id(function) not in _counted:
        _counted.add(id(function))
        setattr(function, OWN, with_examples(function, lambda count: max(1, round(SHARE * count))))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In CI slow tests take turns; `make quick` has none; `make test` elsewhere and `make torture` run all of them."""
    left = [item for item in items if not runs(item.nodeid)]
    if left:
        config.hook.pytest_deselected(items=left)
        waiting = set(left)
        items[:] = [item for item in items if item not in waiting]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """`make quick` ends in time."""
    if time.time() > UNTIL:
        pytest.skip("no time is left")


def pytest_collection_finish() -> None:
    """Thousands of tests, and what they import, stay to the end: to look through them at each collection of garbage
    takes half a second.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """A new seed, before Hypothesis's own plugin reads the option; pytest-xdist's workers find it in
    the environment.
    """
    if not SAME_EACH_TIME and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = os.environ.setdefault("TYPEDNN_DRAWN_SEED", str(secrets.randbelow(10**9)))


def _how_to_repeat(config: pytest.Config) -> str:
    return f"HYPOTHESIS_PROFILE={PROFILE} python -m pytest --hypothesis-seed={config.option.hypothesis_seed}"


def pytest_report_header(config: pytest.Config) -> str:
    return (
        f"examples: the same each time, {PROFILE!r}"
        if SAME_EACH_TIME
        else f"examples: {_how_to_repeat(config)} draws these again"
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Under the failures too, where it is looked for, and whatever the verbosity."""
    if not SAME_EACH_TIME:
        terminalreporter.write_line(
            f"To draw the same examples again: {_how_to_repeat(config)}, with the test's name behind"
        )


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of data sets; tests that need one skip where there is none."""
    told = os.environ.get("TYPEDNN_DATA")
    places = [Path(told)] if told else []
    places.append(REPOSITORY.parent / "shared" / "data")
    for place in places:
        if place.is_dir():
            return place
    pytest.skip(
        f"needs data sets, which are not part of the repository; looked in {', '.join(map(str, places))}; set "
        "TYPEDNN_DATA"
    )
