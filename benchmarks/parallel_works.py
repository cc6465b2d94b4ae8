"""What `benchmarks.parallel` measures: one training on several ranks, which wait between their turns.

``mpiexec -n 2 python -m benchmarks.parallel_works torch lenet5 FOLDER`` reads orders from standard input: ``results``
writes the loss and the gradients of the first batch to FOLDER, ``steps 5`` prints the seconds of five steps, ``memory``
the megabytes of each rank between steps, and at most since the results. Ranks that wait sleep, so that they don't
disturb who has the turn. The folder holds what is shared: GPT-2's weights.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from socket import socket
from time import perf_counter, sleep
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from benchmarks import gpt2_works, works
from benchmarks.gpt2_works import Size, enumerate_names, tokens

LENET5 = replace(works.WORKS["lenet5-step"], title="LeNet5, batch 1200, step with SGD", batch=1200)
GPT2, ROWS, LENGTH = Size(65, 256, 384, 6, 6), 16, 256  # nanoGPT's model of characters for a GPU: 10.7 M parameters
SIZES = (784, 128, 127, 126, 125, 124, 123, 10)  # ShallowSpeed's network, batch and rate, as its train.py has them
BATCH, PIECES, RATE = 128, 4, 0.006
SHARED_OUT: dict[str, Callable[[Any], Any]] = {
    "typednn": lambda parallel: parallel(),
    "typednn-2-shards": lambda parallel: parallel(2),
    "typednn-fastest": lambda parallel: parallel(exchange="fastest"),
}
DIVIDED: dict[str, Callable[[Any], Any]] = {  # what else a rank has less of
    "typednn-stages": lambda parallel: parallel(stages=2),
    "typednn-sharded": lambda parallel: parallel(shard_optimizer=True),
}
PAUSE = 0.001  # seconds between two looks of a rank that waits


class Job(Protocol):
    """One library's training; all ranks make the same calls."""

    def results(self) -> dict[str, Any]:
        """Loss and gradients of a first step, the same names in each library."""
        ...

    def step(self) -> object:
        """A step of the training."""
        ...


def _mpi() -> Any:
    from mpi4py import MPI

    return MPI


class Typednn:
    """typednn, on the ranks that ``mpiexec`` has started."""

    def __init__(self, model: Any, loss: Any, optimizer: Any, x: Any, y: Any, parallel: Any) -> None:
        from typednn.training.pending_step import updated
        from typednn.training.sharded_optimizer import ShardedOptimizer

        self.model, self.loss, self.optimizer, self.x, self.y = model, loss, optimizer, x, y
        self._updated: Callable[..., bool] = updated
        self.parallel = parallel
        self.model.train()
        self.pipeline = parallel.begin(model, optimizer.bind(model), x, len(x))
        self.learner: Any = model if self.pipeline is None else self.pipeline.stage
        self.sharded = ShardedOptimizer(parallel.ranks, model, optimizer) if parallel.slices else None

    def _compute(self, x: Any, y: Any, _: Any) -> tuple[Any, float | None, float]:
        prediction = self.learner.forward(x)
        value, derivative = self.loss.loss_and_grad(prediction, y)
        return self.learner.backward(derivative), self.loss.divisor(prediction, y), float(value)

    def step(self) -> tuple[float, Any]:
        grad, _, value = self.parallel.computed(self.model, self._compute, self.x, self.y, None)
        self._updated(self.learner, self.optimizer, self.sharded, grad, None)
        return value, grad

    def results(self) -> dict[str, Any]:
        value, grad = self.step()
        gradients = self.learner.named_gradients(grad if self.sharded is None else self.sharded.whole(grad))
        found = {name: each.copy() for name, each in gradients.items()}
        if self.pipeline is not None:
            found = self.pipeline.merged(found)
        return {"loss": np.array(value), **dict(enumerate_names(found[name] for name in self.model.named_parameters()))}


