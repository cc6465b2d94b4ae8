"""Compact: a GPT-2 that only reads and writes text, with its matrices in 16 or 8 bits.

A generated token reads every matrix once, which is most of its time: half the bytes take half of it.

bfloat16   each weight rounded to 8 digits in base 2, at most 1/256 of itself away; two bytes
int8       each row in steps of its largest weight/127, at most half a step away; one byte, and four for each row

The matrices are those of attention, c_fc, c_proj, wte, and of a head of its own. All else is float32: biases, norms,
positions, keys and values, every sum. There is no gradient. On CPUs.
"""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, final

import numpy as np
from jaxtyping import Float, Integer

from typednn.arguments import choice
from typednn.arrays import Array1, Array2, Array3, IntArray1, IntArray2
from typednn.backends import to_numpy
from typednn.errors import ArgumentError, ShapeError, StateError, explain
from typednn.kernels import compact_linear, last_step, layer_norm
from typednn.kernels.attention import cache
from typednn.kernels.attention.cache import Cache
from typednn.kernels.concat import split
from typednn.kernels.linear_units import gelu_tanh
from typednn.kernels.pointwise import add
from typednn.kernels.positions import add_learned
from typednn.kernels.reshape import reshape
from typednn.models.gpt2 import GPT2, GPT2Block

Kind: TypeAlias = Literal["bfloat16", "int8"]
BITS = {"bfloat16": 16, "int8": 8}


def compact(model: GPT2, kind: Kind) -> "CompactGPT2":
    """A copy of a float32 ``model`` for `generate` and `stream`, with its matrices in ``kind``."""
    bits = BITS[choice("compact", "kind", kind, tuple(BITS))]
    if not isinstance(model, GPT2):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(explain("compact", "model is a GPT2", type(model).__name__), "model")
    if model.dtype != np.float32:
        raise ArgumentError(
            explain("compact", "model is of float32", str(model.dtype), 'call astype("float32") first'), "model"
        )
    return CompactGPT2(model, bits)


@final
@dataclass(frozen=True, slots=True)
class _Norm:
    """The arguments of `layer_norm`, but its first."""

    weight: Any
    bias: Any
    eps: float

    def __call__(self, x: Any) -> Any:
        return layer_norm.forward(x, self.weight, self.bias, self.eps)


@final
class _Map:
    """x weightᵀ + bias at every position."""

    __slots__ = ("bias", "scale", "weight")

    def __init__(self, weight: Any, bias: Any, bits: int) -> None:
        self.weight: Any
        self.scale: Any
        self.weight, self.scale = compact_linear.packed(to_numpy(weight), bits)
        self.bias: Array1 | None = None if bias is None else to_numpy(bias).copy()

    def __call__(self, x: Any) -> Any:
        rows = compact_linear.forward(reshape(x, (-1, x.shape[-1])), self.weight, self.scale, self.bias)
        return reshape(rows, (*x.shape[:-1], self.weight.shape[0]))

    def rows(self, places: Any) -> Any:
        """Some rows of the matrix, as float32."""
        return compact_linear.widened(self.weight[places], None if self.scale is None else self.scale[places])

    @property
    def arrays(self) -> list[Any]:
        return [each for each in (self.weight, self.scale, self.bias) if each is not None]


@final
class _Block:
    """The formulas of `GPT2Block`."""

    def __init__(self, block: GPT2Block, bits: int) -> None:
        self.heads: int = block.n_head
        self.ln_1: _Norm = _norm(block.ln_1)
        self.in_proj: _Map = _Map(block.attn.in_proj_weight, block.attn.in_proj_bias, bits)
        self.out_proj: _Map = _Map(block.attn.out_proj_weight, block.attn.out_proj_bias, bits)
        self.ln_2: _Norm = _norm(block.ln_2)
        self.c_fc: _Map = _Map(block.c_fc.weight, block.c_fc.bias, bits)
        self.c_proj: _Map = _Map(block.c_proj.weight, block.c_proj.bias, bits)

    def read(
        self, x: Float[Array3, "batch time features"], state: Cache | None
    ) -> tuple[Float[Array3, "batch time features"], Cache]:
        batch, time, features = x.shape
        q, k, v = split(2, self.in_proj(self.ln_1(x)), (features,) * 3)
        by_heads = batch, time, self.heads, features // self.heads
        attended, after = cache.read(reshape(q, by_heads), reshape(k, by_heads), reshape(v, by_heads), state)
        mixed: Float[Array3, "batch time features"] = self.out_proj(reshape(attended, x.shape))
        y = add(x, mixed)
        mapped: Float[Array3, "batch time features"] = self.c_proj(gelu_tanh.forward(self.c_fc(self.ln_2(y))))
        return add(y, mapped), after

    @property
    def maps(self) -> list[_Map]:
        return [self.in_proj, self.out_proj, self.c_fc, self.c_proj]


