"""docs/coverage.md is what the tests say, and the generator sees what it should; each mutant of it is caught by one of
its laws.
"""

import sys
import textwrap
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from types import ModuleType
from typing import Any

import coverage_doc
import pytest
from coverage_doc import Row
from exercised import Uses

SPECIFICATION = coverage_doc.REPOSITORY.parent / "shared" / "spec" / "features.md"
ROW = Row("P-L1", "layers", "Linear", "M")


def _found(source: str, path: str = "tests/test_x.py", tool: ModuleType = coverage_doc) -> dict[str, set[str]]:
    """What proves."""
    found: dict[str, set[str]] = tool.citations(textwrap.dedent(source), path)[0]
    return found


collected = cache(coverage_doc.collect)  # reads every test


def test_every_row_is_proven_exempt_or_open_and_no_citation_leads_nowhere() -> None:
    proofs, claims = collected()
    assert coverage_doc.complaints(coverage_doc.read_rows(), proofs, claims) == []


def test_rows_are_those_of_the_specification() -> None:
    """All of them, in its order, each title and need in its own words."""
    if not SPECIFICATION.is_file():
        pytest.skip("needs the specification, ../shared/spec/features.md")
    specified = coverage_doc.specified(SPECIFICATION.read_text(encoding="utf-8"))
    assert len(specified) > 200
    assert {row.id: (row.title, row.need) for row in coverage_doc.read_rows().values()} == specified
    assert list(coverage_doc.read_rows()) == list(specified)


def test_page_is_fresh() -> None:
    page = coverage_doc.REPOSITORY / "docs" / "coverage.md"
    expected = coverage_doc.render(coverage_doc.read_rows(), collected()[0])
    assert page.read_text(encoding="utf-8") == expected, "run `make coverage-doc`"


def test_docstrings_comments_names_and_parameters_cite() -> None:
    found = _found('''
        @pytest.mark.parametrize("row", [pytest.param(1, id="P-S1")])
        def test_one(row):
            """P-L1: fits."""
            assert row  # and P-L2

        class TestMore:
            def test_G_D10_reverse(self):
                assert self

            def test_X_A1_and_C_D11(self):
                assert self
    ''')
    assert found == {
        "P-S1": {"tests/test_x.py::test_one"},
        "P-L1": {"tests/test_x.py::test_one"},
        "P-L2": {"tests/test_x.py::test_one"},
        "G-D10": {"tests/test_x.py::test_G_D10_reverse"},
        "X-A1": {"tests/test_x.py::test_X_A1_and_C_D11"},
        "C-D11": {"tests/test_x.py::test_X_A1_and_C_D11"},
    }


def test_citation_outside_a_test_counts_for_the_file() -> None:
    assert _found("CASES = [1]  # P-D7\n\n\ndef test_x():\n    assert CASES\n") == {"P-D7": {"tests/test_x.py"}}
    assert _found("CASES = [1]  # P-D7\n") == {}, "a file without a test that can fail proves nothing"
    assert _found("CASES = [1]  # P-D7\n", "tests/typing/x.py") == {"P-D7": {"tests/typing/x.py"}}, (
        "type checkers read it"
    )


def test_code_ranges_and_longer_words_do_not_cite() -> None:
    assert (
        _found('def test_x():\n    """P-T1 to P-T3, P-R1–P-R5, P-E1-6, XP-L1, P-L1x, PC-D1."""\n    assert P-L1\n')
        == {}
    )


def test_only_tests_are_evidence() -> None:
    evidence = ["tests/layers/test_linear.py", "tests/layer_cases.py", "tests/typing/stack.py"]
    other = ["tests/support/strict.py", "tests/conftest.py", "tests/repo/coverage_doc.py"]
    assert [path for path in evidence + other if coverage_doc.is_evidence(path)] == evidence


def test_unknown_row_is_a_complaint() -> None:
    assert coverage_doc.complaints({}, {"P-L99": ["tests/test_x.py::test_y"]}) == [
        "tests/test_x.py::test_y cites P-L99, which tests/repo/rows.toml does not list"
    ]


