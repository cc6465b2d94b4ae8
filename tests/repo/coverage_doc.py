"""Which test proves which row of the specification: reads the tests, writes docs/coverage.md.

    python tests/repo/coverage_doc.py            write it
    python tests/repo/coverage_doc.py --check    fail if it is stale, if a row lacks a test, or if a citation leads
                                                 nowhere

A test cites a row by its id in its name (``test_P_L1_...``), docstring, comments or strings. A citation outside
a test function counts for the file as a whole: in test files, in the table of layers, and in files read by type
checkers. A range such as "P-T1 to P-T3" cites nothing.

A citation proves something where the test runs in `make test` or `make parity`, can fail, and exercises typednn. One
that is always skipped, is expected to fail, waits for an environment variable or a GPU, holds no assertion (its own, or
that of a helper), or uses nothing of typednn, proves nothing. A row is proven, exempt for a reason, or open for a
reason; or one `part` of it is, and the rest is proven. Titles and needs are those of the specification, word for word:
`specified` reads it.
"""

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from exercised import Uses

REPOSITORY = Path(__file__).resolve().parents[2]
LISTED = "tests/repo/rows.toml"
ROWS = REPOSITORY / LISTED

ROW_ID = r"[PGZXC]-[A-Z]\d+"
_RANGE = re.compile(rf"{ROW_ID}(?:\s*(?:to|through|\.\.+|-|–|…)\s*{ROW_ID}|[-–]\d+)")
_CITED = re.compile(rf"(?<![\w-])({ROW_ID})(?!\w)")
_IN_NAME = re.compile(r"(?<![A-Za-z0-9])([PGZXC])_([A-Z]\d+)(?![A-Za-z0-9])")

# What makes a test prove nothing where CI runs, in its decorators or in the file's pytestmark.
_NEVER = re.compile(r"\bmark\.(?:skip\b(?!if)|xfail\b|gpu\b)|\bskipif\(.*\benviron\b")

# NumPy's and pytest's assertions, and typednn's own: the comparison with finite differences, a law, all refusals of a
# method.
_ASSERTION = re.compile(
    r"assert_\w+|raises|warns|gradcheck|(?:LAYER_LAWS|refusals\.METHODS)\[.*\]|check_(?:layer|loss|optimizer)"
)

# These speak about citations without making any.
_NO_EVIDENCE = {"tests/repo/test_coverage_doc.py"}


@dataclass(frozen=True)
class Row:
    """One line of rows.toml. ``exempt`` or ``open`` is the reason why a row, or the ``part`` of it that is named, has
    no test.

    ``met`` is what was measured of it once, by no test, and the page of the docs that says so.
    """

    id: str
    section: str
    title: str
    need: str
    exempt: str = ""
    open: str = ""
    part: str = ""
    met: str = ""

    @property
    def untested(self) -> bool:
        """Whether nothing of the row is said to be proven."""
        return bool((self.exempt or self.open) and not self.part)


def read_rows(path: Path = ROWS) -> dict[str, Row]:
    """Every row, in the order of the file."""
    sections = tomllib.loads(path.read_text(encoding="utf-8"))
    rows = ((section, name, fields) for section, rows in sections.items() for name, fields in rows.items())
    return {name: Row(id=name, section=section, **fields) for section, name, fields in rows}


def specified(text: str) -> dict[str, tuple[str, str]]:
    """Row id -> title and need, from the tables of the specification: the cells of the second column and of the column
    "need".
    """
    found: dict[str, tuple[str, str]] = {}
    need = 0
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells[:1] == ["id"]:
            need = cells.index("need")
        elif cells and re.fullmatch(ROW_ID, cells[0]):
            found[cells[0]] = cells[1], cells[need]
    return found


def cited_in(text: str) -> set[str]:
    """The ids that ``text`` cites."""
    return set(_CITED.findall(_RANGE.sub("", text)))


def is_evidence(path: str) -> bool:
    """Whether citations in this file count."""
    name = path.rpartition("/")[2]
    return path not in _NO_EVIDENCE and (
        name.startswith("test_") or path == "tests/layer_cases.py" or path.startswith("tests/typing/")
    )


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _asserting(tree: ast.Module, helpers: frozenset[str] = frozenset()) -> set[str]:
    """The names of the file's functions that can fail: by an assertion of their own, or of a function
    that they call.
    """
    calls: dict[str, set[str]] = {}
    found: set[str] = set()
    for function in _functions(tree):
        names = calls.setdefault(function.name, set())
        for node in ast.walk(function):
            if isinstance(node, ast.Assert):
                found.add(function.name)
            elif isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                names.add(called if called.endswith("]") else called.rpartition(".")[2])
    known = {name for names in calls.values() for name in names if name in helpers or _ASSERTION.fullmatch(name)}
    while more := {name for name, called in calls.items() if called & (found | known)} - found:
        found |= more
    return found


