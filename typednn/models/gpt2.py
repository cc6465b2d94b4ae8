"""GPT-2: each position of a text says which token comes next, from all the tokens before it.

                                                                    each sample's shape
tokens                                                              time
wte      Embedding(vocab_size, n_embd)     what each token is       time x n_embd
wpe      LearnedPositions(n_positions, n_embd)  and where           time x n_embd
h        GPT2Block, n_layer times          below                    time x n_embd
ln_f     LayerNorm                                                  time x n_embd
lm_head  None: wte.attend, the scores are products with wte's rows  time x vocab_size

block: y = x + attention(ln_1(x))    z = y + c_proj(gelu(c_fc(ln_2(y))))    4·n_embd features between c_fc and c_proj

                 n_layer   n_head   n_embd      parameters, of 50,257 tokens and 1,024 positions
gpt2                  12       12      768       124,439,808 in 148 tensors
gpt2-medium           24       16    1,024       354,823,168
gpt2-large            36       20    1,280       774,030,080
gpt2-xl               48       25    1,600     1,557,611,200

Names are those of Hugging Face's `transformers`. Initial values: N(0, 0.02²), 0.02/√(2·n_layer) where a block writes
into its sum.
Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", sections 2.2 and 2.3; GELU by tanh
and the tied head as in the code published with it.
"""

import math
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, final

from jaxtyping import Float, Integer

from typednn.arguments import choice, flag, integer, number
from typednn.arrays import Array2, Array3, IntArray1, IntArray2
from typednn.errors import ArgumentError, StateError, explain
from typednn.kernels import last_step
from typednn.kernels.attention.cache import Cache
from typednn.kernels.pointwise import add
from typednn.kernels.reshape import reshape
from typednn.layer import FirstLayer, Layer, S
from typednn.layers import (
    GELU,
    Dropout,
    Embedding,
    Identity,
    LayerNorm,
    LearnedPositions,
    MultiHeadAttention,
    Repeat,
    SequenceLinear,
)
from typednn.layers.embedding import EmbeddingGrad
from typednn.layers.layer_norm import LayerNormGrad
from typednn.layers.learned_positions import LearnedPositionsGrad
from typednn.layers.multi_head_attention import MultiHeadAttentionGrad
from typednn.layers.repeat import RepeatGrad
from typednn.layers.sequence_linear import SequenceLinearGrad
from typednn.models.gpt2_pieces import GPT2End, GPT2Start
from typednn.module.gradients import ElementwiseGrad, Gradient
from typednn.parallel.cutting import Piece
from typednn.random import HeNormal, Normal, Rng, XavierUniform

SPREAD = 0.02  # of initial weights


@final
@dataclass(frozen=True, slots=True)
class GPT2BlockGrad(Gradient):
    """The loss's derivative by the input, and the gradients of the layers that learn, under those layers' names."""

    input: Float[Array3, "batch time n_embd"]
    ln_1: ElementwiseGrad[Array3, LayerNormGrad]
    attn: MultiHeadAttentionGrad
    ln_2: ElementwiseGrad[Array3, LayerNormGrad]
    c_fc: ElementwiseGrad[Array3, SequenceLinearGrad]
    c_proj: ElementwiseGrad[Array3, SequenceLinearGrad]


