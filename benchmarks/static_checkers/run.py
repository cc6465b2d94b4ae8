"""The same mistakes under several static checkers: ``python -m benchmarks.static_checkers.run``.

Each program in ``typednn/`` and ``torch/`` has one mistake, on the line that ends in ``# right:`` and the correct code.
Every checker reads every program twice: with the mistake, where it should find an error, and corrected, where it should
find none. All verdicts come from the output of the checkers. A checker that is not installed is skipped with a message.

Pyrefly needs its own environment, because its stubs need Python 3.12 or later:

    python3.13 -m venv pyrefly-venv
    pyrefly-venv/bin/pip install pyrefly==1.4.1 pyrefly-torch-stubs==1.4.0 pyrefly-numpy-stubs==1.4.0 numpy torch
    --editable . python -m benchmarks.static_checkers.run --pyrefly pyrefly-venv/bin/pyrefly
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

_HERE = Path(__file__).parent
_MISTAKE = re.compile(r"^( *)(.*)  # right: (.*)$", re.MULTILINE)
_MYPY_LINE = re.compile(r"^(?P<file>[^:]+\.py):(?P<line>\d+): error: (?P<message>.*)$")
_TYPED_INPUT = re.compile(r'Shaped\[Tensor, "[^"]*"\]')


@dataclass(frozen=True, slots=True)
class Finding:
    """One error: its line and its message."""

    line: int
    message: str


# The findings of each program.
Findings = dict[str, list[Finding]]


@dataclass(frozen=True, slots=True)
class Checker:
    """One column: a title, the folder of its programs, and the function that checks a copy of them."""

    title: str
    folder: str
    check: Callable[[Path], Findings]
    change: Callable[[str], str] = str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one checker on one program."""

    where: str
    message: str

    @classmethod
    def on(cls, mistake: int, found: Sequence[Finding], put_right: Sequence[Finding]) -> Verdict:
        """``found`` are the findings with the mistake in line ``mistake``; ``put_right`` are those of the corrected
        program.
        """
        if put_right:
            return cls("refused, right too", f"line {put_right[0].line}, put right: {put_right[0].message}")
        if not found:
            return cls("silent", "")
        here = next((finding for finding in found if finding.line == mistake), None)
        if here is not None:
            return cls("where written", here.message)
        return cls(f"line {found[0].line}, not {mistake}", f"line {found[0].line}: {found[0].message}")


def programs(folder: str) -> list[Path]:
    """The programs of one folder, in order: each file with a mistake."""
    return [path for path in sorted((_HERE / folder).glob("*.py")) if _MISTAKE.search(path.read_text(encoding="utf-8"))]


def mistake_line(text: str) -> int:
    """The line of the one mistake in a program."""
    lines = [number for number, line in enumerate(text.splitlines(), 1) if _MISTAKE.match(line)]
    if len(lines) != 1:
        raise ValueError(f"a program holds one line with '# right:', got {len(lines)}")
    return lines[0]


def put_right(text: str) -> str:
    """The program without its mistake."""
    return _MISTAKE.sub(r"\1\3", text)


def plain_tensors(text: str) -> str:
    """A torch program without sizes in its annotations, as most programs are."""
    return _TYPED_INPUT.sub("Tensor", text)


def verdicts(checker: Checker) -> dict[str, Verdict]:
    """Run one checker on all its programs."""
    with tempfile.TemporaryDirectory() as scratch:
        found: list[Findings] = []
        for name, change in (("wrong", str), ("right", put_right)):
            place = Path(scratch, name)
            shutil.copytree(_HERE / checker.folder, place, ignore=shutil.ignore_patterns("__*"))
            for path in place.glob("*.py"):
                path.write_text(checker.change(change(path.read_text(encoding="utf-8"))), encoding="utf-8")
            found.append(checker.check(place))
    wrong, right = found
    return {
        path.stem: Verdict.on(
            mistake_line(path.read_text(encoding="utf-8")), wrong.get(path.stem, []), right.get(path.stem, [])
        )
        for path in programs(checker.folder)
    }


def _run(command: Sequence[str | Path], place: Path) -> str:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    done = subprocess.run(
        list(map(str, command)), cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def mypy(place: Path, *, plugins: str = "") -> Findings:
    """mypy, strict."""
    config = place / "mypy.ini"
    config.write_text(f"[mypy]\nstrict = True\n{plugins}", encoding="utf-8")
    options = ["--no-error-summary", "--no-pretty"]
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        config,
        "--cache-dir",
        place.parent / "cache",
        *options,
    ]
    findings: Findings = {}
    for line in _run([*command, *sorted(path.name for path in place.glob("*.py"))], place).splitlines():
        if match := _MYPY_LINE.match(line):
            findings.setdefault(Path(match["file"]).stem, []).append(Finding(int(match["line"]), match["message"]))
    return findings


def mypy_with_plugin(place: Path) -> Findings:
    """mypy, strict, with typednn's plugin."""
    return mypy(place, plugins="plugins = typednn.mypy_plugin\n")


def pyright(place: Path) -> Findings:
    """pyright, in its standard mode: strict adds style rules, such as unused variables."""
    (place / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}', encoding="utf-8")
    report = json.loads(_run([sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable], place))
    findings: Findings = {}
    for found in report["generalDiagnostics"]:
        if found["severity"] == "error":
            finding = Finding(found["range"]["start"]["line"] + 1, found["message"])
            findings.setdefault(Path(found["file"]).stem, []).append(finding)
    return findings


