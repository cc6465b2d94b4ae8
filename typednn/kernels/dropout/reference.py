"""Dropout: each number is zero with probability p, the others are scaled to keep the mean.

y_i = x_i / (1 - p) where u_i > p, else 0        dx by the same formula of dy, with the same u

u_i = (b_i + ½) / 2³², where b_i are the bits of Philox 4x32-10, a function of a key, of how many masks were drawn
before, and of i alone. So any number of threads computes the same mask, and backward computes it again: nothing is kept
but two integers. Number i = 64·k + 16·j + l is word j of the block with the counter (16·k + l, 0, low and high word of
``drawn``). ``whole``: one u for each image and channel, in the order (batch, channels). p = 1 gives zeros. Sources:
Srivastava, Hinton, Krizhevsky, Sutskever and Salakhutdinov 2014, "Dropout: A Simple Way to Prevent Neural Networks from
Overfitting"; whole channels: Tompson et al. 2015, "Efficient Object Localization Using Convolutional Networks", section
3.2; Philox: Salmon, Moraes, Dror and Shaw 2011, "Parallel Random Numbers: As Easy as 1, 2, 3".
"""

import math
from typing import Any, Final, TypeVar

from jaxtyping import Float, Integer

from typednn.arrays import AnyArray, IntArray1, IntArray3, namespace

X = TypeVar("X", bound=AnyArray)

ROUNDS: Final = 10
MULTIPLIERS: Final = 0xD2511F53, 0xCD9E8D57
WEYL: Final = 0x9E3779B9, 0xBB67AE85
LANES: Final = 16  # counters of 64 numbers
WORD: Final = 0xFFFFFFFF


def dropout(x: Float[X, "*shape"], p: float, key: int, drawn: int, whole: bool = False) -> Float[X, "*shape"]:
    """y."""
    xp = namespace(x)
    if p >= 1:
        zeros: X = xp.zeros_like(x)
        return zeros
    shape = (x.shape[0], 1, 1, x.shape[-1]) if whole else x.shape
    kept = bits(xp, math.prod(shape), key, drawn).reshape(shape) >= least_kept(p)
    y: X = xp.where(kept, x * (1 / (1 - p)), 0).astype(x.dtype)
    return y


def least_kept(p: float) -> int:
    """The smallest bits b with (b + ½) / 2³² > p."""
    return math.floor(p * 2**32 - 0.5) + 1


def words(of: int) -> tuple[int, int]:
    """The low and the high word of an integer."""
    return of & WORD, of >> 32 & WORD


def bits(xp: Any, size: int, key: int, drawn: int) -> Integer[IntArray1, " {size}"]:
    """The first ``size`` numbers of 32 bits, as 64-bit integers."""
    counter = xp.arange(-(-size // (4 * LANES)) * LANES, dtype=xp.uint64)
    low, high = words(drawn)
    found = philox(
        xp, (counter, xp.zeros_like(counter), xp.full_like(counter, low), xp.full_like(counter, high)), words(key)
    )
    first: IntArray1 = xp.stack([word.reshape(-1, LANES) for word in found], axis=1).reshape(-1)[:size]
    return first


def bits_of_rows(
    xp: Any, matrices: int, rows: slice, columns: int, key: int, drawn: int
) -> Integer[IntArray3, "{matrices} {rows.stop}-{rows.start} {columns}"]:
    """Numbers of 32 bits, as 64-bit integers, for some rows of each of many matrices.

    Column 64·k + 16·j + l is word j of the block with the counter (16·k + l, row, matrix, low word of ``drawn``):
    whichever rows are asked for, a place has the same number.
    """
    lanes = xp.arange(-(-columns // (4 * LANES)) * LANES, dtype=xp.uint64)
    row, matrix = (
        xp.arange(rows.start, rows.stop, dtype=xp.uint64)[:, None],
        xp.arange(matrices, dtype=xp.uint64)[:, None, None],
    )
    found = philox(xp, (lanes, row, matrix, xp.full_like(lanes, words(drawn)[0])), words(key))
    shape = matrices, rows.stop - rows.start, -1
    of_rows: IntArray3 = xp.stack([word.reshape(*shape, LANES) for word in found], axis=3).reshape(shape)[
        :, :, :columns
    ]
    return of_rows


def philox(xp: Any, counter: tuple[Any, Any, Any, Any], key: tuple[int, int]) -> tuple[Any, Any, Any, Any]:
    """Philox 4x32-10: four words, as 64-bit integers, of four words of a counter and two of a key."""
    word, half = xp.uint64(WORD), xp.uint64(32)
    for number in range(ROUNDS):
        first, second = (xp.uint64((own + number * step) & WORD) for own, step in zip(key, WEYL, strict=True))
        low, high = counter[0] * xp.uint64(MULTIPLIERS[0]), counter[2] * xp.uint64(MULTIPLIERS[1])
        counter = (high >> half) ^ counter[1] ^ first, high & word, (low >> half) ^ counter[3] ^ second, low & word
    return counter
