"""The ranks of a job, and what they exchange: one process each, started by ``mpiexec``.

Only standard collectives of MPI are used. Each call is one that all ranks make, in the same order.
"""

import atexit
import hashlib
import io
import os
import shutil
import socket
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import numpy.typing as npt

from typednn import system
from typednn.engines import get_threads, set_threads
from typednn.errors import MissingExtra, StateError, explain, optional

# Variables with which MPICH, Open MPI and Slurm tell a process how many ranks its job has.
SLURM: Final = "SLURM_STEP_NUM_TASKS"
SIZES: Final = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", SLURM)
EXTRA: Final = "pip install 'typednn[mpi]'"
_FLOATS: Final = ("float16", "float32", "float64")
_HEADER = 12  # numbers: dtype, axes, whether there is a number, the number, sizes
_PATIENCE = 1.0  # seconds that a rank with an error waits for the first rank's, which is then the one that is told


def started() -> bool:
    """Whether this process was started by ``mpiexec``, or by ``srun`` with others: Slurm counts every program."""
    return any(name in os.environ and (name != SLURM or os.environ[name] != "1") for name in SIZES)


@cache
def _world() -> tuple[Any, Any]:
    """MPI, and a communicator of all ranks; this process gets its share of the machine's threads."""
    mpi: Any = optional("mpi4py.MPI", "DataParallel", "needs mpi4py and an MPI", EXTRA)
    here = mpi.COMM_WORLD.Split_type(mpi.COMM_TYPE_SHARED).Get_size()  # ranks on this machine
    if here > 1:
        set_threads(min(get_threads(), max(1, system.cores() // here)))
    return mpi, mpi.COMM_WORLD.Dup()


def quiet_others() -> None:
    """Let this process print nothing where it is not the first rank, unless it is the one that ends the job."""
    if started() and Ranks().rank:
        sys.stdout = sys.stderr = io.StringIO()


def command(count: int, arguments: Sequence[str]) -> list[str]:
    """What starts ``count`` ranks of ``python -m typednn`` with these arguments; a `MissingExtra` without an MPI."""
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.is_file() else shutil.which("mpiexec")
    optional("mpi4py", "--ranks", "needs mpi4py and an MPI", EXTRA)
    if found is None:
        raise MissingExtra(explain("--ranks", "needs mpiexec, of an MPI", "none on the path", EXTRA))
    return [found, "-n", str(count), sys.executable, "-m", "typednn", *arguments]


@final
class Ranks:
    """All ranks of the job; this process is number ``rank`` of ``size``. A process alone is rank 0 of 1.

    Ranks share the cores of their machine: each has as many threads as there are cores for it.
    """

    def __init__(self) -> None:
        self._mpi: Any = None
        self._comm: Any = None
        if started():
            self._mpi, self._comm = _world()
        self.rank: int = 0 if self._comm is None else self._comm.Get_rank()
        self.size: int = 1 if self._comm is None else self._comm.Get_size()
        self._depth = 0  # blocks of `together` of this object that the process is in

    def __repr__(self) -> str:
        return f"Ranks(rank={self.rank}, size={self.size})"

    @property
    def is_first(self) -> bool:
        """Whether this rank writes files and messages."""
        return self.rank == 0

    # -------------------------------------------------------------- exchanges

    def gathered(self, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The rows of all ranks, in the ranks' order; each has as many."""
        if self.size == 1:
            return rows
        every = np.empty((self.size * len(rows), *rows.shape[1:]))
        self._comm.Allgather(np.ascontiguousarray(rows), every)
        return every

    def summed(self, vector: npt.NDArray[Any], present: Sequence[bool]) -> npt.NDArray[Any]:
        """The sum of the vectors of those ranks that are ``present``, in a fixed tree.

        Each rank sums one slice of all vectors, and sends it to the others: as many bytes as an all-reduce.
        """
        if self.size == 1:
            return vector
        share = -(-len(vector) // self.size)
        mine = np.zeros(share * self.size, vector.dtype)
        mine[: len(vector)] = vector
        slices = np.empty((self.size, share), vector.dtype)
        self._comm.Alltoall(mine, slices)
        total = tree_sum([each if there else None for each, there in zip(slices, present, strict=True)], np.add)
        self._comm.Allgather(np.ascontiguousarray(total), mine)
        return mine[: len(vector)]

    def first_reason(self, reason: str | None) -> str | None:
        """The reason of the first rank that has one; None where none has."""
        if self.size == 1:
            return reason
        given = np.array([reason is not None], np.int8)
        any_given = np.empty_like(given)
        self._comm.Allreduce(given, any_given, op=self._mpi.MAX)
        if not any_given[0]:
            return None
        reasons: list[str | None] = self._comm.allgather(reason)
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

    def require_equal(self, what: str, value: bytes) -> None:
        """Raise a `StateError` on each rank where they differ in ``value``."""
        if self.size == 1:
            return
        found = self._comm.allgather(hashlib.sha256(value).digest())
        others = [rank for rank, each in enumerate(found) if each != found[0]]
        if others:
            got = f"{what} of rank {', '.join(map(str, others))} differ from those of rank 0"
            raise StateError(explain("DataParallel", "all ranks begin alike", got, "start them with the same program"))

    # -------------------------------------------------------------- errors

    @contextmanager
    def together(self) -> Generator[None, None, None]:
        """In this block, a rank that ends with an error ends the job: the others would wait for it. A signal ends all
        ranks alike, and no job.
        """
        if self.size == 1:
            yield
            return
        self._depth += 1
        if self._depth == 1:
            atexit.register(self._abort)
        try:
            yield
        except (KeyboardInterrupt, SystemExit):
            self._leave()
            raise
        self._leave()

    def _leave(self) -> None:
        self._depth -= 1
        if not self._depth:
            atexit.unregister(self._abort)

    def _abort(self) -> None:
        """End all ranks; called when a process ends in the middle of a training. A rank that is not the first gives
        that one time to say what happened on both.
        """
        if not self.is_first:
            time.sleep(_PATIENCE)
        text = sys.stderr.getvalue() if isinstance(sys.stderr, io.StringIO) else ""  # of `quiet_others`
        whose = f"typednn: rank {self.rank} of {self.size}, on {socket.gethostname()}, ended the job"
        print(f"{text}{whose}", file=sys.__stderr__, flush=True)
        self._comm.Abort(1)


def tree_sum(values: Sequence[Any], add: Callable[[Any, Any], Any]) -> Any:
    """The sum of a power of two of ``values``, neighbours first, then pairs of these; None counts as nothing."""
    level = list(values)
    while len(level) > 1:
        level = [
            second if first is None else first if second is None else add(first, second)
            for first, second in zip(level[::2], level[1::2], strict=True)
        ]
    return level[0]
