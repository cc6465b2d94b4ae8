"""NCCL: sums over the GPUs of all ranks, one GPU each, in the order of `Ranks`: gradients never pass through the host.

MPI tells all ranks NCCL's identifier. From then on each rank makes the same calls in the same order, on CuPy's current
stream. Messages of a group are under way together, so that no rank waits for its turn. They go between two ranks each:
an all-gather of NCCL would need slices of equal size.
Source: NVIDIA, "NCCL User Guide", the chapters on group calls and on point-to-point communication.
"""

import socket
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, final

from typednn.backends import select
from typednn.backends.cupy_backend import nccl
from typednn.errors import ArgumentError, explain
from typednn.parallel.ranks import Ranks
from typednn.parallel.sums import sum_of


@final
class Nccl:
    """What `Ranks` does with vectors on the CPU, with CuPy's; all ranks make it at once.

    An `ArgumentError` where two ranks have the same GPU; a `typednn.errors.MissingExtra` for a CuPy without NCCL.
    """

    def __init__(self, ranks: Ranks) -> None:
        self._cupy: Any = select("cuda").namespace
        self._nccl: Any = nccl()
        self._rank, self._size = ranks.rank, ranks.size
        _check_gpus(ranks, self._cupy.cuda)
        identifier = ranks.from_first(self._nccl.get_unique_id() if ranks.is_first else None)
        self._comm: Any = self._nccl.NcclCommunicator(ranks.size, identifier, ranks.rank)

    def add_up(self, vector: Any, present: Sequence[bool]) -> None:
        """`Ranks.add_up`, to the same bits."""
        ends = [len(vector) * rank // self._size for rank in range(self._size + 1)]
        parts = [vector[start:stop] for start, stop in pairwise(ends)]
        slices = self._cupy.empty((self._size, len(parts[self._rank])), vector.dtype)
        self._exchange(parts, slices)
        self._exchange([sum_of(slices, present)] * self._size, parts)

    def all_reduce(self, vector: Any) -> None:
        """The sum of all ranks' vectors, in the order of NCCL, written over each rank's."""
        at = vector.data.ptr
        self._comm.allReduce(at, at, vector.size, self._kind(vector), self._nccl.NCCL_SUM, self._stream)

    def _exchange(self, sent: Sequence[Any], received: Sequence[Any]) -> None:
        """Send an array to each rank, itself too, and receive one from each. Arrays without numbers don't travel."""
        self._nccl.groupStart()
        for rank, (ours, theirs) in enumerate(zip(sent, received, strict=True)):
            if ours.size:
                self._comm.send(ours.data.ptr, ours.size, self._kind(ours), rank, self._stream)
            if theirs.size:
                self._comm.recv(theirs.data.ptr, theirs.size, self._kind(theirs), rank, self._stream)
        self._nccl.groupEnd()

    def _kind(self, array: Any) -> int:
        """NCCL's number of the array's type: of float32 it is ``NCCL_FLOAT32``."""
        kind: int = getattr(self._nccl, f"NCCL_{array.dtype.name.upper()}")
        return kind

    @property
    def _stream(self) -> int:
        """On which CuPy computes now: NCCL works behind what was asked before, and before what is asked later."""
        stream: int = self._cupy.cuda.get_current_stream().ptr
        return stream


def _check_gpus(ranks: Ranks, cuda: Any) -> None:
    """NCCL would wait, or end with an error that names no rank."""
    host, gpus = socket.gethostname(), cuda.runtime.getDeviceCount()
    taken: dict[Any, int] = {}
    for rank, place in enumerate(ranks.every((host, cuda.Device().pci_bus_id))):
        first = taken.setdefault(place, rank)
        if first != rank:
            got = f"GPU {place[1]} of {place[0]} for ranks {first} and {rank}"
            cure = f"start as many ranks as GPUs (here {gpus}), and make DataParallel() before model.to('cuda')"
            raise ArgumentError(explain("DataParallel", "each rank has a GPU of its own", got, cure))
