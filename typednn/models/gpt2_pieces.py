"""What a GPT-2 is made of where it is cut into stages: the embeddings, each block, and the head.

With a tied head the first and the last piece have one weight. The last hands its derivative to the first
(``derivative``), which adds its own to it, as the whole model does.
"""

from dataclasses import dataclass
from typing import Any, final

from jaxtyping import Float, Integer

from typednn.arrays import Array2, Array3, IntArray2
from typednn.layer import FirstLayer, Layer, S
from typednn.layers import Embedding, LayerNorm, LearnedPositions, SequenceLinear
from typednn.layers.embedding import EmbeddingGrad
from typednn.layers.layer_norm import LayerNormGrad
from typednn.layers.learned_positions import LearnedPositionsGrad
from typednn.layers.sequence_linear import SequenceLinearGrad
from typednn.module.fields import Kept
from typednn.module.gradients import ElementwiseGrad, Gradient


@final
@dataclass(frozen=True, slots=True)
class GPT2StartGrad(Gradient):
    """The gradients of both embeddings; tokens have none."""

    input: None
    wte: EmbeddingGrad
    wpe: LearnedPositionsGrad


@final
class GPT2Start(FirstLayer[IntArray2, Array3, GPT2StartGrad, S]):
    """Tokens to features: both embeddings, and what drops some."""

    derivative: Kept[Array2]  # of a tied head by its weight: the gradient of wte begins with it

    def __init__(self, wte: Embedding, wpe: LearnedPositions, drop: Any) -> None:
        self.n_embd: int = wte.embedding_dim
        self.wte: Embedding = wte
        self.wpe: LearnedPositions = wpe
        self.drop: Any = drop

    def forward(self, x: Integer[IntArray2, "batch time"]) -> Float[Array3, "batch time {self.n_embd}"]:
        y: Array3 = self.drop.forward(self.wpe.forward(self.wte.forward(x)))
        return y

    def backward(self, next_grad: Float[Array3, "batch time {self.n_embd}"]) -> GPT2StartGrad:
        wpe = self.wpe.backward(self.drop.backward(next_grad).input)
        if "derivative" in self.__typednn_calls__.kept:
            return GPT2StartGrad(None, self.wte.backward_of_both(wpe.input, self.derivative), wpe)
        return GPT2StartGrad(None, self.wte.backward(wpe.input), wpe)


@final
@dataclass(frozen=True, slots=True)
class GPT2EndGrad(Gradient):
    """The gradients of the last norm, and of a head of its own."""

    input: Float[Array3, "batch time n_embd"]
    ln_f: ElementwiseGrad[Array3, LayerNormGrad]
    lm_head: ElementwiseGrad[Array3, SequenceLinearGrad] | None


@final
class GPT2End(Layer[Array3, Array3, GPT2EndGrad, S]):
    """Features to scores: the last norm, and the head, or the products with the rows of ``wte``."""

    derivative: Kept[Array2]  # of a tied head by its weight

    def __init__(self, wte: Embedding, ln_f: LayerNorm, lm_head: SequenceLinear | None) -> None:
        self.n_embd: int = wte.embedding_dim
        self.vocab_size: int = wte.num_embeddings
        self.wte: Embedding = wte
        self.ln_f: LayerNorm = ln_f
        self.lm_head: SequenceLinear | None = lm_head

    def forward(self, x: Float[Array3, "batch time {self.n_embd}"]) -> Float[Array3, "batch time {self.vocab_size}"]:
        features = self.ln_f.forward(x)
        return self.wte.attend(features) if self.lm_head is None else self.lm_head.forward(features)

    def backward(self, next_grad: Float[Array3, "batch time {self.vocab_size}"]) -> GPT2EndGrad:
        if self.lm_head is None:
            derivative, self.derivative = self.wte.attend_backward(next_grad)
            ln_f, lm_head = self.ln_f.backward(derivative), None
        else:
            lm_head = self.lm_head.backward(next_grad)
            ln_f = self.ln_f.backward(lm_head.input)
        return GPT2EndGrad(ln_f.input, ln_f, lm_head)
