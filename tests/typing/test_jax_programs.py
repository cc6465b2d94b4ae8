"""Programs with JAX as people write them, whole and small: each pair is right, or has one mistake in its sizes.

`jax/faulty` holds a program per file; the line that must be reported ends in ``# shape: words``, each of which must be
in the message. `jax/correct` has the same program without the mistake. Plain mypy, strict, sees none of them. Every
program runs under jaxtyping and beartype: the correct ones to their end, the faulty ones raise.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.typing.test_corpus import KINDS, PLUGIN, Failure, Program, changes, found_in, identify, mypy, programs, run

HERE = Path(__file__).parent / "jax"
CORRECT, FAULTY = (programs(kind, HERE) for kind in KINDS)

# JAX gives Any for what it transforms, which strict mypy does not like to be returned.
ANY = "warn_return_any = False\n"
# The mistakes that the plugin does not report.
MISSED = {
    "advantages": "two names are told apart in the function that declares them, not in one that is followed from there",
}
# Lines that are refused besides, as the mistake goes on there.
FURTHER = {("power_iteration", 15)}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, dict[str, Failure | None]]:
    """By kind and program."""
    return {kind: run(kind, HERE) for kind in KINDS}


@pytest.fixture(scope="module")
def found(
    tmp_path_factory: pytest.TempPathFactory, mypy_cache: Callable[[str], Path]
) -> dict[str, dict[tuple[str, int], str]]:
    """What mypy with the plugin reports of each kind, in one run each."""
    config = tmp_path_factory.mktemp("jax") / "plugin.ini"
    config.write_text(PLUGIN.replace("strict = True\n", f"strict = True\n{ANY}"))
    return found_in(HERE, config, mypy_cache("jax plugin"))


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
    assert changes(correct, faulty) == 1


@pytest.mark.parity
@pytest.mark.parametrize("program", CORRECT, ids=identify)
def test_correct_runs(program: Program, outcomes: dict[str, dict[str, Failure | None]]) -> None:
    assert outcomes["correct"][program.name] is None


@pytest.mark.parity
@pytest.mark.parametrize("program", FAULTY, ids=identify)
def test_faulty_fails(program: Program, outcomes: dict[str, dict[str, Failure | None]]) -> None:
    failure = outcomes["faulty"][program.name]
    assert failure is not None
    refusals = ("TypeCheckError", "BeartypeCallHintReturnViolation", "BeartypeCallHintParamViolation")
    assert failure.type in ("TypeError", "ValueError", *refusals), failure


@pytest.mark.parity
@pytest.mark.parametrize("kind", KINDS)
def test_plain_mypy_sees_none(kind: str, tmp_path: Path, mypy_cache: Callable[[str], Path]) -> None:
    config = tmp_path / "plain.ini"
    config.write_text(f"[mypy]\nstrict = True\n{ANY}")
    result = mypy(kind, config, mypy_cache("jax plain"), HERE)
    assert (result.returncode, result.stderr) == (0, ""), result.stdout


@pytest.mark.parity
def test_plugin_accepts_the_correct(found: dict[str, dict[tuple[str, int], str]]) -> None:
    assert found["correct"] == {}


@pytest.mark.parity
def test_plugin_reports_the_faulty(found: dict[str, dict[tuple[str, int], str]]) -> None:
    expected = {place: words.split() for program in FAULTY for place, words in program.expected.items()}
    assert {(Path(file).stem, line) for file, line in found["faulty"].keys() - expected.keys()} == FURTHER
    at_places = {place: message for place, message in found["faulty"].items() if place in expected}
    unclear = {
        place: message for place, message in at_places.items() if not all(word in message for word in expected[place])
    }
    assert unclear == {}
    assert all(message.endswith("  [shape]") for message in found["faulty"].values())
    missed = {program.name for program in FAULTY if not program.expected.keys() & found["faulty"].keys()}
    assert missed == MISSED.keys(), (sorted(missed - MISSED.keys()), sorted(MISSED.keys() - missed))