def _never_runs(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, marks: dict[str, str]) -> bool:
    """Whether a decorator, or one that the file gives a name, keeps it from running in CI."""
    decorators = (ast.unparse(decorator) for decorator in node.decorator_list)
    return any(_NEVER.search(marks.get(text, text)) for text in decorators)


def _marks(tree: ast.Module) -> dict[str, str]:
    """Marks that the file gives a name, such as ``long = pytest.mark.skipif(...)``."""
    named = (node for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name))
    return {ast.unparse(node.targets[0]): ast.unparse(node.value) for node in named}


def _test_functions(tree: ast.Module, helpers: frozenset[str]) -> list[tuple[str, int, int, bool]]:
    """Name, first and last line of every test function and test class, outer ones first, and whether it proves
    something.
    """
    found: list[tuple[str, int, int, bool]] = []
    asserting, marks = _asserting(tree, helpers), _marks(tree)
    idle = bool(_NEVER.search(marks.get("pytestmark", "")))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            proves = node.name in asserting
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            proves = any(function.name in asserting for function in _functions(node))
        else:
            continue
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        last = node.end_lineno or first
        around = [outer for _, start, end, outer in found if start <= first <= end]
        found.append((node.name, first, last, proves and not idle and not _never_runs(node, marks) and all(around)))
    return found


