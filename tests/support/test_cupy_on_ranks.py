"""The stand-in for CuPy on ranks refuses what NCCL refuses, and what NCCL answers by waiting or by other numbers.

What another rank does is made up here; `tests.parallel.test_nccl` has real ones.
"""

import re
from typing import Any

import cupy_on_ranks
import numpy as np
import pytest
from cupy_on_ranks import STREAM, NcclCommunicator, NcclError
from strict_array import to_strict

IDENTIFIER, FLOAT32 = bytes(128), 7


def alone() -> NcclCommunicator:
    return NcclCommunicator(1, IDENTIFIER, 0)


def refused(said: str) -> Any:
    return pytest.raises(NcclError, match=re.escape(said))


def test_arrays_that_are_not_as_they_are_said_to_be() -> None:
    whole, comm = to_strict(np.ones((4, 6), np.float32)), alone()

    def summed(array: Any, count: int = 6, datatype: int = FLOAT32, stream: int = STREAM) -> None:
        comm.allReduce(array.data.ptr, array.data.ptr, count, datatype, 0, stream)

    summed(whole[1])
    with refused("the array has gaps"):
        summed(whole[:3, :2])
    with refused("5 numbers of an array of 6"):
        summed(whole[1], 5)
    with refused("float32 as type 8"):
        summed(whole[1], datatype=8)
    with refused("another stream than the current one"):
        summed(whole[1], stream=0)
    with refused("the address is of no array on the device"):
        comm.allReduce(whole._base.ctypes.data, whole.data.ptr, 24, FLOAT32, 0, STREAM)
    with refused("a sum is meant"):
        comm.allReduce(whole.data.ptr, whole.data.ptr, 24, FLOAT32, 2, STREAM)


@pytest.mark.parametrize("name", ["send", "recv"])
def test_messages_that_have_no_other_end(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    group, array = cupy_on_ranks._Group(), to_strict(np.ones(6, np.float32))
    monkeypatch.setattr(cupy_on_ranks, "_group", group)
    call = getattr(alone(), name)
    with refused(f"{name} outside of a group"):
        call(array.data.ptr, 6, FLOAT32, 0, STREAM)
    with refused("groupEnd without groupStart"):
        group.end()
    group.start()
    with refused("no rank 1"):
        call(array.data.ptr, 6, FLOAT32, 1, STREAM)


@pytest.mark.parametrize("sent", [0, 5, 6])
def test_messages_that_are_not_received_as_they_are_sent(monkeypatch: pytest.MonkeyPatch, sent: int) -> None:
    group, numbers = cupy_on_ranks._Group(), to_strict(np.arange(12, dtype=np.float32))
    monkeypatch.setattr(cupy_on_ranks, "_group", group)
    comm = alone()
    group.start()
    comm.recv(numbers[6:].data.ptr, 6, FLOAT32, 0, STREAM)
    if sent:
        comm.send(numbers[:sent].data.ptr, sent, FLOAT32, 0, STREAM)
    if sent == 6:
        group.end()
        assert numbers.tolist() == [*range(6)] * 2
    else:
        with refused(
            f"rank 0 sends (count, type) {[(sent, FLOAT32)] if sent else []} to rank 0, which receives [(6, 7)]"
        ):
            group.end()


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        ((2, IDENTIFIER, 0), (2, bytes([1] * 128), 1), "the ranks have other identifiers, or other sizes"),
        ((2, IDENTIFIER, 0), (3, IDENTIFIER, 1), "the ranks have other identifiers, or other sizes"),
        ((2, IDENTIFIER, 0), (2, IDENTIFIER, 0), "each rank has a number below their count"),
        ((2, IDENTIFIER, 2), (2, IDENTIFIER, 1), "each rank has a number below their count"),
        ((2, b"short", 0), (2, b"short", 1), "an identifier has 128 bytes"),
    ],
)
def test_ranks_that_differ(monkeypatch: pytest.MonkeyPatch, ours: Any, theirs: Any, said: str) -> None:
    monkeypatch.setattr(cupy_on_ranks, "_every", lambda value: [value, theirs])
    with refused(said):
        NcclCommunicator(*ours)


@pytest.mark.parametrize(("place", "value"), [(0, 5), (1, 8), (2, 1)], ids=["count", "type", "operation"])
def test_sums_that_differ(monkeypatch: pytest.MonkeyPatch, place: int, value: int) -> None:
    comm, array = alone(), to_strict(np.ones(6, np.float32))
    theirs: list[Any] = [6, FLOAT32, 0, np.ones(6, np.float32)]
    theirs[place] = value
    monkeypatch.setattr(cupy_on_ranks, "_every", lambda value: [value, tuple(theirs)])
    with refused("the ranks sum other counts, types or operations"):
        comm.allReduce(array.data.ptr, array.data.ptr, 6, FLOAT32, 0, STREAM)
