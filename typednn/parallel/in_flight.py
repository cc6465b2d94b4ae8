"""What shards leave in a model: layers keep what one forward leaves for its backward, and a forward changes buffers.
Where several wait in the middle, what each has left is taken away and put back.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, TypeAlias, final

from typednn.arrays import is_floating
from typednn.module.module import Module
from typednn.module.state import CallState, Cell

# Of each layer: what a backward is held to, what it needs, and the forward that the layer took part in.
Left: TypeAlias = list[tuple[CallState, Any, Any, Any]]


def calls_of(nodes: Iterable[Module]) -> Iterator[CallState]:
    """What calls leave in each of these."""
    for node in nodes:
        yield node.__typednn_calls__
        for half in node.__typednn_calls__.halves or ():
            yield half.__typednn_calls__


def taken(calls: Iterable[CallState]) -> Left:
    """What the last forward has left, which is taken away."""
    left: Left = []
    for state in calls:
        left.append((state, state.record, state.kept, state.token))
        state.record, state.kept, state.token = None, {}, None
    return left


def put_back(left: Left) -> None:
    """What follows is of that forward."""
    for state, record, kept, token in left:
        state.record, state.kept, state.token = record, kept, token


@final
class ShardState:
    """What shards leave in a model. Each begins with the buffers as the step found them."""

    def __init__(self, model: Module) -> None:
        self.model = model
        learnt = {id(array) for array in model.named_parameters().values()}
        self._buffers: dict[str, Any] = {
            name: array for name, array in model.state_dict().items() if id(array) not in learnt
        }
        self._before = {name: array.copy() for name, array in self._buffers.items()}

    @cached_property
    def _nodes(self) -> list[Module]:
        return [node for _, node in self.model.named_modules()]

    @cached_property
    def _cells(self) -> list[Cell]:
        """In backward a layer may hold others for a moment, as `Repeat` does."""
        return [cell for *_, cell in self.model.named_fields("buffer")]

    def begin(self, shard: int) -> None:
        """Everything as before the step; the keys of masks are the shard's."""
        for name, array in self._buffers.items():
            array[...] = self._before[name]
            if _is_seed(name, array):
                array[0] ^= shard

    def left(self) -> tuple[Left, list[Any], list[Any]]:
        """What this shard has left so far, which is taken away."""
        held = [cell.array for cell in self._cells]
        return taken(calls_of(self._nodes)), held, [array.copy() for array in self._buffers.values()]

    def put_back(self, left: tuple[Left, list[Any], list[Any]]) -> None:
        """Go on with what a shard has left."""
        calls, held, values = left
        put_back(calls)
        for cell, array in zip(self._cells, held, strict=True):
            cell.array = array
        for array, value in zip(self._buffers.values(), values, strict=True):
            array[...] = value

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