def test_page_names_tests_reasons_and_parts() -> None:
    rows = {
        "P-L1": ROW,
        "P-L6": Row("P-L6", "Layers", "Ways", "N"),
        "P-E5": Row("P-E5", "Experiment", "Accuracy", "M", exempt="never"),
        "P-E7": Row(
            "P-E7", "Experiment", "Time", "M", open="later", part="on a GPU", met="0.8 GB (docs/benchmarks.md)"
        ),
    }
    tests = {"P-L1": ["tests/test_x.py::test_y", "tests/test_x.py::test_z"], "P-E7": ["tests/test_x.py::test_y"]}
    page = coverage_doc.render(rows, tests)
    assert "| P-L1 | Linear | M | `test_x.py::test_y`<br>`test_x.py::test_z` |" in page
    assert "| P-L6 | Ways | N | **none** |" in page
    assert "| P-E5 | Accuracy | M | exempt |" in page
    assert "| P-E7 | Time | M | `test_x.py::test_y`<br>open: on a GPU; met: 0.8 GB (docs/benchmarks.md) |" in page
    assert "\n- **P-E5**: never\n" in page
    assert "\n- **P-E7**, on a GPU: later. Met: 0.8 GB (docs/benchmarks.md)\n" in page
    assert "Open, because" not in coverage_doc.render({"P-L1": ROW}, {})


# -------------------------------------------------------------------------------------------------- what proves nothing

# A test that cites P-L1 and runs to its end, whatever the layer does.
IDLE = {
    "no assertion": "def test_x():\n    Linear()  # P-L1\n",
    "nothing at all": "def test_P_L1(): ...\n",
    "an assertion of another": "def test_x():\n    pass  # P-L1\n\ndef test_y():\n    assert y\n",
    "skipped": "@pytest.mark.skip(reason='slow')\ndef test_x():\n    assert x  # P-L1\n",
    "skipped without a word": "@pytest.mark.skip\ndef test_x():\n    assert x  # P-L1\n",
    "expected to fail": "@pytest.mark.xfail\ndef test_x():\n    assert x  # P-L1\n",
    "on a GPU": "@pytest.mark.gpu\ndef test_x():\n    assert x  # P-L1\n",
    "if asked for": "@pytest.mark.skipif(not os.environ.get('LONG'), reason='long')\n"
    "def test_x():\n    assert x  # P-L1\n",
    "by a name": "long = pytest.mark.skipif(not os.environ.get('LONG'), reason='long')\n"
    "\n@long\ndef test_x():\n    assert x "
    " # P-L1\n",
    "the file": "pytestmark = pytest.mark.skip\n\ndef test_x():\n    assert x  # P-L1\n",
    "a class of such": "class TestX:\n    'P-L1'\n\n    def test_x(self):\n        Linear()\n",
    "the class": "@pytest.mark.skip\nclass TestX:\n    def test_x(self):\n        assert x  # P-L1\n",
}
LIVE = {
    "assert": "def test_x():\n    assert x  # P-L1\n",
    "raises": "def test_x():\n    with pytest.raises(ValueError):  # P-L1\n        x()\n",
    "NumPy": "def test_x():\n    np.testing.assert_array_equal(x, y)  # P-L1\n",
    "finite differences": "def test_x():\n    gradcheck(layer, x)  # P-L1\n",
    "a helper": "def agree(x):\n    assert x\n\ndef twice(x):\n    agree(x)\n\ndef test_x():\n    twice(x)  # P-L1\n",
    "data that may be missing": "@pytest.mark.skipif(find() is None, reason='data')\n"
    "def test_x():\n    assert x  # P-L1\n",
    "a peer": "@pytest.mark.parity\ndef test_x():\n    assert x  # P-L1\n",
}


def _idle_proves_nothing(tool: Any) -> None:
    for why, source in IDLE.items():
        proofs, claims = tool.citations(source, "tests/test_x.py")
        assert proofs == {}, why
        assert set(claims) == {"P-L1"}, why


