"""Random models of typednn's layers, whose sizes may be 1 or odd, and inputs for them: `drawn`."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.plans.numpy_layers import Gated, Scaled, ScaledOrNot
from tests.plans.planned_pair import Between
from typednn import Input
from typednn.layers import (
    ELU,
    GELU,
    GRU,
    LSTM,
    RNN,
    SELU,
    BatchNorm1d,
    BatchNorm2d,
    Concat,
    Conv2d,
    ConvTranspose2d,
    Dropout,
    Dropout2d,
    Embedding,
    Flatten,
    GlobalAvgPool2d,
    GroupNorm,
    Hardswish,
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
from typednn.models import GPT2, BasicBlock, Bottleneck, GPT2Block, lstm_classifier

Rng = np.random.Generator
Shape = tuple[int, ...]
SIZES = (1, 2, 3, 4, 7)
ACTIVATIONS: tuple[Callable[[], Any], ...] = (
    ReLU,
    lambda: LeakyReLU(0.1),
    lambda: LeakyReLU(-0.1),
    lambda: PReLU(init=0.2),
    Sigmoid,
    Tanh,
    GELU,
    lambda: GELU("tanh"),
    SiLU,
    Softplus,
    ELU,
    SELU,
    Hardswish,
    Scaled,
    ScaledOrNot,
)


@dataclass(frozen=True)
class Drawn:
    """A model, and one sample's shape: of floats, or of tokens below ``vocab``."""

    model: Any
    sample: Shape
    vocab: int = 0
    least: int = 1  # of samples in a batch
    fixed: bool = False  # whether it knows float32 alone


def pick(rng: Rng, options: Sequence[Any]) -> Any:
    return options[int(rng.integers(len(options)))]


def chained(parts: Sequence[Any]) -> Any:
    """Parts one after another."""
    whole = parts[0]
    for part in parts[1:]:
        whole = whole >> part
    return whole


def activation(rng: Rng) -> Any:
    return pick(rng, ACTIVATIONS)()


def rows(rng: Rng) -> Drawn:
    """Rows of features: affine maps with all that fits between them, and parameters that are shared."""
    features = first = pick(rng, SIZES)
    parts: list[Any] = []
    twice: Any = None
    least = 1
    for _ in range(rng.integers(1, 5)):
        width = pick(rng, SIZES)
        kind = rng.integers(9)
        if kind == 0:
            parts.append(Residual(chained([Linear(features, width), activation(rng), Linear(width, features)])))
        elif kind == 1:
            parts.append(Residual(Linear(features, width), shortcut=Linear(features, width)))
            features = width
        elif kind == 2:
            parts.append(Repeat(Linear(features, features) >> activation(rng), int(rng.integers(1, 3))))
        elif kind == 3:
            parts.append(Concat(Linear(features, width), activation(rng), Linear(features, 1) >> activation(rng)))
            features = width + features + 1
        elif kind == 4 and twice is not None and twice.in_features == features:
            parts.append(twice.shared())
        elif kind == 5:
            parts.append(BatchNorm1d(features))
            least = 2
        elif kind == 6:
            parts.append(pick(rng, [LayerNorm(features), RMSNorm(features), Dropout(0.3), Dropout(0.0)]))
        elif kind == 7:
            parts.append(Gated(features))
        else:
            linear: Linear = Linear(features, width, bias=bool(rng.integers(2)))
            twice = linear if features == width else twice
            parts.append(linear)
            features = width
        if rng.integers(2):
            parts.append(activation(rng))
    parts.append(Linear(features, pick(rng, SIZES)))
    if rng.integers(4) == 0:
        parts.append(pick(rng, [Softmax(), LogSoftmax()]))
    head = [Input(first)] if rng.integers(2) else []
    return Drawn(chained([*head, *parts]), (first,), least=least)


def images(rng: Rng) -> Drawn:
    """Images: convolutions, pooling, norms, blocks of a ResNet."""
    channels = first = pick(rng, (1, 2, 3, 8))
    side = pick(rng, (7, 8))
    parts: list[Any] = []
    least = 1
    for _ in range(rng.integers(1, 4)):
        width, kind = pick(rng, (1, 3, 4, 8)), rng.integers(9)
        if kind == 0:
            parts.append(BasicBlock(channels, width, int(rng.integers(1, 3))))
            least = 2
        elif kind == 1:
            parts.append(Bottleneck(channels, 1))
            width, least = 4, 2
        elif kind == 2:
            parts += [Upsample(2, pick(rng, ["nearest", "bilinear"])), Conv2d(channels, width, 3, stride=2)]
        elif kind == 3:
            parts += [ConvTranspose2d(channels, width, 3, padding=1), Dropout2d(0.4)]
        elif kind == 4:
            parts += [Pad2d(1), GroupNorm(1, channels), Conv2d(channels, width, 3)]
        else:
            parts.append(Conv2d(channels, width, 3, padding=1, bias=bool(rng.integers(2))))
        channels = width
        if rng.integers(2):
            parts.append(BatchNorm2d(channels))
            least = 2
        if rng.integers(3):
            parts.append(pick(rng, [ReLU, Sigmoid, Tanh, lambda: LeakyReLU(0.1)])())
        if rng.integers(3) == 0 and side > 3:
            parts.append(MaxPool2d(2, padding=int(rng.integers(2))))
            side //= 2
    parts += [GlobalAvgPool2d(), Linear(channels, 3)]
    size = pick(rng, (7, 8))
    return Drawn(chained(parts), (size, size, first), least=least)


