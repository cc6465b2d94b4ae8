"""The plugin on random functions of NumPy's operations: no false alarm, and nearly every mistake in shapes is reported."""

import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.typing import random_bodies
from tests.typing.random_bodies import (
    DRAWS,
    LEAST_FOUND,
    WRONG,
    Failure,
    Judged,
    Message,
    Program,
    Static,
    changed,
    draw,
    einsum,
    expressions,
    judge,
    judge_all,
    right,
    sliced,
    smallest,
    summary,
    truth,
)

PROGRAMS = 1_000
KINDS = {"promise", "number", "letters", "operand", "order", "keepdims", "permutation", "index"}
SUM = Program(0, (("v0", ("a", "b")), ("v1", ("b",))), ("v2 = v0 + v1", "v3 = v2.sum(axis=0)", "v4 = v2.T"), "v4", ("b", "a"))


def test_mypy_and_running_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str], record_property: Callable[[str, object], None]) -> None:
    static = Static(tmp_path)
    judged = list(judge_all(range(PROGRAMS), static))
    counts = Counter(each.verdict for each in judged)
    for name, number in counts.items():
        record_property(name, number)
    with capsys.disabled():
        print(f"\n{summary(counts)}")
    assert not static.crashes, "\n".join(static.crashes)
    alarms = [each for each in judged if each.verdict == "false alarm"]
    assert not alarms, "\n\n".join(map(str, smallest(alarms, tmp_path)))
    wrong, missed = sum(counts[name] for name in WRONG), [each for each in judged if each.verdict == "missed"]
    assert wrong > PROGRAMS // 4, "many are wrong"
    assert len(missed) <= (1 - LEAST_FOUND) * wrong, "\n\n".join(map(str, smallest(missed[:20], tmp_path)))


# ---------------------------------------------------------------------------------------------------- the programs


def test_right_programs_are_right_and_varied() -> None:
    programs = [right(seed) for seed in range(150)]
    assert {truth(program) for program in programs} == {("right", None)}
    assert max(len(program.statements) for program in programs) == 20
    assert {len(program.promise) for program in programs} == {1, 2, 3, 4}
    text = "\n".join(program.text() for program in programs)
    for operation in (
        "@",
        "einsum",
        "tensordot",
        "reshape",
        "keepdims",
        "out=",
        "+=",
        "concatenate",
        "split",
        "pad",
        "take",
        "where",
        "None",
    ):
        assert operation in text, operation
    assert any(re.search("[-+*/]", axis) for program in programs for axis in program.promise)


def test_changes_are_varied_and_often_wrong() -> None:
    programs = [changed(right(seed), random.Random(seed)) for seed in range(900)]
    assert {program.change.partition(":")[0] for program in programs} == KINDS
    assert sum(truth(program)[0] == "wrong" for program in programs[:200]) > 100
    for program in programs:
        assert program.text() != right(program.seed).text(), program.text()


def test_a_third_is_right() -> None:
    assert [bool(draw(seed).change) for seed in range(6)] == [False, True, True, False, True, True]


@pytest.mark.parametrize(
    ("statement", "promise", "kind", "what"),
    [
        ("v4 = v2.T", ("b", "a"), "right", ""),
        ("v4 = v2", ("b", "a"), "wrong", "returns (11, 13), promises (13, 11)"),
        ("v4 = v2 @ v2", ("b", "a"), "wrong", "ValueError"),
        ("v4 = v2[: v2.shape[0] // 2 * 2].T", ("b", "a"), "open", "returns (13, 10)"),  # right for even sizes
        ("v4 = v2.T.sum(axis=2)", ("b",), "wrong", "AxisError"),
        ("v4 = v2.sum(axes=1)", ("a",), "open", "TypeError"),
    ],
)
def test_truth_is_what_happens(statement: str, promise: tuple[str, ...], kind: str, what: str) -> None:
    program = replace(SUM, statements=(*SUM.statements[:2], "v2 = v0 * 2", statement), promise=promise)
    found, failure = truth(program)
    assert found == kind
    assert (failure.what if failure else "").startswith(what)
    assert failure is None or failure.line == (5 if what.startswith("returns") else 4)