def _live_proves(tool: Any) -> None:
    for why, source in LIVE.items():
        assert tool.citations(source, "tests/test_x.py") == ({"P-L1": {"tests/test_x.py::test_x"}}, {}), why


def _helpers_of_other_files_count(tool: Any) -> None:
    source = "def test_x():\n    agree(x)  # P-L1\n"
    assert tool.citations(source, "tests/test_x.py", frozenset({"agree"}))[0]
    assert not tool.citations(source, "tests/test_x.py", frozenset({"disagree"}))[0]


def _every_family_is_read(tool: Any) -> None:
    rows = {f"{family}-A1" for family in "PGZXC"}
    assert tool.cited_in(" ".join(sorted(rows))) == rows
    assert set(tool.citations("def test_P_A1_G_A1_Z_A1_X_A1_C_A1():\n    assert x\n", "tests/test_x.py")[0]) == rows
    assert tool.cited_in("P-T1 to P-T3, X-D1-5, AC-D1") == set()


def _what_uses_nothing_of_typednn_proves_nothing(tool: Any) -> None:
    source = "def test_x():\n    assert f()  # P-L1\n\ndef test_y():\n    assert g()  # P-L1\n"
    path = "tests/test_x.py"
    proofs, claims = tool.citations(source, path, frozenset(), lambda *place: place != (path, "test_x"))
    assert proofs == {"P-L1": {"tests/test_x.py::test_y"}}
    assert claims == {"P-L1": {"tests/test_x.py::test_x"}}


def _the_specification_is_read(tool: Any) -> None:
    text = """
| id | capability | src | need | verify |
|---|---|---|---|---|
| P-L1 | a\\|b, `c` | D | M | P-L2 |
| id | layer | need |
|---|---|---|
|  P-L3  |  d  |  N (e)  |
| where | wrong | right |
|---|---|---|
| P-L | x | y |
"""
    assert tool.specified(text.replace("\\\\", "\\")) == {"P-L1": ("a\\|b, `c`", "M"), "P-L3": ("d", "N (e)")}


def _wrong_rows_are_told(tool: Any) -> None:
    def told(row: Row, tests: Any = None, claims: Any = None) -> list[str]:
        found: list[str] = tool.complaints({row.id: tool.Row(**asdict(row))}, tests or {}, claims or {})
        return found

    place = {"P-L1": ["tests/test_x.py::test_y"]}
    reason = "or say in tests/repo/rows.toml why it is exempt or open"
    assert told(ROW) == [f"P-L1 (Linear): has no test; cite it in one, {reason}"]
    assert told(ROW, {}, place) == [f"P-L1 (Linear): tests/test_x.py::test_y cites it, but proves nothing, {reason}"]
    assert told(ROW, place) == []
    for need in ("N", "N (fused), M (plain)", "M (spirit)"):
        assert told(Row("P-L1", "layers", "Linear", need)) == [f"P-L1 (Linear): has no test; cite it in one, {reason}"]
        assert told(Row("P-L1", "layers", "Linear", need), place) == []
    assert told(Row("P-L1", "layers", "Linear", "Maybe"), place) == ['P-L1: need is "Maybe", expected "M" or "N"']
    for word in ("open", "exempt"):
        whole, partly = (
            Row("P-L1", "layers", "Linear", "M", **{word: "x"}),
            Row("P-L1", "layers", "Linear", "M", **{word: "x"}, part="y"),
        )
        assert told(whole) == []
        assert told(partly, place) == []
        assert told(partly) == [f"P-L1 (Linear): has no test; cite it in one, {reason}"]
        assert told(whole, place) == [
            f"P-L1 is {word} but tested by tests/test_x.py::test_y; take `{word}` out of tests/repo/rows.toml, "
            "or name the part"
        ]
    assert told(Row("P-L1", "layers", "Linear", "M", part="y"), place) == [
        "P-L1 names a part without a reason; add `open` or `exempt` in tests/repo/rows.toml"
    ]
    assert told(Row("P-L1", "layers", "Linear", "M", met="docs/benchmarks.md"), place) == [
        "P-L1 says what is met without a reason; add `open` or `exempt` in tests/repo/rows.toml"
    ]
    assert told(Row("P-L1", "layers", "Linear", "M", exempt="later", open="graph")) == [
        "P-L1 is open and exempt; one reason is enough"
    ]
    page = "P-L1: what is met stands in a page of the docs that it names, got"
    assert told(Row("P-L1", "layers", "Linear", "M", open="x", met="batch 600 (docs/benchmarks.md)")) == []
    assert told(Row("P-L1", "layers", "Linear", "M", open="x", met="123.456789 ms and 600 (docs/benchmarks.md)")) == [
        f"{page} 123.456789"
    ]
    assert told(Row("P-L1", "layers", "Linear", "M", open="x", met="fast")) == [f"{page} no page"]
    for wrong in (place, {}), ({}, place):
        assert tool.complaints({}, *wrong) == [
            "tests/test_x.py::test_y cites P-L1, which tests/repo/rows.toml does not list"
        ]


