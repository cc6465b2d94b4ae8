"""A small GPT-2 whose activation, attention and loss are formulas of the graph: python -m examples.graph_gpt2

None of the three has a hand-written backward. They stand in a stack with typednn's own layers, as parts like any other:

SquaredReLU      max(x, 0)²                                                  So et al. 2021, "Primer"
CappedAttention  causal attention whose scores are cap·tanh(scores/cap)      Gemma Team 2024, "Gemma 2"
ZLoss            cross entropy + penalty·(log Σ exp scores)²                 Chowdhery et al. 2022, "PaLM"

It learns the characters of a short text by heart.
"""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float, Integer

from typednn import (
    Array2,
    Array3,
    Gradient,
    GraphElementwise,
    GraphLayer,
    GraphLoss,
    Input,
    IntArray2,
    Parameter,
    S,
    gradcheck,
)
from typednn.arguments import divisor
from typednn.data import Characters
from typednn.graph import AnyTensor, Tensor0, Tensor2, Tensor3, exp, logsumexp, one_hot, relu, tanh, tril, where
from typednn.layers import Embedding, LayerNorm, LearnedPositions, Residual, SequenceLinear
from typednn.optim import Adam

TEXT = "the quick brown fox jumps over the lazy dog, and the lazy dog sleeps under the brown oak. "
TIME, WIDTH, HEADS, BATCH, STEPS = 16, 32, 4, 16, 60


@final
class SquaredReLU(GraphElementwise[None]):
    """max(x, 0)²."""

    def formula(self, x: Float[AnyTensor, "*shape"]) -> Float[AnyTensor, "*shape"]:
        return relu(x) ** 2


@final
@dataclass(frozen=True, slots=True)
class CappedAttentionGrad(Gradient):
    """The loss's derivative by the input, and by both weights."""

    input: Float[Array3, "batch time width"]
    c_attn: Float[Array2, "width*3 width"]
    c_proj: Float[Array2, "width width"]


@final
class CappedAttention(GraphLayer[Array3, Array3, CappedAttentionGrad, S]):
    """Each position reads from itself and those before it; no score is beyond ±cap."""

    c_attn: Parameter[Float[Array2, "3*{self.width} {self.width}"]]
    c_proj: Parameter[Float[Array2, "{self.width} {self.width}"]]

    def __init__(self, width: int, heads: int, cap: float = 10.0) -> None:
        self.width, self.heads, self.cap = width, divisor("CappedAttention", "heads", heads, width=width), cap

    def formula(self, x: Float[Tensor3, "batch time {self.width}"]) -> Float[Tensor3, "batch time {self.width}"]:
        batch, time, _ = x.shape
        features = self.width // self.heads
        projected = (x @ self.c_attn.T).reshape(batch, time, 3, self.heads, features)
        q, k, v = (projected[:, :, part].permute(0, 2, 1, 3) for part in range(3))
        scores = self.cap * tanh(q @ k.permute(0, 1, 3, 2) / (self.cap * math.sqrt(features)))
        shares = tril(exp(scores - self.cap))  # no larger than 1, so that no maximum is needed
        y = shares / shares.sum(axis=-1, keepdims=True) @ v
        return y.permute(0, 2, 1, 3).reshape(batch, time, self.width) @ self.c_proj.T


@final
class ZLoss(GraphLoss[Array3, IntArray2]):
    """Cross entropy of the next token, which keeps the scores small."""

    def __init__(self, penalty: float = 1e-3) -> None:
        self.penalty = penalty

    def formula(
        self, prediction: Float[Tensor3, "batch time vocab"], target: Integer[Tensor2, "batch time"]
    ) -> Float[Tensor0, ""]:
        total = logsumexp(prediction, axis=-1)
        at = where(one_hot(target, prediction.shape[-1], np.bool_), prediction, 0.0).sum(axis=-1)
        return (total - at + self.penalty * total * total).mean()


vocabulary = Characters(TEXT)
tokens = vocabulary.encode(TEXT)
rng = np.random.default_rng(0)

model = (
    Input(TIME, dtype=int)
    >> Embedding(len(vocabulary), WIDTH)
    >> LearnedPositions(TIME, WIDTH)
    >> Residual(LayerNorm(WIDTH) >> CappedAttention(WIDTH, HEADS))
    >> Residual(
        LayerNorm(WIDTH) >> SequenceLinear(WIDTH, 4 * WIDTH) >> SquaredReLU() >> SequenceLinear(4 * WIDTH, WIDTH)
    )
    >> Residual(LayerNorm(WIDTH) >> CappedAttention(WIDTH, HEADS))
    >> Residual(
        LayerNorm(WIDTH) >> SequenceLinear(WIDTH, 4 * WIDTH) >> SquaredReLU() >> SequenceLinear(4 * WIDTH, WIDTH)
    )
    >> LayerNorm(WIDTH)
    >> SequenceLinear(WIDTH, len(vocabulary))
).init(rng)


def windows() -> tuple[IntArray2, IntArray2]:
    """Pieces of the text, and the same one character later."""
    starts = rng.integers(0, len(tokens) - TIME, BATCH)
    pieces = np.stack([tokens[start : start + TIME + 1] for start in starts])
    return pieces[:, :-1], pieces[:, 1:]


def main() -> None:
    """Hold the graph's derivatives to differences, and train."""
    attention = CappedAttention(6, 2).init(np.random.default_rng(1))
    report = gradcheck(attention, np.random.default_rng(2).standard_normal((2, 3, 6)).astype(np.float32))
    print(f"The derivatives of CappedAttention agree with differences to {report.error:.0e}\n\n{model}\n")
    loss, optimizer = ZLoss(), Adam(lr=3e-3)
    for step in range(1, STEPS + 1):
        x, y = windows()
        value, next_grad = loss.loss_and_grad(model.forward(x), y)
        model.update(optimizer, model.backward(next_grad))
        if step == 1 or step % (STEPS // 4) == 0:
            print(f"step {step:>3}  loss {value:.3f}", flush=True)


if __name__ == "__main__":
    main()
