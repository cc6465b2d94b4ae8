"""Compiling by several processes at once: within one process Halide compiles one kernel after another.

``python -P -m typednn.engines.halide.parallel`` is one of these processes. A job that fails there is left to the
caller.
"""

import os
import pickle  # noqa: TID251  # jobs, in a private folder, for a process that was started for them
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from typednn.engines.halide import cache as on_disk
from typednn.engines.halide import toolchain
from typednn.engines.halide.toolchain import Plan
from typednn.engines.processor import target

_MOST = 8  # processes: each takes about 150 MB
_EACH = 2  # jobs that pay for the start of a process, about 0.3 s

# Called with the number of kernels that are compiled, of all, and the name of the last; first with 0.
Show = Callable[[int, int, str], object]


@dataclass(frozen=True, slots=True)
class Job:
    """An object file with the function ``symbol`` of ``plan``; without a plan, Halide's runtime."""

    symbol: str
    plan: Plan | None

    def write(self, path: Path) -> None:
        """Compile it in this process."""
        if self.plan is None:
            toolchain.compile_runtime(path, toolchain.host())
        else:
            toolchain.compile_object(self.plan, path, self.symbol, toolchain.host())


_objects: dict[str, Path] = {}


def object_of(job: Job, folder: Path) -> Path:
    """The object file of ``job``: what `compiled` has made of it, or else a new one in ``folder``."""
    path = _objects.get(job.symbol)
    if path is None or not path.exists():
        path = folder / "compiled.o"
        job.write(path)
    return path


@contextmanager
def compiled(jobs: Sequence[Job], threads: int, show: Show | None) -> Generator[None]:
    """Compile ``jobs`` by at most so many processes, if several are worth it; within the block `object_of` finds the
    results.
    """
    count = min(threads, len(jobs) // _EACH, _MOST)
    # a program that holds its interpreter can't be started as one
    if count < 2 or not sys.executable or hasattr(sys, "frozen"):
        yield
        return
    with on_disk.build_folder() as folder:
        paths = {job.symbol: folder / f"{job.symbol}.o" for job in jobs}
        _compile(list(zip(jobs, paths.values(), strict=True)), folder / "jobs", count, show)
        _objects.update(paths)
        try:
            yield
        finally:
            for symbol in paths:
                del _objects[symbol]


def _compile(jobs: Sequence[tuple[Job, Path]], file: Path, count: int, show: Show | None) -> None:
    """Have ``jobs`` done by ``count`` processes, which read them from ``file`` and write the name of each that is done
    into one pipe.
    """
    texts: list[bytes] = []
    for job in jobs:
        with suppress(Exception):  # its function has no name that another process could import it by
            texts.append(pickle.dumps(job))
    file.write_bytes(pickle.dumps(texts))
    paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
    reading, writing = os.pipe()
    with ExitStack() as ended, os.fdopen(reading) as lines:
        try:
            for _ in range(count):
                with open(file, "rb") as stdin:
                    process = subprocess.Popen(
                        [sys.executable, "-P", "-m", __name__],
                        stdin=stdin,
                        stdout=writing,
                        stderr=subprocess.DEVNULL,
                        process_group=0,  # Ctrl-C is for this process, which ends them
                        env=os.environ | {"PYTHONPATH": paths, "TYPEDNN_TARGET": target()},
                    )
                ended.callback(process.wait)
                ended.callback(process.kill)
        finally:
            os.close(writing)
        if show is not None:
            show(0, len(texts), "")
        done = 0
        for done, name in enumerate(lines, 1):
            if show is not None:
                show(done, len(texts), name.strip())
        if show is not None and done < len(texts):  # this process compiles the others
            show(len(texts), len(texts), "")


def _work() -> None:
    """Do those jobs of standard input that no other process has begun."""
    for text in pickle.load(sys.stdin.buffer):
        with suppress(Exception):  # the caller compiles what is missing, and raises the error
            job, path = pickle.loads(text)
            path.with_suffix(".begun").touch(exist_ok=False)
            unfinished = path.with_suffix(".unfinished")
            job.write(unfinished)
            unfinished.replace(path)
            os.write(1, f"{job.plan.name if job.plan else 'runtime'}\n".encode())


if __name__ == "__main__":
    _work()
