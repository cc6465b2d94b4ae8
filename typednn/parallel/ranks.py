"""The ranks of a job, and what they exchange: one process each, started by ``mpiexec``.

Only standard collectives of MPI are used, which all ranks call in the same order, and messages between two ranks.
"""

import atexit
import hashlib
import io
import os
import socket
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Final, Self, TypeVar, final

import numpy as np
import numpy.typing as npt

from typednn import system
from typednn.backends.cupy_backend import CupyBackend
from typednn.engines import empty, get_threads, set_threads
from typednn.errors import StateError, TypednnError, explain, optional
from typednn.parallel.sums import sum_of
from typednn.parallel.telling import tell

Item = TypeVar("Item")
Result = TypeVar("Result")

# Variables with which MPICH, Open MPI and Slurm tell a process how many ranks its job has.
SLURM: Final = "SLURM_STEP_NUM_TASKS"
SIZES: Final = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", SLURM)
NUMBERS: Final = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")  # and which rank it is
EXTRA: Final = "pip install 'typednn[mpi]'"
FAULT: Final = 70  # exit code of a job that an error ended which no sentence of typednn tells: no mistake of the user's
_PATIENCE: Final = 1.0  # seconds that the second rank with an error waits for the first one's, which then is told alone
_MORE: Final = 0.2  # seconds that each further rank waits longer
_FLOATS: Final = ("float16", "float32", "float64")
_HEADER: Final = 12  # numbers: dtype, axes, whether there is a number, the number, sizes


def started() -> bool:
    """Whether this process was started by ``mpiexec``, or by ``srun`` with others: Slurm counts every program."""
    return any(name in os.environ and (name != SLURM or os.environ[name] != "1") for name in SIZES)