LAWS: list[Callable[[Any], None]] = [
    _idle_proves_nothing,
    _live_proves,
    _helpers_of_other_files_count,
    _every_family_is_read,
    _what_uses_nothing_of_typednn_proves_nothing,
    _the_specification_is_read,
    _wrong_rows_are_told,
]


@pytest.mark.parametrize("law", LAWS)
def test_laws_of_the_generator(law: Callable[[Any], None]) -> None:
    law(coverage_doc)


SOURCE = (coverage_doc.REPOSITORY / "tests" / "repo" / "coverage_doc.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[PGZXC]-[A-Z]", "[PGZ]-[A-Z]"),
        ("([PGZXC])_([A-Z]", "([PGZ])_([A-Z]"),
        ('_RANGE.sub("", text)', "text"),
        ("skip\\b(?!if)|", ""),
        ("|xfail\\b", ""),
        ("|gpu\\b", ""),
        ("|\\bskipif\\(.*\\benviron\\b", ""),
        ("\\bskipif\\(.*\\benviron\\b", "\\bskipif\\("),
        ("|raises|", "|"),
        ("|gradcheck", ""),
        ("assert_\\w+|", ""),
        ("if isinstance(node, ast.Assert)", "if False"),
        ("proves = node.name in asserting", "proves = True"),
        ("proves = any(function.name in asserting for function in _functions(node))", "proves = True"),
        ("if name in helpers or", "if"),
        ("found |= more", "return found"),
        ("marks.get(text, text)", "text"),
        ("proves and not idle and", "proves and"),
        ("not _never_runs(node, marks) and all(around)", "all(around)"),
        ("and all(around)", ""),
        ("found[not proof]", "found[False]"),
        ("proof and exercises(path, name)", "proof"),
        ("cells[1], cells[need]", "cells[1], cells[2]"),
        ('re.split(r"(?<!\\\\)\\|", line)', 'line.split("|")'),
        ("re.fullmatch(ROW_ID, cells[0])", 'cells[0].startswith("P")'),
        ('if not re.search(r"\\b[MN]\\b", row.need)', "if False"),
        ('r"\\b[MN]\\b"', 'r"[MN]"'),
        ("if row.open and row.exempt", "if False"),
        ("if row.part and not (row.open or row.exempt)", "if False"),
        ("if row.met and not (row.open or row.exempt)", "if False"),
        ("found += _unsupported(row)", "pass"),
        ("if number not in text]", "if False]"),
        ("if pages and not missing", "if not missing"),
        ("if not row.untested and row.id not in tests", "if False"),
        ("if not row.untested and row.id not in tests", "if row.id not in tests"),
        ("and row.id not in tests:", "and row.id not in {**idle, **tests}:"),
        ("if row.untested and row.id in tests", "if False"),
        ("(self.exempt or self.open) and not self.part", "(self.exempt or self.open)"),
        ("(self.exempt or self.open) and not self.part", "self.exempt and not self.part"),
        ("(self.exempt or self.open) and not self.part", "self.open and not self.part"),
        ("cited = {**idle, **tests}", "cited = tests"),
        ("if row not in rows\n", "if False\n"),
    ],
)
def test_each_mutant_breaks_a_law(old: str, new: str) -> None:
    assert old in SOURCE, "the generator has changed; let the mutant follow it"
    mutant = ModuleType("mutant")
    mutant.__file__ = coverage_doc.__file__
    sys.modules["mutant"] = mutant
    try:
        exec(compile(SOURCE.replace(old, new), "mutant", "exec", dont_inherit=True), vars(mutant))
        caught = [law for law in LAWS if _fails(law, mutant)]
    finally:
        del sys.modules["mutant"]
    assert caught