@final
class GPT2Block(Layer[Array3, Array3, GPT2BlockGrad, S]):
    """Attention, then two affine maps, each added to what it reads. ``spread`` is the initial deviation of what writes
    into the sums.

    With ``initial="he"`` attention begins as Xavier's and the maps as He's initial weights, and ``spread`` has no
    meaning.
    """

    def __init__(
        self,
        n_embd: int,
        n_head: int,
        dropout: float = 0.0,
        *,
        spread: float = SPREAD,
        initial: Literal["gpt2", "he"] = "gpt2",
        rng: Rng | None = None,
    ) -> None:
        self.n_embd: int = integer("GPT2Block", "n_embd", n_embd)
        self.n_head: int = _heads("GPT2Block", n_head, n_embd)
        self.dropout: float = number("GPT2Block", "dropout", dropout, least=0.0, most=1.0)
        self.spread: float = number("GPT2Block", "spread", spread, least=0.0)
        self.initial: Literal["gpt2", "he"] = choice("GPT2Block", "initial", initial, ("gpt2", "he"))
        he = self.initial == "he"
        wide, narrow = (HeNormal(), HeNormal()) if he else (Normal(SPREAD), Normal(self.spread))
        read, write = (XavierUniform(), XavierUniform()) if he else (wide, narrow)
        self.ln_1: LayerNorm = LayerNorm(n_embd)
        self.attn: MultiHeadAttention = MultiHeadAttention(
            n_embd, n_head, dropout=self.dropout, causal=True, in_proj_init=read, out_proj_init=write
        )
        self.attn_dropout: Dropout | Identity = _dropout(self.dropout)
        self.ln_2: LayerNorm = LayerNorm(n_embd)
        self.c_fc: SequenceLinear = SequenceLinear(n_embd, 4 * n_embd, weight_init=wide, bias_init="zeros")
        self.gelu: GELU = GELU("tanh")
        self.c_proj: SequenceLinear = SequenceLinear(4 * n_embd, n_embd, weight_init=narrow, bias_init="zeros")
        self.mlp_dropout: Dropout | Identity = _dropout(self.dropout)
        if rng is not None:
            self.init(rng)

    def forward(self, x: Float[Array3, "batch time {self.n_embd}"]) -> Float[Array3, "batch time {self.n_embd}"]:
        y = add(x, self.attn_dropout.forward(self.attn.forward(self.ln_1.forward(x))))
        features = self.gelu.forward(self.c_fc.forward(self.ln_2.forward(y)))
        z: Array3 = add(y, self.mlp_dropout.forward(self.c_proj.forward(features)))
        return z

    def backward(self, next_grad: Float[Array3, "batch time {self.n_embd}"]) -> GPT2BlockGrad:
        c_proj = self.c_proj.backward(self.mlp_dropout.backward(next_grad).input)
        c_fc = self.c_fc.backward(self.gelu.backward(c_proj.input).input)
        ln_2 = self.ln_2.backward(c_fc.input)
        dy = add(next_grad, ln_2.input)
        attn = self.attn.backward(self.attn_dropout.backward(dy).input)
        ln_1 = self.ln_1.backward(attn.input)
        return GPT2BlockGrad(add(dy, ln_1.input), ln_1, attn, ln_2, c_fc, c_proj)

    def read(
        self, x: Float[Array3, "batch time {self.n_embd}"], state: Cache | None = None
    ) -> tuple[Float[Array3, "batch time {self.n_embd}"], Cache]:
        """What ``forward`` gives in eval at the positions behind those of ``state``, and the state after them."""
        _in_eval(self)
        attended, cache = self.attn.read(self.ln_1.forward(x), state)
        y = add(x, attended)
        z: Array3 = add(y, self.c_proj.forward(self.gelu.forward(self.c_fc.forward(self.ln_2.forward(y)))))
        return z, cache


@final
@dataclass(frozen=True, slots=True)
class GPT2Grad(Gradient):
    """The gradients of the layers, under their names; tokens have none. That of wte is of both its uses, where there is
    no lm_head.
    """

    input: None
    wte: EmbeddingGrad
    wpe: LearnedPositionsGrad
    h: RepeatGrad[Array3, GPT2BlockGrad]
    ln_f: ElementwiseGrad[Array3, LayerNormGrad]
    lm_head: ElementwiseGrad[Array3, SequenceLinearGrad] | None


