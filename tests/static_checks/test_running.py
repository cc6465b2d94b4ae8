"""When mypy checks a file, and when its cache or its state has the answer."""

import os
from pathlib import Path

import pytest

from typednn import mypy_plugin
from typednn.mypy_plugin import facts
from typednn.static_checks import KeptMypy, findings, known_facts

TEXT = (
    "from typednn import Input\nfrom typednn.layers import Linear\n\nmodel = Input(4) >> Linear(4, 8) >> Linear(7, 2)\n"
)


@pytest.fixture
def stacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Grows with each stack that the plugin is asked about; whether it may collect facts."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MYPY_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "a.py").write_text(TEXT, encoding="utf-8")
    os.utime(tmp_path / "a.py", (1e9, 1e9))  # what is saved while mypy runs is checked again
    asked: list[bool] = []
    real = mypy_plugin.TypednnPlugin.get_method_hook

    def hook(self: mypy_plugin.TypednnPlugin, fullname: str) -> mypy_plugin.Hook | None:
        if fullname.endswith(".__rshift__"):
            asked.append(facts.collected is not None)
        return real(self, fullname)

    monkeypatch.setattr(mypy_plugin.TypednnPlugin, "get_method_hook", hook)
    return asked


def test_facts_need_a_check_though_the_cache_has_the_findings(stacked: list[bool]) -> None:
    first = findings(["a.py"])
    assert len(first) == 1
    assert stacked, "nothing was kept before"
    assert not any(stacked)
    stacked.clear()
    assert findings(["a.py"]) == first
    assert not stacked, "the cache has the answer"
    found, _ = known_facts(["a.py"])
    assert found == first
    assert stacked
    assert all(stacked)
    assert facts.collected is None
    stacked.clear()
    assert findings(["a.py"]) == first
    assert not stacked, "what was checked anew is in the cache as ever"


def test_a_kept_mypy_reads_what_the_editor_has(stacked: list[bool]) -> None:
    path = os.path.abspath("a.py")
    mypy = KeptMypy()
    try:
        assert len(findings([path], mypy)) == 1
        assert len(findings([path], mypy)) == 1  # here it learns what to hold on to
        stacked.clear()
        assert len(findings([path], mypy)) == 1
        assert not stacked, "nothing has changed"
        mypy.buffers[path] = TEXT.replace("7", "8").encode()
        assert findings([path], mypy) == []
        assert stacked
        mypy.buffers.clear()
        assert len(findings([path], mypy)) == 1
        assert path in mypy.paths()
    finally:
        mypy.close()
