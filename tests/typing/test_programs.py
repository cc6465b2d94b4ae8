"""Programs as people write them, in many idioms: each faulty one has a correct twin, the same program without the
mistake.

`programs/correct` and `programs/faulty` are laid out and marked as `corpus` is. They were written without a look at the
plugin, so the words of a message are mostly left open: ``# shape`` alone marks the line that a person would change, ``#
meets`` a line where the sizes meet. `programs/idioms.json` says for each program which idioms it uses.

``python -m tests.typing.test_programs`` prints what mypy with the plugin finds of them, program by program.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.typing.test_corpus import (
    KINDS,
    PLUGIN,
    Failure,
    Program,
    identify,
    mypy,
    programs,
    raised_by_typednn,
    reported,
    run,
)

PROGRAMS = Path(__file__).parent / "programs"
IDIOMS: dict[str, list[str]] = json.loads((PROGRAMS / "idioms.json").read_text())
CORRECT, FAULTY = (programs(kind, PROGRAMS) for kind in KINDS)

WRITTEN, MEETS, ELSEWHERE, MISSED = "where written", "where sizes meet", "elsewhere", "missed"


@pytest.fixture(scope="module")
def correct_outcomes() -> dict[str, Failure | None]:
    return run("correct", PROGRAMS)


@pytest.fixture(scope="module")
def faulty_outcomes() -> dict[str, Failure | None]:
    return run("faulty", PROGRAMS)


def test_each_has_its_twin() -> None:
    stems = [{path.stem for path in (PROGRAMS / kind).iterdir() if path.name != "__pycache__"} for kind in KINDS]
    assert stems[0] == stems[1] == IDIOMS.keys()
    assert len(IDIOMS) >= 90
    assert [
        idiom for idiom, count in Counter(idiom for idioms in IDIOMS.values() for idiom in idioms).items() if count < 3
    ] == []


@pytest.mark.parametrize("program", CORRECT + FAULTY, ids=lambda program: f"{program.kind}-{program.name}")
def test_each_says_what_it_is(program: Program) -> None:
    assert len(program.docstring) > len('"""."""')
    assert program.docstring.endswith('."""')
    assert (len(program.expected) == 1) == (program.kind == "faulty")
    assert program.kind == "faulty" or not program.meets


@pytest.mark.parametrize("program", CORRECT, ids=identify)
def test_correct_runs(program: Program, correct_outcomes: dict[str, Failure | None]) -> None:
    assert correct_outcomes[program.name] is None


@pytest.mark.parametrize("program", FAULTY, ids=identify)
def test_faulty_fails(program: Program, faulty_outcomes: dict[str, Failure | None]) -> None:
    failure = raised_by_typednn(program, faulty_outcomes[program.name])
    # raised where the stack is built: a marked line is on the way there
    if failure is not None and failure.type == "StackError":
        assert any(list(place) in failure.lines for place in program.expected | program.meets), failure


def test_plain_mypy_finds_nothing(tmp_path: Path, mypy_cache: Callable[[str], Path]) -> None:
    config = tmp_path / "plain.ini"
    config.write_text("[mypy]\nstrict = True\n")
    for kind in KINDS:
        found = reported(mypy(kind, config, mypy_cache("plain"), PROGRAMS).stdout)
        assert found == {}


# ---------------------------------------------------------------------------------------------------- measured


def verdict(program: Program, found: dict[tuple[str, int], str]) -> str:
    """Where mypy with the plugin reports the mistake of a faulty program; ``found`` is what it reports of all."""
    lines = {place for place in found if Path(place[0]).parts[0] == program.path.name}
    if lines & program.expected.keys():
        return WRITTEN
    if lines & program.meets.keys():
        return MEETS
    return ELSEWHERE if lines else MISSED


UNFOUND = {
    "closure_counter": "a nonlocal name changes with each call",
    "precision_data": "the precision of a model is not followed",
}


@pytest.fixture(scope="module")
def found(
    tmp_path_factory: pytest.TempPathFactory, mypy_cache: Callable[[str], Path]
) -> dict[str, dict[tuple[str, int], str]]:
    """What mypy with the plugin reports of each kind."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "plugin.ini").write_text(PLUGIN)
    results = {kind: mypy(kind, folder / "plugin.ini", mypy_cache("plugin"), PROGRAMS) for kind in KINDS}
    return {kind: reported(result.stdout) for kind, result in results.items()}


def test_the_plugin_accepts_what_is_correct(found: dict[str, dict[tuple[str, int], str]]) -> None:
    assert found["correct"] == {}


def test_the_plugin_finds_the_faulty(found: dict[str, dict[tuple[str, int], str]]) -> None:
    missed = {program.name for program in FAULTY if verdict(program, found["faulty"]) == MISSED}
    assert missed == UNFOUND.keys(), (sorted(missed - UNFOUND.keys()), sorted(UNFOUND.keys() - missed))
    assert all(message.endswith("  [shape]") for message in found["faulty"].values())


def measure() -> None:
    """Prints what mypy with the plugin finds of each program, and how many of each idiom it misses."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "plugin.ini"
        config.write_text(PLUGIN)
        results = {kind: mypy(kind, config, Path(folder) / "cache", PROGRAMS) for kind in KINDS}
    for kind, result in results.items():
        assert result.returncode in (0, 1), result.stdout + result.stderr
        assert result.stderr == "", f"{kind}: {result.stderr}"
    found = {kind: reported(result.stdout) for kind, result in results.items()}
    verdicts = {program.name: verdict(program, found["faulty"]) for program in FAULTY}
    for name, said in verdicts.items():
        print(f"{said:17} {name}  ({', '.join(IDIOMS[name])})")
    alarms = {
        program.name
        for program in CORRECT
        if any(Path(file).parts[0] == program.path.name for file, _ in found["correct"])
    }
    for (file, line), message in found["correct"].items():
        print(f"false alarm       {file}:{line}: {message}")
    print()
    idioms = Counter(idiom for name in verdicts for idiom in IDIOMS[name])
    missed = Counter(idiom for name, said in verdicts.items() if said == MISSED for idiom in IDIOMS[name])
    for idiom, count in sorted(idioms.items(), key=lambda item: (-missed[item[0]] / item[1], item[0])):
        print(f"{missed[idiom]:2} of {count:2} missed  {idiom}")
    print()
    counts = Counter(verdicts.values())
    print(
        f"{len(FAULTY)} faulty: " + ", ".join(f"{counts[said]} {said}" for said in (WRITTEN, MEETS, ELSEWHERE, MISSED))
    )
    print(f"{len(CORRECT)} correct: {len(CORRECT) - len(alarms)} silent, {len(alarms)} with a false alarm")


if __name__ == "__main__":
    measure()
