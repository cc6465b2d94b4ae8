"""docs/coverage.md is what the tests say, and the generator sees what it should; each mutant of it is caught by one of its laws."""

import sys
import textwrap
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import coverage_doc
import pytest
from coverage_doc import Row

ROW = Row("P-L1", "layers", "Linear", "M")


def _found(source: str, path: str = "tests/test_x.py", tool: ModuleType = coverage_doc) -> dict[str, set[str]]:
    """What proves."""
    found: dict[str, set[str]] = tool.citations(textwrap.dedent(source), path)[0]
    return found


collected = cache(coverage_doc.collect)  # reads every test


def test_every_row_is_proven_exempt_or_open_and_no_citation_leads_nowhere() -> None:
    proofs, claims = collected()
    assert coverage_doc.complaints(coverage_doc.read_rows(), proofs, claims, coverage_doc.read_reasons()) == []


def test_page_is_fresh() -> None:
    page = coverage_doc.REPOSITORY / "docs" / "coverage.md"
    expected = coverage_doc.render(coverage_doc.read_rows(), collected()[0], coverage_doc.read_reasons())
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
    assert _found("CASES = [1]  # P-D7\n", "tests/typing/x.py") == {"P-D7": {"tests/typing/x.py"}}, "type checkers read it"


def test_code_ranges_and_longer_words_do_not_cite() -> None:
    assert _found('def test_x():\n    """P-T1 to P-T3, P-R1–P-R5, P-E1-6, XP-L1, P-L1x, PC-D1."""\n    assert P-L1\n') == {}


def test_only_tests_are_evidence() -> None:
    evidence = ["tests/layers/test_linear.py", "tests/layer_cases.py", "tests/typing/stack.py"]
    other = ["tests/support/strict.py", "tests/conftest.py", "tests/repo/coverage_doc.py"]
    assert [path for path in evidence + other if coverage_doc.is_evidence(path)] == evidence


def test_row_without_test_is_a_complaint() -> None:
    assert coverage_doc.complaints({"P-L1": ROW}, {}) == [
        "P-L1 (Linear) has no test; cite it in one, or give it an exemption with a reason in tests/repo/rows.toml"
    ]


def test_nice_to_have_and_exempt_rows_may_lack_tests() -> None:
    rows = {"P-L6": Row("P-L6", "layers", "x", "N"), "P-E5": Row("P-E5", "layers", "x", "M", exempt="next")}
    assert coverage_doc.complaints(rows, {}) == []


def test_exemption_does_not_outlive_its_cause() -> None:
    rows = {"P-E5": Row("P-E5", "layers", "x", "M", exempt="next")}
    assert coverage_doc.complaints(rows, {"P-E5": ["tests/test_x.py::test_y"]}) == [
        "P-E5 is exempt but tested by tests/test_x.py::test_y; take its exemption out of tests/repo/rows.toml"
    ]


def test_unknown_row_is_a_complaint() -> None:
    assert coverage_doc.complaints({}, {"P-L99": ["tests/test_x.py::test_y"]}) == [
        "tests/test_x.py::test_y cites P-L99, which tests/repo/rows.toml does not list"
    ]


def test_page_names_tests_reasons_and_gaps() -> None:
    rows = {"P-L1": ROW, "P-L6": Row("P-L6", "layers", "Ways", "N"), "P-E5": Row("P-E5", "experiments", "Accuracy", "M", exempt="later")}
    page = coverage_doc.render(rows, {"P-L1": ["tests/test_x.py::test_y"]})
    assert "| P-L1 | Linear | `test_x.py::test_y` |" in page
    assert "| P-L6 | Ways | none yet (nice to have) |" in page
    assert "| P-E5 | Accuracy | none: later |" in page


def test_open_rows_may_lack_tests_and_are_told_by_their_reason() -> None:
    rows = {"X-D1": Row("X-D1", "graph", "Lazy", "M", open="graph"), "P-L1": ROW}
    assert coverage_doc.complaints(rows, {"P-L1": ["tests/test_x.py::test_y"]}, {}, ["graph"]) == []
    page = coverage_doc.render(rows, {}, {"graph": "computed later", "other": "nothing waits for it"})
    assert "- **graph** (1 rows): computed later" in page
    assert "| X-D1 | Lazy | open: graph |" in page
    assert "nothing waits for it" not in page


