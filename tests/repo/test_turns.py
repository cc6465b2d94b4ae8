"""Slow tests take turns in CI: each has one, and no other test waits."""

import re
from pathlib import Path

import pytest
from effort import SLOW, TURNS, has_turn

TESTS = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("name", sorted(SLOW))
def test_what_takes_turns_is_a_test(name: str) -> None:
    file, *_, function = name.split("::")
    text = (TESTS.parent / file).read_text(encoding="utf-8")
    assert re.search(rf"^ *(async )?def {function}\(", text, re.MULTILINE), "renamed or removed"


def test_each_has_a_turn() -> None:
    """Within thirty commits; a third at each; others at every one."""
    commits = [f"{number:040x}" for number in range(30)]
    for name in SLOW:
        for test in (name, f"{name}[a]"):
            assert {has_turn(test, at) for at in commits} == {True, False}, test
    share = sum(has_turn(name, at) for name in SLOW for at in commits) / (len(SLOW) * len(commits))
    assert share == pytest.approx(1 / TURNS, abs=0.05)
    assert all(has_turn("tests/test_stack.py::test_any", at) for at in commits)
