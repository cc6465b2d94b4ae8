"""Regions: what is made inside goes at the end, all at once, except what is kept.

    with region() as kept:
        hidden = x @ w
        y = kept(hidden.sum(axis=1).realize())
    y.numpy()                 # as ever
    hidden.numpy()            # StateError: it was released

A tensor lives as long as somebody refers to it, and Python's counting of references sees to that. A region does not
wait for it: whatever still refers to a tensor that was made inside, a list or an exception's traceback, its node and
its array go at the end. What a kept tensor is computed from stays in the graph with it until it is realized. A kept
tensor belongs to the region around this one, if there is any. A region is its thread's own: what other threads make
meanwhile stays.

Memory: 8 bytes for each tensor made inside, beside its node. Source: karintomania's tomo-zig, ``Chain``.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from threading import get_ident
from typing import TypeVar, final

from typednn.errors import ArgumentError, StateError, explain
from typednn.graph.graph import GRAPH
from typednn.graph.tensor import AnyTensor, Tensor, note, regions

T = TypeVar("T", bound=AnyTensor)


@final
class Kept:
    """What outlives a region."""

    def __init__(self) -> None:
        self._is_open: bool = True
        self.tensors: list[AnyTensor] = []

    def __call__(self, x: T) -> T:
        """``x`` itself, which outlives the region."""
        if not self._is_open:
            raise StateError(
                explain("region", "keeps tensors until its end", "one to keep after that", "keep it inside the block")
            )
        given: object = x
        if not isinstance(given, Tensor):
            raise ArgumentError(explain("region", "keeps tensors, one at a time", type(given).__name__))
        self.tensors.append(x)
        return x

    def close(self) -> None:
        """Keep no more."""
        self._is_open = False


@contextmanager
def region() -> Generator[Kept]:
    """Within this block tensors are noted; at its end those that were not kept are released, whoever refers to them."""
    kept, made = Kept(), list[AnyTensor]()
    own = get_ident(), made
    regions.append(own)
    try:
        yield kept
    finally:
        kept.close()
        regions[:] = [each for each in regions if each is not own]
        outlive = {id(each) for each in kept.tensors}
        for each in made:
            if id(each) in outlive:
                note(each)
            else:
                each.release()
        GRAPH.collect()
