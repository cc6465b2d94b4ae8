"""docs/coverage.md is what the tests say, and the generator sees what it should."""

import textwrap

import coverage_doc
from coverage_doc import Row

ROW = Row("P-L1", "layers", "Linear", "M")


def _found(source: str, path: str = "tests/test_x.py") -> dict[str, set[str]]:
    return coverage_doc.citations(textwrap.dedent(source), path)


def test_every_row_is_tested_or_exempt_and_no_citation_leads_nowhere() -> None:
    assert coverage_doc.complaints(coverage_doc.read_rows(), coverage_doc.collect()) == []


def test_page_is_fresh() -> None:
    page = coverage_doc.REPOSITORY / "docs" / "coverage.md"
    expected = coverage_doc.render(coverage_doc.read_rows(), coverage_doc.collect())
    assert page.read_text(encoding="utf-8") == expected, "run `make coverage-doc`"


def test_docstrings_comments_names_and_parameters_cite() -> None:
    found = _found('''
        @pytest.mark.parametrize("row", [pytest.param(1, id="P-S1")])
        def test_one(row):
            """P-L1: fits."""
            assert row  # and P-L2

        class TestMore:
            def test_G_D10_reverse(self): ...
    ''')
    assert found == {
        "P-S1": {"tests/test_x.py::test_one"},
        "P-L1": {"tests/test_x.py::test_one"},
        "P-L2": {"tests/test_x.py::test_one"},
        "G-D10": {"tests/test_x.py::test_G_D10_reverse"},
    }


def test_citation_outside_a_test_counts_for_the_file() -> None:
    assert _found("CASES = [1]  # P-D7\n") == {"P-D7": {"tests/test_x.py"}}


def test_code_ranges_and_longer_words_do_not_cite() -> None:
    assert _found('def test_x():\n    """P-T1 to P-T3, P-R1–P-R5, P-E1-6, XP-L1, P-L1x."""\n    return P-L1\n') == {}


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
