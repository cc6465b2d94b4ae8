"""DataParallel: each batch is cut into shards, and each rank computes the gradients of some of them.

gradient = (Σ_s divisor_s·gradient_s) / Σ_s divisor_s       s over the shards, the sums in one fixed tree

The number of shards is fixed, so the sums are the same whoever computes them: training on 1, 2, 4 or 8 ranks ends with
the same weights, bit for bit, on processors of one type with the same versions of typednn and NumPy. A layer with batch
statistics has those of a shard; its running statistics move by the mean over the shards. Dropout draws another mask for
each shard, by a key of its own.

Bytes: a rank sends and receives the gradient twice, as in an all-reduce. Memory: that of two gradients.
Source: Li et al. 2020, "PyTorch Distributed: Experiences on Accelerating Data Parallel Training".
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, final

import numpy as np

from typednn.arguments import integer
from typednn.arrays import is_floating
from typednn.errors import ArgumentError, explain
from typednn.module.gradients import Gradient
from typednn.module.module import Module
from typednn.parallel.pipeline import Pipeline, Shard
from typednn.parallel.ranks import Ranks, tree_sum

MOST: Final = 1 << 15  # shards

# The gradient of some rows, what their loss divided by, and the loss.
Computed = tuple[Any, float | None, float]


@final
class DataParallel:
    """How a batch is shared out over the ranks of the job, for ``fit(…, parallel=DataParallel())``.

    ``shards`` is a power of two and a multiple of the number of ranks; it decides the bits, the ranks don't. Of a batch
    with fewer rows some shards are empty. With ``stages`` a chain or a GPT-2 is cut into so many parts, and so many
    ranks compute a shard together, each a part of the model: ``shards`` is then a multiple of the ranks divided by the
    stages. The bits stay the same. An `ArgumentError` where ``shards`` or ``stages`` does not fit; a
    `typednn.errors.MissingExtra` where the process is one of several and mpi4py is not installed.
    """

    def __init__(self, shards: int = 8, *, stages: int = 1) -> None:
        self.shards: int = integer("DataParallel", "shards", shards)
        self.stages: int = integer("DataParallel", "stages", stages)
        self.ranks: Ranks = Ranks()
        self.pipeline: Pipeline | None = None  # from the first batch on
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
        # the ranks that compute one shard, one stage each, and those that have the same stage
        self.chain: Ranks = self.ranks.split(self.ranks.rank // self.stages)
        self.replicas: Ranks = self.ranks.split(self.ranks.rank % self.stages)

    def __repr__(self) -> str:
        stages = "" if self.stages == 1 else f"stages={self.stages}, "
        return f"DataParallel(shards={self.shards}, {stages}rank={self.ranks.rank}, size={self.ranks.size})"

    def begin(self, model: Module, optimizer: Any, x: Any) -> Pipeline | None:
        """Before a batch: at the first one the model is cut into ``stages``, by what they cost on a shard of ``x``.
        None where it is not cut.
        """
        if self.stages > 1 and (self.pipeline is None or self.pipeline.model is not model):
            self.pipeline = Pipeline(model, self.ranks, self.chain, x[: -(-len(x) // self.shards)])
            self.pipeline.release(optimizer)
        return self.pipeline

    def check(self, transforms: Sequence[Any], averages: bool) -> None:
        """An `ArgumentError` for what a training in several stages does not have."""
        if self.stages > 1 and (transforms or averages):
            rule, got = "a model in stages has no transform and no average", "ema" if averages else "a transform"
            raise ArgumentError(explain("fit", rule, got, "leave it out, or leave stages out"), "parallel")

    @property
    def own(self) -> range:
        """The shards that this rank computes."""
        each = self.shards // self.replicas.size
        return range(self.replicas.rank * each, (self.replicas.rank + 1) * each)

    def computed(
        self, model: Module, compute: Callable[[Any, Any, Any], Computed], x: Any, y: Any, weight: Any
    ) -> Computed:
        """The gradient of the batch, what its loss divided by, and its loss, the same on each rank.

        ``compute`` gives these of some rows.
        """
        if model.device != "cpu":
            rule, got = "parallel computes on the CPU", f"a model on {model.device!r}"
            raise ArgumentError(explain("fit", rule, got, "leave parallel out"), "parallel")
        state = _State(model if self.pipeline is None else self.pipeline.stage)
        ends = [len(x) * shard // self.shards for shard in range(self.shards + 1)]
        alike = -(-len(x) // self.shards)  # rows of the largest shard
        sums: list[Any] = [None] * len(self.own)
        told = np.zeros((len(self.own), 3))  # of each shard: loss·divisor, divisor or 0, whether it has rows
        pattern: Any = None
        divisor: float | None = None
        rows = [(shard, slice(ends[shard], ends[shard + 1])) for shard in self.own if ends[shard] < ends[shard + 1]]
        for (shard, _), each in zip(rows, self._shards(compute, state, x, y, weight, rows), strict=True):
            pattern, divisor, loss, moved = each
            told[shard - self.own.start] = loss * (1.0 if divisor is None else divisor), divisor or 0.0, 1.0
            scaled = _scaled(pattern.leaves().values(), 1.0 if divisor is None else divisor / alike)
            sums[shard - self.own.start] = [*scaled, *moved]
        total = tree_sum(sums, lambda first, second: [a + b for a, b in zip(first, second, strict=True)])
        if total is None:  # this rank has no rows: those of all show what a gradient looks like
            whole_batch = [(self.own.start, slice(0, len(x)))]
            ((pattern, divisor, _, moved),) = self._shards(compute, state, x, y, weight, whole_batch)
            total = [np.zeros_like(each) for each in (*pattern.leaves().values(), *moved)]
        every = self.ranks.gathered(told).reshape(-1, self.stages, *told.shape)[:, -1].reshape(-1, 3)
        present = every[:, 2] > 0
        total = self._exchanged(total, [bool(part.any()) for part in np.split(present, self.replicas.size)])
        loss, whole = (float(sum(every[present, column].tolist())) for column in (0, 1))
        leaves = len(pattern.leaves())
        if divisor is not None:  # a mean
            divisor, loss = whole, loss / (whole or 1.0)
            total[:leaves] = _scaled(total[:leaves], alike / (whole or 1.0))
        state.finish(total[leaves:], int(present.sum()))
        found: Iterator[Any] = iter(total[:leaves])

        def summed(_: Any) -> Any:
            return next(found)

        return pattern.map(summed), divisor, loss

    def _shards(
        self,
        compute: Callable[[Any, Any, Any], Computed],
        state: "_State",
        x: Any,
        y: Any,
        weight: Any,
        rows: Sequence[tuple[int, slice]],
    ) -> Iterator[Shard]:
        """Of each shard, whose number and ``rows`` are given, what this rank computes, in order."""

        def computed(x: Any, part: slice) -> Computed:
            return _computed(compute, x, y[part], None if weight is None else weight[part])

        if self.pipeline is not None:
            yield from self.pipeline.shards(computed, x, rows, state.begin, state.moved)
            return
        for shard, part in rows:
            state.begin(shard)
            yield *computed(x[part], part), state.moved()

    def _exchanged(self, arrays: list[Any], present: list[bool]) -> list[Any]:
        """The sums over all ranks; arrays of one type travel together."""
        if self.replicas.size == 1:
            return arrays
        made: list[Any] = list(arrays)
        for dtype in sorted({each.dtype for each in arrays}, key=str):
            places = [place for place, each in enumerate(arrays) if each.dtype == dtype]
            joined = np.concatenate([np.ravel(arrays[place]) for place in places])
            vector, start = self.replicas.summed(joined, present), 0
            for place in places:
                stop = start + arrays[place].size
                made[place] = vector[start:stop].reshape(arrays[place].shape)
                start = stop
        return made


def _computed(compute: Callable[[Any, Any, Any], Computed], x: Any, y: Any, weight: Any) -> Computed:
    """What ``compute`` gives of these rows; an `ArgumentError` where it is no gradient that can be summed."""
    found = compute(x, y, weight)
    if not isinstance(found[0], Gradient):
        got, cure = type(found[0]).__qualname__, "derive it from Gradient"
        raise ArgumentError(explain("fit", "parallel sums gradients", got, cure), "parallel")
    return found


def _scaled(arrays: Iterable[Any], factor: float) -> list[Any]:
    return [*arrays] if factor == 1.0 else [each * each.dtype.type(factor) for each in arrays]


class _State:
    """A model's buffers, which each shard begins with as the step found them."""

    def __init__(self, model: Module) -> None:
        learnt = {id(array) for array in model.named_parameters().values()}
        self._buffers: dict[str, Any] = {
            name: array for name, array in model.state_dict().items() if id(array) not in learnt
        }
        self._before = {name: array.copy() for name, array in self._buffers.items()}

    def begin(self, shard: int) -> None:
        """Everything as before the step; the keys of masks are the shard's."""
        for name, array in self._buffers.items():
            array[...] = self._before[name]
            if _is_seed(name, array):
                array[0] ^= shard

    def moved(self) -> list[Any]:
        """How far this shard has moved the running statistics."""
        return [array - self._before[name] for name, array in self._buffers.items() if is_floating(array.dtype)]

    def finish(self, moved: list[Any], shards: int) -> None:
        """The running statistics go on by the mean over the ``shards``; counts as of one shard."""
        means = iter(moved)
        for name, array in self._buffers.items():
            if _is_seed(name, array):
                array[0] = self._before[name][0]
            elif is_floating(array.dtype):
                array[...] = self._before[name] + next(means) / array.dtype.type(shards)


def _is_seed(name: str, array: Any) -> bool:
    return name.rpartition(".")[2] == "seed" and array.shape == (2,) and array.dtype.kind in "iu"