# ---------------------------------------------------------------------------------------------------- what proves nothing

# A test that cites P-L1 and runs to its end, whatever the layer does.
IDLE = {
    "no assertion": "def test_x():\n    Linear()  # P-L1\n",
    "nothing at all": "def test_P_L1(): ...\n",
    "an assertion of another": "def test_x():\n    pass  # P-L1\n\ndef test_y():\n    assert y\n",
    "skipped": "@pytest.mark.skip(reason='slow')\ndef test_x():\n    assert x  # P-L1\n",
    "skipped without a word": "@pytest.mark.skip\ndef test_x():\n    assert x  # P-L1\n",
    "expected to fail": "@pytest.mark.xfail\ndef test_x():\n    assert x  # P-L1\n",
    "on a GPU": "@pytest.mark.gpu\ndef test_x():\n    assert x  # P-L1\n",
    "if asked for": "@pytest.mark.skipif(not os.environ.get('LONG'), reason='long')\ndef test_x():\n    assert x  # P-L1\n",
    "by a name": "long = pytest.mark.skipif(not os.environ.get('LONG'), reason='long')\n\n@long\ndef test_x():\n    assert x  # P-L1\n",
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
    "data that may be missing": "@pytest.mark.skipif(find() is None, reason='data')\ndef test_x():\n    assert x  # P-L1\n",
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


def _wrong_rows_are_told(tool: Any) -> None:
    def told(row: Row, tests: Any = None, claims: Any = None) -> list[str]:
        found: list[str] = tool.complaints({row.id: row}, tests or {}, claims or {}, ["graph"])
        return found

    place = {"P-L1": ["tests/test_x.py::test_y"]}
    exemption = "or give it an exemption with a reason in tests/repo/rows.toml"
    assert told(ROW) == [f"P-L1 (Linear) has no test; cite it in one, {exemption}"]
    assert told(ROW, {}, place) == [f"P-L1 (Linear): tests/test_x.py::test_y cites it, but is skipped or asserts nothing, {exemption}"]
    assert told(ROW, place) == []
    assert told(Row("P-L1", "layers", "Linear", "M", open="graph")) == []
    assert told(Row("P-L1", "layers", "Linear", "M", exempt="later")) == []
    assert told(Row("P-L1", "layers", "Linear", "N")) == []
    assert told(Row("P-L1", "layers", "Linear", "?"), place) == ['P-L1: need is "?", expected "M" or "N"']
    assert told(Row("P-L1", "layers", "Linear", "M", open="graph"), place) == [
        "P-L1 is open but tested by tests/test_x.py::test_y; take `open` out of tests/repo/rows.toml"
    ]
    assert told(Row("P-L1", "layers", "Linear", "M", exempt="later"), place) == [
        "P-L1 is exempt but tested by tests/test_x.py::test_y; take its exemption out of tests/repo/rows.toml"
    ]
    assert told(Row("P-L1", "layers", "Linear", "M", open="laziness")) == ['P-L1 is open for "laziness", expected one of graph']
    assert told(Row("P-L1", "layers", "Linear", "M", exempt="later", open="graph")) == ["P-L1 is open and exempt; one reason is enough"]
    for wrong in (place, {}), ({}, place):
        assert tool.complaints({}, *wrong) == ["tests/test_x.py::test_y cites P-L1, which tests/repo/rows.toml does not list"]


LAWS: list[Callable[[Any], None]] = [
    _idle_proves_nothing,
    _live_proves,
    _helpers_of_other_files_count,
    _every_family_is_read,
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
        ("if row.need not in", "if row.need in"),
        ("if row.open and row.exempt", "if False"),
        ("if row.open and row.open not in known", "if False"),
        ("not row.exempt and not row.open and", "not row.exempt and"),
        ("not row.exempt and not row.open and", "not row.open and"),
        ("and row.id not in tests:", "and row.id not in {**idle, **tests}:"),
        ("if reason and row.id in tests", "if False"),
        ("cited = {**idle, **tests}", "cited = tests"),
        ("if row not in rows]", "if False]"),
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
