"""docs/proven.md says of which of typednn's own functions the plugin does not know all sizes."""

import ast
import itertools
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jaxtyping
import pytest

from typednn.static_checks import KeptMypy, findings

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("typednn/layers", "typednn/models/gpt2.py", "typednn/losses", "typednn/optim", "typednn/kernels")
OTHER_ENGINES = ("cpu.py", "linear/bfloat16.py", "cuda.py", "blocks.py", "schedules.py", "winograd.py")


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The report, a row for each function."""
    return [row for row in _report(tmp_path_factory, *PARTS) if not row["path"].endswith(OTHER_ENGINES)]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The same of the correct programs of the corpus that are one file each."""
    files = sorted((ROOT / "tests" / "typing" / "corpus" / "correct").glob("*.py"))
    readable = [file for file in files if sys.version_info >= (3, 12) or not file.stem.endswith("_312")]
    return _report(tmp_path_factory, *[str(file.relative_to(ROOT)) for file in readable])


def _report(tmp_path_factory: pytest.TempPathFactory, *targets: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "typednn", "check", "--coverage", "--json", *targets]
    base = tmp_path_factory.getbasetemp() / "proven"
    environment = os.environ | {"MYPY_CACHE_DIR": str(base), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def page() -> str:
    return (ROOT / "docs" / "proven.md").read_text(encoding="utf-8")


def test_each_function_that_is_not_proven_is_listed_with_a_reason(functions: list[dict[str, Any]], page: str) -> None:
    listed = {
        (file, function): why
        for file, function, why in re.findall(r"^\| (\S+\.py) \| (\S+) \| (.+) \|$", page, re.MULTILINE)
    }
    lost = {(row["path"].removeprefix("typednn/"), row["function"]) for row in functions if row["verdict"] != "proven"}
    assert listed.keys() == lost
    assert all(len(why) > 10 for why in listed.values())


def test_the_counts(functions: list[dict[str, Any]], page: str) -> None:
    part_of = {row["path"]: next(part for part in PARTS if row["path"].startswith(part)) for row in functions}
    every = Counter(part_of[row["path"]] for row in functions)
    proven = Counter(part_of[row["path"]] for row in functions if row["verdict"] == "proven")
    for part in PARTS:
        assert re.search(rf"`{re.escape(part)}` \| {every[part]} \| {proven[part]} \|", page), (
            part,
            every[part],
            proven[part],
        )


def test_what_gpt2_computes_forward_is_proven_to_its_last_line(functions: list[dict[str, Any]]) -> None:
    verdicts = {row["function"]: row["verdict"] for row in functions if row["path"] == "typednn/models/gpt2.py"}
    assert {verdicts[name] for name in ("GPT2Block.forward", "GPT2Block.read", "GPT2.forward", "GPT2.read")} == {
        "proven"
    }


# ---------------------------------------------------------------------------------------------------- a size is changed


def _returned(function: ast.FunctionDef) -> ast.Constant | None:
    """The axes that a function promises, as they are written on one line; None where any last size is right, or nothing
    is returned.
    """
    match function:
        case ast.FunctionDef(body=[ast.Expr(value=ast.Constant(value=value))]) if value is ...:
            return None  # of a Protocol, an overload, an abstract method
        case ast.FunctionDef(
            returns=ast.Subscript(ast.Name(id=kind), ast.Tuple([_, ast.Constant(value=str() as text) as axes]))
        ):
            last = text.split()[-1:]
            texts = [str(each.value) for each in ast.walk(function.args) if isinstance(each, ast.Constant)]
            read = re.findall(r"\w+", " ".join(texts))
            anything = not last or re.match(r"[*._#]|\w+=", last[0]) or (last[0].isidentifier() and last[0] not in read)
            return axes if hasattr(jaxtyping, kind) and axes.lineno == axes.end_lineno and not anything else None
        case _:
            return None


def _changed(text: str, lines: set[int], numbers: Iterator[int]) -> tuple[str, dict[int, int]]:
    """The file with another last size in what the functions at these lines promise; the last lines of these, by their
    first.

    Each size is multiplied by one of ``numbers``, which differ: a function that returns what another gives would be
    right again.
    """
    source, ends = text.splitlines(keepends=True), dict[int, int]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.lineno in lines and (axes := _returned(node)) is not None:
            *before, last = str(axes.value).split()
            more = next(numbers)  # a factor, as "{classes}" alone or in a product is at least 1
            one = last if re.fullmatch(r"[\w.*{}]+", last) else f"({last})"
            other = f"{int(last) * more}" if last.isdecimal() else f"{one}*{more}"
            line = source[axes.lineno - 1]
            written = f'"{" ".join([*before, other]) if before else " " + other}"'
            source[axes.lineno - 1] = line[: axes.col_offset] + written + line[axes.end_col_offset :]
            ends[node.lineno] = node.end_lineno or node.lineno
    return "".join(source), ends


def test_a_changed_size_of_a_proven_function_is_found(
    functions: list[dict[str, Any]], programs: list[dict[str, Any]]
) -> None:
    """Each function that is proven and promises an array promises one of another size: each is refused, within its own
    lines.

    First all together, which is soon done; one that is not found so may have been given something wrong by another, and
    is tried alone.
    """
    proven: dict[Path, set[int]] = {}
    for row in [*functions, *programs]:
        if row["verdict"] == "proven":
            proven.setdefault(ROOT / row["path"], set()).add(row["line"])
    mypy, numbers = KeptMypy(), itertools.count(1000)
    try:
        count, missed = _missed(mypy, proven, numbers)
        assert count >= 100
        assert len(missed) < count / 2, "most are found together"
        alone = [_missed(mypy, {path: {first}}, numbers) for path, first in missed]
    finally:
        mypy.close()
    assert [count for count, _ in alone] == [1] * len(missed)
    assert [one for _, found in alone for one in found] == []


def _missed(
    mypy: KeptMypy, lines: Mapping[Path, set[int]], numbers: Iterator[int]
) -> tuple[int, list[tuple[Path, int]]]:
    """How many functions at these lines were changed, and those of them in whose lines nothing is found."""
    mypy.buffers, ends = {}, dict[tuple[Path, int], int]()
    for path, firsts in lines.items():
        text, changed = _changed(path.read_text(encoding="utf-8"), firsts, numbers)
        if changed:
            mypy.buffers[str(path)] = text.encode()
            ends |= {(path, first): last for first, last in changed.items()}
    found = [(Path(one.path), one.line) for one in findings(list(mypy.buffers), mypy) if one.code == "shape"]
    return len(ends), [
        (path, first)
        for (path, first), last in ends.items()
        if not any(at == path and first <= line <= last for at, line in found)
    ]
