"""Which of the open texts is told of an error, and which are checked all the same."""

from collections.abc import Sequence
from typing import Any

import pytest

from typednn.errors import ArgumentError
from typednn.language_server.session import Session
from typednn.static_checks import Finding

Calls = list[list[str]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """The files of each check, in which a text of "boom" raises, and "settings" is an error of the settings."""
    made: Calls = []

    def findings(files: Sequence[str], mypy: Any) -> list[Finding]:
        made.append([file.removeprefix("/a/") for file in files])
        for file in files:
            if mypy.buffers[file] == b"boom":
                raise ValueError("on purpose")
            if mypy.buffers[file] == b"settings":
                raise ArgumentError("settings")
        return [Finding(file, 1, 1, "found", "shape") for file in files]

    monkeypatch.setattr("typednn.language_server.session.findings", findings)
    return made


def told(session: Session) -> dict[str, list[str]]:
    return {path.removeprefix("/a/"): [one.message for one in found] for path, found in session.found.items()}


def texts(**each: str) -> dict[str, str]:
    return {f"/a/{name}.py": text for name, text in each.items()}


def test_one_that_raises_is_left_out_until_it_changes(calls: Calls) -> None:
    session = Session()
    session.check(texts(a="x", b="x"))
    session.check(texts(a="x", b="boom"))
    assert told(session) == {"a.py": ["found"], "b.py": ["cannot be checked: ValueError: on purpose"]}
    assert calls == [["a.py", "b.py"], ["a.py", "b.py"], ["b.py"], ["a.py"]]
    calls.clear()
    session.check(texts(a="y", b="boom"))
    assert calls == [["a.py"]], "it is not tried again"
    assert told(session) == {"a.py": ["found"], "b.py": ["cannot be checked: ValueError: on purpose"]}
    session.check(texts(a="y", b="x"))
    assert told(session) == {"a.py": ["found"], "b.py": ["found"]}
    session.close()


def test_all_opened_at_once(calls: Calls) -> None:
    session = Session()
    session.check(texts(a="x", b="boom", c="boom", d="x"))
    said = "cannot be checked: ValueError: on purpose"
    assert told(session) == {"a.py": ["found"], "b.py": [said], "c.py": [said], "d.py": ["found"]}
    session.close()


def test_settings_are_asked_again(calls: Calls) -> None:
    session = Session()
    session.check(texts(a="settings", b="settings"))
    assert told(session) == {"a.py": ["settings"], "b.py": ["settings"]}
    calls.clear()
    session.check(texts(a="settings", b="settings"))
    assert calls, "the settings may have changed, though the texts have not"
    session.close()
