"""One row per layer: how to draw a random instance with its inputs. Every law of typednn.testing, and of tests/laws, runs on every row.

A new layer gets a row here and nothing else; tests/repo/test_rows.py says so where one is missing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st
from more_layers import Embedding, MaskedGate, tokens

from typednn import Module
from typednn.layer import Input, Sequential
from typednn.layers import (
    Conv2d,
    Flatten,
    Identity,
    LeakyReLU,
    Linear,
    MaxPool2d,
    Pad2d,
    PerPosition,
    PReLU,
    ReLU,
    Repeat,
    Residual,
    SequenceLinear,
    Sigmoid,
    Softmax,
    Tanh,
)
from typednn.models import LeNet5
from typednn.testing import Subject

Shape = tuple[int, ...]
Drawn = tuple[Any, ...]  # a layer, and for each input a shape, an array or None


@dataclass(frozen=True)
class LayerCase:
    """``draw`` gives an uninitialised layer and inputs that it takes: shapes, arrays or None; ``example`` gives small ones."""

    name: str
    draw: Callable[[st.DrawFn], Drawn]
    example: Callable[[], Drawn]
    configurable: bool = True  # a hand-written model is no row of a config, nor is a layer that reads integers
    stackable: bool = True  # one input, of floats

    def layer(self) -> Module:
        """The small instance, new each time."""
        found: Module = self.example()[0]
        return found

    def subject(self, device: str = "cpu") -> Subject:
        """The small example, as the laws take it."""
        layer, *inputs = self.example()
        return Subject(layer, tuple(inputs), device=device)

    def drawn(self, draw: st.DrawFn) -> Subject:
        """A random example."""
        layer, *inputs = self.draw(draw)
        return Subject(layer, tuple(inputs), draw(size(0, 9)))

    def __str__(self) -> str:
        return self.name


def size(least: int, most: int) -> st.SearchStrategy[int]:
    return st.integers(least, most)


def any_shape(draw: st.DrawFn) -> Shape:
    return tuple(draw(st.lists(size(1, 5), min_size=1, max_size=4)))


def rows(draw: st.DrawFn) -> Shape:
    return draw(size(1, 4)), draw(size(1, 6))


def window(draw: st.DrawFn) -> dict[str, tuple[int, int]]:
    """Kernel, stride and dilation, square or not."""
    pair = st.tuples(size(1, 3), size(1, 3))
    return {"kernel_size": draw(pair), "stride": draw(pair), "dilation": draw(st.tuples(size(1, 2), size(1, 2)))}


def image(draw: st.DrawFn, window: dict[str, tuple[int, int]], channels: int) -> Shape:
    """An image that the window fits into, with strides that may leave a remainder."""
    extents = [dilation * (kernel - 1) + 1 for kernel, dilation in zip(window["kernel_size"], window["dilation"], strict=True)]
    height, width = (extent + draw(size(0, 3)) for extent in extents)
    return draw(size(1, 3)), height, width, channels


def draw_linear(draw: st.DrawFn) -> Drawn:
    batch, features = rows(draw)
    return Linear(features, draw(size(1, 6)), bias=draw(st.booleans())), (batch, features)


def draw_sequence_linear(draw: st.DrawFn) -> Drawn:
    features = draw(size(1, 6))
    leading = draw(st.one_of(st.tuples(size(1, 4)), st.tuples(size(1, 3), size(1, 4))))
    return SequenceLinear(features, draw(size(1, 6)), bias=draw(st.booleans())), (*leading, features)


def draw_conv2d(draw: st.DrawFn) -> Drawn:
    sliding, channels = window(draw), draw(size(1, 3))
    layer: Conv2d = Conv2d(
        channels, draw(size(1, 3)), sliding["kernel_size"], sliding["stride"], dilation=sliding["dilation"], bias=draw(st.booleans())
    )
    return layer, image(draw, sliding, channels)


def draw_max_pool2d(draw: st.DrawFn) -> Drawn:
    sliding = window(draw)
    return MaxPool2d(**sliding), image(draw, sliding, draw(size(1, 3)))


def draw_pad2d(draw: st.DrawFn) -> Drawn:
    sides = draw(st.tuples(size(0, 3), size(0, 3), size(0, 3), size(0, 3)))
    mode: Literal["constant", "replicate"] = draw(st.sampled_from(["constant", "replicate"]))
    value = draw(st.sampled_from([0.0, -1.5])) if mode == "constant" else 0.0
    return Pad2d(sides, mode, value), tuple(draw(size(1, 4)) for _ in range(4))


def draw_residual(draw: st.DrawFn) -> Drawn:
    features = draw(size(1, 4))
    return Residual(Linear(features, 3) >> Tanh() >> Linear(3, features)), (draw(size(1, 3)), features)


def draw_repeat(draw: st.DrawFn) -> Drawn:
    features = draw(size(1, 4))
    return Repeat(Linear(features, 3) >> Tanh() >> Linear(3, features), draw(size(1, 3))), (draw(size(1, 3)), features)


def draw_per_position(draw: st.DrawFn) -> Drawn:
    features = draw(size(1, 4))
    return PerPosition(Linear(features, 3) >> Tanh() >> Linear(3, 2)), (draw(size(1, 3)), draw(size(1, 3)), features)


def draw_positionwise_chain(draw: st.DrawFn) -> Drawn:
    layer, shape = draw_sequence_linear(draw)
    return Tanh() >> layer >> PReLU(init=0.2), shape


def draw_chain(draw: st.DrawFn) -> Drawn:
    features = draw(size(1, 4))
    return Input(features) >> Linear(features, 3) >> PReLU() >> Linear(3, 2), (draw(size(1, 3)), features)


def draw_sequential(draw: st.DrawFn) -> Drawn:
    features = draw(size(1, 4))
    return Sequential({"fc1": Linear(features, 3), "tanh": Tanh(), "fc2": Linear(3, 2)}), (draw(size(1, 3)), features)


def draw_embedding(draw: st.DrawFn) -> Drawn:
    vocab, shape = draw(size(1, 5)), (draw(size(1, 3)), draw(size(1, 4)))
    return Embedding(vocab, draw(size(1, 4))), tokens(vocab, shape, draw(size(0, 9)))


def draw_masked_gate(draw: st.DrawFn) -> Drawn:
    shape = rows(draw)
    return MaskedGate(shape[1]), shape, shape, draw(st.sampled_from([shape, None]))


def elementwise(layer: Callable[[], Any]) -> Callable[[st.DrawFn], Drawn]:
    return lambda draw: (layer(), any_shape(draw))


ALONE = {"configurable": False, "stackable": False}

CASES = [
    LayerCase("Linear", draw_linear, lambda: (Linear(4, 3), (2, 4))),
    LayerCase("SequenceLinear", draw_sequence_linear, lambda: (SequenceLinear(4, 3), (2, 5, 4))),
    LayerCase("Conv2d", draw_conv2d, lambda: (Conv2d(2, 3, (3, 2), stride=2, bias=True), (2, 6, 5, 2))),
    LayerCase("MaxPool2d", draw_max_pool2d, lambda: (MaxPool2d(2), (2, 5, 4, 3))),
    LayerCase("Pad2d", draw_pad2d, lambda: (Pad2d((1, 2, 0, 3), "replicate"), (2, 3, 4, 2))),
    LayerCase("Flatten", lambda draw: (Flatten(), tuple(draw(size(1, 4)) for _ in range(4))), lambda: (Flatten(), (2, 3, 4, 2))),
    LayerCase("Softmax", lambda draw: (Softmax(), rows(draw)), lambda: (Softmax(), (2, 5))),
    LayerCase("ReLU", elementwise(ReLU), lambda: (ReLU(), (2, 3, 4))),
    LayerCase("LeakyReLU", elementwise(lambda: LeakyReLU(0.2)), lambda: (LeakyReLU(0.2), (2, 5))),
    LayerCase("PReLU", elementwise(lambda: PReLU(init=0.3)), lambda: (PReLU(init=0.3), (2, 5))),
    LayerCase("Sigmoid", elementwise(Sigmoid), lambda: (Sigmoid(), (2, 5))),
    LayerCase("Tanh", elementwise(Tanh), lambda: (Tanh(), (2, 3, 4, 2))),
    LayerCase("Identity", elementwise(Identity), lambda: (Identity(), (2, 5))),
    LayerCase("Residual", draw_residual, lambda: (Residual(Linear(3, 4) >> Tanh() >> Linear(4, 3)), (2, 3))),
    LayerCase("Repeat", draw_repeat, lambda: (Repeat(Linear(3, 3) >> Tanh(), 2), (2, 3))),
    LayerCase("PerPosition", draw_per_position, lambda: (PerPosition(Linear(3, 4)), (2, 5, 3))),
    LayerCase("Chain", draw_chain, lambda: (Input(4) >> Linear(4, 3) >> ReLU() >> Linear(3, 2), (2, 4))),
    LayerCase("ElementwiseChain", elementwise(lambda: PReLU(init=0.2) >> Tanh()), lambda: (PReLU(init=0.2) >> Tanh(), (2, 5))),
    LayerCase("PositionwiseChain", draw_positionwise_chain, lambda: (ReLU() >> SequenceLinear(4, 3) >> ReLU(), (2, 5, 4))),
    LayerCase("Sequential", draw_sequential, lambda: (Sequential({"fc1": Linear(4, 3), "fc2": Linear(3, 2)}), (2, 4))),
    LayerCase("LeNet5", lambda draw: (LeNet5(), (1, 28, 28, 1)), lambda: (LeNet5(), (1, 28, 28, 1)), configurable=False),
    # Not of typednn itself, hence in no config; they don't stack before others.
    LayerCase("Embedding", draw_embedding, lambda: (Embedding(5, 4), tokens(5, (2, 3))), **ALONE),
    LayerCase("MaskedGate", draw_masked_gate, lambda: (MaskedGate(3), (2, 3), (2, 3), (2, 3)), **ALONE),
    LayerCase("MaskedGate without mask", draw_masked_gate, lambda: (MaskedGate(3), (2, 3), (2, 3), None), **ALONE),
]
