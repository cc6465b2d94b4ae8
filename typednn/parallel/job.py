"""Job: ``mpiexec`` starts the ranks of a command; here it is waited for, and told how it ended.

Each rank says on its standard error who it is (`present`): its number, process and machine; then that MPI has started.
What ranks print is passed on, without these lines, and without the frame that MPICH prints where a rank is killed. Of
the ranks on this machine Linux says which ends first; mpiexec says the signal. A signal to this process is one to
``mpiexec``, which passes it on to all ranks.

Under MPICH the others wait for ever for a rank that exits before MPI has started: then the job is ended here.

MPICH's frame names a process too, but where it then kills the others that may be one of those; and the signal that it
tells is the bitwise or of all their statuses: after 6 or 7 it says 15.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from types import FrameType
from typing import IO, Any, Final, TextIO, cast, final

from typednn.errors import MissingExtra, explain, installing, optional
from typednn.parallel.ranks import EXTRA, FAULT, NUMBERS
from typednn.parallel.telling import MARK, WATCHED, tell

_SAID: Final = re.compile(rf"{MARK}(\{{.*?\}})\n?")
# What MPICH's Hydra says of a job that ended badly; an empty line comes before it.
_BANNER: Final = re.compile(
    r"=+\n|=   (?:BAD TERMINATION|PID|EXIT CODE|CLEANING UP|YOU CAN IGNORE)|YOUR APPLICATION TERMINATED|"
    r"This typically refers to|Please see the FAQ|Abort\(\d+\) on node \d+"
)
_SIGNAL: Final = re.compile(r"EXIT STRING: (.+) \(signal (\d+)\)")
_PATIENCE: Final = 3.0  # seconds in which the other ranks may end too
_STOPS: Final = {signal.SIGINT: 130, signal.SIGTERM: 143}  # and the exit codes that they end with


def mpiexec() -> str | None:
    """The path of ``mpiexec``: beside Python, where pip puts it, or on the search path."""
    beside = Path(sys.executable).with_name("mpiexec")
    return str(beside) if beside.is_file() else shutil.which("mpiexec")


def command(count: int, arguments: Sequence[str]) -> list[str]:
    """What starts ``count`` ranks of ``python -m typednn`` with these arguments; a `MissingExtra` without an MPI."""
    optional("mpi4py", "--ranks", "needs mpi4py and an MPI", EXTRA)
    found = mpiexec()
    if found is None:
        raise MissingExtra(explain("--ranks", "needs mpiexec, of an MPI", "none on the path", EXTRA))
    return [found, "-n", str(count), sys.executable, "-m", "typednn", *arguments]


def found_mpi() -> str:
    """The MPI that is used, in a phrase; without one, what to install."""
    try:
        import mpi4py

        mpi4py.rc.initialize = False  # asked for its version only
        mpi: Any = import_module("mpi4py.MPI")
        version = " ".join(mpi.Get_library_version().split("\n")[0].rstrip("\0").split())
    except (ImportError, RuntimeError):
        return installing(f"none: {EXTRA} brings mpi4py and MPICH")
    return f"{version}, started by {mpiexec() or 'a mpiexec that is not on the path'}"


def present() -> None:
    """Tell which rank this is, in which process and where. MPI has not started: the number is in the environment."""
    number = next((int(os.environ[name]) for name in NUMBERS if name in os.environ), None)
    if number is not None:
        tell(rank=number, process=os.getpid(), host=socket.gethostname())


@final
@dataclass(slots=True)
class Ended:
    """How a job of ``count`` ranks ended.

    ``code`` is an exit code as commands have it. ``failed``: whether it was through no mistake of the user's, and was
    not stopped, so that starting again may help; then ``cause`` says what happened. ``ranks`` are those that are known,
    ``begun`` those where MPI had started, and ``run`` is the run's folder, where they have said it.
    """

    count: int
    code: int = 0
    failed: bool = False
    cause: str = ""
    ranks: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])
    begun: set[int] = field(default_factory=set[int])
    run: str | None = None
    first: list[int] = field(default_factory=list[int])  # the rank that ended first; several where that isn't known
    error: int | None = None  # exit code of the rank that has ended the job; mpiexec's may be that of one it killed
    exited: bool = False  # whether that was an exit before MPI had started there, for which the others waited
    ended_by: tuple[str, int] | None = None  # the signal's name and number, as mpiexec has them

    def hear(self, line: str) -> str:
        """What of a line that a rank or MPICH has said is passed on."""
        for found in _SAID.findall(line):
            said: dict[str, Any] = json.loads(found)
            if "rank" in said:
                self.ranks[said["rank"]] = said
            if "begun" in said:
                self.begun.add(said["begun"])
            if "ends" in said and self.error is None:
                self.error, self.first = said["code"], [said["ends"]]
            self.run = said.get("run", self.run)
        line = _SAID.sub("", line)
        if (by := _SIGNAL.search(line)) is not None:
            self.ended_by = by[1], int(by[2])
        return "" if _BANNER.match(line) else line

    def close(self, code: int, stopped: int | None) -> None:
        """Decide by the exit code of ``mpiexec``, and by the signal that this process was given, if any."""
        if self.error is not None:
            code, self.ended_by = self.error, None
        if stopped is not None:
            self.code = _STOPS[signal.Signals(stopped)]
        elif self.ended_by is None and code in (0, 1, 2, *_STOPS.values()):
            self.code = code
        else:
            self.code, self.failed = 1, True
            self.cause = self._what(code)

    def _what(self, code: int) -> str:
        """One phrase: which rank, where, and why."""
        rank = self.ranks[self.first[0]] if len(self.first) == 1 else None
        who = "a rank" if rank is None else f"rank {rank['rank']} of {self.count}, on {rank['host']},"
        missing = [str(rank) for rank in range(self.count) if rank not in self.begun]
        never = f"; of {self.count} ranks there had not begun: {', '.join(missing)}" if missing else ""
        if self.exited:
            return f"{who} ended before MPI had started there"
        if self.ended_by is not None:
            name, number = self.ended_by
            why = ", as the system does where memory runs out" if number == signal.SIGKILL else ""
            return f"{who} was ended by signal {number} ({name}){why}{never}"
        return f"{who} ended with an error" if code == FAULT else f"mpiexec ended with {code}{never}"


def run(count: int, arguments: Sequence[str]) -> Ended:
    """Start ``count`` ranks of ``python -m typednn`` with these arguments, and wait for their end."""
    ended, here = Ended(count), socket.gethostname()
    words = command(count, arguments)
    with _passed_on() as (start, stops), DefaultSelector() as watched:
        process = start(words)
        for pipe, out in ((process.stdout, sys.__stdout__), (process.stderr, sys.__stderr__)):
            watched.register(cast("IO[bytes]", pipe), EVENT_READ, _Lines(ended, out))
        open_pipes, known, waited = 2, set[int](), False
        while open_pipes:
            gone: list[int] = []
            events = watched.select(_PATIENCE if waited else None)
            if waited and not events:
                ended.exited = True
                process.terminate()
            for key, _ in events:
                if isinstance(key.data, int):
                    gone.append(key.data)
                    watched.unregister(key.fileobj)
                    os.close(key.fd)
                elif not key.data.read(key.fd):
                    watched.unregister(key.fileobj)
                    open_pipes -= 1
            ended.first = ended.first or gone
            waited = waited or not ended.begun.issuperset(gone)
            for rank in ended.ranks.keys() - known:
                known.add(rank)
                if ended.ranks[rank]["host"] == here and hasattr(os, "pidfd_open"):
                    with suppress(OSError):
                        watched.register(os.pidfd_open(ended.ranks[rank]["process"]), EVENT_READ, rank)
        for key in watched.get_map().values():
            os.close(key.fd)
        code = process.wait()
    ended.close(code, stops[0] if stops else None)
    return ended


@final
class _Lines:
    """What comes from a pipe, passed on by the line."""

    def __init__(self, ended: Ended, out: TextIO | None) -> None:
        self._ended = ended
        self._out = out
        self._rest = b""
        self._empty = ""  # lines that are kept back: they may belong to what MPICH says next

    def read(self, descriptor: int) -> bool:
        """Pass on what there is; False at the end."""
        came = os.read(descriptor, 1 << 16)
        *lines, self._rest = (self._rest + came).split(b"\n")
        for line in (*(each + b"\n" for each in lines), *([] if came else [self._rest])):
            self._pass_on(self._ended.hear(line.decode("utf-8", "backslashreplace")))
        return bool(came)

    def _pass_on(self, shown: str) -> None:
        if shown == "\n":
            self._empty += shown
            return
        if shown and self._out is not None:
            with suppress(BrokenPipeError):
                print(f"{self._empty}{shown}", end="", file=self._out, flush=True)
        self._empty = ""


@contextmanager
def _passed_on() -> Generator[tuple[Callable[[Sequence[str]], "subprocess.Popen[bytes]"], list[int]], None, None]:
    """What starts ``mpiexec``, to which Ctrl-C and SIGTERM are passed on in this block, and the signals that came."""
    came, started = list[int](), list["subprocess.Popen[bytes]"]()

    def pass_on(number: int, _: FrameType | None) -> None:
        came.append(number)
        for process in started:
            process.send_signal(number)

    def start(words: Sequence[str]) -> "subprocess.Popen[bytes]":
        # A group of its own: Ctrl-C in a terminal comes to this process alone, which passes it on once.
        process = subprocess.Popen(
            words,
            env={**os.environ, WATCHED: "1"},
            process_group=0,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        started.append(process)
        for number in came:
            process.send_signal(number)
        return process

    before = {number: signal.signal(number, pass_on) for number in _STOPS}
    try:
        yield start, came
    finally:
        for process in started:
            process.kill()  # where an error ended the block: nothing else waits for it
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
        for number, handler in before.items():
            signal.signal(number, handler)
