"""Mistakes in the arithmetic of bodies under two static checkers: ``python -m benchmarks.static_checkers.bodies``.

mypy with typednn's plugin reads the programs of ``tests/typing/bodies``. Pyrefly reads the same arithmetic in this
folder, as functions of PyTorch tensors, or of NumPy arrays where its stubs follow more of them. Each input is annotated
with its sizes. Each program is read with its mistake and without it. The environment for Pyrefly is that of
``benchmarks.static_checkers.run``.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.static_checkers.run import Checker, Verdict, mypy_with_plugin, programs, pyrefly, verdicts, versions

BODIES = Path(__file__).parents[3] / "tests" / "typing" / "bodies"


def changed_line(faulty: Path) -> int:
    """The first line of a faulty program, after its docstring, that its correct form has otherwise."""
    lines, others = (
        [
            line.partition("  # shape: ")[0]
            for line in (BODIES / kind / faulty.name).read_text(encoding="utf-8").splitlines()
        ]
        for kind in ("faulty", "correct")
    )
    return next(
        number
        for number, (line, other) in enumerate(zip(lines, others, strict=False), 1)
        if number > 1 and line != other
    )


def plugin_verdicts() -> dict[str, Verdict]:
    """mypy with the plugin on typednn's programs."""
    with tempfile.TemporaryDirectory() as scratch:
        places = [Path(shutil.copytree(BODIES / kind, Path(scratch, kind))) for kind in ("faulty", "correct")]
        faulty, correct = map(mypy_with_plugin, places)
    return {
        path.stem: Verdict.on(changed_line(path), faulty.get(path.stem, []), correct.get(path.stem, []))
        for path in sorted((BODIES / "faulty").glob("*.py"))
    }


def pyrefly_verdicts(program: Path) -> dict[str, Verdict]:
    """Pyrefly on the programs of this folder."""
    return verdicts(Checker("Pyrefly", "bodies", pyrefly(program)))


def short(verdict: Verdict) -> str:
    """The verdict in one of four forms."""
    return "other line" if verdict.where.startswith("line ") else verdict.where


def table(columns: Mapping[str, Mapping[str, Verdict]]) -> str:
    """All verdicts, one row per program, and how often each occurs."""
    rows = [["program", *columns], ["---"] * (len(columns) + 1)]
    for path in programs("bodies"):
        rows.append([path.stem, *(results[path.stem].where for results in columns.values())])
    counts = [
        f"{title}: "
        + ", ".join(f"{count} {where}" for where, count in Counter(map(short, results.values())).most_common())
        for title, results in columns.items()
    ]
    return "\n".join([*(f"| {' | '.join(row)} |" for row in rows), "", *counts])


def messages(columns: Mapping[str, Mapping[str, Verdict]]) -> str:
    """What each checker said, by program."""
    lines = []
    for path in programs("bodies"):
        lines += ["", path.stem]
        for title, results in columns.items():
            if results[path.stem].message:
                lines += [f"  {title}:", *(f"    {line}" for line in results[path.stem].message.splitlines())]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the versions, the table and the messages."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    found = shutil.which("pyrefly")
    own = Path(found) if found else None
    parser.add_argument("--pyrefly", type=Path, default=own, help="the program, in an environment with its stubs")
    options = parser.parse_args(arguments)
    columns = {"mypy + plugin": plugin_verdicts()}
    if options.pyrefly is None:
        print("Pyrefly was not found: see the head of benchmarks/static_checkers/run.py, then give --pyrefly")
    else:
        columns["Pyrefly"] = pyrefly_verdicts(options.pyrefly)
    print(versions(options.pyrefly), "", table(columns), messages(columns), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