def test_what_takes_too_long_is_open() -> None:
    large = replace(SUM, statements=('v4 = np.einsum("ij,k,l,m,n->ij", v0, v1, v1, v1, v1)',))
    assert truth(large) == ("open", None)
    assert einsum("ij,j->i", np.ones((2, 3)), np.ones(3)).tolist() == [3, 3]


def test_sizes_are_written_as_the_simplest_expression() -> None:
    a, b = (tuple(draw[place] for draw in DRAWS) for place in (0, 1))

    def written(size: Callable[[int, int], int]) -> str:
        return expressions()[tuple(map(size, a, b))]

    assert written(lambda a, b: a) == "a"
    assert written(lambda a, b: 5) == "5"
    assert written(lambda a, b: 2 * b - 1) == "2*b-1"
    assert written(lambda a, b: 3 * a * b) == "3*a*b"
    assert written(lambda a, b: (a + 1) // 2) == "(a+1)//2"


def test_a_slice_has_what_matters() -> None:
    assert sliced(SUM).statements == ("v2 = v0 + v1", "v4 = v2.T")
    assert sliced(SUM, 1).statements == ("v2 = v0 + v1", "v3 = v2.sum(axis=0)")
    written = replace(SUM, statements=("v2 = v0 * 2", "v2 += v1", "v3 = v1 + 1", "np.exp(v2, out=v2)", "v2[:, 0] = 1", "v4 = v2.T"))
    assert [each for each in written.statements if each not in sliced(written).statements] == ["v3 = v1 + 1"]


# ---------------------------------------------------------------------------------------------------- a wrong verdict is found


def judged(program: Program, *messages: Message) -> str:
    return Judged(program, *truth(program), messages).verdict


def test_verdicts() -> None:
    wrong = replace(SUM, promise=("a", "b"))
    said, types = Message(4, "shape", "no"), Message(4, "return-value", "no")
    assert (judged(SUM), judged(SUM, said), judged(SUM, types)) == ("accepted", "false alarm", "accepted")
    assert (judged(wrong), judged(wrong, said), judged(wrong, types)) == ("missed", "found", "found by the types alone")
    assert judged(wrong, replace(types, line=2)) == "missed"
    assert summary({"found": 3, "missed": 1}) == "4 programs: 3 found, 1 missed, 75.0 % of the 4 wrong ones are reported"


def test_messages_belong_to_their_programs(tmp_path: Path) -> None:
    wrong = replace(SUM, statements=("v2 = v0 + v1", "v3 = v2 @ v0", "v4 = v2.T"))
    found = judge([SUM, wrong, SUM, replace(SUM, promise=("a", "b"))], Static(tmp_path))
    assert [each.verdict for each in found] == ["accepted", "found", "accepted", "found"]
    assert [[message.line for message in each.messages] for each in found] == [[], [2], [], [4]]


def test_without_the_plugin_nothing_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_bodies, "CONFIG", "[mypy]\n")
    found = Counter(each.verdict for each in judge([draw(seed) for seed in range(60)], Static(tmp_path)))
    assert found["found"] == 0
    assert found["missed"] > 15


def test_a_miss_is_shown_with_the_statements_that_matter(tmp_path: Path) -> None:
    program = replace(SUM, statements=("v2 = v0 + v1", "v3 = v2.sum(axis=0)", "v4 = v2[v2 > 0].reshape(2)"), promise=("a", "b"))
    (small,) = smallest([Judged(program, "wrong", Failure("ValueError", 3), ())], tmp_path)
    assert small.program.statements == ("v2 = v0 + v1", "v4 = v2[v2 > 0].reshape(2)")
    assert "missed: program 0" in str(small)
