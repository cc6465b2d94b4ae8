"""The ranks of a job, and what they exchange: one process each, started by ``mpiexec``.

Only standard collectives of MPI are used. Each call is one that all ranks make, in the same order.
"""

import atexit
import hashlib
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, final

import numpy as np
import numpy.typing as npt

from typednn.errors import StateError, explain, optional

# Variables with which MPICH, Open MPI and Slurm tell a process how many ranks its job has.
SIZES: Final = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")
_PATIENCE = 1.0  # seconds that a rank with an error waits for the first rank's, which is then the one that is told


def started() -> bool:
    """Whether this process was started by ``mpiexec`` or ``srun``, as one of a job's ranks."""
    return any(name in os.environ for name in SIZES)


@final
class Ranks:
    """All ranks of the job; this process is number ``rank`` of ``size``. A process alone is rank 0 of 1.

    A rank whose training ends in an error ends the job: the others would wait for it.
    """

    def __init__(self) -> None:
        self._mpi: Any = None
        self._comm: Any = None
        self.rank: int = 0
        self.size: int = 1
        self._waited_for = False
        if started():
            self._mpi = optional(
                "mpi4py.MPI", "DataParallel", "needs mpi4py and an MPI", "pip install 'typednn[mpi]'"
            )
            self._comm = self._mpi.COMM_WORLD.Dup()
            self.rank, self.size = self._comm.Get_rank(), self._comm.Get_size()

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
        return next(each for each in self._comm.allgather(reason) if each is not None)

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

    def watch(self) -> Callable[[], None]:
        """From now on a process that ends ends the job; until what is returned is called."""
        if self.size > 1 and not self._waited_for:
            self._waited_for = True
            atexit.register(self._abort)
        return self._unwatch

    def _unwatch(self) -> None:
        self._waited_for = False
        atexit.unregister(self._abort)

    def _abort(self) -> None:
        """End all ranks; called when a process ends in the middle of a training, after its message is written."""
        if not self.is_first:
            time.sleep(_PATIENCE)
        sys.stdout.flush()
        print(f"typednn: rank {self.rank} of {self.size}, on {socket.gethostname()}, ended the job", file=sys.stderr)
        sys.stderr.flush()
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