class Distributed:
    """PyTorch's DistributedDataParallel over gloo, each rank with its rows; ``zero`` shares out the optimizer."""

    def __init__(self, work: str, folder: Path, zero: bool = False) -> None:
        import torch

        comm = _mpi().COMM_WORLD
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        store = (folder / f"store-{work}-{self.size}-{zero}").as_uri()
        torch.distributed.init_process_group("gloo", init_method=store, rank=self.rank, world_size=self.size)
        self.work = work
        if work == "lenet5":
            self.inner: Any = works.Torch(LENET5, "channels_last")
            self.x, self.y = self._own(self.inner.x), self._own(self.inner.y)
        else:
            self.inner = gpt2_works.Theirs(GPT2, folder)
            x, y = tokens(GPT2, ROWS, LENGTH), tokens(GPT2, ROWS, LENGTH, seed=1)
            self.x, self.y = self._own(torch.tensor(x)), self._own(torch.tensor(y))
        self.torch: Any = torch
        self.model: Any = torch.nn.parallel.DistributedDataParallel(self.inner.model)
        if zero:
            from torch.distributed.optim import ZeroRedundancyOptimizer

            kind, rate = torch.optim.AdamW, gpt2_works.RATE
            self.inner.optimizer = ZeroRedundancyOptimizer(self.model.parameters(), kind, lr=rate, fused=True)

    def _own(self, rows: Any) -> Any:
        return own_rows(rows, self.rank, self.size)

    def step(self) -> Any:
        self.inner.optimizer.zero_grad()
        scores = self.model(self.x) if self.work == "lenet5" else self.model(self.x, use_cache=False).logits
        loss = self.torch.nn.functional.cross_entropy(scores.flatten(0, -2), self.y.flatten())
        loss.backward()
        self.inner.optimizer.step()
        return loss.detach()

    def results(self) -> dict[str, Any]:
        value = self.step()
        self.torch.distributed.all_reduce(value)
        named = dict(self.inner.model.named_parameters())
        if self.work == "lenet5":
            gradients = [
                works.channels_last(LENET5, ours, named[theirs].grad.contiguous().numpy())
                for ours, theirs in self.inner.names.items()
            ]
        else:  # `transformers` keeps these weights as (in, out)
            turned = ("c_attn.weight", "c_proj.weight", "c_fc.weight")
            gradients = [(each.grad.T if name.endswith(turned) else each.grad).numpy() for name, each in named.items()]
        return {"loss": value.numpy() / self.size, **dict(enumerate_names(each.copy() for each in gradients))}


class JaxRanks:
    """JAX with a process for each rank, over gloo: LeNet5's whole step under jit, on the rows of all."""

    def __init__(self) -> None:
        from importlib import import_module

        jax, comm = import_module("jax"), _mpi().COMM_WORLD
        rank, size = comm.Get_rank(), comm.Get_size()
        with socket() as free:
            free.bind(("127.0.0.1", 0))
            address = comm.bcast(f"127.0.0.1:{free.getsockname()[1]}")
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(address, num_processes=size, process_id=rank)
        self.inner = works.Jax(LENET5)
        sharding, mesh = jax.sharding, jax.make_mesh((size,), ("rows",))
        rows, alike = (sharding.NamedSharding(mesh, sharding.PartitionSpec(*each)) for each in (("rows",), ()))
        x, y = (own_rows(np.asarray(each), rank, size) for each in (self.inner.x, self.inner.y))
        self.inner.x, self.inner.y = (jax.make_array_from_process_local_data(rows, each) for each in (x, y))
        arrays = {name: np.asarray(each) for name, each in self.inner.parameters.items()}
        self.inner.parameters = {name: jax.device_put(each, alike) for name, each in arrays.items()}

    def step(self) -> None:
        self.inner.run(1)

    def results(self) -> dict[str, Any]:
        grad, _ = self.inner.slopes(self.inner.parameters, self.inner.x, self.inner.y)
        gradients = {name: works.turned_back(np.asarray(each)) for name, each in grad.items()}
        return dict(enumerate_names(gradients[name] for name in works.weights(LENET5)))


def own_rows(rows: Any, rank: int, size: int) -> Any:
    """A rank's part of a batch."""
    each = len(rows) // size
    return rows[rank * each : (rank + 1) * each]


def rows_of_numbers() -> tuple[Any, Any]:
    """As many as ShallowSpeed's batch, of its shape, and one of ten classes for each, as numbers."""
    rng = np.random.default_rng(6)
    x = rng.random((BATCH, SIZES[0]), dtype=np.float32)
    return x, np.eye(SIZES[-1], dtype=np.float32)[rng.integers(0, SIZES[-1], BATCH)]


class ShallowSpeed:
    """ShallowSpeed's own MLP, worker and schedule, from a folder with a copy of it (``SHALLOWSPEED``)."""

    def __init__(self) -> None:
        from importlib import import_module

        sys.path.insert(0, os.environ["SHALLOWSPEED"])
        sys.modules.setdefault("pandas", ModuleType("pandas"))  # which only its files of images need
        layers, pipe, optimizer = (import_module(f"shallowspeed.{each}") for each in ("layers", "pipe", "optimizer"))
        comm = _mpi().COMM_WORLD
        rank, size = comm.Get_rank(), comm.Get_size()
        self.model: Any = layers.MLP([*SIZES], stage_idx=0, n_stages=1, batch_size=BATCH)
        self.model.train()
        x, y = rows_of_numbers()
        self.mubatch_size = BATCH // size // PIECES
        self._x, self._y = x[rank::size].copy(), y[rank::size].copy()
        self.worker: Any = pipe.Worker(
            comm, _mpi().COMM_SELF, self.model, self, optimizer.SGD(self.model.parameters(), RATE)
        )
        self._schedule: Callable[[], Any] = lambda: pipe.GPipeSchedule(PIECES, 1, 0)

    def load_micro_batch_input(self, _: int, piece: int) -> Any:
        return self._x[piece * self.mubatch_size : (piece + 1) * self.mubatch_size]

    def load_micro_batch_target(self, _: int, piece: int) -> Any:
        return self._y[piece * self.mubatch_size : (piece + 1) * self.mubatch_size]

    def step(self) -> None:
        self.worker.execute(self._schedule(), 0)

    def results(self) -> dict[str, Any]:
        """It does not compute the loss."""
        self.step()
        return dict(enumerate_names(each.grad.reshape(-1).copy() for each in self.model.parameters()))


