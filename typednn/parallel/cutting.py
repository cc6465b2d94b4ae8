"""How a model is cut into stages: its pieces, what each costs, and the cut whose longest stage is the shortest.

A chain's pieces are its parts; another model says its pieces itself, by a
method ``pieces`` (`typednn.models.GPT2` has one).
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np

from typednn.errors import ArgumentError, explain
from typednn.module.chain import Parts
from typednn.module.module import Module
from typednn.module.rehearsal import copied

# A layer within a piece: its path in the model, the layer, and its gradient in that of the piece.
Member: TypeAlias = tuple[str, Module, Callable[[Any], Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """What one stage holds whole. ``layer`` has ``forward`` and ``backward``; ``members`` are the layers that the stage
    updates. Parts of a chain have no ``layer``: those of one stage are one chain again.

    ``tied`` is a layer whose ``weight`` the first and the last piece share: the first updates it, the last hands its
    derivative over, each as ``derivative`` of their ``layer``.
    """

    members: tuple[Member, ...]
    layer: Any = None
    tied: Any = None


def pieces_of(model: Any, prefix: str = "") -> list[Piece]:
    """The pieces of a chain, or of a model that has a method ``pieces``; an `ArgumentError` for another model."""
    if hasattr(model, "pieces"):
        return [
            replace(piece, members=tuple((f"{prefix}{path}", *rest) for path, *rest in piece.members))
            for piece in model.pieces()
        ]
    if not isinstance(model, Parts) or not hasattr(model, "sliced") or hasattr(model, "dyn_layers"):
        cure = "write it as layers >> layers, or leave stages out"
        raise ArgumentError(explain("fit", "stages are parts of a chain or of GPT-2", type(model).__name__, cure))
    pieces: list[Piece] = []
    for name, part in zip(model.names, model.parts, strict=True):
        if hasattr(part, "pieces"):
            pieces += pieces_of(part, f"{prefix}{name}.")
        else:
            pieces.append(Piece(((f"{prefix}{name}", part, _whole),)))
    return pieces


def _whole(grad: Any) -> Any:
    return grad


def check_pieces(model: Module, pieces: Sequence[Piece], stages: int) -> None:
    """An `ArgumentError` where the model can't be cut so often, or not at all."""
    if len(pieces) < stages:
        rule, cure = f"{stages} stages need as many pieces", "take fewer stages"
        raise ArgumentError(explain("fit", rule, f"a model of {len(pieces)}", cure), "parallel")
    nodes = [node for _, node in model.named_modules()]
    kind = next((type(node).__name__ for node in nodes if node.foreign), None)
    if kind is not None:
        raise ArgumentError(explain("fit", "stages are of typednn's layers", kind, "leave stages out"), "parallel")
    if any(node.frozen for node in nodes):
        cure = "let all learn, or leave stages out"
        raise ArgumentError(explain("fit", "all layers of a model in stages learn", "frozen layers", cure), "parallel")
    seen: dict[int, str] = {}
    for piece in pieces:
        here: dict[int, str] = {}
        for path, member, _ in piece.members:
            here |= {id(cell): f"{path}.{name}".strip(".") for name, _, _, cell in member.named_fields("parameter")}
        twice = next((name for cell, name in here.items() if cell in seen), None)
        if twice is not None:
            rule, cure = "a parameter is of one piece of a model in stages", "leave stages out"
            raise ArgumentError(explain("fit", rule, f"{twice}, which another shares", cure), "parallel")
        seen |= here


def costs_of(steps: Sequence[Any], x: Any) -> list[float]:
    """Seconds of a forward and a backward of each step, of copies, one at a time."""
    costs: list[float] = []
    for step in steps:
        (other,) = copied(step)
        y, seconds = x, list[float]()
        for _ in range(2):  # the first time kernels are made
            start = time.perf_counter()
            y = other.forward(x)
            other.backward(np.zeros_like(y))
            seconds.append(time.perf_counter() - start)
        costs.append(min(seconds))
        x = y
    return costs


def cut(costs: Sequence[float], stages: int) -> list[int]:
    """Where each stage begins, and the end: so that the longest stage takes the least time, and none is empty.

    O(stages·pieces²): the best cut of the first pieces into one stage less, and one more stage.
    """
    sums = [0.0, *accumulate(costs)]
    best: list[tuple[float, list[int]]] = [(cost, [0, stop]) for stop, cost in enumerate(sums)]
    for stage in range(2, stages + 1):
        longer: list[tuple[float, list[int]]] = []
        for stop in range(len(sums)):
            ways = [
                (max(best[middle][0], sums[stop] - sums[middle]), [*best[middle][1], stop])
                for middle in range(stage - 1, stop)
            ]
            longer.append(min(ways) if ways else (math.inf, []))
        best = longer
    return best[-1][1]
