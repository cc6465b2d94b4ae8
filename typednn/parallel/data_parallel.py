"""DataParallel: each batch is cut into shards, and each rank computes the gradients of some of them.

gradient = (Σ_s divisor_s·gradient_s) / Σ_s divisor_s       s over the shards, the sums in one fixed tree

The number of shards is fixed, so the sums are the same whoever computes them: training on 1, 2, 4 or 8 ranks ends with
the same weights, bit for bit, on processors of one type with the same versions of typednn and NumPy. With
``exchange="fastest"`` each rank's rows are one shard, and MPI sums in its own order: another number of ranks gives
other bits. A layer with batch statistics has those of a shard, and its running statistics move by the mean over the
shards; with ``sync_batchnorm`` batch normalisations have those of the batch (`typednn.parallel.meeting`). Dropout draws
another mask for each shard, by a key of its own.

Bytes: a rank sends and receives the gradient twice, as in an all-reduce. Memory: of n shards at most log2(n) + 1 sums.
Source: Li et al. 2020, "PyTorch Distributed: Experiences on Accelerating Data Parallel Training".
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import pairwise
from typing import Any, Final, Literal, TypeAlias, final, get_args

import numpy as np

from typednn.arguments import choice, flag, integer
from typednn.arrays import is_array, namespace
from typednn.backends import read_together, to_device
from typednn.engines.blas import on_one_thread
from typednn.errors import ArgumentError, explain
from typednn.module.gradients import Gradient, set_shared
from typednn.module.module import Module
from typednn.parallel.in_flight import ShardState
from typednn.parallel.meeting import Meetings, Part
from typednn.parallel.nccl import Nccl
from typednn.parallel.pipeline import Pipeline, Shard
from typednn.parallel.ranks import Ranks
from typednn.parallel.slices import summed
from typednn.parallel.sums import Flat, Tree, added

MOST: Final = 1 << 15  # shards

ExchangeName: TypeAlias = Literal["exact", "fastest"]

# The gradient of some rows, what their loss divided by, and the loss.
Computed = tuple[Any, float | None, float]


@final
class DataParallel:
    """How a batch is shared out over the ranks of the job, for ``fit(…, parallel=DataParallel())``.

    ``shards`` is a power of two and a multiple of the number of ranks, by default 8; it decides the bits, the ranks
    don't. Of a batch with fewer rows some shards are empty. ``exchange="fastest"`` gives that up: there is a shard for
    each rank, and one plain all-reduce. With ``shard_optimizer`` each rank keeps the optimizer's arrays of a slice of
    every parameter, and steps that: the same bits in less memory. With ``stages`` a chain or a GPT-2 is cut into so
    many parts, and so many ranks compute a shard together, each a part of the model: ``shards`` is then a multiple of
    the ranks divided by the stages. The bits stay the same. With ``sync_batchnorm`` batch normalisations have the mean
    and variance of the whole batch, and their backward its sums: a rank's shards run side by side, and what the
    forwards of all of them keep is in memory at once. An `ArgumentError` where they don't fit; a
    `typednn.errors.MissingExtra` where the process is one of several and mpi4py is not installed.
    """

    def __init__(
        self,
        shards: int | None = None,
        *,
        exchange: ExchangeName = "exact",
        shard_optimizer: bool = False,
        stages: int = 1,
        sync_batchnorm: bool = False,
    ) -> None:
        self.exchange: ExchangeName = choice("DataParallel", "exchange", exchange, get_args(ExchangeName))
        self.shard_optimizer: bool = flag("DataParallel", "shard_optimizer", shard_optimizer)
        self.stages: int = integer("DataParallel", "stages", stages)
        self.sync_batchnorm: bool = flag("DataParallel", "sync_batchnorm", sync_batchnorm)
        self.ranks: Ranks = Ranks()
        self.pipeline: Pipeline | None = None  # from the first batch on
        self.gpus: Nccl | None = None  # of several ranks with a model on GPUs
        self.first_row: int = 0
        """Where the rows that are computed now begin in the batch."""
        # the ranks that compute one shard, one stage each, and those that have the same stage
        self.chain: Ranks = self.ranks
        self.replicas: Ranks = self.ranks
        others = {"exchange='fastest'": exchange == "fastest", "shard_optimizer": shard_optimizer}
        given = next((name for name, is_given in {**others, "sync_batchnorm": sync_batchnorm}.items() if is_given), "")
        if self.stages > 1 and given:
            rule = "a model in stages has the exact exchange, whole optimizers and statistics of shards"
            cure = "leave one of both out"
            raise ArgumentError(explain("DataParallel", rule, f"stages={stages} with {given}", cure), "stages")
        if exchange == "fastest":
            if shards is not None:
                rule, cure = "exchange='fastest' has a shard for each rank", "leave shards out"
                raise ArgumentError(explain("DataParallel", rule, f"shards={shards!r}", cure), "shards")
            self.shards: int = self.ranks.size
            return
        self.shards = integer("DataParallel", "shards", 8 if shards is None else shards)
        if self.shards & (self.shards - 1) or self.shards > MOST:
            rule = f"shards is a power of two, at most {MOST:,}"
            raise ArgumentError(explain("DataParallel", rule, str(shards)), "shards")
        if self.ranks.size % self.stages:
            rule, got = "each replica has a rank for each stage", f"{self.stages} stages on {self.ranks.size} ranks"
            cure = f"start {self.stages} ranks, or a multiple"
            raise ArgumentError(explain("DataParallel", rule, got, cure), "stages")
        if self.shards % (self.ranks.size // self.stages):
            rule, got = (
                "each rank has as many shards",
                f"{self.shards} shards on {self.ranks.size // self.stages} ranks",
            )
            cure = "start 1, 2, 4 or 8 ranks, or give shards"
            raise ArgumentError(explain("DataParallel", rule, got, cure), "shards")
        if self.stages > 1:
            self.chain = self.ranks.split(self.ranks.rank // self.stages)
            self.replicas = self.ranks.split(self.ranks.rank % self.stages)

    def __repr__(self) -> str:
        stages = "" if self.stages == 1 else f"stages={self.stages}, "
        how = f"shards={self.shards}" if self.exchange == "exact" else f"exchange={self.exchange!r}"
        synced = "sync_batchnorm=True, " if self.sync_batchnorm else ""
        return f"DataParallel({how}, {stages}{synced}rank={self.ranks.rank}, size={self.ranks.size})"

    @property
    def note(self) -> str:
        """What a training with it gives up; "" where it is nothing."""
        return "" if self.exchange == "exact" else "exchange=fastest: on another number of ranks the bits are others"

    @contextmanager
    def together(self) -> Generator[None, None, None]:
        """In this block all ranks train, and one with an error ends the job. With the exact exchange one thread
        computes a product, so that the cores that a rank has don't change the bits.
        """
        with self.ranks.together(), on_one_thread() if self.exchange == "exact" else nullcontext():
            yield

    @property
    def told(self) -> tuple[int, str, bool, int, bool]:
        """What must be alike on all ranks."""
        return self.shards, self.exchange, self.shard_optimizer, self.stages, self.sync_batchnorm

    def begin(self, model: Module, optimizer: Any, x: Any, rows: int) -> Pipeline | None:
        """Before the first batch of a training, which has so many rows: the model is cut into ``stages``, by what they
        cost on a shard of ``x``. None where it is not cut.
        """
        self.pipeline = None
        if self.stages > 1:
            self.pipeline = Pipeline(model, self.ranks, self.chain, x[: -(-rows // self.shards)])
            self.pipeline.release(optimizer)
        return self.pipeline

    def check(self, model: Module, transforms: Sequence[Any], averages: bool) -> None:
        """Before a training: an `ArgumentError` for what one in several stages, or on a device, does not have. Ranks
        with GPUs meet here.
        """
        self.ranks.require_equal("the devices of the model", model.device.encode(), model.device)
        self.gpus = None if model.device == "cpu" else self._met(model.device)
        if self.stages > 1 and (transforms or averages):
            rule, got = "a model in stages has no transform and no average", "ema" if averages else "a transform"
            raise ArgumentError(explain("fit", rule, got, "leave it out, or leave stages out"), "parallel")

    def _met(self, device: str) -> Nccl | None:
        others = {"stages": self.stages > 1, "sync_batchnorm": self.sync_batchnorm}
        given = [name for name, is_given in {**others, "shard_optimizer": self.shard_optimizer}.items() if is_given]
        if given:
            rule = "a model on a device has whole optimizers, one stage and statistics of shards"
            got = f"{given[0]} with a model on {device!r}"
            raise ArgumentError(explain("fit", rule, got, "leave it out, or leave the model on the CPU"), "parallel")
        if self.ranks.size > 1 and device != "cuda":
            rule, got = "ranks exchange arrays of 'cpu' and 'cuda'", f"a model on {device!r}"
            raise ArgumentError(explain("fit", rule, got, "leave parallel out"), "parallel")
        return self.gpus or (Nccl(self.ranks) if self.ranks.size > 1 else None)

    def searched(self, x: Any, batch: Any) -> tuple[Any, int, str]:
        """Where to look for what made the loss of the rows ``x`` of a ``batch`` infinite: these rows, or all whose
        statistics they have; the first one's place in the batch; and on which rank they are, for a message.
        """
        rows, first = (batch, 0) if self.sync_batchnorm else (x, self.first_row)
        return rows, first, self.ranks.on()

    @property
    def whole_forwards(self) -> bool:
        """Whether a shard's forward and backward have the whole model, and wait for nobody."""
        return self.stages == 1 and not self.sync_batchnorm

    @property
    def own(self) -> range:
        """The shards that this rank computes."""
        each = self.shards // self.replicas.size
        return range(self.replicas.rank * each, (self.replicas.rank + 1) * each)

    def _ends(self, rows: int) -> list[int]:
        """Where each shard of a batch of so many rows begins, and where the last one ends."""
        return [rows * shard // self.shards for shard in range(self.shards + 1)]

    def own_rows(self, rows: int) -> list[slice]:
        """Which of a batch's rows this rank needs: those of each of its shards that has some, in order. Without any it
        needs the next one, to know what a gradient looks like.
        """
        ends = self._ends(rows)[self.own.start : self.own.stop + 1]
        return [slice(*each) for each in pairwise(ends) if each[0] < each[1]] or [slice(ends[0], ends[0] + 1)]

    def batches(self, loader: Any) -> Iterator[Any]:
        """The rest of the loader's epoch, with the rows of this rank only where the loader can do that. With GPUs and
        with ``sync_batchnorm`` it gets all, as it looks in all for what made a loss infinite.
        """
        # an object may pass on the names of another
        shares = not self.sync_batchnorm and self.gpus is None and hasattr(loader.__class__, "shared_batches")
        found: Iterator[Any] = loader.shared_batches(self.own_rows) if shares else loader.batches()
        return found

    def computed(
        self,
        model: Module,
        compute: Callable[[Any, Any, Any], Computed],
        x: Any,
        y: Any,
        weight: Any,
        whole: int | None = None,
    ) -> Computed:
        """The gradient of the batch, what its loss divided by, and its loss, the same on each rank.

        ``compute`` gives these of some rows. ``whole`` is how many rows the batch has, where ``x`` has `own_rows` only.
        Where ``compute`` leaves losses on a device, those of all shards are read at once, and the batch's is put there.
        """
        state = ShardState(model if self.pipeline is None else self.pipeline.stage)
        count, before = (len(x), 0) if whole is None else (whole, self.own_rows(whole)[0].start)
        ends = [end - before for end in self._ends(count)]  # places in x
        alike = -(-count // self.shards)  # rows of the largest shard
        tree, told = Tree(added), np.zeros((len(self.own), 2))  # of each shard: loss·divisor, divisor or 0
        losses: dict[int, Any] = {}
        pattern: Any = None
        loss: Any = None
        divisor: float | None = None
        leaves = 0
        rows = [(shard, slice(ends[shard], ends[shard + 1])) for shard in self.own if ends[shard] < ends[shard + 1]]
        shards = self._shards(compute, state, x, y, weight, rows, before)
        for place, shard in enumerate(self.own):
            if ends[shard] == ends[shard + 1]:
                tree.put(None)
                continue
            shared = None if pattern is None else pattern.shared_leaves()  # the same in each shard
            pattern, divisor, loss, moved = next(shards)
            if shared is not None:
                set_shared(pattern, shared)
            losses[place], told[place] = loss, (1.0 if divisor is None else divisor, divisor or 0.0)
            # by 1 where nothing counts: the others' rows may count by its statistics
            scaled = _scaled(pattern.leaves().values(), 1.0 if divisor is None else (divisor or 1.0) / alike)
            leaves = len(scaled)
            tree.put([*scaled, *moved])
        next(shards, None)  # a stage waits here for what it has sent
        if tree.total is None:  # this rank has no rows: those that it got show what a gradient looks like
            everything = [(self.own.start, slice(0, len(x)))]
            shards = self._shards(compute, state, x, y, weight, everything, before, counts=False)
            ((pattern, divisor, loss, moved),) = shards
            found = [*pattern.leaves().values()]
            leaves, total = len(found), Flat.zeros([*found, *moved])
        else:
            total = Flat.of(tree.total)
            told[[*losses], 0] *= _numbers([*losses.values()])
        late = is_array(loss)
        # the loss is known to the last stage
        every = self.ranks.gathered(told).reshape(-1, self.stages, *told.shape)[:, -1].reshape(-1, 2)
        present = np.diff(ends) > 0
        arrays = self._exchanged(total, leaves, [bool(part.any()) for part in np.split(present, self.replicas.size)])
        loss, counted = (float(sum(every[present, column].tolist())) for column in (0, 1))
        if divisor is not None:  # a mean
            divisor, loss = counted, loss / (counted or 1.0)
            for array in arrays[:leaves]:
                namespace(array).multiply(array, array.dtype.type(alike / (counted or 1.0)), out=array)
        state.finish(arrays[leaves:], int(present.sum()))
        sums: Iterator[Any] = iter(arrays[:leaves])

        def taken(_: Any) -> Any:
            return next(sums)

        value: Any = to_device(np.asarray(loss), model.device) if late else loss
        return pattern.map(taken), divisor, value

    @property
    def slices(self) -> bool:
        """Whether this rank keeps the optimizer's arrays of slices only, and so gets those of the gradient."""
        return self.shard_optimizer and self.ranks.size > 1

    def _exchanged(self, total: Flat, leaves: int, present: list[bool]) -> list[Any]:
        """The sums over all ranks with the same stage; of the gradient, the first ``leaves`` arrays, slices where this
        rank keeps those.
        """
        sums = summed(self.ranks, total.arrays[:leaves], present) if self.slices else []
        rest = Flat.of(total.arrays[leaves:]) if self.slices else total
        for vector in rest.vectors.values():
            if self.exchange == "fastest":
                (self.gpus or self.ranks).all_reduce(vector)
            else:
                (self.gpus or self.replicas).add_up(vector, present)
        return [*sums, *rest.arrays]

    def _shards(
        self,
        compute: Callable[[Any, Any, Any], Computed],
        state: ShardState,
        x: Any,
        y: Any,
        weight: Any,
        rows: Sequence[tuple[int, slice]],
        before: int,
        counts: bool = True,
    ) -> Iterator[Shard]:
        """Of each shard, whose number and ``rows`` are given, what this rank computes, in order; ``before`` rows of the
        batch are before ``x``. One that does not count adds nothing to the statistics of the batch.
        """

        def computed(x: Any, part: slice) -> Computed:
            self.first_row = before + part.start
            return _computed(compute, x, y[part], None if weight is None else weight[part])

        if self.pipeline is not None:
            yield from self.pipeline.shards(computed, x, rows, state.begin, state.moved)
            return
        meetings = Meetings(state.model, self.ranks, self.own) if self.sync_batchnorm else None
        if meetings is not None and meetings.places:
            parts = [Part(shard, counts, partial(computed, x[part], part)) for shard, part in rows]
            for found in meetings.computed(parts, state):
                yield *found, state.moved()
            return
        for shard, part in rows:
            state.begin(shard)
            yield *computed(x[part], part), state.moved()


def _computed(compute: Callable[[Any, Any, Any], Computed], x: Any, y: Any, weight: Any) -> Computed:
    """What ``compute`` gives of these rows; an `ArgumentError` where it is no gradient that can be summed."""
    found = compute(x, y, weight)
    if not isinstance(found[0], Gradient):
        got, cure = type(found[0]).__qualname__, "derive it from Gradient"
        raise ArgumentError(explain("fit", "parallel sums gradients", got, cure), "parallel")
    return found


def _numbers(losses: list[Any]) -> list[float]:
    """Losses as numbers; those on a device are waited for once."""
    return [number for (number,) in read_together(losses)] if is_array(losses[0]) else losses


def _scaled(arrays: Iterable[Any], factor: float) -> list[Any]:
    return [*arrays] if factor == 1.0 else [each * each.dtype.type(factor) for each in arrays]
