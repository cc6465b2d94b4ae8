"""Pipeline: a model cut into stages, one for each rank of a replica; shards run through them, one forward and one
backward in turns.

stage s of S:  S - s - 1 forwards, then a forward and a backward in turns, then the backwards that are left

So at most S - s shards are kept on stage s. Outputs go to the next stage, derivatives back to the one before, each with
what the loss divided by. A shard's gradient is computed alone, by the kernels and in the order of a model in one piece.
Idle: (S - 1) of shards + S - 1 turns.
Source: Narayanan et al. 2019, "PipeDream"; the schedule that ends with each batch: Narayanan et al. 2021, "Efficient
Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", section 2.2.1.
"""

import math
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, final

from typednn.module.gradients import squares_of
from typednn.module.module import Module
from typednn.parallel.cutting import check_pieces, costs_of, cut, pieces_of
from typednn.parallel.in_flight import Left, put_back
from typednn.parallel.ranks import Ranks
from typednn.parallel.stage import Stage, steps_of

# A shard's gradient, what its loss divided by, its loss (0.0 but on the last stage), how its running statistics moved.
Shard = tuple[Any, float | None, float, list[Any]]
_OUTPUT, _DERIVATIVE, _TIED = 1, 2, 3  # what a message is


@final
class Pipeline:
    """This rank's stage of ``model``, in a replica whose ranks are ``chain``. All ranks make it at once; the first one
    of ``ranks`` measures on ``x``, and decides where the model is cut.
    """

    def __init__(self, model: Module, ranks: Ranks, chain: Ranks, x: Any) -> None:
        self.model = model
        self.chain = chain
        pieces = pieces_of(model)
        check_pieces(model, pieces, chain.size)
        bounds: list[int] | None = None
        if ranks.is_first:
            steps = [step for piece in pieces for step in steps_of([piece])]
            bounds = cut(costs_of(steps, x), chain.size)
        self.bounds: list[int] = ranks.from_first(bounds)
        own = pieces[self.bounds[chain.rank] : self.bounds[chain.rank + 1]]
        self.stage: Stage[Any] = Stage(own, self.is_first)
        self._tied: Any = pieces[0].tied  # what the first and the last stage have one weight of
        self._sent: list[Any] = []

    @property
    def is_first(self) -> bool:
        """Whether this rank has the first stage."""
        return self.chain.rank == 0

    @property
    def is_last(self) -> bool:
        """Whether this rank has the last stage, and the loss."""
        return self.chain.rank == self.chain.size - 1

    # -------------------------------------------------------------- a batch

    def shards(
        self,
        compute: Callable[[Any, slice], tuple[Any, float | None, float]],
        x: Any,
        rows: Sequence[tuple[int, slice]],
        begin: Callable[[int], object],
        moved: Callable[[], list[Any]],
    ) -> Iterator[Shard]:
        """What this stage computes of each shard, in order; ``compute(x, rows)`` is what the last one does with its
        input.
        """
        self._share_tied()
        waiting: deque[tuple[Left, Any]] = deque()  # what forwards have kept, and how they moved statistics
        left = self.chain.size - self.chain.rank - 1
        for place in range(len(rows) + left):
            if place < len(rows):
                shard, part = rows[place]
                given = x[part] if self.is_first else self.chain.receive(self.chain.rank - 1, _OUTPUT)[0]
                begin(shard)
                if self.is_last:
                    grad, divisor, loss = compute(given, part)
                    yield self._gone_back(grad, divisor), divisor, loss, moved()
                    continue
                y = self.stage.forward(given)
                waiting.append((self.stage.kept(), moved()))
                self._send(y, self.chain.rank + 1, _OUTPUT)
            if place >= left and waiting:
                kept, statistics = waiting.popleft()
                derivative, divisor = self.chain.receive(self.chain.rank + 1, _DERIVATIVE)
                put_back(kept)
                if self.is_first and self._tied is not None:
                    self.stage.steps[0].derivative = self.chain.receive(self.chain.size - 1, _TIED)[0]
                yield self._gone_back(self.stage.backward(derivative), divisor), divisor, 0.0, statistics
        self.chain.wait(self._sent)
        self._sent.clear()
        self.stage.kept()

    def _gone_back(self, grad: Any, divisor: float | None) -> Any:
        """The gradient, whose derivative by the input has gone to the stage before."""
        if not self.is_first:
            self._send(grad.input, self.chain.rank - 1, _DERIVATIVE, divisor)
        if self.is_last and self._tied is not None:
            self._send(self.stage.steps[-1].derivative, 0, _TIED)
        return grad

    def _send(self, array: Any, to: int, kind: int, number: float | None = None) -> None:
        self._sent += self.chain.send(array, to, kind, number)

    def _share_tied(self) -> None:
        """The last stage gets the first one's weight, which alone is updated."""
        if self._tied is None:
            return
        if self.is_first:
            self._send(self._tied.weight, self.chain.size - 1, _TIED)
        elif self.is_last:
            self._tied.weight[...] = self.chain.receive(0, _TIED)[0]
            self._tied.__typednn_storage__.cells["weight"].put(self._tied.weight)

    # -------------------------------------------------------------- what the stages have together

    def norm(self, grad: Any) -> float:
        """The Euclidean norm of the gradients of all stages, added up in the order of one process."""
        own = [*squares_of(grad.leaves()).values()]
        return math.sqrt(sum(square for squares in self.chain.every(own) for square in squares))

    def agreed(self, holds: bool) -> bool:
        """What the first rank says."""
        return bool(self.chain.every(holds)[0])

    def merged(self, found: dict[str, Any]) -> dict[str, Any]:
        """What all stages have found, the first stage's first."""
        return {name: value for each in self.chain.every(found) for name, value in each.items()}

    def gather(self) -> None:
        """Each rank gets the weights and buffers of all stages."""
        state = self.model.state_dict()
        for root in range(self.chain.size):
            own = self.stage.state_dict() if root == self.chain.rank else None
            for name, array in self.chain.shared(own, root):
                if own is None:
                    state[name][...] = array
        for _, _, _, cell in self.model.named_fields("parameter", "buffer"):
            cell.put(cell.array)

    @contextmanager
    def whole(self, optimizer: Any) -> Generator[None]:
        """In this block the first rank's model and optimizer have what all stages have, to be saved."""
        self.give_back(optimizer)
        yield
        self.release(optimizer)

    def give_back(self, optimizer: Any) -> None:
        """Each rank gets the weights and buffers of all stages, and the first one the optimizer's arrays."""
        self.gather()
        if not _is_saved(optimizer):
            return
        saved = optimizer.state_dict()
        for root in range(self.chain.size):
            own = self._of_stage(saved) if root == self.chain.rank else None
            for name, value in self.chain.shared(own, root):
                if self.is_first:
                    saved[name] = value
        if self.is_first:
            optimizer.load_state_dict(saved)

    def release(self, optimizer: Any) -> None:
        """Let go of the optimizer's arrays of other stages."""
        if not _is_saved(optimizer):
            return
        saved = optimizer.state_dict()
        others = self.model.named_parameters().keys() - self.stage.named_parameters().keys()
        for name in others:
            for key in [key for key in saved if key.rpartition(".")[0] == name]:
                del saved[key]
            saved[f"{name}.step"] = 0
        optimizer.load_state_dict(saved)

    def _of_stage(self, saved: dict[str, Any]) -> dict[str, Any]:
        names = self.stage.named_parameters().keys()
        return {key: value for key, value in saved.items() if key.rpartition(".")[0] in names}


def _is_saved(optimizer: Any) -> bool:
    """Whether its state goes by name, as that of typednn's optimizers does."""
    return hasattr(optimizer, "state_dict") and hasattr(optimizer, "load_state_dict")
