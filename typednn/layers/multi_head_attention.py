"""MultiHeadAttention: every position of a sequence reads from the others, or from a second sequence, what its query
asks for.

q = x W_qᵀ + b_q    k = m W_kᵀ + b_k    v = m W_vᵀ + b_v    a = softmax(q kᵀ/√(embed_dim/num_heads)) v, in each head
y = a W_oᵀ + b_o

x, y (batch, time, embed_dim)    m, which is x itself unless ``memory`` is given (batch, memory, kdim)
weights (out, in)
in_proj_weight (3·embed_dim, embed_dim) is W_q, W_k and W_v, one after another; with another ``kdim`` they are three.
in_proj_bias is b_q, b_k, b_v. Keeps x, m and mask by reference, q, k, v and a, and one number for each query of each
head: no scores. 8·batch·time·embed_dim² + 4·batch·time·memory·embed_dim flops forward, half of the second part where
causal; up to 2.5 times that backward. With ``dropout`` p, in training, a weight of the softmax is 0 with probability p,
else divided by 1 - p, by a mask that is a function of ``seed`` alone, as a `Dropout`'s: key and number of masks so far.
Backward draws it again. Nothing of time·memory is kept. A masked NaN or infinity in m changes neither y nor other
derivatives by x and m (on NumPy); those by W_k and W_v are NaN then. The fast kernels take heads whose features are a
multiple of 8, and 16 positions or more; all else, dropout too, runs on the reference.
Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2; initial values as torch.nn.MultiheadAttention.
"""

from dataclasses import dataclass
from typing import Any, final

from jaxtyping import Bool, Float, Integer

from typednn.arguments import flag, integer, number
from typednn.arrays import AnyBoolArray, Array1, Array2, Array3, IntArray1
from typednn.contracts.protocols import Incremental
from typednn.errors import ArgumentError, explain
from typednn.kernels.attention import cache, projections
from typednn.kernels.attention.cache import Cache
from typednn.kernels.dropout import next_mask
from typednn.kernels.reshape import reshape
from typednn.layer import Layer, S
from typednn.module.fields import Buffer, Kept, Parameter
from typednn.module.gradients import Gradient
from typednn.random import Initialiser, Rng, Seed, initialiser


@final
@dataclass(frozen=True, slots=True)
class MultiHeadAttentionGrad(
    Gradient, inputs=("input", "memory", "mask"), relations=("three_embed_dim == 3*embed_dim",)
):
    """The loss's derivative by each quantity, under that quantity's own name; a mask has none."""

    input: Float[Array3, "batch time embed_dim"]
    memory: Float[Array3, "batch memory kdim"] | None
    mask: None
    in_proj_weight: Float[Array2, "three_embed_dim embed_dim"] | None
    q_proj_weight: Float[Array2, "embed_dim embed_dim"] | None
    k_proj_weight: Float[Array2, "embed_dim kdim"] | None
    v_proj_weight: Float[Array2, "embed_dim kdim"] | None
    in_proj_bias: Float[Array1, " three_embed_dim"] | None
    out_proj_weight: Float[Array2, "embed_dim embed_dim"]
    out_proj_bias: Float[Array1, " embed_dim"] | None


