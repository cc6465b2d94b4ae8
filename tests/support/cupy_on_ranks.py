"""A stand-in for the module ``cupy`` in processes without a GPU: the ranks of an MPI job, or one alone.

`install` makes StrictArrays the arrays of the device "cuda", and numbers some GPUs that are none. ``cupy.cuda.nccl``
exchanges their numbers over MPI, and refuses what NCCL refuses, and what it answers by waiting for ever or by other
numbers:

==========================================  ====================================================================
ranks that make a communicator              have the same identifier, each a number of its own below their count
an address                                  is of an array on the device, C-contiguous, with as many numbers of
                                            that type; the stream is the current one
a sum over all ranks                        has the same count, type and operation on each
messages from one rank to another           are received as they are sent: as many, of the same counts and types
a message outside of a group                waits for the other rank, which may wait, too: refused, to itself too
==========================================  ====================================================================

All ranks see the same mistake at the same time, so that none waits. What it does not show: that work on a GPU is under
way while Python goes on, and NCCL's order of sums.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple, final

import numpy as np
import strict_array
from strict_array import Address, StrictArray, strict_namespace

STREAM = 4242  # the current one
_TYPES = {"NCCL_FLOAT16": 6, "NCCL_FLOAT32": 7, "NCCL_FLOAT64": 8}  # NCCL's numbers
_SUM = 0


class NcclError(RuntimeError):
    """As of ``cupy.cuda.nccl``; here also where NCCL would wait, or read other memory."""


class Message(NamedTuple):
    """One call of a group."""

    kind: str
    peer: int
    size: int
    datatype: int
    numbers: Any


def _every(value: Any) -> list[Any]:
    """What each rank of the job gives."""
    if "PMI_SIZE" not in os.environ and "OMPI_COMM_WORLD_SIZE" not in os.environ:
        return [value]
    from mpi4py import MPI

    return MPI.COMM_WORLD.allgather(value)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise NcclError(what)


@final
class _Group:
    """The calls since ``groupStart``, of the one communicator that a process has here."""

    def __init__(self) -> None:
        self.depth = 0
        self.messages: list[Message] = []
        self.received: list[Any] = []  # where the next messages go
        self.comm: NcclCommunicator | None = None

    def start(self) -> None:
        self.depth += 1

    def end(self) -> None:
        _require(self.depth > 0, "groupEnd without groupStart")
        self.depth -= 1
        if self.depth or self.comm is None:
            return
        messages, received, comm = self.messages, self.received, self.comm
        self.messages, self.received = [], []
        every = _every(messages)
        for sender, theirs in enumerate(every):
            for receiver, ours in enumerate(every):
                sent = [each[2:4] for each in theirs if (each.kind, each.peer) == ("send", receiver)]
                expected = [each[2:4] for each in ours if (each.kind, each.peer) == ("recv", sender)]
                _require(
                    sent == expected,
                    f"rank {sender} sends (count, type) {sent} to rank {receiver}, which receives {expected}",
                )
        coming = [
            [each.numbers for each in theirs if (each.kind, each.peer) == ("send", comm.rank)] for theirs in every
        ]
        for message, into in zip([each for each in messages if each.kind == "recv"], received, strict=True):
            into[...] = coming[message.peer].pop(0)


@final
class NcclCommunicator:
    def __init__(self, ndev: int, commId: bytes, rank: int) -> None:  # noqa: N803
        _require(len(commId) == 128, "an identifier has 128 bytes")
        every = _every((ndev, commId, rank))
        _require(len({each[:2] for each in every}) == 1, "the ranks have other identifiers, or other sizes")
        _require(sorted(each[2] for each in every) == list(range(ndev)), "each rank has a number below their count")
        self.rank = rank
        self.size = ndev
        _group.comm = self

    def _array(self, address: int, count: int, datatype: int, stream: int) -> Any:
        array = address.array if isinstance(address, Address) else None
        _require(type(array) is StrictArray, "the address is of no array on the device")
        assert array is not None
        _require(array.flags.c_contiguous, "the array has gaps, which NCCL does not see")
        _require(count == array.size, f"{count} numbers of an array of {array.size}")
        _require(_TYPES.get(f"NCCL_{array.dtype.name.upper()}") == datatype, f"{array.dtype} as type {datatype}")
        _require(stream == STREAM, "another stream than the current one")
        return array._base

    def allReduce(  # noqa: N802
        self, sendbuf: int, recvbuf: int, count: int, datatype: int, op: int, stream: int
    ) -> None:
        ours, into = (self._array(each, count, datatype, stream) for each in (sendbuf, recvbuf))
        every = _every((count, datatype, op, ours))
        _require(len({each[:3] for each in every}) == 1, "the ranks sum other counts, types or operations")
        _require(op == _SUM, "a sum is meant")
        into[...] = sum(each[3] for each in reversed(every))  # in no order that anybody may rely on

    def send(self, sendbuf: int, count: int, datatype: int, peer: int, stream: int) -> None:
        numbers = self._array(sendbuf, count, datatype, stream)
        self._note(Message("send", peer, count, datatype, numbers))

    def recv(self, recvbuf: int, count: int, datatype: int, peer: int, stream: int) -> None:
        _group.received.append(self._array(recvbuf, count, datatype, stream))
        self._note(Message("recv", peer, count, datatype, None))

    def _note(self, message: Message) -> None:
        _require(_group.depth > 0, f"{message.kind} outside of a group")
        _require(0 <= message.peer < self.size, f"no rank {message.peer}")
        _group.messages.append(message)


_group = _Group()


def _nccl(available: bool) -> ModuleType:
    nccl: Any = ModuleType("cupy.cuda.nccl")
    nccl.available = available
    if available:
        members = {"NcclCommunicator": NcclCommunicator, "NcclError": NcclError, "NCCL_SUM": _SUM, **_TYPES}
        vars(nccl).update(members)
        nccl.get_unique_id = lambda: os.urandom(128)
        nccl.groupStart, nccl.groupEnd = _group.start, _group.end
    module: ModuleType = nccl
    return module


def _cuda(gpus: int) -> ModuleType:
    current = [0]

    @final
    class Device:
        def __init__(self, device: int | None = None) -> None:
            self.id = current[0] if device is None else device
            self.pci_bus_id = f"0000:{self.id:02X}:00.0"

        def use(self) -> None:
            assert 0 <= self.id < gpus, f"there is no GPU {self.id}"
            current[0] = self.id

        def synchronize(self) -> None:
            """Nothing is under way."""

    cuda: Any = ModuleType("cupy.cuda")
    cuda.__path__ = []
    cuda.Device = Device
    cuda.runtime = SimpleNamespace(getDeviceCount=lambda: gpus)
    cuda.get_current_stream = lambda: SimpleNamespace(ptr=STREAM)
    module: ModuleType = cuda
    return module


def _asarray(a: Any, dtype: Any = None) -> StrictArray:
    """This alone takes NumPy's arrays: to the device. An array of the device is given back as it is."""
    found: Any = strict_array.to_strict(a) if type(a) is np.ndarray else strict_namespace.asarray(a, dtype=dtype)
    return a if isinstance(a, StrictArray) and dtype in (None, a.dtype) else found


def modules(*, gpus: int = 8, nccl: bool = True) -> dict[str, ModuleType]:
    """The stand-in's modules by name, on a machine with so many GPUs, with or without NCCL."""
    cupy: Any = ModuleType("cupy")
    cupy.__getattr__ = lambda name: getattr(strict_namespace, name)
    cupy.ndarray, cupy.asarray, cupy.asnumpy = StrictArray, _asarray, strict_array.to_numpy
    cupy.cuda = _cuda(gpus)
    return {"cupy": cupy, "cupy.cuda": cupy.cuda, "cupy.cuda.nccl": _nccl(nccl)}


def install(*, gpus: int = 8, nccl: bool = True) -> None:
    """From now on ``import cupy`` gives the stand-in."""
    sys.modules.update(modules(gpus=gpus, nccl=nccl))
