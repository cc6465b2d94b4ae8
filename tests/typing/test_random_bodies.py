"""Random bodies of functions: mypy with the plugin against running them."""

from collections.abc import Callable

import pytest

from tests.typing.random_bodies import LEAST_FOUND, judged, shown

PROGRAMS = 1000


def test_the_plugin_says_what_numpy_does(
    capsys: pytest.CaptureFixture[str], record_property: Callable[[str, object], None]
) -> None:
    count = judged(range(PROGRAMS))
    record_property("random bodies", str(count))
    with capsys.disabled():
        print(f"\n{count}")
    assert not count.false_alarms, "\n\n".join(map(shown, count.false_alarms[:3]))
    assert count.found >= LEAST_FOUND, "\n\n".join(map(shown, count.missed[:10]))
    assert min(count.right, count.wrong) > PROGRAMS // 3, "right and wrong functions are drawn"
