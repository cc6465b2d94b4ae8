"""Habits that hold in every source file."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCES = [
    path
    for folder in ("typednn", "tests", "examples", "benchmarks", "website", "stubs")
    for path in sorted((REPOSITORY / folder).rglob("*.py*"))
    if path.suffix in (".py", ".pyi")
]
ENFORCED = ("layers", "losses", "optim")

_BARE = re.compile(
    r"#\s*(?:type:\s*ignore(?!\[)|pyright:\s*ignore(?!\[)|noqa(?!:\s*[A-Z]))|#\s*(?:mypy:\s*ignore-errors|ruff:\s*noqa\s*$)"
)


def _bare_ignores(source: str) -> list[str]:
    """Comments that silence a tool without saying what about."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [
        f"{token.start[0]}: {token.string}"
        for token in tokens
        if token.type == tokenize.COMMENT and _BARE.search(token.string)
    ]


def _defers_annotations(source: str) -> bool:
    """Whether ``source`` turns its annotations into strings, which can mute the run-time checks."""
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    return any(
        node.module == "__future__" and any(name.name == "annotations" for name in node.names) for node in imports
    )


def test_no_bare_ignores() -> None:
    found = {str(path.relative_to(REPOSITORY)): _bare_ignores(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("comment", "bare"),
    [
        ("type: ignore", True),
        ("type:ignore  # because", True),
        ("type: ignore[arg-type]", False),
        ("pyright: ignore", True),
        ("pyright: ignore[reportAny]", False),
        ("noqa", True),
        ("noqa: E501", False),
        ("mypy: ignore-errors", True),
    ],
)
def test_bare_ignores_are_recognised(comment: str, bare: bool) -> None:
    assert bool(_bare_ignores(f"x = 1  # {comment}\n")) is bare


@pytest.mark.parametrize("folder", ENFORCED)
def test_no_future_annotations(folder: str) -> None:
    files = sorted((REPOSITORY / "typednn" / folder).rglob("*.py"))
    assert files, f"typednn/{folder} has no modules"
    assert [path.name for path in files if _defers_annotations(path.read_text(encoding="utf-8"))] == []


def test_future_annotations_are_recognised() -> None:
    assert _defers_annotations('"""Doc."""\n\nfrom __future__ import annotations\n')
    assert not _defers_annotations("from __future__ import division\n")


def test_no_machine_path_or_address() -> None:
    # Spelt in pieces, so that this file passes too.
    forbidden = re.compile(
        "|".join(["(^|[^A-Za-z0-9_.])/(" + "work|farm|root" + ")/", "index" + "-url", "find" + "-links"]), re.MULTILINE
    )
    files = [*SOURCES, *(REPOSITORY / name for name in ("pyproject.toml", "Makefile", "constraints.txt", ".ci/run"))]
    assert [
        str(path.relative_to(REPOSITORY)) for path in files if forbidden.search(path.read_text(encoding="utf-8"))
    ] == []


# Written as a comparison: `dtype.kind == "f"`, `kind.kind not in "biuf"`.
_FLOAT_KIND = re.compile(r"""\.kind\s*(?:==|!=|in|not in)\s*["'][biucV]*f[biucV]*["']""")


def test_floats_are_recognised_in_one_place() -> None:
    """bfloat16's kind is "V": who compares ``dtype.kind`` with "f" does not know it.
    `typednn.arrays.is_floating` does.
    """
    files = [path for path in SOURCES if path.is_relative_to(REPOSITORY / "typednn")]
    found = [
        str(path.relative_to(REPOSITORY)) for path in files if _FLOAT_KIND.search(path.read_text(encoding="utf-8"))
    ]
    assert found == ["typednn/arrays.py"]


@pytest.mark.parametrize(
    ("line", "compares"),
    [
        ('if x.dtype.kind == "f":', True),
        ('x.dtype.kind != "f"', True),
        ("array.dtype.kind not in 'biuf'", True),
        ('array.dtype.kind in "iu"', False),
        ('field.kind == "buffer"', False),
        ('marker.kind == "f32"', False),
    ],
)
def test_comparisons_with_a_float_kind_are_recognised(line: str, compares: bool) -> None:
    assert bool(_FLOAT_KIND.search(line)) is compares


def test_code_is_made_in_one_place_and_compiled_first() -> None:
    """If Ctrl-C ends an ``exec`` of text, CPython dies of SIGINT at its end, whatever exit code ``python -m typednn``
    returns.
    """
    found = [
        (path.name, ast.unparse(call))
        for path in sorted((REPOSITORY / "typednn").rglob("*.py"))
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ("exec", "eval")
    ]
    assert found == [("generated.py", "exec(code, scope)")]


LINES = 500  # of a file
OF_A_FUNCTION = 80  # lines, its docstring left out
LEVELS = 5  # of blocks within blocks, of a function
_BLOCKS = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match)


def _levels(node: ast.AST) -> int:
    """How many blocks stand within each other at most; `elif` is no level of its own."""
    deepest = 0
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            continue
        chained = isinstance(child, ast.If) and isinstance(node, ast.If) and node.orelse == [child]
        deepest = max(deepest, _levels(child) + (isinstance(child, _BLOCKS) and not chained))
    return deepest


def _too_large(source: str) -> list[str]:
    """What is longer than a reader takes in: the file, a function, blocks within blocks."""
    found = [f"{count} lines" for count in [len(source.splitlines())] if count > LINES]
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            first = function.body[0]
            told = ast.get_docstring(function) is not None
            lines = (function.end_lineno or 0) - function.lineno + 1
            lines -= (first.end_lineno or 0) - first.lineno + 1 if told else 0
            if lines > OF_A_FUNCTION:
                found.append(f"{function.name}: {lines} lines")
            if _levels(function) > LEVELS:
                found.append(f"{function.name}: {_levels(function)} levels")
    return found


def test_files_functions_and_nesting_are_small() -> None:
    sources = sorted((REPOSITORY / "typednn").rglob("*.py"))
    found = {str(path.relative_to(REPOSITORY)): _too_large(path.read_text(encoding="utf-8")) for path in sources}
    assert {path: words for path, words in found.items() if words} == {}


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("x = 1\n" * LINES, []),
        ("x = 1\n" * (LINES + 1), ["501 lines"]),
        ("def f():\n" + "    x = 1\n" * (OF_A_FUNCTION - 1), []),
        ("def f():\n" + "    x = 1\n" * OF_A_FUNCTION, ["f: 81 lines"]),
        ('def f():\n    """A text."""\n' + "    x = 1\n" * (OF_A_FUNCTION - 1), []),
        ("def f():\n" + "".join(f"{'    ' * level}if x:\n" for level in range(1, 6)) + "    " * 6 + "y()\n", []),
        (
            "def f():\n" + "".join(f"{'    ' * level}if x:\n" for level in range(1, 7)) + "    " * 7 + "y()\n",
            ["f: 6 levels"],
        ),
        ("def f():\n    if x:\n        y()\n" + "    elif z:\n        y()\n" * 9, []),
    ],
)
def test_what_is_too_large(source: str, words: list[str]) -> None:
    assert _too_large(source) == words
