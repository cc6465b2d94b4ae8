"""Which test proves which row of the specification: reads the tests, writes docs/coverage.md.

    python tests/repo/coverage_doc.py            write it
    python tests/repo/coverage_doc.py --check    fail if it is stale, if a row lacks a test, or if a citation leads nowhere

A test cites a row by its id in its name (``test_P_L1_...``), docstring, comments or strings. A citation outside
a test function counts for the file as a whole: in test files, in the table of layers, and in files read by type checkers.
A range such as "P-T1 to P-T3" cites nothing.
"""

import ast
import io
import re
import sys
import tokenize
import tomllib
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
LISTED = "tests/repo/rows.toml"
ROWS = REPOSITORY / LISTED

ROW_ID = r"[PGZ]-[A-Z]\d+"
_RANGE = re.compile(rf"{ROW_ID}(?:\s*(?:to|through|\.\.+|-|–|…)\s*{ROW_ID}|[-–]\d+)")
_CITED = re.compile(rf"(?<![\w-])({ROW_ID})(?!\w)")
_IN_NAME = re.compile(r"(?<![A-Za-z0-9])([PGZ])_([A-Z]\d+)(?![A-Za-z0-9])")

# These speak about citations without making any.
_NO_EVIDENCE = {"tests/repo/coverage_doc.py", "tests/repo/test_coverage_doc.py"}


@dataclass(frozen=True)
class Row:
    """One line of rows.toml."""

    id: str
    section: str
    title: str
    need: str
    exempt: str = ""


def read_rows(path: Path = ROWS) -> dict[str, Row]:
    """Every row, in the order of the file."""
    sections = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: Row(id=name, section=section, **fields) for section, rows in sections.items() for name, fields in rows.items()}


def cited_in(text: str) -> set[str]:
    """The ids that ``text`` cites."""
    return set(_CITED.findall(_RANGE.sub("", text)))


def is_evidence(path: str) -> bool:
    """Whether citations in this file count."""
    name = path.rpartition("/")[2]
    return path not in _NO_EVIDENCE and (name.startswith("test_") or path == "tests/layer_cases.py" or path.startswith("tests/typing/"))


def _test_functions(tree: ast.Module) -> list[tuple[str, int, int]]:
    """Name, first and last line of every test function and test class, outer ones first; decorators belong to what they decorate."""
    found = []
    for node in ast.walk(tree):
        test = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")
        if test or (isinstance(node, ast.ClassDef) and node.name.startswith("Test")):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found.append((node.name, first, node.end_lineno or first))
    return found


def citations(source: str, path: str) -> dict[str, set[str]]:
    """Row id -> the tests of this file that cite it, each as ``path::name``, or as ``path`` for the whole file."""
    tests = _test_functions(ast.parse(source))

    def owner(line: int) -> str:
        inside = [name for name, first, last in tests if first <= line <= last]
        return f"{path}::{inside[-1]}" if inside else path

    found: dict[str, set[str]] = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        # f-strings are cut into several tokens from Python 3.12 on; nobody cites in one.
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            for row in cited_in(token.string):
                found.setdefault(row, set()).add(owner(token.start[0]))
    for name, *_ in tests:
        for family, number in _IN_NAME.findall(name):
            found.setdefault(f"{family}-{number}", set()).add(f"{path}::{name}")
    return found


def collect(repository: Path = REPOSITORY) -> dict[str, list[str]]:
    """Row id -> every test that cites it."""
    found: dict[str, set[str]] = {}
    for file in sorted((repository / "tests").rglob("*.py")):
        path = file.relative_to(repository).as_posix()
        if is_evidence(path):
            for row, tests in citations(file.read_text(encoding="utf-8"), path).items():
                found.setdefault(row, set()).update(tests)
    return {row: sorted(tests) for row, tests in found.items()}


def complaints(rows: dict[str, Row], tests: dict[str, list[str]]) -> list[str]:
    """What is wrong between rows and tests, one sentence each."""
    found = []
    for row in rows.values():
        if row.need not in ("M", "N"):
            found.append(f'{row.id}: need is "{row.need}", expected "M" or "N"')
        if row.need == "M" and not row.exempt and row.id not in tests:
            found.append(f"{row.id} ({row.title}) has no test; cite it in one, or give it an exemption with a reason in {LISTED}")
        if row.exempt and row.id in tests:
            found.append(f"{row.id} is exempt but tested by {tests[row.id][0]}; take its exemption out of {LISTED}")
    found += [f"{cites[0]} cites {row}, which {LISTED} does not list" for row, cites in sorted(tests.items()) if row not in rows]
    return found


def render(rows: dict[str, Row], tests: dict[str, list[str]]) -> str:
    """The page."""
    lines = [
        "# What is tested where",
        "",
        "Rows of the specification that typednn implements, and the tests that cite them. Written by `make coverage-doc`; do not edit.",
    ]
    section = ""
    for row in rows.values():
        if row.section != section:
            section = row.section
            lines += ["", f"## {section.replace('-', ' ').capitalize()}", "", "| row | what | tests |", "|---|---|---|"]
        cited = "<br>".join(f"`{test.removeprefix('tests/')}`" for test in tests.get(row.id, []))
        missing = f"none: {row.exempt}" if row.exempt else "none yet (nice to have)" if row.need == "N" else "**none**"
        lines.append(f"| {row.id} | {row.title} | {cited or missing} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Write the page, or check it; the exit code."""
    rows, tests = read_rows(), collect()
    page = REPOSITORY / "docs" / "coverage.md"
    text = render(rows, tests)
    wrong = complaints(rows, tests)
    if arguments == ["--check"]:
        if not page.is_file() or page.read_text(encoding="utf-8") != text:
            wrong.append("docs/coverage.md is stale; run `make coverage-doc`")
    else:
        page.parent.mkdir(exist_ok=True)
        page.write_text(text, encoding="utf-8")
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    if not wrong:
        print(f"{len(rows)} rows, {sum(row in tests for row in rows)} tested, {sum(bool(row.exempt) for row in rows.values())} exempt")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
