"""Dropout in Halide: one pass over memory, in which the bits are computed; the same as the reference's, on any number
of threads.
"""

from __future__ import annotations

from typing import TypeVar

from typednn.arrays import AnyArray
from typednn.engines import Cpu, Scalar, empty, hl, kernel
from typednn.engines.dispatch import FLOATS
from typednn.kernels.dropout.reference import LANES, MULTIPLIERS, ROUNDS, WEYL, WORD, least_kept, words
from typednn.kernels.elementwise import ELEMENTS, PARALLEL_FROM_EXP, PIECE

X = TypeVar("X", bound=AnyArray)

_BLOCK = 4 * LANES  # numbers of as many counters as there are lanes


def philox(counter: tuple[hl.Expr, ...], key: tuple[hl.Expr, hl.Expr]) -> tuple[hl.Expr, ...]:
    """Philox 4x32-10 of unsigned integers of 32 bits."""

    def product(x: hl.Expr, multiplier: int) -> tuple[hl.Expr, hl.Expr]:
        whole = hl.cast(hl.UInt(64), x) * hl.cast(hl.UInt(64), hl.u32(multiplier))
        return hl.cast(hl.UInt(32), whole >> 32), hl.cast(hl.UInt(32), whole)

    for number in range(ROUNDS):
        first, second = (own + hl.u32(number * step & WORD) for own, step in zip(key, WEYL, strict=True))
        high, low = product(counter[0], MULTIPLIERS[0])
        other_high, other_low = product(counter[2], MULTIPLIERS[1])
        counter = other_high ^ counter[1] ^ first, other_low, high ^ counter[3] ^ second, low
    return counter


def _build(
    cpu: Cpu,
    x: hl.ImageParam,
    scale: hl.Param,
    least: hl.Param,
    key: hl.Param,
    key_high: hl.Param,
    drawn: hl.Param,
    drawn_high: hl.Param,
) -> hl.Func:
    i, block, word, lane, task = (hl.Var(name) for name in ("i", "block", "word", "lane", "task"))
    y, words_of, size = hl.Func("y"), hl.Func("words"), x.dim(0).extent()

    def unsigned(number: hl.Param) -> hl.Expr:
        return hl.reinterpret(hl.UInt(32), number)

    counter = hl.cast(hl.UInt(32), block * LANES + lane), hl.u32(0), unsigned(drawn), unsigned(drawn_high)
    words_of[lane, block] = hl.Tuple(list(philox(counter, (unsigned(key), unsigned(key_high)))))
    at, place = i / _BLOCK, i % _BLOCK
    found = [words_of[place % LANES, at][number] for number in range(4)]
    which = place / LANES
    bits = hl.select(which == 0, found[0], which == 1, found[1], which == 2, found[2], found[3])
    y[i] = hl.select(bits >= unsigned(least), x[i] * scale, 0)
    y.split(i, block, i, _BLOCK, hl.TailStrategy.GuardWithIf).split(i, word, lane, LANES).vectorize(lane).unroll(word)
    words_of.compute_at(y, block).store_in(hl.MemoryType.Stack).bound_extent(lane, LANES).vectorize(lane, LANES)
    y.specialize(size >= PARALLEL_FROM_EXP).split(
        block, task, block, PIECE // _BLOCK, hl.TailStrategy.GuardWithIf
    ).parallel(task)
    return y


_integer = Scalar("int32")
_kernels = {
    dtype: kernel("dropout", _build, inputs=(ELEMENTS, Scalar(), *[_integer] * 5), outputs=(ELEMENTS,), dtype=dtype)
    for dtype in FLOATS
}


def signed(word: int) -> int:
    """32 bits as the integer with a sign that they are."""
    return word - (1 << 32) if word >> 31 else word


def sizes(x: AnyArray, p: float, key: int, drawn: int, whole: bool) -> bool:
    """Numbers, not whole channels, of which some may be kept."""
    return least_kept(p) <= WORD and not whole


def dropout(x: X, p: float, key: int, drawn: int, whole: bool) -> X:
    """y, shaped like x."""
    y: X = empty(x.shape, x.dtype)
    integers = [signed(word) for word in (least_kept(p), *words(key), *words(drawn))]
    _kernels[x.dtype].call(x, 1 / (1 - p), *integers, y)
    return y
