"""One row per layer: how to draw a random instance with its inputs. Every law of typednn.testing, and of tests/laws,
runs on every row.

A new layer gets a row here and nothing else; tests/repo/test_rows.py says so where one is missing.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from hypothesis import strategies as st
from more_layers import MaskedGate, tokens

from typednn import Module
from typednn.layer import Input, Sequential
from typednn.layers import (
    ELU,
    GELU,
    GLU,
    GRU,
    LSTM,
    RNN,
    SELU,
    AdaptiveAvgPool2d,
    AvgPool2d,
    BatchNorm1d,
    BatchNorm2d,
    Concat,
    Conv1d,
    Conv2d,
    ConvTranspose2d,
    Dropout,
    Dropout2d,
    Embedding,
    Flatten,
    GlobalAvgPool2d,
    GroupNorm,
    Hardsigmoid,
    Hardswish,
    Identity,
    LastStep,
    LayerNorm,
    LeakyReLU,
    LearnedPositions,
    Linear,
    LogSoftmax,
    MaxPool2d,
    MultiHeadAttention,
    Pad2d,
    PerPosition,
    PReLU,
    ReLU,
    Repeat,
    Reshape,
    Residual,
    RMSNorm,
    SequenceLinear,
    Sigmoid,
    SiLU,
    SinusoidalPositions,
    Softmax,
    Softplus,
    Tanh,
    Upsample,
)
from typednn.models import BasicBlock, Bottleneck, GPT2Block, LeNet5
from typednn.testing import Subject

Shape = tuple[int, ...]
Drawn = tuple[Any, ...]  # a layer, and for each input a shape, an array or None


@dataclass(frozen=True)
class LayerCase:
    """``draw`` gives an uninitialised layer and inputs that it takes: shapes, arrays or None; ``example`` gives small
    ones.
    """

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
    extents = [
        dilation * (kernel - 1) + 1 for kernel, dilation in zip(window["kernel_size"], window["dilation"], strict=True)
    ]
    height, width = (extent + draw(size(0, 3)) for extent in extents)
    return draw(size(1, 3)), height, width, channels


def draw_linear(draw: st.DrawFn) -> Drawn:
    batch, features = rows(draw)
    return Linear(features, draw(size(1, 6)), bias=draw(st.booleans())), (batch, features)


def draw_sequence_linear(draw: st.DrawFn) -> Drawn:
    features = draw(size(1, 6))
    leading = draw(st.one_of(st.tuples(size(1, 4)), st.tuples(size(1, 3), size(1, 4))))
    return SequenceLinear(features, draw(size(1, 6)), bias=draw(st.booleans())), (*leading, features)


def draw_glu(draw: st.DrawFn) -> Drawn:
    leading = draw(st.one_of(st.tuples(size(1, 4)), st.tuples(size(1, 3), size(1, 4))))
    return GLU(), (*leading, 2 * draw(size(1, 4)))


def draw_conv2d(draw: st.DrawFn) -> Drawn:
    sliding, groups = window(draw), draw(size(1, 3))
    channels, filters = groups * draw(size(1, 2)), groups * draw(size(1, 2))
    padding = draw(st.one_of(size(0, 2), st.tuples(size(0, 2), size(0, 2)), st.sampled_from(["same", "valid"])))
    if padding == "same":
        sliding["stride"] = (1, 1)
    layer: Conv2d = Conv2d(channels, filters, **sliding, padding=padding, groups=groups, bias=draw(st.booleans()))
    return layer, image(draw, sliding, channels)


def draw_conv1d(draw: st.DrawFn) -> Drawn:
    groups, kernel, dilation = draw(size(1, 2)), draw(size(1, 3)), draw(size(1, 2))
    padding = draw(st.one_of(size(0, 2), st.sampled_from(["same", "valid"])))
    stride = 1 if padding == "same" else draw(size(1, 3))
    channels = groups * draw(size(1, 2))
    layer: Conv1d = Conv1d(
        channels, groups * draw(size(1, 2)), kernel, stride, padding, dilation, groups, bias=draw(st.booleans())
    )
    return layer, (draw(size(1, 3)), dilation * (kernel - 1) + 1 + draw(size(0, 3)), channels)


def draw_conv_transpose2d(draw: st.DrawFn) -> Drawn:
    sliding, groups = window(draw), draw(size(1, 2))
    channels = groups * draw(size(1, 2))
    more = {"output_padding": draw(st.tuples(*(size(0, stride - 1) for stride in sliding["stride"]))), "groups": groups}
    padding = draw(
        st.tuples(
            *(
                size(0, dilation * (kernel - 1) // 2)
                for kernel, dilation in zip(sliding["kernel_size"], sliding["dilation"], strict=True)
            )
        )
    )
    layer: ConvTranspose2d = ConvTranspose2d(
        channels, groups * draw(size(1, 2)), **sliding, padding=padding, **more, bias=draw(st.booleans())
    )
    return layer, (draw(size(1, 3)), draw(size(1, 4)), draw(size(1, 4)), channels)


def draw_max_pool2d(draw: st.DrawFn) -> Drawn:
    sliding = window(draw)
    axes = zip(sliding["kernel_size"], sliding["dilation"], strict=True)
    down, across = (draw(size(0, (dilation * (kernel - 1) + 1) // 2)) for kernel, dilation in axes)
    # An image as large as the window: none lies in the border alone, where the largest would be -inf.
    return MaxPool2d(**sliding, padding=(down, across)), image(draw, sliding, draw(size(1, 3)))


def draw_avg_pool2d(draw: st.DrawFn) -> Drawn:
    sliding = window(draw) | {"dilation": (1, 1)}
    down, across = (draw(size(0, kernel // 2)) for kernel in sliding["kernel_size"])
    layer: AvgPool2d = AvgPool2d(
        sliding["kernel_size"], sliding["stride"], (down, across), count_include_pad=draw(st.booleans())
    )
    return layer, image(draw, sliding, draw(size(1, 3)))


def any_image(draw: st.DrawFn) -> Shape:
    return tuple(draw(size(1, 4)) for _ in range(4))


def draw_adaptive_avg_pool2d(draw: st.DrawFn) -> Drawn:
    return AdaptiveAvgPool2d(draw(st.tuples(size(1, 5), size(1, 5)))), any_image(draw)


def draw_flatten(draw: st.DrawFn) -> Drawn:
    layers: list[Any] = [Flatten(1, 2), Flatten(1, 3), Flatten(2, 3), Flatten(2)]
    if draw(st.booleans()):
        return Flatten(), tuple(draw(size(1, 4)) for _ in range(draw(size(3, 4))))
    return draw(st.sampled_from(layers)), any_image(draw)


def draw_reshape(draw: st.DrawFn) -> Drawn:
    several = st.lists(size(1, 4), min_size=1, max_size=2)
    factors = draw(several)
    before = draw(st.permutations([1, *factors])) if draw(st.booleans()) else [math.prod(factors)]
    after = draw(st.permutations([1, *factors])) if draw(st.booleans()) else factors
    shape: Any = Reshape
    return shape(*after), (draw(size(1, 3)), *before)


def draw_upsample(draw: st.DrawFn) -> Drawn:
    mode: Literal["nearest", "bilinear"] = draw(st.sampled_from(["nearest", "bilinear"]))
    align_corners = mode == "bilinear" and draw(st.booleans())
    return Upsample(draw(st.tuples(size(1, 3), size(1, 3))), mode, align_corners), any_image(draw)


def draw_pad2d(draw: st.DrawFn) -> Drawn:
    sides = draw(st.tuples(size(0, 3), size(0, 3), size(0, 3), size(0, 3)))
    mode: Literal["constant", "replicate"] = draw(st.sampled_from(["constant", "replicate"]))
    value = draw(st.sampled_from([0.0, -1.5])) if mode == "constant" else 0.0
    return Pad2d(sides, mode, value), tuple(draw(size(1, 4)) for _ in range(4))


def draw_residual(draw: st.DrawFn) -> Drawn:
    features = draw(size(1, 4))
    return Residual(Linear(features, 3) >> Tanh() >> Linear(3, features)), (draw(size(1, 3)), features)


def draw_residual_shortcut(draw: st.DrawFn) -> Drawn:
    features, out = draw(size(1, 4)), draw(size(1, 4))
    return Residual(Linear(features, 3) >> Tanh() >> Linear(3, out), shortcut=Linear(features, out)), (
        draw(size(1, 3)),
        features,
    )


def draw_concat(draw: st.DrawFn) -> Drawn:
    features, leading = draw(size(1, 4)), draw(st.one_of(st.tuples(size(1, 3)), st.tuples(size(1, 3), size(1, 3))))
    branches: list[Any] = [
        Identity(),
        SequenceLinear(features, 2) >> Tanh(),
        SequenceLinear(features, 1),
        PReLU(init=0.2),
    ]
    return Concat(*draw(st.permutations(branches))[: draw(size(1, 4))]), (*leading, features)


def draw_repeat(draw: st.DrawFn) -> Drawn:
    features = draw(size(1, 4))
    return Repeat(Linear(features, 3) >> Tanh() >> Linear(3, features), draw(size(1, 3))), (draw(size(1, 3)), features)


def draw_checkpointed(draw: st.DrawFn) -> Drawn:
    features, times = draw(size(1, 4)), draw(size(1, 3))
    inner: Any = draw(st.sampled_from([Dropout(0.3), BatchNorm1d(features), Tanh()]))
    return Repeat(inner >> Linear(features, features), times, checkpointing=True), (draw(size(2, 4)), features)


def draw_per_position(draw: st.DrawFn) -> Drawn:
    features = draw(size(1, 4))
    return PerPosition(Linear(features, 3) >> Tanh() >> Linear(3, 2)), (draw(size(1, 3)), draw(size(1, 3)), features)


def draw_attention(draw: st.DrawFn) -> Drawn:
    heads, half = draw(size(1, 3)), draw(size(1, 2))
    batch, time, features = draw(size(1, 3)), draw(size(1, 5)), heads * half * 2
    layer: MultiHeadAttention = MultiHeadAttention(
        features, heads, bias=draw(st.booleans()), causal=draw(st.booleans()), rotary=draw(st.booleans())
    )
    mask = draw(st.sampled_from([None, (batch, time), (batch, time, time)]))
    return layer, (batch, time, features), None, mask


def draw_attention_with_dropout(draw: st.DrawFn) -> Drawn:
    heads, features, causal = draw(size(1, 3)), draw(size(1, 3)), draw(st.booleans())
    layer: MultiHeadAttention = MultiHeadAttention(
        heads * features, heads, dropout=draw(st.sampled_from([0.3, 1.0])), causal=causal
    )
    return layer, (draw(size(1, 3)), draw(size(1, 5)), heads * features), None, None


def draw_cross_attention(draw: st.DrawFn) -> Drawn:
    heads, kdim = draw(size(1, 3)), draw(size(1, 6))
    batch, time, memory, features = draw(size(1, 3)), draw(size(1, 5)), draw(size(1, 5)), heads * draw(size(1, 3))
    mask = draw(st.sampled_from([None, (batch, memory), (batch, time, memory)]))
    return (
        MultiHeadAttention(features, heads, bias=draw(st.booleans()), kdim=kdim),
        (batch, time, features),
        (batch, memory, kdim),
        mask,
    )


def draw_learned_positions(draw: st.DrawFn) -> Drawn:
    batch, time, features = draw(size(1, 3)), draw(size(1, 4)), draw(size(1, 4))
    return LearnedPositions(time + draw(size(0, 2)), features), (batch, time, features)


def draw_sinusoidal_positions(draw: st.DrawFn) -> Drawn:
    features = draw(size(1, 5))
    return SinusoidalPositions(features), (draw(size(1, 3)), draw(size(1, 4)), features)


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
    features, drawn = draw(size(1, 4)), tokens(vocab, shape, draw(size(0, 9)))
    # The derivative by the padding's row is defined as 0: central differences agree where that token does not occur.
    return Embedding(vocab + 1, features, -1) if draw(st.booleans()) else Embedding(vocab, features), drawn


def draw_lengths(draw: st.DrawFn, shape: Shape) -> Any:
    """Of each sequence, or None."""
    least = st.lists(size(1, shape[1]), min_size=shape[0], max_size=shape[0])
    return draw(st.one_of(st.none(), least.map(np.array)))


def recurrent(kind: Any, **options: Any) -> Callable[[st.DrawFn], Drawn]:
    def drawn(draw: st.DrawFn) -> Drawn:
        shape = draw(size(1, 3)), draw(size(1, 4)), draw(size(1, 3))
        return kind(shape[2], draw(size(1, 3)), bias=draw(st.booleans()), **options), shape, draw_lengths(draw, shape)

    return drawn


def draw_last_step(draw: st.DrawFn) -> Drawn:
    shape = draw(size(1, 3)), draw(size(1, 4)), draw(size(1, 3))
    return LastStep(), shape, draw_lengths(draw, shape)


def draw_masked_gate(draw: st.DrawFn) -> Drawn:
    shape = rows(draw)
    return MaskedGate(shape[1]), shape, shape, draw(st.sampled_from([shape, None]))


def draw_batch_norm1d(draw: st.DrawFn) -> Drawn:
    features, leading = draw(size(1, 4)), draw(st.one_of(st.tuples(size(2, 5)), st.tuples(size(1, 3), size(2, 4))))
    layer = BatchNorm1d(features, 1e-3, 0.2, draw(st.booleans()), draw(st.booleans()))
    return layer, (*leading, features)


def draw_batch_norm2d(draw: st.DrawFn) -> Drawn:
    channels = draw(size(1, 4))
    layer: BatchNorm2d = BatchNorm2d(channels, 1e-3, 0.2, draw(st.booleans()), draw(st.booleans()))
    return layer, (draw(size(1, 3)), draw(size(2, 3)), draw(size(1, 3)), channels)


def draw_group_norm(draw: st.DrawFn) -> Drawn:
    groups, each = draw(size(1, 3)), draw(size(1, 3))
    layer: GroupNorm = GroupNorm(groups, groups * each, 1e-3, draw(st.booleans()))
    return layer, (draw(size(1, 3)), draw(size(1, 3)), draw(size(2, 3)), groups * each)


def draw_layer_norm(draw: st.DrawFn) -> Drawn:
    shape = any_shape(draw)
    return LayerNorm(shape[-1], 1e-3, draw(st.booleans()), draw(st.booleans())), shape


def draw_rms_norm(draw: st.DrawFn) -> Drawn:
    shape = any_shape(draw)
    return RMSNorm(shape[-1], draw(st.sampled_from([None, 1e-6])), draw(st.booleans())), shape


def draw_dropout(draw: st.DrawFn) -> Drawn:
    return Dropout(draw(st.sampled_from([0.0, 0.3, 1.0]))), any_shape(draw)


def draw_dropout2d(draw: st.DrawFn) -> Drawn:
    layer: Dropout2d = Dropout2d(draw(st.sampled_from([0.0, 0.3, 1.0])))
    return layer, tuple(draw(size(1, 4)) for _ in range(4))


def draw_basic_block(draw: st.DrawFn) -> Drawn:
    channels = draw(size(1, 3))
    layer = BasicBlock(channels, draw(size(1, 3)), draw(size(1, 2)))
    return layer, (draw(size(2, 3)), draw(size(3, 5)), draw(size(3, 5)), channels)


def draw_bottleneck(draw: st.DrawFn) -> Drawn:
    channels = draw(st.sampled_from([1, 3, 4]))
    return Bottleneck(channels, 1, draw(size(1, 2))), (draw(size(2, 3)), draw(size(3, 5)), draw(size(3, 5)), channels)


def draw_gpt2_block(draw: st.DrawFn) -> Drawn:
    heads, features = draw(size(1, 3)), draw(size(1, 3))
    return GPT2Block(heads * features, heads), (draw(size(1, 3)), draw(size(1, 4)), heads * features)


def elementwise(layer: Callable[[], Any]) -> Callable[[st.DrawFn], Drawn]:
    return lambda draw: (layer(), any_shape(draw))


LENGTHS = np.array([5, 2])
ALONE = {"configurable": False, "stackable": False}

CASES = [
    LayerCase("Linear", draw_linear, lambda: (Linear(4, 3), (2, 4))),
    LayerCase("SequenceLinear", draw_sequence_linear, lambda: (SequenceLinear(4, 3), (2, 5, 4))),  # G-L1
    LayerCase("Conv2d", draw_conv2d, lambda: (Conv2d(2, 3, (3, 2), stride=2, bias=True), (2, 6, 5, 2))),
    LayerCase("Conv2d in groups", draw_conv2d, lambda: (Conv2d(4, 6, 3, padding="same", groups=2), (2, 5, 4, 4))),
    LayerCase("Conv1d", draw_conv1d, lambda: (Conv1d(2, 3, 3, stride=2, padding=1), (2, 6, 2))),
    LayerCase(
        "ConvTranspose2d",
        draw_conv_transpose2d,
        lambda: (ConvTranspose2d(2, 3, (3, 2), stride=2, padding=(1, 0), output_padding=1), (2, 3, 2, 2)),
    ),
    LayerCase("AvgPool2d", draw_avg_pool2d, lambda: (AvgPool2d(3, 2, 1, count_include_pad=False), (2, 5, 4, 3))),
    LayerCase("AdaptiveAvgPool2d", draw_adaptive_avg_pool2d, lambda: (AdaptiveAvgPool2d((3, 2)), (2, 5, 4, 3))),
    LayerCase(
        "GlobalAvgPool2d", lambda draw: (GlobalAvgPool2d(), any_image(draw)), lambda: (GlobalAvgPool2d(), (2, 3, 4, 2))
    ),
    LayerCase("Upsample", draw_upsample, lambda: (Upsample((2, 3), "bilinear"), (2, 3, 4, 2))),
    LayerCase("MaxPool2d", draw_max_pool2d, lambda: (MaxPool2d(2), (2, 5, 4, 3))),
    LayerCase("Pad2d", draw_pad2d, lambda: (Pad2d((1, 2, 0, 3), "replicate"), (2, 3, 4, 2))),
    LayerCase("BatchNorm1d", draw_batch_norm1d, lambda: (BatchNorm1d(3), (4, 3))),
    LayerCase("BatchNorm2d", draw_batch_norm2d, lambda: (BatchNorm2d(2), (3, 2, 3, 2))),
    LayerCase("GroupNorm", draw_group_norm, lambda: (GroupNorm(2, 4), (2, 3, 2, 4))),
    LayerCase("LayerNorm", draw_layer_norm, lambda: (LayerNorm(5), (2, 3, 5))),
    LayerCase("RMSNorm", draw_rms_norm, lambda: (RMSNorm(5), (2, 3, 5))),
    LayerCase("Dropout", draw_dropout, lambda: (Dropout(0.4), (2, 5))),
    LayerCase("Dropout2d", draw_dropout2d, lambda: (Dropout2d(0.4), (3, 2, 3, 4))),
    LayerCase("Flatten", draw_flatten, lambda: (Flatten(), (2, 3, 4, 2))),
    LayerCase("Flatten of sequences", draw_flatten, lambda: (Flatten(), (2, 5, 3))),
    LayerCase("Flatten to pixels", draw_flatten, lambda: (Flatten(1, 2), (2, 3, 4, 2))),
    LayerCase("Reshape", draw_reshape, lambda: (Reshape(2, 3, 2), (2, 12))),
    LayerCase("Reshape of images", draw_reshape, lambda: (Reshape(4, 6), (2, 3, 4, 2))),
    LayerCase("Softmax", lambda draw: (Softmax(), rows(draw)), lambda: (Softmax(), (2, 5))),
    LayerCase("LogSoftmax", lambda draw: (LogSoftmax(), rows(draw)), lambda: (LogSoftmax(), (2, 5))),
    LayerCase("ReLU", elementwise(ReLU), lambda: (ReLU(), (2, 3, 4))),
    LayerCase("LeakyReLU", elementwise(lambda: LeakyReLU(0.2)), lambda: (LeakyReLU(0.2), (2, 5))),
    LayerCase("PReLU", elementwise(lambda: PReLU(init=0.3)), lambda: (PReLU(init=0.3), (2, 5))),
    LayerCase("Sigmoid", elementwise(Sigmoid), lambda: (Sigmoid(), (2, 5))),
    LayerCase("Tanh", elementwise(Tanh), lambda: (Tanh(), (2, 3, 4, 2))),
    LayerCase("GELU", elementwise(GELU), lambda: (GELU(), (2, 3, 4))),
    LayerCase("GELU of tanh", elementwise(lambda: GELU("tanh")), lambda: (GELU("tanh"), (2, 5))),
    LayerCase("SiLU", elementwise(SiLU), lambda: (SiLU(), (2, 5))),
    LayerCase("Softplus", elementwise(lambda: Softplus(2.0, 3.0)), lambda: (Softplus(2.0, 3.0), (2, 5))),
    LayerCase("ELU", elementwise(lambda: ELU(0.7)), lambda: (ELU(0.7), (2, 5))),
    LayerCase("SELU", elementwise(SELU), lambda: (SELU(), (2, 5))),
    LayerCase("Hardswish", elementwise(Hardswish), lambda: (Hardswish(), (2, 5))),
    LayerCase("Hardsigmoid", elementwise(Hardsigmoid), lambda: (Hardsigmoid(), (2, 5))),
    LayerCase("GLU", draw_glu, lambda: (GLU(), (2, 3, 4))),
    LayerCase("Identity", elementwise(Identity), lambda: (Identity(), (2, 5))),
    LayerCase("Residual", draw_residual, lambda: (Residual(Linear(3, 4) >> Tanh() >> Linear(4, 3)), (2, 3))),
    LayerCase(
        "Residual with shortcut",
        draw_residual_shortcut,
        lambda: (Residual(Linear(3, 4), shortcut=Linear(3, 4)), (2, 3)),
    ),
    LayerCase("Concat", draw_concat, lambda: (Concat(Identity(), Linear(3, 4) >> Tanh(), Linear(3, 1)), (2, 3))),
    LayerCase("Repeat", draw_repeat, lambda: (Repeat(Linear(3, 3) >> Tanh(), 2), (2, 3))),
    LayerCase(
        "Repeat with checkpointing",
        draw_checkpointed,
        lambda: (Repeat(BatchNorm1d(3) >> Linear(3, 3), 2, checkpointing=True), (4, 3)),
    ),
    LayerCase("PerPosition", draw_per_position, lambda: (PerPosition(Linear(3, 4)), (2, 5, 3))),
    LayerCase(
        "MultiHeadAttention", draw_attention, lambda: (MultiHeadAttention(6, 3, causal=True), (2, 4, 6), None, None)
    ),
    LayerCase(
        "MultiHeadAttention with dropout",
        draw_attention_with_dropout,
        lambda: (MultiHeadAttention(6, 3, dropout=0.4), (2, 4, 6), None, None),
        stackable=False,  # a twin draws another mask
    ),
    LayerCase(
        "MultiHeadAttention to a memory",
        draw_cross_attention,
        lambda: (MultiHeadAttention(6, 3, kdim=5), (2, 4, 6), (2, 3, 5), np.array([[True, True, False], [True] * 3])),
        **ALONE,
    ),
    LayerCase("LearnedPositions", draw_learned_positions, lambda: (LearnedPositions(5, 3), (2, 4, 3))),
    LayerCase("SinusoidalPositions", draw_sinusoidal_positions, lambda: (SinusoidalPositions(3), (2, 4, 3))),
    LayerCase("Chain", draw_chain, lambda: (Input(4) >> Linear(4, 3) >> ReLU() >> Linear(3, 2), (2, 4))),
    LayerCase(
        "ElementwiseChain", elementwise(lambda: PReLU(init=0.2) >> Tanh()), lambda: (PReLU(init=0.2) >> Tanh(), (2, 5))
    ),
    LayerCase(
        "PositionwiseChain", draw_positionwise_chain, lambda: (ReLU() >> SequenceLinear(4, 3) >> ReLU(), (2, 5, 4))
    ),
    LayerCase("Sequential", draw_sequential, lambda: (Sequential({"fc1": Linear(4, 3), "fc2": Linear(3, 2)}), (2, 4))),
    LayerCase("BasicBlock", draw_basic_block, lambda: (BasicBlock(2, 3, 2), (2, 4, 5, 2))),
    LayerCase("Bottleneck", draw_bottleneck, lambda: (Bottleneck(4, 1), (2, 3, 4, 4))),
    LayerCase("GPT2Block", draw_gpt2_block, lambda: (GPT2Block(4, 2), (2, 3, 4))),
    LayerCase(
        "LeNet5", lambda draw: (LeNet5(), (1, 28, 28, 1)), lambda: (LeNet5(), (1, 28, 28, 1)), configurable=False
    ),
    LayerCase("RNN", recurrent(RNN), lambda: (RNN(3, 4), (2, 5, 3), None)),
    LayerCase(
        "RNN of relu", recurrent(RNN, nonlinearity="relu"), lambda: (RNN(3, 4, nonlinearity="relu"), (2, 5, 3), LENGTHS)
    ),
    LayerCase("GRU", recurrent(GRU), lambda: (GRU(3, 4), (2, 5, 3), None)),
    LayerCase("GRU with lengths", recurrent(GRU), lambda: (GRU(3, 4), (2, 5, 3), LENGTHS)),
    LayerCase("LSTM", recurrent(LSTM), lambda: (LSTM(3, 4), (2, 5, 3), None)),
    LayerCase("LSTM with lengths", recurrent(LSTM), lambda: (LSTM(3, 4), (2, 5, 3), LENGTHS)),
    LayerCase("LastStep", draw_last_step, lambda: (LastStep(), (2, 5, 3), None)),
    LayerCase("LastStep with lengths", draw_last_step, lambda: (LastStep(), (2, 5, 3), LENGTHS)),
    # In no config: a Stack reads floats, and the others are not of typednn itself. They don't stack behind others.
    LayerCase("Embedding", draw_embedding, lambda: (Embedding(5, 4), tokens(5, (2, 3))), **ALONE),
    LayerCase("MaskedGate", draw_masked_gate, lambda: (MaskedGate(3), (2, 3), (2, 3), (2, 3)), **ALONE),
    LayerCase("MaskedGate without mask", draw_masked_gate, lambda: (MaskedGate(3), (2, 3), (2, 3), None), **ALONE),
]
