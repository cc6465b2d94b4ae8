"""Random bodies with control flow, all of them right: mypy with the plugin reports none."""

import pytest

from tests.typing.random_bodies import judged, shown
from tests.typing.random_flow import drawn

PROGRAMS = 1000


def test_no_right_function_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    count = judged(range(PROGRAMS), draw=drawn)
    with capsys.disabled():
        print(f"\nwith control flow: {count}")
    assert not count.false_alarms, "\n\n".join(map(shown, count.false_alarms[:3]))
    assert (count.right > 0.9 * PROGRAMS, count.wrong) == (True, 0)


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
