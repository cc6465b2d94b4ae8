"""Bodies of layers, losses, optimizers and functions: NumPy's operations on arrays of known axes, as people write them.

`bodies/faulty` holds a program per file, with one mistake in its arithmetic; `bodies/correct` has the same program
without it. The line that must be reported ends in ``# shape: words``: each of the words must be in the message. It is
the line where NumPy raises, or the one that breaks the promise of an annotation. Plain mypy, strict, sees none of these
mistakes.

A faulty program raises when it runs. If its docstring says "runs all the same", it computes something of a wrong shape
or precision.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.typing.test_corpus import KINDS, PLUGIN, Failure, Program, changes, found_in, identify, mypy, programs, run

BODIES = Path(__file__).parent / "bodies"
CORRECT, FAULTY = (programs(kind, BODIES) for kind in KINDS)

# The mistakes that the plugin does not report: it does not follow what NumPy computes there.
MISSED = {
    "avg_pool_backward": "the columns of the gradient are a name of its own, half the width",
    "max_pool": "half of a height may be 2",
    "pca_projection": "reported at the return: a slice of the last three may have fewer",
}
# Lines that are refused besides, since the mistake goes on there, or instead of the line above.
FURTHER = {("adam_step", 21), ("batch_norm_backward", 37), ("batch_norm_running", 28), ("matmul_out", 12)} | {
    ("pca_projection", 12)
}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, dict[str, Failure | None]]:
    """By kind and program."""
    return {kind: run(kind, BODIES) for kind in KINDS}


@pytest.fixture(scope="module")
def found(
    tmp_path_factory: pytest.TempPathFactory, mypy_cache: Callable[[str], Path]
) -> dict[str, dict[tuple[str, int], str]]:
    """What mypy with the plugin reports of each kind, in one run each."""
    folder = tmp_path_factory.mktemp("bodies")
    config = folder / "plugin.ini"
    config.write_text(PLUGIN)
    return found_in(BODIES, config, mypy_cache("plugin"))


# ---------------------------------------------------------------------------------------------- the programs themselves


def test_there_are_enough() -> None:
    assert len(FAULTY) >= 60
    assert [program.name for program in CORRECT] == [program.name for program in FAULTY]


@pytest.mark.parametrize(
    ("correct", "faulty"), list(zip(CORRECT, FAULTY, strict=True)), ids=[program.name for program in FAULTY]
)
def test_each_pair_differs_in_one_place(correct: Program, faulty: Program) -> None:
    assert (len(correct.expected), len(faulty.expected)) == (0, 1)
    subject = correct.docstring.removesuffix('."""')
    assert faulty.docstring.startswith(f"{subject}: ")
    assert faulty.docstring.endswith('."""')
    assert changes(correct, faulty) == 1


# ---------------------------------------------------------------------------------------------------- run


@pytest.mark.parametrize("program", CORRECT, ids=identify)
def test_correct_runs(program: Program, outcomes: dict[str, dict[str, Failure | None]]) -> None:
    assert outcomes["correct"][program.name] is None


@pytest.mark.parametrize("program", FAULTY, ids=identify)
def test_faulty_fails(program: Program, outcomes: dict[str, dict[str, Failure | None]]) -> None:
    failure = outcomes["faulty"][program.name]
    if "runs all the same" in program.docstring:
        assert failure is None
        return
    assert failure is not None
    if failure.type == "ShapeError":  # raised for what a method returned, at the call of the method
        (words,) = program.expected.values()
        assert all(word in failure.message for word in words.split()), failure
        return
    assert failure.type in ("ValueError", "IndexError"), failure
    assert tuple(failure.lines[-1]) in program.expected, failure


# ---------------------------------------------------------------------------------------------------- read by mypy


@pytest.mark.parametrize("kind", KINDS)
def test_plain_mypy_sees_none(kind: str, tmp_path: Path, mypy_cache: Callable[[str], Path]) -> None:
    config = tmp_path / "plain.ini"
    config.write_text("[mypy]\nstrict = True\n")
    result = mypy(kind, config, mypy_cache("plain"), BODIES)
    assert (result.returncode, result.stderr) == (0, ""), result.stdout


def test_plugin_accepts_the_correct(found: dict[str, dict[tuple[str, int], str]]) -> None:
    assert found["correct"] == {}


def test_plugin_reports_the_faulty(found: dict[str, dict[tuple[str, int], str]]) -> None:
    expected = {place: words.split() for program in FAULTY for place, words in program.expected.items()}
    assert {(Path(file).stem, line) for file, line in found["faulty"].keys() - expected.keys()} == FURTHER
    at_places = {place: message for place, message in found["faulty"].items() if place in expected}
    unclear = {
        place: message for place, message in at_places.items() if not all(word in message for word in expected[place])
    }
    # by the numbers of a call
    assert {place for place, message in unclear.items() if "(called in line" not in message} == set()
    assert all(message.endswith("  [shape]") for message in found["faulty"].values())
    missed = {program.name for program in FAULTY if not program.expected.keys() & found["faulty"].keys()}
    assert missed == MISSED.keys(), (sorted(missed - MISSED.keys()), sorted(MISSED.keys() - missed))