@final
class MultiHeadAttention(Layer[Array3, Array3, MultiHeadAttentionGrad, S], Incremental[Cache]):
    """``forward(x)`` attends to x itself, ``forward(x, memory)`` to a second sequence, whose features are ``kdim``
    (default: embed_dim). ``mask`` is true where a position may be attended to, for all queries, (batch, memory), or for
    each, (batch, time, memory); PyTorch's masks are true where it may not. What attends to nothing gives the output's
    bias. ``causal``: no position attends to later ones. ``rotary``: q and k are turned by angles that grow with
    position. PyTorch's ``out_proj.weight`` is out_proj_weight here.
    """

    in_proj_weight: Parameter[Float[Array2, "3*{self.embed_dim} {self.embed_dim}"] | None]
    q_proj_weight: Parameter[Float[Array2, "{self.embed_dim} {self.embed_dim}"] | None]
    k_proj_weight: Parameter[Float[Array2, "{self.embed_dim} {self.kdim}"] | None]
    v_proj_weight: Parameter[Float[Array2, "{self.embed_dim} {self.kdim}"] | None]
    in_proj_bias: Parameter[Float[Array1, "3*{self.embed_dim}"] | None]
    out_proj_weight: Parameter[Float[Array2, "{self.embed_dim} {self.embed_dim}"]]
    out_proj_bias: Parameter[Float[Array1, " {self.embed_dim}"] | None]
    seed: Buffer[Integer[IntArray1, "2"] | None]
    _x: Kept[Float[Array3, "batch time {self.embed_dim}"]]
    _memory: Kept[Float[Array3, "batch memory {self.kdim}"] | None]
    _mask: Kept[Bool[AnyBoolArray, "batch ... memory"] | None]
    _attended: Kept[tuple[Any, ...]]

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        dropout: float = 0.0,
        bias: bool = True,
        kdim: int | None = None,
        causal: bool = False,
        rotary: bool = False,
        in_proj_init: str | Initialiser = "xavier_uniform",
        out_proj_init: str | Initialiser = "kaiming_uniform",
        rng: Rng | None = None,
    ) -> None:
        where = "MultiHeadAttention"
        self.embed_dim: int = integer(where, "embed_dim", embed_dim)
        self.num_heads: int = integer(where, "num_heads", num_heads)
        self.dropout: float = number(where, "dropout", dropout, least=0.0, most=1.0)
        self.kdim: int = self.embed_dim if kdim is None else integer(where, "kdim", kdim)
        self.causal: bool = flag(where, "causal", causal)
        self.rotary: bool = flag(where, "rotary", rotary)
        projections.check_heads(where, self.embed_dim, self.num_heads, self.rotary)
        each = projections.of_its_own(initialiser(in_proj_init, "in_proj_init"))
        self.initialise_with(
            in_proj_weight=each, q_proj_weight=each, k_proj_weight=each, v_proj_weight=each, in_proj_bias="zeros"
        )
        self.initialise_with(
            out_proj_weight=projections.of_its_own(initialiser(out_proj_init, "out_proj_init")), out_proj_bias="zeros"
        )
        if self.kdim == self.embed_dim:
            self.q_proj_weight = self.k_proj_weight = self.v_proj_weight = None
        else:
            self.in_proj_weight = None
        if not self.dropout:
            self.seed = None
        if not bias:
            self.in_proj_bias = self.out_proj_bias = None
        self.initialise_with(seed=Seed())
        if rng is not None:
            self.init(rng)

    def forward(
        self,
        x: Float[Array3, "batch time {self.embed_dim}"],
        memory: Float[Array3, "batch memory {self.kdim}"] | None = None,
        mask: Bool[AnyBoolArray, "batch ... memory"] | None = None,
    ) -> Float[Array3, "batch time {self.embed_dim}"]:
        attended = projections.attended(self, x, memory, mask)
        drawn = None if self.seed is None or not self.training else (self.dropout, *next_mask(self.seed))
        kept = projections.attend(self, x, attended, memory is None, mask, drawn)
        self._x, self._memory, self._mask, self._attended = x, memory, mask, kept
        mixed: Array3 = projections.mapped(kept[1], self.out_proj_weight, self.out_proj_bias, x.shape)
        return mixed

    def backward(self, next_grad: Float[Array3, "batch time {self.embed_dim}"]) -> MultiHeadAttentionGrad:
        dy, dout_weight, dout_bias = projections.mapped_backward(next_grad, self._attended[1], self.out_proj_weight)
        dweights, dbias, dx, dmemory = projections.attend_backward(
            self, dy, self._x, self._memory, self._mask, self._attended
        )
        biased = self.in_proj_bias is not None
        return MultiHeadAttentionGrad(
            dx, dmemory, None, *dweights, dbias if biased else None, dout_weight, dout_bias if biased else None
        )

    def read(
        self, x: Float[Array3, "batch time {self.embed_dim}"], state: Cache | None = None
    ) -> tuple[Float[Array3, "batch time {self.embed_dim}"], Cache]:
        """What `forward` gives in eval at the positions behind those of ``state``, and the state after them. Keeps
        nothing.
        """
        if not self.causal:
            raise ArgumentError(
                explain(f"{self.label()}.read", "needs causal=True: no later position is known", "causal=False"),
                "causal",
            )
        q, k, v = projections.projected_together(self, x, 0 if state is None else state.length)
        y, after = cache.read(q, k, v, state)
        return projections.mapped(y, self.out_proj_weight, self.out_proj_bias, x.shape), after

    def step(
        self, x: Float[Array2, "batch {self.embed_dim}"], state: Cache | None = None
    ) -> tuple[Float[Array2, "batch {self.embed_dim}"], Cache]:
        y, after = self.read(reshape(x, (len(x), 1, self.embed_dim)), state)
        return reshape(y, x.shape), after