@cache
def _world() -> tuple[Any, Any]:
    """MPI, and a communicator of all ranks; this process gets its share of the machine's threads, and a GPU."""
    mpi: Any = optional("mpi4py.MPI", "DataParallel", "needs mpi4py and an MPI", EXTRA)
    machine = mpi.COMM_WORLD.Split_type(mpi.COMM_TYPE_SHARED)
    here = machine.Get_size()
    if here > 1:
        CupyBackend.number = machine.Get_rank()
        set_threads(min(get_threads(), max(1, system.cores() // here)))
    return mpi, mpi.COMM_WORLD.Dup()


@final
class Aside(io.StringIO):
    """The standard error of a rank that is not the first: kept, and written to a file when that may be made."""

    def __init__(self) -> None:
        super().__init__()
        self.log: Path | None = None
        self.beside: Path | None = None
        """A file without which there is no folder for the log yet."""
        self._written = 0

    def flush(self) -> None:
        if self.log is not None and self.beside is not None and self.beside.is_file():
            new = self.getvalue()[self._written :]
            with suppress(OSError):
                if new:
                    with self.log.open("a", encoding="utf-8", errors="backslashreplace") as file:
                        file.write(new)
                self._written += len(new)


def quiet_others() -> None:
    """Let this process print nothing where it is not the first rank, unless it is the one that ends the job."""
    if started() and Ranks().rank:
        Ranks.aside = Aside()
        sys.stdout, sys.stderr = io.StringIO(), Ranks.aside


def log_others(folder: Path, name: str) -> None:
    """From now on what a quiet rank has to say is also in ``rank-N.log`` in a run's ``folder``, when this machine sees
    that it has the file ``name``.
    """
    aside = Ranks.aside
    if aside is not None:
        aside.log, aside.beside = folder / f"rank-{Ranks().rank}.log", folder / name
        aside.flush()


@final
class Ranks:
    """All ranks of the job; this process is number ``rank`` of ``size``. A process alone is rank 0 of 1.

    Ranks share the cores of their machine: each has as many threads as there are cores for it, and of the GPUs the one
    with its number on its machine, if it has not used another before.
    """

    aside: ClassVar[Aside | None] = None
    """What this process says, where it is quiet (`quiet_others`)."""
    _all_leave: ClassVar[bool] = False  # of this process, as the next
    _has_given_way: ClassVar[bool] = False

    def __init__(self) -> None:
        self._mpi: Any = None
        self._comm: Any = None
        if started():
            self._mpi, self._comm = _world()
        self.rank: int = 0 if self._comm is None else self._comm.Get_rank()
        self.size: int = 1 if self._comm is None else self._comm.Get_size()
        self._depth = 0  # blocks of `together` of this object that the process is in
        self._code = FAULT  # that the job ends with, where this rank ends it

    def __repr__(self) -> str:
        return f"Ranks(rank={self.rank}, size={self.size})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # a copy of what is shared out is of the same ranks

    @property
    def is_first(self) -> bool:
        """Whether this rank writes files and messages."""
        return self.rank == 0

    def on(self) -> str:
        """Which rank this is, for a message; nothing where there are no others."""
        return "" if self.size == 1 else f", on rank {self.rank}"

    # -------------------------------------------------------------- exchanges

    def gathered(self, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The rows of all ranks, in the ranks' order; each has as many."""
        if self.size == 1:
            return rows
        every = np.empty((self.size * len(rows), *rows.shape[1:]))
        self._comm.Allgather(np.ascontiguousarray(rows), every)
        return every

    def add_up(self, vector: npt.NDArray[Any], present: Sequence[bool]) -> None:
        """The sum of the vectors of those ranks that are ``present``, in a fixed tree, written over each rank's.

        Each rank sums one slice of all vectors, and sends it to the others: as many bytes as an all-reduce.
        """
        if self.size == 1:
            return
        ends = [len(vector) * rank // self.size for rank in range(self.size + 1)]
        mine = vector[ends[self.rank] : ends[self.rank + 1]]
        slices = empty((self.size, len(mine)), vector.dtype)
        sent = [vector.itemsize * (stop - start) for start, stop in pairwise(ends)]
        octets: Any = vector.view(np.uint8)  # so that MPI need not know the type
        self._comm.Alltoallv([octets, sent], [slices.view(np.uint8), [mine.nbytes] * self.size])
        mine[...] = sum_of(slices, present)
        self._comm.Allgatherv(self._mpi.IN_PLACE, [octets, sent])

    def all_reduce(self, vector: npt.NDArray[Any]) -> None:
        """The sum of all ranks' vectors, in the order of MPI, written over each rank's."""
        if self.size > 1:
            self._comm.Allreduce(self._mpi.IN_PLACE, vector, op=self._mpi.SUM)

    def shared_out(self, items: Sequence[Item], compute: Callable[[Item], Result]) -> Iterable[Result]:
        """``compute`` of each item, in their order, on all ranks; each is computed by one. Alone, as they are read."""
        if self.size == 1:
            return map(compute, items)
        own = [compute(item) for item in items[self.rank :: self.size]]
        every: list[list[Result]] = self.every(own)
        return [every[place % self.size][place // self.size] for place in range(len(items))]

    def summed_rows(self, rows: npt.NDArray[Any], present: Sequence[bool]) -> npt.NDArray[Any]:
        """The sum of this rank's row of those ranks that are ``present``, in a fixed tree; each gives a row for
        every rank.
        """
        found = np.empty_like(rows)
        self._comm.Alltoall(rows, found)
        summed: npt.NDArray[Any] = sum_of(found, present)
        return summed

    def every_row(self, row: npt.NDArray[Any], rows: npt.NDArray[Any]) -> None:
        """Fill ``rows`` with the row of each rank."""
        self._comm.Allgather(row, rows)

    def rows_to_first(self, row: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
        """The row of each rank, on the first rank."""
        rows = np.empty((self.size, len(row)), row.dtype) if self.is_first else None
        self._comm.Gather(row, rows, root=0)
        return rows

    def row_from_first(self, rows: npt.NDArray[Any] | None, row: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """This rank's row of those that the first rank gives, in ``row``."""
        self._comm.Scatter(rows, row, root=0)
        return row

    def all(self, holds: bool) -> bool:
        """Whether it holds on all ranks."""
        every = np.empty(1, np.int8)
        self._comm.Allreduce(np.array([holds], np.int8), every, op=self._mpi.MIN)
        return bool(every[0])

    def first_reason(self, reason: str | None) -> str | None:
        """The reason of the first rank that has one; None where none has."""
        if self.size == 1:
            return reason
        given = np.array([reason is not None], np.int8)
        any_given = np.empty_like(given)
        self._comm.Allreduce(given, any_given, op=self._mpi.MAX)
        if not any_given[0]:
            return None
        reasons: list[str | None] = self.every(reason)
        return next(each for each in reasons if each is not None)

    def split(self, group: int) -> "Ranks":
        """Those ranks that give the same ``group``, in the same order; all ranks call it."""
        other = object.__new__(Ranks)
        vars(other).update(vars(self), _depth=0)
        if self.size > 1:
            other._comm = self._comm.Split(group, self.rank)
            other.rank, other.size = other._comm.Get_rank(), other._comm.Get_size()
        return other

    def every(self, value: Any) -> list[Any]:
        """What each rank gives, in the ranks' order."""
        return [value] if self.size == 1 else self._comm.allgather(value)

    def shared(self, arrays: dict[str, Any] | None, root: int) -> Iterator[tuple[str, Any]]:
        """What the rank ``root`` gives by name, one after another: arrays, and numbers as they are."""
        if self.size == 1:
            yield from (arrays or {}).items()
            return
        told = [
            (name, getattr(value, "shape", None), str(value.dtype) if hasattr(value, "dtype") else value)
            for name, value in (arrays or {}).items()
        ]
        for name, shape, kind in self._comm.bcast(told, root=root):
            if shape is None:
                yield name, kind
                continue
            array = np.empty(shape, kind) if arrays is None else np.ascontiguousarray(arrays[name])
            self._comm.Bcast(array.reshape(-1).view(np.uint8), root=root)
            yield name, array

    def send(self, array: npt.NDArray[Any], to: int, kind: int, number: float | None = None) -> list[Any]:
        """Begin to send an array, and a number with it; what `wait` waits for."""
        told = np.zeros(_HEADER)
        told[:4] = _FLOATS.index(str(array.dtype)), array.ndim, number is not None, number or 0.0
        told[4 : 4 + array.ndim] = array.shape
        octets = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        return [(self._comm.Isend(each, dest=to, tag=kind), each) for each in (told, octets)]

    def receive(self, sender: int, kind: int) -> tuple[npt.NDArray[Any], float | None]:
        """What `send` sends, in the order in which it was sent."""
        told = np.empty(_HEADER)
        self._comm.Recv(told, source=sender, tag=kind)
        shape = tuple(map(int, told[4 : 4 + int(told[1])]))
        array: npt.NDArray[Any] = np.empty(shape, _FLOATS[int(told[0])])
        self._comm.Recv(array.reshape(-1).view(np.uint8), source=sender, tag=kind)
        return array, float(told[3]) if told[2] else None

    def wait(self, sent: Sequence[Any]) -> None:
        """Until all that was sent may be changed."""
        for request, _ in sent:
            request.Wait()

    def from_first(self, value: Any) -> Any:
        """What the first rank gives."""
        return value if self.size == 1 else self._comm.bcast(value, root=0)

    def require_equal(self, what: str, value: bytes, shown: str = "") -> None:
        """Raise a `StateError` on each rank where they differ in ``value``; it tells what is ``shown`` on each."""
        if self.size == 1:
            return
        found = self.every((hashlib.sha256(value).digest(), shown))
        others = [rank for rank, each in enumerate(found) if each != found[0]]
        if others:
            told = f": {found[others[0]][1]}, and {found[0][1]}" if shown else ""
            got = f"{what} of rank {', '.join(map(str, others))} differ from those of rank 0{told}"
            raise StateError(explain("DataParallel", "all ranks begin alike", got, "start them with the same program"))

    # -------------------------------------------------------------- errors

    @contextmanager
    def together(self) -> Generator[None, None, None]:
        """In this block, a rank that ends with an error, or alone by a signal, ends the job: the others would wait for
        it.

        The job's exit code is 1 after an error that is told in a sentence, that of the signal, or `FAULT`.
        """
        if self.size == 1:
            yield
            return
        self._depth += 1
        if self._depth == 1:
            atexit.register(self._abort)
            Ranks._all_leave = Ranks._has_given_way = False
        try:
            yield
        except (KeyboardInterrupt, SystemExit) as stop:
            self._code = 130 if isinstance(stop, KeyboardInterrupt) else stop.code if isinstance(stop.code, int) else 1
            if Ranks._all_leave:
                self._leave()
            raise
        except BaseException as error:
            self._code = 1 if isinstance(error, TypednnError | OSError) else FAULT
            self._give_way()
            raise
        self._leave()

    def all_leave(self) -> None:
        """From now on a signal's exception ends no job: all ranks have agreed to end, and each does by itself."""
        Ranks._all_leave = True

    def _leave(self) -> None:
        self._depth -= 1
        if not self._depth:
            atexit.unregister(self._abort)

    def _give_way(self) -> None:
        """Let the first rank with an error be the only one that tells it: it ends the job meanwhile."""
        if not self.is_first and not Ranks._has_given_way:
            Ranks._has_given_way = True
            time.sleep(_PATIENCE + _MORE * self.rank)

    def _abort(self) -> None:
        """End all ranks; called when a process ends in the middle of a training."""
        text = "" if Ranks.aside is None else Ranks.aside.getvalue()
        whose = f"typednn: rank {self.rank} of {self.size}, on {socket.gethostname()}, ended the job"
        print(f"{text}{whose}", file=sys.__stderr__, flush=True)
        tell(ends=self.rank, code=self._code)
        self._comm.Abort(self._code)
