"""Findings as other programs read them, where they end, and what is said of functions."""

import json
from pathlib import Path
from typing import Any

import pytest

from typednn.mypy_plugin.facts import Function, Loss, ModuleFacts, Span
from typednn.static_checks import Finding, coverage, end_of, written_as

TEXT = "é = 1\nmodel = é >> Linear(256, 120)  # so\nf(\n    1)\n"


@pytest.fixture
def finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Finding:
    """Of ``Linear(…)`` in the second line, whose column counts bytes."""
    monkeypatch.chdir(tmp_path)
    Path("a, b.py").write_text(TEXT, encoding="utf-8")
    return Finding("a, b.py", 2, len("model = é >> ".encode()) + 1, "expects 100 %\nnot: so", "shape")


def test_where_an_expression_ends() -> None:
    line = TEXT.splitlines()[1]
    start, end = (len(line[: line.index(part)].encode()) + 1 for part in ("Linear", "  # so"))
    assert end_of(TEXT, 2, start) == (2, end)
    assert end_of(TEXT, 3, 1) == (3, 2), "the name, as the call goes on in the next line"
    assert end_of(TEXT, 2, 2) == (2, len(line.encode()) + 1), "no expression begins there"
    assert end_of("f(:\n", 1, 3) == (1, 4)
    assert end_of("", 1, 1) == (1, 1)


def test_github(finding: Finding) -> None:
    """The syntax of workflow commands: properties escape ``:`` and ``,`` too."""
    (line,) = written_as("github", [finding])
    place = "file=a%2C b.py,line=2,col=14,endLine=2,endColumn=30,title=typednn shape"
    assert line == f"::error {place}::expects 100 %25%0Anot: so"


def test_sarif(finding: Finding) -> None:
    """What the standard requires: https://docs.oasis-open.org/sarif/sarif/v2.1.0, sections 3.13, 3.14, 3.27, 3.30."""
    told: dict[str, Any] = json.loads(
        "\n".join(written_as("sarif", [finding, Finding("b.toml", 3, 4, "no", "config")]))
    )
    assert told["version"] == "2.1.0"
    (run,) = told["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert run["tool"]["driver"]["name"] == "typednn"
    assert run["columnKind"] == "unicodeCodePoints"
    first, second = run["results"]
    for result in (first, second):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] == "error"
    assert first["message"] == {"text": "expects 100 %\nnot: so"}
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%2C%20b.py"}
    assert place["region"] == {"startLine": 2, "startColumn": 14, "endLine": 2, "endColumn": 30}
    assert second["locations"][0]["physicalLocation"]["region"]["startLine"] == 3
    nothing = json.loads("\n".join(written_as("sarif", [])))
    assert nothing["runs"][0]["results"] == [], "null would mean that nothing was checked"


def test_coverage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lost = Loss(Span(7, 4, 7, 9), "x, from np.load")
    facts = ModuleFacts("a.py", functions=[Function("f", 1, "proven"), Function("Net.forward", 5, "partly", (lost,))])
    known = {str(tmp_path / "a.py"): facts}
    assert list(coverage(["a.py", "b.py"], known, as_json=False)) == [
        "a.py:1: f: proven",
        "a.py:5: Net.forward: partly",
        "  a.py:7: x, from np.load",
        "2 functions: 1 proven, 1 partly, 0 unknown; 50 % proven",
    ]
    assert [json.loads(line) for line in coverage(["a.py"], known, as_json=True)][1] == {
        "path": "a.py",
        "line": 5,
        "function": "Net.forward",
        "verdict": "partly",
        "losses": [{"line": 7, "column": 5, "what": "x, from np.load"}],
    }
    assert list(coverage([], {}, as_json=False)) == ["0 functions: 0 proven, 0 partly, 0 unknown"]
