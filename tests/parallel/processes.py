"""Programs on several ranks, and the processes of a job's ranks, as Linux lists them in /proc."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import environment
from typednn.parallel.job import mpiexec

in_processes = pytest.mark.skipif(mpiexec() is None, reason="needs mpiexec, of an MPI")


def on_ranks(count: int, folder: Path, *words: str, program: str = "") -> "subprocess.CompletedProcess[str]":
    """Python with these words, in so many processes; a job that does not end is an error. A ``program`` is written to
    program.py, and is the first word.
    """
    if program:
        folder.mkdir(exist_ok=True)
        (folder / "program.py").write_text(program, encoding="utf-8")
        words = ("program.py", *words)
    ranks = [str(mpiexec()), "-n", str(count)] if count > 1 else []
    return subprocess.run(
        [*ranks, sys.executable, *words],
        cwd=folder,
        env=environment(TYPEDNN_ENGINE="reference"),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def stopped_after(run: Path, step: int) -> None:
    """A finished run becomes one that was stopped after this step, of which it has a checkpoint."""
    for folder in (run / "checkpoints").glob("step-*"):
        if int(folder.name.removeprefix("step-")) > step:
            shutil.rmtree(folder)
    (run / "checkpoints" / "best.json").unlink(missing_ok=True)


def ranks_of(job: int) -> dict[int, int]:
    """The processes of a job's ranks by their numbers; those of other jobs are left alone."""
    parents = {int(path.name): _parent(path) for path in Path("/proc").glob("[0-9]*")}
    found: dict[int, int] = {}
    for process in parents:
        if job in _line(process, parents):
            with_number = [line for line in _variables(process) if line.startswith("PMI_RANK=")]
            if with_number:
                found[int(with_number[0].removeprefix("PMI_RANK="))] = process
    return found


def _parent(path: Path) -> int:
    try:
        return int((path / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def _line(process: int, parents: dict[int, int]) -> Iterator[int]:
    while process := parents.get(process, 0):
        yield process


def _variables(process: int) -> list[str]:
    try:
        return Path(f"/proc/{process}/environ").read_text().split("\0")
    except OSError:
        return []
