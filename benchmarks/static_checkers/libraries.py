"""The programs for PyTorch and JAX under several static checkers: ``python -m benchmarks.static_checkers.libraries``.

The programs are the pairs in ``tests/typing/pytorch`` and ``tests/typing/jax``: in ``faulty`` one line is wrong, and
marked; the program of that name in ``correct`` has no mistake. Each checker reads all of them, and its verdict is its
output. Pyrefly reads jaxtyping's strings in functions that declare their axis names, so its copies get
``@static_jaxtyping``.
jaxtyc and torchtyc import the programs and run the annotated functions on abstract arrays; all others only read.

The libraries need an environment of their own, with Python 3.12 or later for Pyrefly's stubs:

    python3.13 -m venv peers
    peers/bin/pip install torch==2.13.0 jax==0.10.2 equinox jaxtyping beartype jaxtyc==0.7.2 torchtyc==0.5.0
    peers/bin/pip install pyrefly==1.4.1 pyrefly-torch-stubs==1.4.0 pyrefly-numpy-stubs==1.4.0
    peers/bin/pip install --no-deps pyrefly-jax-stubs==0.10.2.2    # it asks for older stubs than the others
    python -m benchmarks.static_checkers.libraries --peers peers/bin
"""

from __future__ import annotations

import argparse
import ast
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.static_checkers.run import Finding, Findings, Verdict, mypy, pyrefly
from typednn.shapes import DTYPE_WORDS

_PROGRAMS = Path(__file__).parents[2] / "tests" / "typing"
_FOLDERS = {"torch": "pytorch", "jax": "jax"}
_MARK = re.compile(r"  # (shape|meets)")
_NAMES = re.compile(r"(?<![\w{.])(\*?[^\W\d_]\w*)(?![\w(}=])")
_TYC_LINE = re.compile(r"^(?P<file>[^:\s]+\.py):(?P<line>\d+):\d+: error\[(?P<rule>[^]]*)]")


def plugin(python: Path) -> Callable[[Path], Findings]:
    """mypy with typednn's plugin; ``python`` has the libraries."""
    settings = f"plugins = typednn.mypy_plugin\npython_executable = {python}\n[mypy-typednn.*]\nignore_errors = True\n"

    def check(place: Path) -> Findings:
        found = mypy(place, plugins=settings)
        shapes = {name: [each for each in errors if each.message.endswith("[shape]")] for name, errors in found.items()}
        return {name: errors for name, errors in shapes.items() if errors}

    return check


def tyc(program: Path) -> Callable[[Path], Findings]:
    """jaxtyc and torchtyc: one run for each program, as one that cannot be imported ends a run."""

    def check(place: Path) -> Findings:
        findings: Findings = {}
        for path in sorted(place.glob("*.py")):
            command = [str(program), "check", path.name]
            done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
            lines = done.stdout.splitlines()
            for place_of, text in zip(lines, [*lines[1:], ""], strict=True):
                if match := _TYC_LINE.match(place_of):
                    findings.setdefault(path.stem, []).append(Finding(int(match["line"]), text.strip()))
        return findings

    return check


def declared(text: str) -> str:
    """The program with ``@static_jaxtyping("batch channels")`` above each function whose annotations name axes."""
    tree = ast.parse(text)
    head = [each for each in tree.body[:2] if isinstance(each, ast.Expr) or getattr(each, "module", "") == "__future__"]
    added = {head[-1].end_lineno or 0 if head else 0: "from shape_extensions import static_jaxtyping"}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (names := axis_names(node)):
            before = min([node.lineno, *(each.lineno for each in node.decorator_list)]) - 1
            added[before] = f'{" " * node.col_offset}@static_jaxtyping("{" ".join(names)}")'
    lines = text.splitlines()
    return (
        "\n".join(line for place in range(len(lines) + 1) for line in (*lines[place - 1 : place], *_at(added, place)))
        + "\n"
    )


def _at(added: dict[int, str], place: int) -> list[str]:
    return [added[place]] if place in added else []


def axis_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The names of axes in a function's annotations, in their order."""
    annotations = [each.annotation for each in ast.walk(function.args) if isinstance(each, ast.arg)]
    arrays = [
        part
        for each in (*annotations, function.returns)
        if each is not None
        for part in ast.walk(each)
        if isinstance(part, ast.Subscript) and ast.unparse(part.value).rpartition(".")[2] in DTYPE_WORDS
    ]
    constants = [part.value for each in arrays for part in ast.walk(each.slice) if isinstance(part, ast.Constant)]
    strings = [each for each in constants if isinstance(each, str)]
    return list(dict.fromkeys(name for string in strings for name in _NAMES.findall(string)))


def verdicts(library: str, check: Callable[[Path], Findings], change: Callable[[str], str]) -> dict[str, Verdict]:
    """What one checker says of each pair of a library."""
    found: list[Findings] = []
    pairs = sorted(path.stem for path in (_PROGRAMS / _FOLDERS[library] / "faulty").glob("*.py"))
    with tempfile.TemporaryDirectory() as scratch:
        for kind in ("faulty", "correct"):
            place = Path(scratch, kind)
            place.mkdir()
            for path in (_PROGRAMS / _FOLDERS[library] / kind).glob("*.py"):
                (place / path.name).write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
            found.append(check(place))
        wrong, right = found
        told: dict[str, Verdict] = {}
        for name in pairs:
            lines = Path(scratch, "faulty", f"{name}.py").read_text(encoding="utf-8").splitlines()
            marked = [number for number, line in enumerate(lines, 1) if _MARK.search(line)]
            here = next((each.line for each in wrong.get(name, []) if each.line in marked), marked[0])
            told[name] = Verdict.on(here, wrong.get(name, []), right.get(name, []))
        return told


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one table for each library, and the programs that are not found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--peers", type=Path, required=True, help="the folder with python, pyrefly, jaxtyc and torchtyc"
    )
    parser.add_argument("--library", choices=("torch", "jax"), action="append")
    options = parser.parse_args(arguments)
    peers: Path = options.peers.absolute()
    for library in options.library or ("torch", "jax"):
        own = f"{library}tyc"
        columns: list[tuple[str, Callable[[Path], Findings], Callable[[str], str]]] = [
            ("mypy + plugin", plugin(peers / "python"), str),
            (own, tyc(peers / own), str),
            ("Pyrefly", pyrefly(peers / "pyrefly"), declared),
        ]
        print(f"\n{library}\n\n| | where written | another line | silent | refused, right too |\n|---|---|---|---|---|")
        missed: list[str] = []
        for title, check, change in columns:
            if title != "mypy + plugin" and shutil.which(str(peers / title.lower())) is None:
                missed.append(f"{title} is not installed there: left out")
                continue
            told = verdicts(library, check, change)
            counted = Counter("another line" if each.where.startswith("line") else each.where for each in told.values())
            kinds = ("where written", "another line", "silent", "refused, right too")
            print(f"| {title} | {' | '.join(str(counted[kind]) for kind in kinds)} |")
            missed += [
                f"{title}: {name}: {each.where} {each.message}"
                for name, each in told.items()
                if each.where != "where written"
            ]
        print("", *missed, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