def positions(rng: Rng, width: int) -> list[Any]:
    """Layers of a sequence of ``width`` features, which give as many."""
    found: list[Any] = []
    for _ in range(rng.integers(1, 4)):
        kind = rng.integers(9)
        if kind == 0:
            found.append(
                MultiHeadAttention(
                    width,
                    pick(rng, [1, 2]),
                    causal=bool(rng.integers(2)),
                    rotary=bool(rng.integers(2)),
                    dropout=pick(rng, [0.0, 0.3]),
                )
            )
        elif kind == 1:
            found.append(GPT2Block(width, 2, pick(rng, [0.0, 0.2])))
        elif kind == 2:
            found.append(pick(rng, [RNN, GRU, LSTM])(width, width))
        elif kind == 3:
            found.append(Residual(LayerNorm(width) >> SequenceLinear(width, 3) >> GELU() >> SequenceLinear(3, width)))
        elif kind == 4:
            found.append(PerPosition(Linear(width, 3) >> activation(rng) >> Linear(3, width)))
        elif kind == 5:
            found.append(pick(rng, [LearnedPositions(9, width), SinusoidalPositions(width)]))
        elif kind == 6:
            found.append(Dropout(0.25))
        else:
            found += [SequenceLinear(width, width), activation(rng)]
    return found


def sequences(rng: Rng) -> Drawn:
    """Sequences of floats."""
    width = pick(rng, (4, 8))
    parts = [SequenceLinear(3, width), *positions(rng, width)]
    if rng.integers(2):
        parts += [LastStep(), Linear(width, 2)]
    return Drawn(chained(parts), (pick(rng, (1, 4, 5)), 3))


def tokens(rng: Rng) -> Drawn:
    """Tokens: embeddings, GPT-2, a classifier of texts."""
    vocab, time = pick(rng, (2, 7, 11)), pick(rng, (1, 4, 5))
    kind = rng.integers(4)
    if kind == 0:
        tied = bool(rng.integers(2))
        model: Any = GPT2(vocab, 6, 4, int(rng.integers(1, 3)), 2, pick(rng, [0.0, 0.2]), tie_word_embeddings=tied)
        return Drawn(model, (time,), vocab)
    if kind == 1:
        return Drawn(lstm_classifier(2, length=3, vocabulary=vocab), (3,), vocab)
    width = pick(rng, (4, 8))
    embedding = Embedding(vocab, width, padding_idx=pick(rng, [None, 0]))
    parts = [Input(time, dtype=int), embedding, *positions(rng, width)]
    if kind == 2:
        head = SequenceLinear(width, vocab, bias=False)
        head.tie(embedding, weight="weight")
        parts.append(head)
    else:
        parts += [Flatten(), Linear(time * width, 3)]
    return Drawn(chained(parts), (time,), vocab)


def by_hand(rng: Rng) -> Drawn:
    """Three parts that are called one by one, the middle one of the models above."""
    kind = rng.integers(3)
    if kind == 0:
        inner = rows(rng)
        (features,) = inner.sample
        return Drawn(Between(Linear(3, features), inner.model, activation(rng)), (3,), least=inner.least)
    if kind == 1:
        inner = images(rng)
        first = Conv2d(2, inner.sample[-1], 1, bias=True)
        sample = (*inner.sample[:-1], 2)
        return Drawn(Between(first, Between(ReLU(), inner.model, Tanh()), Linear(3, 1)), sample, least=inner.least)
    inner = sequences(rng)
    return Drawn(Between(SequenceLinear(2, 3), inner.model, activation(rng)), (inner.sample[0], 2))


KINDS = (rows, images, sequences, tokens, by_hand)


def drawn(rng: Rng) -> Drawn:
    """A model, initialised."""
    found: Drawn = pick(rng, KINDS)(rng)
    model = copy.deepcopy(found.model) if rng.integers(4) == 0 else found.model
    return Drawn(model.init(np.random.default_rng(int(rng.integers(1000)))), found.sample, found.vocab, found.least)