def _fails(law: Callable[[Any], None], tool: ModuleType) -> bool:
    try:
        law(tool)
    except (AssertionError, IndexError, KeyError):
        return True
    return False


# --------------------------------------------------------------------------------------- what uses something of typednn

_SUPPORT = """from typednn import layers

def ours():
    return layers

def theirs(x: layers.Linear) -> layers.Linear:
    'typednn'
    return 1
"""
USES = {
    "an import": "from typednn.layers import Linear\ndef test_x():\n    assert Linear\n",
    "a module": "import typednn\ndef test_x():\n    assert typednn.layers\n",
    "an example": "from examples import one\ndef test_x():\n    assert one.run()\n",
    "a function of the file": "from typednn import a\ndef f():\n    return a\ndef g():\n"
    "    return f()\ndef test_x():\n    assert g()\n",
    "a table": "from typednn import a\nTABLE = {'x': a}\n"
    "@mark.parametrize('each', TABLE)\ndef test_x(each):\n    assert "
    "each\n",
    "a helper": "from tests.support.other import ours\ndef test_x():\n    assert ours()\n",
    "a helper's module": "from tests.support import other\ndef test_x():\n    assert other.ours()\n",
    "a fixture": "def test_x(made):\n    assert made\n",
    "a fixture that is named": "@mark.usefixtures('made')\ndef test_x():\n    assert 1\n",
    "a command": "def test_x():\n    assert run('-m', 'typednn', 'train')\n",
    "an example that is run": "def test_x():\n    assert run('-m', 'examples.one')\n",
    "a method": "from typednn import a\nclass TestX:\n    def f(self):\n"
    "        return a\n    def test_x(self):\n        "
    "assert self.f()\n",
    "two that call each other": "import typednn\ndef f():\n    g(typednn)\ndef g(x):\n"
    "    f()\ndef test_x():\n    assert g(1)\n",
}
USES_NOTHING = {
    "NumPy": "import numpy as np\nfrom typednn import a\ndef f():\n    return a\ndef test_x():\n    assert "
    "np.zeros(3).sum() == 0\n",
    "a helper of the tests": "from tests.support.other import theirs\ndef test_x():\n    assert theirs(1)\n",
    "a docstring": "def test_x():\n    'typednn'\n    assert 1\n",
    "an annotation": "from typednn import Array2\ndef test_x(x: Array2) -> Array2:\n    y: Array2 = 1\n    assert y\n",
    "a name like another": "def test_x():\n    assert 'mistypednn'\n",
    "a fixture of the tests": "def test_x(plain):\n    assert plain\n",
}


def _uses(source: str) -> bool:
    files = {
        "tests/sub/test_x.py": source,
        "tests/support/other.py": _SUPPORT,
        "tests/conftest.py": "from typednn import Linear\ndef made():\n    return Linear\ndef plain():\n    return 1\n",
    }
    return Uses(files).exercise("tests/sub/test_x.py", "test_x")


@pytest.mark.parametrize("why", USES)
def test_what_leads_to_typednn(why: str) -> None:
    assert _uses(USES[why])


@pytest.mark.parametrize("why", USES_NOTHING)
def test_what_does_not(why: str) -> None:
    assert not _uses(USES_NOTHING[why])
