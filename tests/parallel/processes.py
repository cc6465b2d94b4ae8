"""The processes of a job's ranks, as Linux lists them in /proc."""

from collections.abc import Iterator
from pathlib import Path


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
