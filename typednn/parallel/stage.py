"""Stage: neighbouring pieces of a model as one model, with their names in the whole, and what several of its forwards
keep.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, cast, final

from jaxtyping import Shaped

from typednn.arrays import AnyArray
from typednn.layer import Chain, Layer, Parts, S
from typednn.module.gradients import ChainGrad, deferred
from typednn.module.layer import AnyChainGrad
from typednn.module.module import Module
from typednn.parallel.cutting import Member, Piece
from typednn.parallel.in_flight import Left, calls_of, taken


@final
class Stage(Layer[AnyArray, AnyArray, AnyChainGrad, S]):
    """Some pieces, one after another. Its layers have the names that they have in the model.

    ``first``: the derivative by its input is not computed where nothing reads it.
    """

    def __init__(self, pieces: Sequence[Piece], first: bool) -> None:
        self.steps: tuple[Any, ...] = tuple(steps_of(pieces))
        self.joined: tuple[bool, ...] = tuple(isinstance(step, Parts) for step in self.steps)  # chains
        self.first: bool = first
        self.pieces: tuple[Piece, ...] = tuple(pieces)
        self.places: dict[str, tuple[int, Member]] = dict(_places(pieces))

    def children(self) -> Iterator[tuple[str, Module]]:
        return ((path, member[1]) for path, (_, member) in self.places.items())

    def gradient_of(self, grad: Any, name: str) -> Any:
        place, (_, _, part) = self.places[name]
        return part(grad.parts[place])

    def forward(self, x: Shaped[AnyArray, "batch *input"]) -> Shaped[AnyArray, "batch *output"]:
        for step in self.steps:
            x = step.forward(x)
        return x

    def backward(self, next_grad: Shaped[AnyArray, "batch *output"]) -> AnyChainGrad:
        derivative: Any = next_grad
        parts: list[Any] = []  # of each piece, the last one's first
        gradient: Any = None
        unread = False
        for place in reversed(range(len(self.steps))):
            step: Any = self.steps[place]
            several = self.joined[place]
            unread = self.first and place == 0 and several
            gradient = step.run_back(derivative) if unread else step.backward(derivative)
            parts += reversed(gradient.parts) if several else [gradient]
            derivative = None if unread else gradient.input
        kind: Any = ChainGrad
        whole = tuple(reversed(parts))
        later = unread and gradient.is_deferred
        made = deferred(kind, lambda: gradient.input, {"parts": whole}) if later else kind(gradient.input, whole)
        return cast("AnyChainGrad", made)

    def __repr__(self) -> str:
        return f"Stage({', '.join(self.places)})"

    def kept(self) -> Left:
        """What the last forward has kept, which is taken away."""
        return taken(calls_of([self, *(node for step in self.steps for _, node in step.named_modules())]))


def steps_of(pieces: Sequence[Piece]) -> Iterator[Any]:
    """What runs one after another: the layers of pieces, and parts of a chain as one chain."""
    kind: Any = Chain
    for layer, together in groupby(pieces, key=lambda piece: piece.layer):
        if layer is not None:
            yield layer
            continue
        several = list(together)
        yield kind([part for piece in several for _, part, _ in piece.members])


def _places(pieces: Sequence[Piece]) -> Iterator[tuple[str, tuple[int, Member]]]:
    """Each layer by its path, and the place of the gradient that it is part of."""
    place = 0
    for piece in pieces:
        for member in piece.members:
            yield member[0], (place, member)
            place += piece.layer is None
        place += piece.layer is not None
