"""Repeat: copies of a layer one after another, each with parameters of its own.

y = copy_times(… copy_2(copy_1(x)))       dx: each copy's dx, from the last to the first

x, y: any shape that the layer keeps. Keeps nothing itself. No arithmetic of its own.
With ``checkpointing`` each copy keeps its x, by reference, and its buffers as they were before it, such as a Dropout's
seed; the rest is dropped, and backward runs each copy's forward again, just before its backward. So one copy's values
are held at a time, at the cost of one more forward. All results are the same, to the bit: backward draws what forward
drew, and leaves the buffers as they are. The gradient is no smaller: it holds the derivatives by the inputs of all
layers.
Source: Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost", section 4.
"""

import copy
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, final

from jaxtyping import Shaped
from typing_extensions import TypeVar

from typednn.arguments import flag, integer
from typednn.errors import ArgumentError, explain
from typednn.layer import G, In, Layer, S, run, run_back
from typednn.module.fields import Kept
from typednn.module.gradients import Gradient, without_inner_inputs
from typednn.module.tree import modules_in

MOST: Final = 10_000  # layers, all in all: a number in a file would otherwise take all memory

X = TypeVar("X", covariant=True)
Inner = TypeVar("Inner", covariant=True)


@final
@dataclass(frozen=True, slots=True)
class RepeatGrad(Gradient, Generic[X, Inner]):
    """The loss's derivative by the input, and the whole gradient of each copy."""

    input: X
    copies: tuple[Inner, ...]


@final
class Repeat(Layer[In, In, RepeatGrad[In, G], S], Generic[In, G, S]):
    """``times`` copies of ``inner``, which keeps the shape; `init` draws each by itself. ``shared()`` makes layers that
    share.

    An `ArgumentError` for more than `MOST` layers all in all.

    ``checkpointing`` computes each copy a second time in backward, to keep only its input. Then a copy's state is in
    its buffers: what a part of no typednn class changes in itself is changed twice. Derivatives by what a copy's parts
    read are not kept: each copy's gradient has that by its own input, and those by its parameters.
    """

    copies: tuple[Layer[In, In, G, Literal["batch *shape -> batch *shape"]], ...]
    _read: Kept[tuple[Any, ...]]  # what each copy read: x, and buffers

    def __init__(self, inner: Layer[In, In, G], times: int, checkpointing: bool = False) -> None:
        self.checkpointing: bool = flag("Repeat", "checkpointing", checkpointing)
        count, size = (
            integer("Repeat", "times", times),
            sum(1 for _, node in modules_in("inner", inner) for _ in node.named_modules()),
        )
        if count * size > MOST:
            rule, got = (
                f"times must make at most {MOST:,} layers, those within others counted",
                f"{count:,} times {size:,}",
            )
            raise ArgumentError(explain("Repeat", rule, got), "times")
        self.copies = tuple(copy.deepcopy(inner) for _ in range(count))

    def forward(self, x: Shaped[In, "batch *shape"]) -> Shaped[In, "batch *shape"]:
        y: In = x
        if not (self.checkpointing and self.training):
            y = run(self.copies, x)
            return y
        read: list[Any] = []
        for layer in self.copies:
            read.append((y, [array.copy() for _, array in _buffers(layer)]))
            y = layer.forward(y)
            layer.free_cache()
        self._read = tuple(read)
        return y

    def backward(self, next_grad: Shaped[In, "batch *shape"]) -> RepeatGrad[In, G]:
        if not self.checkpointing:
            gradient = run_back(self.copies, next_grad)
            return RepeatGrad(gradient.input, gradient.parts)
        dx, gradients = next_grad, list[G]()
        for layer, (x, buffers) in zip(self.copies[::-1], self._read[::-1], strict=True):
            with _holding(layer, buffers):
                layer.forward(x)
            gradient = layer.backward(dx)
            dx = gradient.input
            gradients.append(without_inner_inputs(gradient, "read it with checkpointing=False"))
            layer.free_cache()
        return RepeatGrad(dx, tuple(gradients[::-1]))


def _buffers(layer: Any) -> list[tuple[Any, Any]]:
    """The places of a layer's buffers, and what they hold."""
    return [(cell, cell.array) for *_, cell in layer.named_fields("buffer") if cell.array is not None]


@contextmanager
def _holding(layer: Any, arrays: list[Any]) -> Generator[None]:
    """``layer`` with copies of other arrays as its buffers; its own are neither read nor written meanwhile."""
    held = _buffers(layer)
    try:
        for (cell, _), array in zip(held, arrays, strict=True):
            cell.array = array.copy()
        yield
    finally:
        for cell, array in held:
            cell.array = array
