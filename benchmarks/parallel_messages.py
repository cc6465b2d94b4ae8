"""How long messages take between the ranks that ``mpiexec`` has started, by size; the first rank prints.

``exchange``: a vector summed in typednn's fixed order, beside a plain all-reduce. ``messages``: one way from rank to
rank (half of there and back), all-reduce, all-to-all. Medians; every call begins when all ranks are there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from mpi4py import MPI

from typednn.parallel import Ranks

SIZES = (8, 1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26)  # bytes


def seconds(comm: MPI.Comm, run: Callable[..., object], arguments: tuple[Any, ...], size: int) -> float:
    """The median of some runs; of each, the time of the slowest rank."""
    found: list[float] = []
    for number in range(2 + (7 if size > 1 << 22 else 50)):
        comm.Barrier()
        started = perf_counter()
        run(*arguments)
        took = comm.allreduce(perf_counter() - started, op=MPI.MAX)
        found += [took] * (number >= 2)
    return median(found)


def exchange(comm: MPI.Comm, ranks: Ranks) -> None:
    """The sum of a vector in both ways."""
    if ranks.is_first:
        print(f"sum over {ranks.size} ranks: bytes, exact in ms, all-reduce in ms, ratio")
    for size in SIZES[1:]:
        vector, present = np.zeros(size // 4, np.float32), [True] * ranks.size
        exact = seconds(comm, ranks.add_up, (vector, present), size)
        plain = seconds(comm, ranks.all_reduce, (vector,), size)
        if ranks.is_first:
            print(f"{size:12,}{1e3 * exact:12.3f}{1e3 * plain:12.3f}{exact / plain:10.2f}", flush=True)


def there_and_back(comm: MPI.Comm, mine: Any, other: Any) -> None:
    """From the first rank to the second and back; the others wait."""
    if comm.Get_rank() == 0:
        comm.Send(mine, 1)
        comm.Recv(other, 1)
    elif comm.Get_rank() == 1:
        comm.Recv(other, 0)
        comm.Send(other, 0)


def messages(comm: MPI.Comm) -> None:
    """One way, all-reduce and all-to-all."""
    rank, count = comm.Get_rank(), comm.Get_size()
    if rank == 0:
        print(f"{count} ranks: bytes, point to point, all-reduce, all-to-all, in µs")
    for size in SIZES:
        mine, other = np.zeros(size // 4, np.float32), np.empty(size // 4, np.float32)

        one_way = seconds(comm, there_and_back, (comm, mine, other), size) / 2
        reduced = seconds(comm, comm.Allreduce, (mine, other), size)
        parts = np.zeros(-(-len(mine) // count) * count, np.float32)
        shared = seconds(comm, comm.Alltoall, (parts, np.empty_like(parts)), size)
        if rank == 0:
            print(f"{size:12,}" + "".join(f"{1e6 * each:12.1f}" for each in (one_way, reduced, shared)), flush=True)


if __name__ == "__main__":
    world = Ranks()
    if sys.argv[1] == "exchange":
        exchange(MPI.COMM_WORLD, world)
    else:
        messages(MPI.COMM_WORLD)