def pyrefly(program: Path, search_path: Path | None = None) -> Callable[[Path], Findings]:
    """Pyrefly, from an environment that has its stubs."""

    def check(place: Path) -> Findings:
        paths = [str(place), *([str(search_path)] if search_path else [])]
        interpreter = program.parent / "python"
        config = (
            f'project-includes = ["*.py"]\npython-interpreter-path = "{interpreter}"\nsearch-path = '
            f"{json.dumps(paths)}\n"
        )
        (place / "pyrefly.toml").write_text(config, encoding="utf-8")
        findings: Findings = {}
        for found in json.loads(_run([program, "check", "--output-format", "json"], place))["errors"]:
            if found["severity"] == "error":
                finding = Finding(found["line"], found["description"])
                findings.setdefault(Path(found["path"]).stem, []).append(finding)
        return findings

    return check


def running(place: Path) -> Findings:
    """Not a checker: run the program and read its traceback."""
    findings: Findings = {}
    for path in sorted(place.glob("[0-9]*.py")):
        done = subprocess.run([sys.executable, path.name], cwd=place, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = re.findall(rf'{re.escape(path.name)}", line (\d+)', done.stderr)
            findings[path.stem] = [Finding(int(lines[-1]), done.stderr.strip().splitlines()[-1])]
    return findings


def checkers(pyrefly_program: Path | None, overlay: Path) -> tuple[list[Checker], list[str]]:
    """The checkers that are installed, and messages about the others; ``overlay`` is an empty folder."""
    columns: list[Checker] = []
    missing: list[str] = []
    if importlib.util.find_spec("mypy") is None:
        missing.append("mypy is not installed: pip install mypy")
    else:
        plugin = importlib.util.find_spec("typednn.mypy_plugin")
        if plugin is None or plugin.origin is None:
            missing.append("this typednn has no typednn.mypy_plugin")
        else:
            columns.append(Checker("mypy + plugin", "typednn", mypy_with_plugin))
        columns.append(Checker("mypy", "typednn", mypy))
    if importlib.util.find_spec("pyright") is None:
        missing.append("pyright is not installed: pip install 'pyright[nodejs]'")
    else:
        columns.append(Checker("pyright", "typednn", pyright))
    if pyrefly_program is None:
        missing.append("Pyrefly was not found: see the head of this file, then give --pyrefly")
    else:
        columns.append(Checker("Pyrefly, torch", "torch", pyrefly(pyrefly_program)))
        columns.append(Checker("Pyrefly, torch, plain Tensor", "torch", pyrefly(pyrefly_program), plain_tensors))
        columns.append(Checker("Pyrefly, typednn", "typednn", pyrefly(pyrefly_program)))
        try:
            _run([pyrefly_program.parent / "python", _HERE / "overlay.py", overlay], Path.cwd())
        except RuntimeError as error:
            missing.append(f"the overlay for Pyrefly was not written: {error}")
        else:
            columns.append(Checker("Pyrefly, typednn + overlay", "typednn", pyrefly(pyrefly_program, overlay)))
    columns.append(Checker("no checker: run", "typednn", running))
    return columns, missing


def versions(pyrefly_program: Path | None) -> str:
    """The versions of all programs, in one line."""
    found = [f"Python {sys.version.split()[0]}"]
    found += [
        f"{name} {version(name)}" for name in ("typednn", "numpy", "mypy", "pyright") if importlib.util.find_spec(name)
    ]
    if pyrefly_program is not None:
        found.append(_run([pyrefly_program, "--version"], Path.cwd()).strip())
        freeze = ["-m", "pip", "list", "--format=freeze", "--disable-pip-version-check"]
        listed = _run([pyrefly_program.parent / "python", *freeze], Path.cwd())
        found += [line.replace("==", " ") for line in listed.splitlines() if line.startswith(("pyrefly-", "torch=="))]
    return ", ".join(found)


def table(columns: Sequence[Checker], results: Sequence[dict[str, Verdict]]) -> str:
    """All verdicts, one row per program."""
    rows = [["program", *(column.title for column in columns)]]
    rows.append(["---"] * len(rows[0]))
    for path in programs("typednn"):
        rows.append(
            [path.stem, *(result[path.stem].where if path.stem in result else "no equivalent" for result in results)]
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def messages(columns: Sequence[Checker], results: Sequence[dict[str, Verdict]]) -> str:
    """The messages of each checker, by program."""
    blocks = []
    for path in programs("typednn"):
        lines = [path.stem]
        for column, result in zip(columns, results, strict=True):
            if path.stem in result and result[path.stem].message:
                lines.append(f"  {column.title}:")
                lines += [f"    {line}" for line in result[path.stem].message.splitlines()]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the versions, the table and the messages."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    found = shutil.which("pyrefly")
    own = Path(found) if found else None
    parser.add_argument("--pyrefly", type=Path, default=own, help="the program, in an environment with its stubs")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as overlay:
        columns, missing = checkers(options.pyrefly, Path(overlay))
        results = [verdicts(column) for column in columns]
    print(versions(options.pyrefly), *missing, "", table(columns, results), "", messages(columns, results), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