def citations(
    source: str,
    path: str,
    helpers: frozenset[str] = frozenset(),
    exercises: Callable[[str, str], bool] = lambda _path, _name: True,
) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Row id -> the tests of this file that cite it, each as ``path::name``, or as ``path`` for the whole file: those
    that prove something, and those that prove nothing. ``helpers`` are functions of other files that assert;
    ``exercises`` says of a file and a name in it whether it uses typednn."""
    if not _CITED.search(source) and not _IN_NAME.search(source):
        return {}, {}
    tests = _test_functions(ast.parse(source), helpers)
    proves = {name: proof and exercises(path, name) for name, _, _, proof in tests}
    # Read by type checkers, or a table that the laws run over; a test file as a whole proves what one of its tests can.
    whole = not path.rpartition("/")[2].startswith("test_") or any(proves.values())

    def owner(line: int) -> str:
        inside = [name for name, first, last, _ in tests if first <= line <= last]
        return inside[-1] if inside else ""

    found: tuple[dict[str, set[str]], dict[str, set[str]]] = {}, {}

    def cite(row: str, name: str) -> None:
        proof = proves[name] if name else whole
        found[not proof].setdefault(row, set()).add(f"{path}::{name}" if name else path)

    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        # f-strings are cut into several tokens from Python 3.12 on; nobody cites in one.
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            for row in cited_in(token.string):
                cite(row, owner(token.start[0]))
    for name in proves:
        for family, number in _IN_NAME.findall(name):
            cite(f"{family}-{number}", name)
    return found


Cited: TypeAlias = dict[str, list[str]]


def collect(repository: Path = REPOSITORY) -> tuple[Cited, Cited]:
    """Row id -> every test that proves it; and every test that cites it and proves nothing."""
    found: tuple[dict[str, set[str]], dict[str, set[str]]] = {}, {}
    # 3.11 cannot read those
    sources = sorted(file for file in (repository / "tests").rglob("*.py") if not file.stem.endswith("_312"))
    files = {file.relative_to(repository).as_posix(): file.read_text("utf-8") for file in sources}
    helpers = frozenset(
        name for path, source in files.items() if not is_evidence(path) for name in _asserting(ast.parse(source))
    )
    exercises = Uses(files).exercise
    for path, source in files.items():
        if is_evidence(path):
            for kept, cited in zip(found, citations(source, path, helpers, exercises), strict=True):
                for row, tests in cited.items():
                    kept.setdefault(row, set()).update(tests)
    proofs, claims = ({row: sorted(tests) for row, tests in cited.items()} for cited in found)
    return proofs, claims


def complaints(rows: dict[str, Row], tests: Cited, claims: Cited | None = None) -> list[str]:
    """What is wrong between rows and tests, one sentence each."""
    found, idle = [], claims or {}
    for row in rows.values():
        if not re.search(r"\b[MN]\b", row.need):
            found.append(f'{row.id}: need is "{row.need}", expected "M" or "N"')
        if row.open and row.exempt:
            found.append(f"{row.id} is open and exempt; one reason is enough")
        if row.part and not (row.open or row.exempt):
            found.append(f"{row.id} names a part without a reason; add `open` or `exempt` in {LISTED}")
        if row.met and not (row.open or row.exempt):
            found.append(f"{row.id} says what is met without a reason; add `open` or `exempt` in {LISTED}")
        found += _unsupported(row)
        if not row.untested and row.id not in tests:
            claim = (
                f"{idle[row.id][0]} cites it, but proves nothing" if row.id in idle else "has no test; cite it in one"
            )
            found.append(f"{row.id} ({row.title}): {claim}, or say in {LISTED} why it is exempt or open")
        if row.untested and row.id in tests:
            word = "exempt" if row.exempt else "open"
            found.append(
                f"{row.id} is {word} but tested by {tests[row.id][0]}; take `{word}` out of {LISTED}, or name the part"
            )
    cited = {**idle, **tests}
    found += [
        f"{cites[0]} cites {row}, which {LISTED} does not list"
        for row, cites in sorted(cited.items())
        if row not in rows
    ]
    return found


def _unsupported(row: Row) -> list[str]:
    """What is said to be met must stand in a page of the docs, number by number."""
    if not row.met:
        return []
    pages = re.findall(r"docs/[\w-]+\.md", row.met)
    text = "".join((REPOSITORY / page).read_text("utf-8") for page in pages)
    numbers = re.findall(r"(?<![\w-])\d(?:[\d.,]*\d)?", row.met)
    missing = [number for number in numbers if number not in text]
    if pages and not missing:
        return []
    return [f"{row.id}: what is met stands in a page of the docs that it names, got {', '.join(missing) or 'no page'}"]


def _reasons(rows: dict[str, Row], word: str) -> list[str]:
    """A line for each row that is open, or exempt, wholly or in part."""
    named = ((row, getattr(row, word)) for row in rows.values())
    return [
        f"- **{row.id}**{f', {row.part}' if row.part else ''}: {reason}{f'. Met: {row.met}' if row.met else ''}"
        for row, reason in named
        if reason
    ]


def render(rows: dict[str, Row], tests: Cited) -> str:
    """The page."""
    lines = [
        "# What is tested where",
        "",
        "Rows of the specification, and the tests that prove them. Written by `make coverage-doc`; do not edit.",
    ]
    for heading, word in (
        ("Open, because it is not built or not measured:", "open"),
        ("Not done on purpose:", "exempt"),
    ):
        if reasons := _reasons(rows, word):
            lines += ["", heading, "", *reasons]
    section = ""
    for row in rows.values():
        if row.section != section:
            section = row.section
            lines += ["", f"## {section}", "", "| row | what | need | tests |", "|---|---|---|---|"]
        shown = [f"`{test.removeprefix('tests/')}`" for test in tests.get(row.id, [])]
        if row.open or row.exempt:
            shown.append(
                f"{'open' if row.open else 'exempt'}{f': {row.part}' if row.part else ''}"
                f"{f'; met: {row.met}' if row.met else ''}"
            )
        lines.append(f"| {row.id} | {row.title} | {row.need} | {'<br>'.join(shown) or '**none**'} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Write the page, or check it; the exit code."""
    rows, (tests, claims) = read_rows(), collect()
    page = REPOSITORY / "docs" / "coverage.md"
    text = render(rows, tests)
    wrong = complaints(rows, tests, claims)
    if arguments == ["--check"]:
        if not page.is_file() or page.read_text(encoding="utf-8") != text:
            wrong.append("docs/coverage.md is stale; run `make coverage-doc`")
    else:
        page.parent.mkdir(exist_ok=True)
        page.write_text(text, encoding="utf-8")
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    if not wrong:
        exempt, waiting = (sum(bool(getattr(row, kind)) for row in rows.values()) for kind in ("exempt", "open"))
        print(
            f"{len(rows)} rows, {sum(row in tests for row in rows)} tested; {exempt} exempt and {waiting} open, "
            "wholly or in part"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