def _mlp(parallel: Any) -> Typednn:
    """ShallowSpeed's network and initial weights in typednn; its loss is a sum over outputs, a mean over rows."""
    from typednn import Input
    from typednn.layers import Linear, ReLU, Softmax
    from typednn.losses import MSE
    from typednn.optim import SGD

    model: Any = Input(SIZES[0])
    for place, (features, outputs) in enumerate(pairwise(SIZES), 1):
        model = model >> Linear(features, outputs)
        model = model >> (Softmax() if place == len(SIZES) - 1 else ReLU())
    arrays = model.init(np.random.default_rng(0)).named_parameters()
    for array in arrays.values():
        if array.ndim == 2:
            generator = np.random.MT19937(np.random.SeedSequence(array.shape[1] + array.shape[0] * 1337))
            drawn = np.random.RandomState(generator).normal(0.0, 1.0, array.shape)
            array[...] = drawn.astype(np.float32) / np.sqrt(array.shape[1])
        else:
            array[...] = 0
    return Typednn(model, MSE(reduction="sum"), SGD(RATE / BATCH), *rows_of_numbers(), parallel)


class _Summed:
    """`_mlp`, whose gradients are compared as ShallowSpeed gives them: of the mean over rows."""

    def __init__(self, parallel: Any) -> None:
        self.inner = _mlp(parallel)

    def step(self) -> object:
        return self.inner.step()

    def results(self) -> dict[str, Any]:
        found = self.inner.results()
        return {name: each.reshape(-1) / BATCH for name, each in found.items() if name != "loss"}


def job(name: str, work: str, folder: Path) -> Job:
    """The training of this library."""
    if name == "shallowspeed":
        return ShallowSpeed()
    if name == "jax":
        return JaxRanks()
    if name.startswith("torch"):
        return Distributed(work, folder, zero=name == "torch-zero")
    from typednn.parallel import DataParallel

    parallel = (SHARED_OUT | DIVIDED)[name](DataParallel)
    if work == "mlp":
        return _Summed(parallel)
    if work == "lenet5":
        inner = works.Typednn(LENET5, planned=False)
        return Typednn(inner.model, inner.loss, inner.optimizer, inner.x, inner.y, parallel)
    ours = gpt2_works.Ours(GPT2, folder)
    rows = tokens(GPT2, ROWS, LENGTH), tokens(GPT2, ROWS, LENGTH, seed=1)
    return Typednn(ours.model, ours.loss, ours.optimizer, *rows, parallel)


def megabytes() -> list[float]:
    """What this process has in memory, now and at most, as Linux counts it."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    found = {line.split()[0]: float(line.split()[1]) / 1e3 * 1.024 for line in lines if line.endswith(" kB")}
    return [found["VmRSS:"], found["VmHWM:"]]


def serve(name: str, work: str, folder: Path) -> None:
    """Take turns until the standard input ends."""
    comm = _mpi().COMM_WORLD
    rank, size = comm.Get_rank(), comm.Get_size()
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # libraries print, too
    training = job(name, work, folder)
    if rank == 0 and name.startswith("typednn"):
        from typednn.engines import blas, get_threads

        print(f"  {name}, {size} ranks: {get_threads()} thread each, {blas.why()}", file=sys.stderr, flush=True)
    while True:
        if rank == 0:
            order = sys.stdin.readline().split()
            for other in range(1, size):
                comm.send(order, other)
        else:
            while not comm.iprobe(source=0):
                sleep(PAUSE)
            order = comm.recv(source=0)
        answer: object = None
        match order:
            case ["results"]:
                found = training.results()
                if rank == 0:
                    np.savez(folder / f"{name}-{work}-{size}.npz", **found)
                del found
                Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # Linux counts the peak from here on
            case ["memory"]:
                answer = comm.gather(megabytes())
            case ["steps", count]:
                seconds: list[float] = []
                comm.Barrier()
                for _ in range(int(count)):
                    started = perf_counter()
                    training.step()
                    seconds.append(perf_counter() - started)
                answer = seconds
            case _:
                return
        if rank == 0:
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
