"""How long messages take between the ranks that ``mpiexec`` has started, by size; the first rank prints.

``exchange``: a vector summed in typednn's fixed order, beside a plain all-reduce. ``messages``: one way from rank to
rank (half of there and back), all-reduce, all-to-all. ``overlap``: an all-to-all, then an all-gather, under way while
each rank multiplies matrices, beside first one and then the other: the fastest of some runs. Else medians. Every call
begins when all ranks are there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from mpi4py import MPI

from typednn.parallel import Ranks

SIZES = (8, 1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26)  # bytes
UNDER_WAY = (1_000_000, 16_000_000, 43_000_000)  # bytes; the last is the gradient of a GPT-2 of 10.7 M parameters
RUNS = {46: 40, 460: 6}  # by the number of products, of about 1.1 ms each


def slowest(comm: MPI.Comm, run: Callable[..., object], *arguments: Any) -> float:
    """Seconds of the rank that takes longest."""
    comm.Barrier()
    started = perf_counter()
    run(*arguments)
    return float(comm.allreduce(perf_counter() - started, op=MPI.MAX))


def seconds(comm: MPI.Comm, run: Callable[..., object], arguments: tuple[Any, ...], size: int) -> float:
    """The median of some runs, behind two that do not count."""
    found = [slowest(comm, run, *arguments) for _ in range(2 + (7 if size > 1 << 22 else 50))]
    return median(found[2:])


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


class Both:
    """The messages of a sum of vectors, of ``size`` bytes in two halves, and an even number of products."""

    def __init__(self, comm: MPI.Comm, size: int, products: int) -> None:
        self.comm, self.products = comm, products
        each = size // 4 // comm.Get_size()
        self.vector, self.parts = np.zeros((2, each * comm.Get_size()), np.float32)
        self.own = np.zeros(each, np.float32)
        self.counts = [each] * comm.Get_size()
        self.left, self.right, self.out = np.ones((3, 512, 512), np.float32)

    def halves(self) -> Iterator[MPI.Request]:
        """The second half begins when the first is asked for no more."""
        yield self.comm.Ialltoallv([self.vector, self.counts], [self.parts, self.counts])
        yield self.comm.Iallgatherv(self.own, [self.vector, self.counts])

    def multiply(self, count: int, request: MPI.Request | None = None) -> None:
        """With a request, MPI may go on with it after each product."""
        for _ in range(count):
            np.matmul(self.left, self.right, out=self.out)
            if request is not None:
                request.Test()

    def compute(self) -> None:
        """The products only."""
        self.multiply(self.products)

    def exchange(self) -> None:
        """The messages only."""
        for request in self.halves():
            request.Wait()

    def in_order(self) -> None:
        """First one, then the other."""
        self.compute()
        self.exchange()

    def at_once(self) -> None:
        """Half of the products while each half is under way."""
        for request in self.halves():
            self.multiply(self.products // 2)
            request.Wait()

    def tested(self) -> None:
        """`at_once`, and MPI is called between products."""
        for request in self.halves():
            self.multiply(self.products // 2, request)
            request.Wait()


def overlap(comm: MPI.Comm) -> None:
    """How much of an exchange costs no time where it is under way while matrices are multiplied."""
    if comm.Get_rank() == 0:
        how = os.environ.get("MPICH_ASYNC_PROGRESS", "0")
        print(f"{comm.Get_size()} ranks, MPICH_ASYNC_PROGRESS={how}, products of 512 x 512, in ms:")
        print("       bytes  products  exchange  in order   at once    tested")
    for products, runs in RUNS.items():
        for size in UNDER_WAY:
            both = Both(comm, size, products)
            ways = (both.compute, both.exchange, both.in_order, both.at_once, both.tested)
            found: list[list[float]] = [[] for _ in ways]
            for _ in range(2 + runs):  # in turns
                for times, way in zip(found, ways, strict=True):
                    times.append(slowest(comm, way))
            if comm.Get_rank() == 0:
                print(f"{size:12,}" + "".join(f"{1e3 * min(times[2:]):10.2f}" for times in found), flush=True)


if __name__ == "__main__":
    world = Ranks()
    if sys.argv[1] == "exchange":
        exchange(MPI.COMM_WORLD, world)
    elif sys.argv[1] == "overlap":
        overlap(MPI.COMM_WORLD)
    else:
        messages(MPI.COMM_WORLD)