@final
class GPT2(FirstLayer[IntArray2, Array3, GPT2Grad, S]):
    """Tokens (batch, time) to scores of the next token at each position (batch, time, vocab_size), for
    `SoftmaxCrossEntropy`.

    ``dropout`` is the probability of each number of the embeddings, of what each part of a block adds, and of
    attention's weights, to be 0 in training. Without ``tie_word_embeddings`` the head has a weight and a bias of its
    own. ``initial="he"`` begins with He's values, and attention with Xavier's. ``checkpointing`` keeps each block's
    input only, and computes the blocks a second time in backward: the same gradients, to the bit.
    """

    def __init__(
        self,
        vocab_size: int = 50257,
        n_positions: int = 1024,
        n_embd: int = 768,
        n_layer: int = 12,
        n_head: int = 12,
        dropout: float = 0.0,
        *,
        tie_word_embeddings: bool = True,
        initial: Literal["gpt2", "he"] = "gpt2",
        checkpointing: bool = False,
        rng: Rng | None = None,
    ) -> None:
        self.vocab_size: int = integer("GPT2", "vocab_size", vocab_size)
        self.n_positions: int = integer("GPT2", "n_positions", n_positions)
        self.n_embd: int = integer("GPT2", "n_embd", n_embd)
        self.n_layer: int = integer("GPT2", "n_layer", n_layer)
        self.n_head: int = _heads("GPT2", n_head, n_embd)
        self.dropout: float = number("GPT2", "dropout", dropout, least=0.0, most=1.0)
        self.tie_word_embeddings: bool = flag("GPT2", "tie_word_embeddings", tie_word_embeddings)
        self.initial: Literal["gpt2", "he"] = choice("GPT2", "initial", initial, ("gpt2", "he"))
        rule = HeNormal() if self.initial == "he" else Normal(SPREAD)
        self.wte: Embedding = Embedding(vocab_size, n_embd, weight_init=rule)
        self.wpe: LearnedPositions = LearnedPositions(n_positions, n_embd, weight_init=rule)
        self.drop: Dropout | Identity = _dropout(self.dropout)
        block: GPT2Block = GPT2Block(
            n_embd, n_head, dropout, spread=SPREAD / math.sqrt(2 * self.n_layer), initial=initial
        )
        self.checkpointing: bool = flag("GPT2", "checkpointing", checkpointing)
        self.h: Repeat[Array3, GPT2BlockGrad] = Repeat(block, n_layer, checkpointing)
        self.ln_f: LayerNorm = LayerNorm(n_embd)
        self.lm_head: SequenceLinear | None = None
        if not self.tie_word_embeddings:
            self.lm_head = SequenceLinear(n_embd, vocab_size, weight_init=rule, bias_init="zeros")
        if rng is not None:
            self.init(rng)

    def forward(self, x: Integer[IntArray2, "batch time"]) -> Float[Array3, "batch time {self.vocab_size}"]:
        features = self.drop.forward(self.wpe.forward(self.wte.forward(x)))
        features = self.ln_f.forward(self.h.forward(features))
        return self.wte.attend(features) if self.lm_head is None else self.lm_head.forward(features)

    def backward(self, next_grad: Float[Array3, "batch time {self.vocab_size}"]) -> GPT2Grad:
        if self.lm_head is None:
            dfeatures, dweight = self.wte.attend_backward(next_grad)
            ln_f, h, wpe = self._backward(dfeatures)
            return GPT2Grad(None, self.wte.backward_of_both(wpe.input, dweight), wpe, h, ln_f, None)
        lm_head = self.lm_head.backward(next_grad)
        ln_f, h, wpe = self._backward(lm_head.input)
        return GPT2Grad(None, self.wte.backward(wpe.input), wpe, h, ln_f, lm_head)

    def _backward(
        self, next_grad: Float[Array3, "batch time {self.n_embd}"]
    ) -> tuple[ElementwiseGrad[Array3, LayerNormGrad], RepeatGrad[Array3, GPT2BlockGrad], LearnedPositionsGrad]:
        """The gradients of what lies between the embedding and the head."""
        ln_f = self.ln_f.backward(next_grad)
        h = self.h.backward(ln_f.input)
        return ln_f, h, self.wpe.backward(self.drop.backward(h.input).input)

    def pieces(self) -> list[Piece]:
        """What a training in stages cuts it into: the embeddings, each block, and the head."""
        tied = self.wte if self.lm_head is None else None
        start: GPT2Start = GPT2Start(self.wte, self.wpe, self.drop)
        end: GPT2End = GPT2End(self.wte, self.ln_f, self.lm_head)
        head = () if self.lm_head is None else (("lm_head", self.lm_head, attrgetter("lm_head")),)
        embeddings = (("wte", self.wte, attrgetter("wte")), ("wpe", self.wpe, attrgetter("wpe")))
        return [
            Piece((*embeddings, ("drop", self.drop, lambda _: ElementwiseGrad(None, None))), start, tied),
            *(
                Piece(((f"h.copies.{place}", block, lambda grad: grad),), block)
                for place, block in enumerate(self.h.copies)
            ),
            Piece((("ln_f", self.ln_f, attrgetter("ln_f")), *head), end, tied),
        ]

    def read(
        self, x: Integer[IntArray2, "batch time"], state: tuple[Cache, ...] = ()
    ) -> tuple[Float[Array2, "batch {self.vocab_size}"], tuple[Cache, ...]]:
        """Scores of what follows the tokens ``x``, and the state after them; no state before the first token.

        Equal to the last position of ``forward``, at the cost of the new positions, of which the head computes only the
        last. The state is each block's keys and values: 2·n_layer·n_embd numbers for each position. In eval only.
        `ShapeError` beyond n_positions.
        """
        _in_eval(self)
        y, _ = self.wpe.read(self.wte.forward(x), state[0].length if state else 0)
        caches: list[Cache] = []
        for number_of_block, block in enumerate(self.h.copies):
            assert isinstance(block, GPT2Block)
            y, cache = block.read(y, state[number_of_block] if state else None)
            caches.append(cache)
        last = self.ln_f.forward(last_step.forward(y, None))
        return self.wte.attend(last) if self.lm_head is None else self.lm_head.forward(last), tuple(caches)

    def step(
        self, x: Integer[IntArray1, " batch"], state: tuple[Cache, ...] = ()
    ) -> tuple[Float[Array2, "batch {self.vocab_size}"], tuple[Cache, ...]]:
        """`read` of one token."""
        return self.read(reshape(x, (len(x), 1)), state)


def _in_eval(layer: GPT2 | GPT2Block) -> None:
    """`read` calls layers whose forward keeps, in training, what the model's backward needs of its own forward."""
    if layer.training:
        raise StateError(
            explain(f"{layer.label()}.read", "reads tokens in eval", "a model in training", "call eval() first"), layer
        )


def _heads(where: str, n_head: int, n_embd: int) -> int:
    """``n_head``, each of which has as many of the features as the others."""
    heads = integer(where, "n_head", n_head)
    if n_embd % heads:
        raise ArgumentError(explain(where, f"n_embd must be a multiple of n_head, {heads}", f"{n_embd}"), "n_head")
    return heads


def _dropout(p: float) -> Dropout | Identity:
    """No layer that draws where nothing is dropped."""
    return Dropout(p) if p else Identity()
