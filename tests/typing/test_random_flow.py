"""Random bodies with control flow, all of them right: mypy with the plugin reports none."""

import pytest

from tests.typing.random_bodies import shown
from tests.typing.random_flow import alarms, drawn

PROGRAMS = 1000


def test_no_right_function_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    found = alarms(range(PROGRAMS))
    with capsys.disabled():
        print(f"\n{PROGRAMS:,} functions with control flow, {len(found)} reported")
    assert not found, "\n\n".join(map(shown, found[:3]))


def test_every_piece_is_drawn() -> None:
    """By words of their own: a function inside, a guard, a shape that is set, an error that is caught."""
    texts = "".join(drawn(seed).text("f") for seed in range(PROGRAMS))
    words = (
        "nonlocal",
        "yield",
        "resize",
        "except",
        "assert_raises",
        "finally",
        "match",
        "array_equal",
        "append",
        "del",
    )
    assert [word for word in words if word not in texts] == []