@final
class CompactGPT2:
    """What `compact` makes. `read` and `step` are those of `GPT2` in eval, with these weights."""

    device: str = "cpu"
    training: bool = False

    def __init__(self, model: GPT2, bits: int) -> None:
        self.vocab_size: int = model.vocab_size
        self.n_positions: int = model.n_positions
        self.wte: _Map = _Map(model.wte.weight, None, bits)
        self.lm_head: _Map = self.wte if model.lm_head is None else _Map(model.lm_head.weight, model.lm_head.bias, bits)
        self.wpe: Any = to_numpy(model.wpe.weight).copy()
        self.ln_f: _Norm = _norm(model.ln_f)
        self.blocks: list[_Block] = []
        for block in model.h.copies:
            assert isinstance(block, GPT2Block)
            self.blocks.append(_Block(block, bits))

    @property
    def nbytes(self) -> int:
        """Of all weights."""
        heads = [self.wte] if self.lm_head is self.wte else [self.wte, self.lm_head]
        maps = [*heads, *(each for block in self.blocks for each in block.maps)]
        norms = [self.ln_f, *(norm for block in self.blocks for norm in (block.ln_1, block.ln_2))]
        arrays = [
            self.wpe,
            *(array for each in maps for array in each.arrays),
            *(x for norm in norms for x in (norm.weight, norm.bias)),
        ]
        return sum(int(array.nbytes) for array in arrays)

    def eval(self) -> "CompactGPT2":
        """It never is in training."""
        return self

    def train(self, mode: bool = True) -> "CompactGPT2":
        """Refused: there is no gradient."""
        if mode:
            raise StateError(
                explain("CompactGPT2", "only reads and writes text", "train()", "train the model that it was made from")
            )
        return self

    def read(
        self, x: Integer[IntArray2, "batch time"], state: tuple[Cache, ...] = ()
    ) -> tuple[Float[Array2, "batch {self.vocab_size}"], tuple[Cache, ...]]:
        """Scores of what follows the tokens ``x``, and the state after them; no state before the first token."""
        first = state[0].length if state else 0
        if first + x.shape[1] > self.n_positions:
            got = f"{first + x.shape[1]}"
            raise ShapeError(
                explain("CompactGPT2.read", f"knows {self.n_positions} positions", got, "begin without a state")
            )
        if x.size and (x.min() < 0 or x.max() >= self.vocab_size):
            raise ArgumentError(
                explain("CompactGPT2.read", f"tokens must be 0 to {self.vocab_size - 1}", f"{x.min()} to {x.max()}"),
                "x",
            )
        y: Any = add_learned(self.wte.rows(x), self.wpe, first)
        caches: list[Cache] = []
        for number, block in enumerate(self.blocks):
            y, after = block.read(y, state[number] if state else None)
            caches.append(after)
        return self.lm_head(self.ln_f(last_step.forward(y, None))), tuple(caches)

    def step(
        self, x: Integer[IntArray1, " batch"], state: tuple[Cache, ...] = ()
    ) -> tuple[Float[Array2, "batch {self.vocab_size}"], tuple[Cache, ...]]:
        """`read` of one token."""
        return self.read(reshape(x, (len(x), 1)), state)

    def __repr__(self) -> str:
        return (
            f"CompactGPT2({len(self.blocks)} blocks, {'int8' if self.wte.scale is not None else 'bfloat16'}, "
            f"{self.nbytes:,} bytes)"
        )


def _norm(norm: Any) -> _Norm:
    return _Norm(to_numpy(norm.weight).copy(), to_numpy(norm.bias).copy(), norm.eps)
