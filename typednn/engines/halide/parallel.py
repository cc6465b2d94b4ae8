"""Compiling by several processes at once: within one process Halide compiles one kernel after another.

``python -P -m typednn.engines.halide.parallel`` is one of these processes. It reads jobs from its standard input, a line each, writes the
object files, and answers each job with a line. A process that fails leaves its job undone; then the caller compiles it itself.
"""

import os
import pickle  # noqa: TID251  # jobs go through a pipe to a process that was started for them; no file is read
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

from typednn.engines.halide import cache as on_disk
from typednn.engines.halide import toolchain
from typednn.engines.halide.toolchain import Plan

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
    """Compile ``jobs`` by at most so many processes, if several are worth it; within the block `object_of` finds the results."""
    count = min(threads, len(jobs) // _EACH, _MOST)
    if count < 2 or not sys.executable or hasattr(sys, "frozen"):  # a program that holds its interpreter can't be started as one
        yield
        return
    with on_disk.build_folder() as folder:
        paths = {job.symbol: folder / f"{job.symbol}.o" for job in jobs}
        _compile(list(zip(jobs, paths.values(), strict=True)), count, show or (lambda done, total, name: None))
        _objects.update(paths)
        try:
            yield
        finally:
            for symbol in paths:
                del _objects[symbol]


def _compile(jobs: Sequence[tuple[Job, Path]], count: int, show: Show) -> None:
    lines: deque[tuple[str, bytes]] = deque()
    for job, path in jobs:
        with suppress(Exception):  # a function without a name, or one that does not survive the way there
            lines.append((job.plan.name if job.plan else "runtime", pickle.dumps((job, path)).hex().encode() + b"\n"))
    total, done = len(lines), 0
    finished: SimpleQueue[str | None] = SimpleQueue()
    show(0, total, "")
    with ExitStack() as ended:
        for _ in range(count):
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                process_group=0,  # Ctrl-C is for this process, which ends them
                env=os.environ | {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
            )
            ended.callback(_end, process)
            Thread(target=_feed, args=(process, lines, finished), daemon=True).start()
        while count:
            name = finished.get()
            if name is None:
                count -= 1
            else:
                done += 1
                show(done, total, name)


def _feed(process: subprocess.Popen[bytes], lines: deque[tuple[str, bytes]], finished: SimpleQueue[str | None]) -> None:
    """Give ``process`` one job after another until none is left, or it has ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(OSError, ValueError, IndexError):  # it has ended; its pipes were closed; no job is left
        while True:
            name, line = lines.popleft()
            process.stdin.write(line)
            process.stdin.flush()
            if not process.stdout.readline():
                break
            finished.put(name)
    finished.put(None)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def serve() -> None:
    """Do the jobs of standard input."""
    for line in sys.stdin.buffer:
        with suppress(Exception):
            job, path = pickle.loads(bytes.fromhex(line.decode()))
            unfinished = path.with_suffix(".unfinished")
            job.write(unfinished)
            unfinished.replace(path)
        sys.stdout.buffer.write(b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    serve()
