"""The numbers of zyx's own tests, at its revision 59608a03 (zyx/tests, June 2026), asked of typednn.graph.

A row is what to compute, its inputs and the numbers that zyx expects, under the name of zyx's test; a test with several
numbers has several rows. Where zyx compares with another formula, with random numbers or with nothing at all, a test of
ours does that; `REPLACED` says which.

============  =========  ======  ========  ===================
category      published  ported  replaced  without counterpart
============  =========  ======  ========  ===================
unary                48      27        17                    4
binary                8       1         7                    0
movement              7       7         0                    0
reduce               13      12         1                    0
misc                 82      69        11                    2
autograd             44      33        11                    0
realize              16       4        11                    1
indexing             55      51         2                    2
all                 273     204        60                    9
============  =========  ======  ========  ===================

Three of the 273 are commented out in zyx: ``conv2`` and ``rope_2`` (misc) and ``scatter_basic`` (indexing). Of these
``conv2`` expects wrong numbers, such as 0 for a window that holds 6, and ``rope_2`` is right to four digits. All other
numbers are right. The product of ``matmul_disk`` lies in a file of 3 MB, and counts as replaced.

Written otherwise here: ``frac`` of zyx is x - floor(x), its ``round`` takes halves away from zero, ``interpolate`` is x
+ (y - x)·weight; softmax over all axes is one over a flat tensor; ``rslice`` and ``rpad_zeros`` name the last axis
first; images have their channels last. ``gather`` has all rows of x, so that fewer are cut first. An integer in
brackets takes its axis away, where zyx leaves an axis of size 1. Integers are differentiated as floats, and a
comparison is cast before it is; the zeros of ``floor`` and ``trunc`` are asked for. Floats are float32 and integers
int32, as in zyx.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownVariableType=false

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn import graph as ops
from typednn.errors import ArgumentError, OutOfMemory, ShapeError
from typednn.graph import Tape, Tensor, tensor

PUBLISHED = {
    "unary": 48,
    "binary": 8,
    "movement": 7,
    "reduce": 13,
    "misc": 82,
    "autograd": 44,
    "realize": 16,
    "indexing": 55,
}


@dataclass(frozen=True)
class Value:
    """What zyx's test ``of`` expects: ``compute`` of ``inputs`` is ``expected``, within ``tolerance`` where it is
    floats.
    """

    of: str
    compute: Callable[..., Any]
    inputs: Sequence[Any]
    expected: Any
    tolerance: float = 1e-6

    def __str__(self) -> str:
        return self.of


def given(values: Any) -> Any:
    """A tensor of Python's numbers, in zyx's dtypes; an array keeps its own."""
    array = np.asarray(values)
    kept = isinstance(values, np.ndarray) or array.dtype.kind == "b"
    return tensor(array if kept else array.astype(np.float32 if array.dtype.kind == "f" else np.int32))


def uint16(values: Any) -> Any:
    return np.array(values, np.uint16)


def float32(values: Any) -> Any:
    return np.array(values, np.float32)


def check(row: Value) -> None:
    """Shapes, and each number; None for a derivative that is not there."""
    found = row.compute(*map(given, row.inputs))
    for result, expected in (
        zip(found, row.expected, strict=True) if isinstance(found, list) else [(found, row.expected)]
    ):
        if expected is None:
            assert result is None
            continue
        numbers, right = np.asarray(result.numpy() if isinstance(result, Tensor) else result), np.asarray(expected)
        assert numbers.shape == right.shape
        if numbers.dtype.kind == "f":
            np.testing.assert_allclose(numbers, right, rtol=row.tolerance, atol=row.tolerance)
        else:
            np.testing.assert_array_equal(numbers, right)


def gradient(function: Callable[..., Any], **options: Any) -> Callable[..., list[Any]]:
    """The derivatives of a function's sum by each of its inputs; None, or zeros if asked for, for one that has none."""

    def derivatives(*sources: Any) -> list[Any]:
        sources = tuple(source.cast(np.float32) for source in sources)
        with Tape() as tape:
            found: list[Any] = tape.gradient(function(*sources), sources, **options)
            return found

    return derivatives


def rope(x: Any, cos: Any, sin: Any) -> Any:
    """zyx's rotation: the second half of the result comes first."""
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    return ops.concatenate([first * sin - second * cos, first * cos + second * sin], -1)


def repeated(times: int, function: Callable[[Any], Any], x: Any) -> Any:
    for _ in range(times):
        x = function(x)
    return x


def joined_heads(x: Any, weight: Any) -> Any:
    q, k, v = (ops.split_heads(each, 4) for each in ops.split(x @ weight, 3, -1))
    return ops.join_heads(ops.attention(q, k, v))


TEN = [-3.285, 0.001, 1.780, 5.675, -8.521, -0.456, 1.215, -3.474, -4.128, -7.657]
PART = [2.0, -3.0, 4.0, -5.0]
NEAR = [1.0001, -2.9999, 3.9999, -4.0001]


def away(x: Any) -> Any:
    return ops.sign(x) * ops.floor(ops.abs(x) + 0.5)


def above_floor(x: Any) -> Any:
    return x - ops.floor(x)


def between(weight: float) -> Callable[[Any, Any], Any]:
    return lambda x, y: x + (y - x) * weight


def huber(delta: float) -> Callable[[Any, Any], Any]:
    return lambda x, y: ops.huber(x, y, delta, "none")


def smooth_l1(x: Any, y: Any) -> Any:
    return ops.smooth_l1(x, y, reduction="sum")


UNARY = [
    Value("relu_1", ops.relu, [TEN], [0, 0.001, 1.780, 5.675, 0, 0, 1.215, 0, 0, 0]),
    Value(
        "nonzero",
        lambda x: x != 0,
        [[-3.285, 0.00, 1.780, 5.675, -8.521, -0.456, 1.215, 0.00, -4.128, -7.657]],
        [True, False, True, True, True, True, True, False, True, True],
    ),
    Value("erf_1", ops.erf, [[0.0]], [0.0]),
    Value("erf_1", ops.erf, [[0.5, 1.0]], [0.5, 0.8], 0.1),
    Value("sign_1", ops.sign, [[-2.0, 0.0, 3.0]], [-1, 0, 1]),
    Value("abs_1", ops.abs, [[-2.0, 0.0, 3.0]], [2, 0, 3]),
    Value("square_1", ops.square, [[2.0]], [4]),
    Value("huber_loss_1", ops.huber, [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], 0),
    Value("huber_loss_2", ops.huber, [[1.0], [1.5]], 0.125),
    Value("huber_loss_3", ops.huber, [[1.0], [3.0]], 1.5),
    Value("huber_loss_4", huber(1.0), [[1.0, 1.0, 1.0], [2.0, 3.0, 4.0]], [0.5, 1.5, 2.5]),
    Value("huber_loss_4", huber(2.0), [[1.0, 1.0, 1.0], [2.0, 3.0, 4.0]], [0.5, 2.0, 4.0]),
    Value("round_1", ops.round, [[1.2, 2.7, 3.5, -1.5, -2.3]], [1, 3, 4, -2, -2]),
    Value("round_2", away, [[2.5, 3.5, 4.5, 5.5]], [3, 4, 5, 6]),
    Value("round_3", ops.round, [[-1.2, -2.7, -3.5, -4.6]], [-1, -3, -4, -5]),
    Value("frac_1", above_floor, [[1.2, 2.7, 3.5, -1.7, -2.3]], [0.2, 0.7, 0.5, 0.3, 0.7]),
    Value("frac_2", ops.frac, [PART], [0, 0, 0, 0]),
    Value("frac_2", above_floor, [PART], [0, 0, 0, 0]),
    Value("frac_3", above_floor, [NEAR], [0.0001, 0.0001, 0.9999, 0.9999]),
    Value("ceil_1", ops.ceil, [[1.2, 2.7, 3.0, -1.7, -2.3]], [2, 3, 3, -1, -2]),
    Value("ceil_2", ops.ceil, [PART], PART),
    Value("ceil_3", ops.ceil, [[-1.2, -2.7, -3.0, -4.5]], [-1, -2, -3, -4]),
    Value("smooth_l1_loss_1", smooth_l1, [[1.0, 2.0, 3.0], [1.1, 2.2, 2.9]], 0.03),
    Value("smooth_l1_loss_2", smooth_l1, [[1.0, 2.0, 3.0], [3.0, 5.0, 1.5]], 5.0),
    Value("smooth_l1_loss_3", smooth_l1, [[1.0, 2.0, 3.0, 4.0], [1.5, 2.8, 1.2, 6.0]], 3.245),
    Value("interpolate_1", between(0.5), [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]], [1.5, 3, 4.5]),
    Value("interpolate_2", between(0.0), [[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]], [1, 2, 3]),
    Value("interpolate_3", between(1.0), [[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]], [10, 20, 30]),
    Value("interpolate_4", between(0.25), [[0.0, 0.0, 0.0], [100.0, 200.0, 300.0]], [25, 50, 75]),
    Value(
        "tanh_2", ops.tanh, [[[2.0, 4, 1], [5, 4, 1]]], [[0.964028, 0.999329, 0.761594], [0.999909, 0.999329, 0.761594]]
    ),
]

BINARY = [Value("add_2", lambda x, y: x + y + x + x, [[2, 3, 5, 1, 6], [7, 2, 5, 1, 2]], [13, 11, 20, 4, 20])]


def rotated(x: Any, frequencies: Any) -> list[Any]:
    """A half of the result, and all of it: halves are cut and joined by padding."""
    second, first = ops.pad(x, [(0, 0), (-2, 0)]) * frequencies, ops.pad(x, [(0, 0), (0, -2)]) * frequencies
    return [second + first, ops.pad(second + first, [(0, 0), (0, 2)]) + ops.pad(second - first, [(0, 0), (2, 0)])]


FOURS = [[4, 5, 2, 1], [3, 4, 1, 4]]
MOVEMENT = [
    Value(
        "reshape_1",
        lambda x: x.reshape(8, 1).reshape(1, 2, 1, 4).reshape(4, 2),
        [FOURS],
        [[4, 5], [2, 1], [3, 4], [1, 4]],
    ),
    Value(
        "reshape_permute_1",
        lambda x: ops.exp2(x.reshape(8, 1).reshape(1, 2, 1, 4).permute(2, 3, 1, 0).reshape(4, 2).cast(np.float32)).cast(
            np.int32
        ),
        [FOURS],
        [[16, 8], [32, 16], [4, 2], [2, 16]],
    ),
    Value(
        "expand_1",
        lambda x, y: x.reshape(1, 1, 1, 4) + y.reshape(1, 1, 4, 1),
        [[[1, 2], [3, 4]], [[5, 6], [7, 8]]],
        [[[[6, 7, 8, 9], [7, 8, 9, 10], [8, 9, 10, 11], [9, 10, 11, 12]]]],
    ),
    Value("permute_2", lambda x: x.permute(1, 0), [FOURS], [[4, 3], [5, 4], [2, 1], [1, 4]]),
    Value("pad_1", lambda x: ops.pad(x, [(0, 2), (0, 0)]), [[[1, 2], [3, 4]]], [[1, 2], [3, 4], [0, 0], [0, 0]]),
    Value(
        "pad_2",
        lambda x, y: ops.pad(x.reshape(1, 1, 2, 2), [(0, 0), (0, 0), (0, 2), (0, 2)]) + y.reshape(1, 1, 1, 4),
        [[[1, 2], [3, 4]], [[5, 6], [7, 8]]],
        [[[[6, 8, 7, 8], [8, 10, 7, 8], [5, 6, 7, 8], [5, 6, 7, 8]]]],
    ),
    Value(
        "rope_1",
        rotated,
        [[[1, 2, 3, 4], [5, 6, 7, 8]], [[2, 3], [3, 1]]],
        [[[8, 18], [36, 14]], [[8, 18, 4, 6], [36, 14, 6, 2]]],
    ),
]

NINE = [[4, 1, 3], [5, 2, 3], [6, 5, 7]]
SIX = [[2, 4, 3], [1, 5, 1]]
CUBE = [
    [[1, 2, 3], [4, 5, 6], [7, 8, 9]],
    [[10, 11, 12], [13, 14, 15], [16, 17, 18]],
    [[19, 20, 21], [22, 23, 24], [25, 26, 27]],
]
REDUCE = [
    Value("sum_1", ops.sum, [[2, 4]], 6),
    Value("sum_2", lambda x: x.sum(-1), [NINE], [8, 10, 18]),
    Value("sum_2", lambda x: x.sum(-2), [NINE], [15, 8, 13]),
    Value("sum_2", ops.sum, [NINE], 36),
    Value("sum_3", lambda x: x.sum(0), [SIX], [3, 9, 4]),
    Value("sum_3", lambda x: x.sum(1), [SIX], [9, 7]),
    Value("sum_3", ops.sum, [SIX], 16),
    Value("sum_4", lambda x: ops.relu(x).sum(-1), [NINE], [8, 10, 18]),
    Value("sum_5", ops.sum, [[[2, 3, 1], [2, 4, 1]]], 13),
    Value("sum_6", lambda x: x.sum(0).sum(0), [NINE], 36),
    Value("max_1", lambda x: x.max(-1), [NINE], [4, 5, 7]),
    Value("max_1", lambda x: x.max(-2), [NINE], [6, 5, 7]),
    Value("max_1", ops.max, [NINE], 7),
    Value(
        "sum_large_2d", lambda: ops.arange(1, 81).reshape(8, 10).sum(-1), [], [55, 155, 255, 355, 455, 555, 655, 755]
    ),
    Value("max_large_3d", lambda x: x.max(-1), [CUBE], [[3, 6, 9], [12, 15, 18], [21, 24, 27]]),
    Value("sum_warp_reduce_1", lambda: ops.ones(512, np.int32).reshape(8, 64).sum(-1), [], [64] * 8),
    Value("sum_warp_reduce_large", lambda: ops.ones(2048, np.int32).reshape(8, 256).sum(-1), [], [256] * 8),
    Value("sum_reduce_32k", lambda: ops.ones(32768, np.int32).reshape(8, 4096).sum(-1), [], [4096] * 8),
]

TWO_BY_TWO = [[1, 2], [3, 4]]
FLOATS = [[2.0, 4, 3], [1, 5, 1]]
THREES = [[2, 3, 1], [2, 4, 1]]
UP = [[1.0, 2, 3], [4, 5, 6]]
MATRIX = [[2, 3, 2], [2, 1, 1], [4, 1, 4]]
CUBE8 = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
CUBE8F = [[[1.0, 2], [3, 4]], [[5, 6], [7, 8]]]
CUBE16 = [CUBE8, [[[9, 10], [11, 12]], [[13, 14], [15, 16]]]]
CUBE12 = [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]]
EVEN12 = [[[2, 4, 6], [8, 10, 12]], [[14, 16, 18], [20, 22, 24]]]
ODD16 = [[[[3, 5], [7, 9]], [[11, 13], [15, 17]]], [[[19, 21], [23, 25]], [[27, 29], [31, 33]]]]
PAIRED = [[2, 3, 1], [2, 1, 4]]
EVENS = [[4, 6, 8], [5, 7, 9]]
ROWS = [[10, 20, 30, 40, 50], [11, 21, 31, 41, 51], [12, 22, 32, 42, 52]]
PLACES = uint16([[0, 2, 4], [1, 3, 0], [4, 1, 2]])
ATTENTION = [
    [3, 1, 2, 3, 1, 2, 5, 4, 2, 3, 1, 3],
    [1, 1, 2, 3, 1, 2, 5, 4, 2, 3, 1, 3],
    [3, 1, 5, 3, 1, 2, 5, 4, 2, 3, 1, 3],
]
ROPED = [[[[-3, 0, -2, 5, 32, 10], [0, -4, 0, 32, 20, 24]]]]


def windows(x: Any) -> Any:
    return ops.im2col(x.reshape(1, 3, 3, 1), 2).reshape(2, 2, 2, 2)


def rotary(x: Any) -> Any:
    """By the position and its hundredfold."""
    angles = ops.arange(2, dtype=np.float32).reshape(2, 1) * float32([1, 100])
    return rope(x, ops.cos(angles), ops.sin(angles))


def normalised(x: Any, weight: Any) -> Any:
    """By the unbiased variance."""
    return (x - x.mean(-1, keepdims=True)) / ops.sqrt(ops.var(x, -1, keepdims=True) + 1e-5) * weight


def moved_and_reduced(x: Any, y: Any) -> Any:
    x = ops.log(ops.exp(x.expand(2, 3, 2))).reshape(2, 3, 2, 1)
    y = y.reshape(2, 3, 1, 1).expand(2, 3, 2, 1)
    z = (x + y).expand(2, 3, 2, 2).sum((3, 0))
    return ops.log(ops.exp(z)).permute(1, 0).sum(0)


def of_both_orders(x: Any) -> Any:
    x = repeated(8, lambda x: ops.log2(ops.exp2(x)), x)
    z = x.reshape(6) + x.permute(1, 0).reshape(6) + x.reshape(6)
    return ops.log2(ops.exp2(z))


MISC = [
    Value(
        "test_max_pool",
        lambda: ops.max_pool(ops.arange(1, 17, dtype=np.float32).reshape(1, 4, 4, 1), 2).reshape(2, 2),
        [],
        [[6, 8], [14, 16]],
    ),
    Value("memory1", lambda x: x, [[[2, 3], [4, 5]]], [[2, 3], [4, 5]]),
    Value("memory2", lambda x: x, [SIX], SIX),
    Value(
        "tri1", lambda: ops.triu(ops.ones((3, 5), np.int32), 2), [], [[0, 0, 1, 1, 1], [0, 0, 0, 1, 1], [0, 0, 0, 0, 1]]
    ),
    Value("fuse_1", lambda x: ops.exp2(x) + x, [FLOATS], [[6, 20, 11], [3, 37, 3]]),
    Value("fuse_2", lambda x: x.expand(2, 2, 3) + x, [FLOATS], [[[4, 8, 6], [2, 10, 2]], [[4, 8, 6], [2, 10, 2]]]),
    Value("fuse_3", lambda x: x.sum(0).expand(2, 3) + x, [FLOATS], [[5, 13, 7], [4, 14, 5]]),
    Value("fuse_6", lambda x: ops.exp2(x.sum(1).cast(np.float32)), [SIX], [512, 128]),
    Value("fuse_6", lambda x: ops.log2(x.sum(1).cast(np.float32)), [SIX], [3.16993, 2.807355], 2e-6),
    Value("matmul_2", ops.matmul, [SIX, [[2, 4], [3, 1], [5, 1]]], [[31, 15], [22, 10]]),
    Value("boolean_buffer", lambda x: x, [[True, True, False, True]], [True, True, False, True]),
    Value("mix_expand_reduce", lambda x: x.sum(1).expand(2, 2), [SIX], [[9, 7], [9, 7]]),
    Value("mix_pad_reduce", lambda x: ops.pad(x.sum(1), [(0, 1)]), [SIX], [9, 7, 0]),
    Value("mix_permute_pad", lambda x: ops.pad(x, [(0, 0), (1, 0)]).T, [SIX], [[0, 0], [2, 1], [4, 5], [3, 1]]),
    Value("mix_expand_reshape_reduce", lambda x: x.sum(1).expand(2, 2), [SIX], [[9, 7], [9, 7]]),
    Value("mix_expand_reshape_reduce", lambda x: x.sum(1).reshape(2, 1).expand(2, 2), [SIX], [[9, 9], [7, 7]]),
    Value(
        "mix_pad_reshape_expand",
        lambda x: ops.pad(x, [(2, 1), (1, 0)]).reshape(2, 1, 3, 5)[:, 0],
        [[[2, 4, 3, 3, 4], [1, 2, 1, 5, 1]]],
        [[[0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 2, 4]], [[3, 3, 4, 0, 1], [2, 1, 5, 1, 0], [0, 0, 0, 0, 0]]],
    ),
    Value(
        "mix_reshape1",
        lambda x: x.permute(0, 2, 1, 3).reshape(1, 2, 1, 3, 1),
        [[[[[2], [4]], [[3], [1]], [[5], [1]]]]],
        [[[[[2], [3], [5]]], [[[4], [1], [1]]]]],
    ),
    Value(
        "pool",
        windows,
        [[[0, 1, 2], [3, 4, 5], [6, 7, 8]]],
        [[[[0, 1], [3, 4]], [[1, 2], [4, 5]]], [[[3, 4], [6, 7]], [[4, 5], [7, 8]]]],
    ),
    Value("cumsum", lambda: ops.cumsum(ops.arange(9).reshape(3, 3), 1), [], [[0, 1, 3], [3, 7, 12], [6, 13, 21]]),
    Value("arange_3", lambda: ops.arange(0, 10, 2), [], [0, 2, 4, 6, 8]),
    Value("const_", lambda x: 1.0 + x, [[[3.0, 4, 2], [4, 3, 2]]], [[4, 5, 3], [5, 4, 3]]),
    Value("graph_shapes", lambda x: x.expand(1, 1), [2], [[2]]),
    Value(
        "cat", lambda x, y: ops.concatenate([x, y], 0), [TWO_BY_TWO, [[5, 6], [7, 8]]], [[1, 2], [3, 4], [5, 6], [7, 8]]
    ),
    Value("cat", lambda x, y: ops.concatenate([x, y], 1), [TWO_BY_TWO, [[5, 6], [7, 8]]], [[1, 2, 5, 6], [3, 4, 7, 8]]),
    Value(
        "pad_zeros",
        lambda x: ops.pad(x, [(1, 2), (4, 3)]),
        [[[2, 3], [4, 5]]],
        [[0] * 9, [0, 0, 0, 0, 2, 3, 0, 0, 0], [0, 0, 0, 0, 4, 5, 0, 0, 0], [0] * 9, [0] * 9],
    ),
    Value("one_hot", lambda x: ops.one_hot(x, 4), [[2, 3, 4]], [[0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]),
    Value("ones", lambda: ops.ones((2, 3), np.int32), [], [[1, 1, 1], [1, 1, 1]]),
    Value("graph_node_reuse", ops.add, [[4, 2, 3], [4, 2, 3]], [8, 4, 6]),
    Value("graph_node_reuse", ops.add, [[4, 2, 3], [4, 2, 3]], [8, 4, 6]),
    Value("slice1", lambda x: x[:, 2:3], [PAIRED], [[1], [4]]),
    Value("slicing_comprehensive", lambda x: x[:, 2:3], [PAIRED], [[1], [4]]),
    Value("slicing_comprehensive", lambda x: x[:, :], [PAIRED], PAIRED),
    Value("slicing_comprehensive", lambda x: x[0:1, :], [PAIRED], [[2, 3, 1]]),
    Value("slicing_comprehensive", lambda x: x[1:2, 0:1], [PAIRED], [[2]]),
    Value("slicing_comprehensive", lambda x: x[1:2], [PAIRED], [[2, 1, 4]]),
    Value("slicing_comprehensive", lambda x: x[:, :, 1:3], [CUBE12], [[[2, 3], [5, 6]], [[8, 9], [11, 12]]]),
    Value("slicing_comprehensive", lambda x: x[:, 1:2, :], [CUBE12], [[[4, 5, 6]], [[10, 11, 12]]]),
    Value("slicing_comprehensive", lambda x: x[0:1, :], [CUBE12], [[[1, 2, 3], [4, 5, 6]]]),
    Value("slicing_comprehensive", lambda x: x[1:2], [CUBE12], [[[7, 8, 9], [10, 11, 12]]]),
    Value("slicing_comprehensive", lambda x: x[:, 0:1], [CUBE12], [[[1, 2, 3]], [[7, 8, 9]]]),
    Value(
        "slicing_comprehensive",
        lambda x: x[..., 1:2],
        [CUBE16],
        [[[[2], [4]], [[6], [8]]], [[[10], [12]], [[14], [16]]]],
    ),
    Value("slicing_comprehensive", lambda x: x[0:1, :, 0:1, :], [CUBE16], [[[[1, 2]], [[5, 6]]]]),
    Value("slicing_comprehensive", lambda x: x[1:2], [CUBE16], [[[[9, 10], [11, 12]], [[13, 14], [15, 16]]]]),
    Value("rslicing_comprehensive", lambda x: x[0:1, :], [EVENS], [[4, 6, 8]]),
    Value("rslicing_comprehensive", lambda x: x[1:2, :], [EVENS], [[5, 7, 9]]),
    Value("rslicing_comprehensive", lambda x: x[:, :], [EVENS], EVENS),
    Value("rslicing_comprehensive", lambda x: x[..., 0:1], [EVENS], [[4], [5]]),
    Value("rslicing_comprehensive", lambda x: x[0:1, 0:1], [EVENS], [[4]]),
    Value("rslicing_comprehensive", lambda x: x[..., 1:2], [EVENS], [[6], [7]]),
    Value("rslicing_comprehensive", lambda x: x[0:1, :, :], [EVEN12], [[[2, 4, 6], [8, 10, 12]]]),
    Value("rslicing_comprehensive", lambda x: x[1:2, :, :], [EVEN12], [[[14, 16, 18], [20, 22, 24]]]),
    Value("rslicing_comprehensive", lambda x: x[:, 0:1, :], [EVEN12], [[[2, 4, 6]], [[14, 16, 18]]]),
    Value("rslicing_comprehensive", lambda x: x[..., 1:2], [EVEN12], [[[4], [10]], [[16], [22]]]),
    Value("rslicing_comprehensive", lambda x: x[..., 1:2, :], [EVEN12], [[[8, 10, 12]], [[20, 22, 24]]]),
    Value("rslicing_comprehensive", lambda x: x[0:1], [ODD16], [[[[3, 5], [7, 9]], [[11, 13], [15, 17]]]]),
    Value("rslicing_comprehensive", lambda x: x[1:2], [ODD16], [[[[19, 21], [23, 25]], [[27, 29], [31, 33]]]]),
    Value("rslicing_comprehensive", lambda x: x[:, 0:1, :, 0:1], [ODD16], [[[[3], [7]]], [[[19], [23]]]]),
    Value(
        "rslicing_comprehensive",
        lambda x: x[..., 1:2],
        [ODD16],
        [[[[5], [9]], [[13], [17]]], [[[21], [25]], [[29], [33]]]],
    ),
    Value("split1", lambda x: ops.split(x, [2], 1), [PAIRED], [[[2, 3], [2, 1]], [[1], [4]]]),
    Value("more_padding", lambda x: ops.pad(x, [(2, 3)]), [[1, 2, 3, 4, 5]], [0, 0, 1, 2, 3, 4, 5, 0, 0, 0]),
    Value("more_padding", lambda x: ops.pad(x, [(-1, -2)]), [[1, 2, 3, 4, 5]], [2, 3]),
    Value(
        "more_padding",
        lambda x: ops.pad(x, [(1, 1), (2, 1)]),
        [[[1, 2, 3], [4, 5, 6]]],
        [[0] * 6, [0, 0, 1, 2, 3, 0], [0, 0, 4, 5, 6, 0], [0] * 6],
    ),
    Value(
        "partial_padding",
        lambda x: ops.pad(x, [(1, 1), (1, 0), (0, 0), (0, 0)]),
        [CUBE16],
        [
            [[[0, 0], [0, 0]]] * 3,
            [[[0, 0], [0, 0]], *CUBE16[0]],
            [[[0, 0], [0, 0]], *CUBE16[1]],
            [[[0, 0], [0, 0]]] * 3,
        ],
    ),
    Value(
        "partial_padding",
        lambda x: ops.pad(x, [(0, 0), (0, 0), (1, 1), (1, 0)]),
        [CUBE16],
        [
            [[[0, 0, 0], [0, 1, 2], [0, 3, 4], [0, 0, 0]], [[0, 0, 0], [0, 5, 6], [0, 7, 8], [0, 0, 0]]],
            [[[0, 0, 0], [0, 9, 10], [0, 11, 12], [0, 0, 0]], [[0, 0, 0], [0, 13, 14], [0, 15, 16], [0, 0, 0]]],
        ],
    ),
    Value(
        "split2",
        lambda: ops.split(ops.arange(10).reshape(5, 2), [2, 4]),
        [],
        [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9]]],
    ),
    Value(
        "split2", lambda: ops.split(ops.arange(10).reshape(5, 2), [1]), [], [[[0, 1]], [[2, 3], [4, 5], [6, 7], [8, 9]]]
    ),
    Value("softmax_1", ops.softmax, [[2.0, 4, 3]], [0.09003056585788727, 0.6652408838272095, 0.2447284609079361]),
    Value(
        "dot_pad",
        lambda x, y: ops.pad(x @ y, [(0, 0), (2, 1)]),
        [THREES, [[2, 3], [1, 2], [4, 1]]],
        [[0, 0, 11, 13, 0], [0, 0, 12, 15, 0]],
    ),
    Value(
        "layer_norm",
        normalised,
        [[[3.0, 5, 2, 1], [6, 1, 4, 2]], [4.0, 5, 1, 2]],
        [[0.585539, 6.587314, -0.439154, -2.049387], [4.960858, -5.073606, 0.338240, -1.127468]],
        2e-6,
    ),
    Value(
        "multiple_stores",
        lambda x: ops.tanh(ops.log(x)),
        [[[3.0, 4, 2], [5, 4, 1]]],
        [[0.8000000119, 0.8823529482, 0.6000000238], [0.9230769277, 0.8823529482, 0]],
    ),
    Value("repeat1", lambda x: ops.tile(x, (2, 3, 1)), [THREES], [THREES * 3, THREES * 3]),
    Value("mix_2", lambda x: ops.exp(x).cast(np.int32), [[[2.0, 3], [4, 5]]], [[7, 20], [54, 148]]),
    Value(
        "gather_test",
        lambda x, i: ops.gather(x, 1, i),
        [uint16(ROWS), PLACES],
        [[10, 30, 50], [21, 41, 11], [52, 22, 32]],
    ),
    Value("eye1", lambda: ops.eye(8, dtype=np.int32), [], [[0] * i + [1] + [0] * (7 - i) for i in range(8)]),
    Value("double_vec", lambda x: x.shape, [[[4, 1, 2], [4, 6, 2]]], [2, 3]),
    Value("binary_y_depends_on_x", of_both_orders, [[[2.0, 4, 1], [3, 2, 4]]], [6, 11, 6, 8, 5, 12], 1e-5),
    Value("dot5", ops.matmul, [[[2, 3, 1], [3, 4, 1]], [[2, 3], [2, 1], [4, 1]]], [[14, 10], [18, 14]]),
    Value(
        "conv1",
        lambda: ops.conv2d(ops.arange(9, dtype=np.float32).reshape(1, 3, 3, 1), ops.ones((1, 2, 2, 1))).reshape(2, 2),
        [],
        [[8, 12], [20, 24]],
    ),
    Value(
        "rope_2",
        rotary,
        [[[1.0, 2, 3, 4], [5, 6, 7, 8]]],
        [[-3, -4, 1, 2], [0.42523819, -9.93675995, 8.591808319, 1.12284958]],
        2e-4,
    ),
    Value(
        "rope_3",
        rope,
        [[[[[1, 4, 2, 4, 4, 3], [4, 2, 4, 4, 3, 4]]]], [[1, 4, 2], [4, 4, 3]], [[1, 4, 2], [4, 4, 3]]],
        ROPED,
    ),
    Value(
        "rope_4",
        rope,
        [[[[[1.0, 4, 2, 4, 4, 3], [4, 2, 4, 4, 3, 4]]]], [[1.0, 4, 2], [4, 4, 3]], [[1.0, 4, 2], [4, 4, 3]]],
        ROPED,
    ),
    Value(
        "complex_movement_reduce",
        moved_and_reduced,
        [[[[2.0, 3]], [[4, 5]]], [[2.0, 3, 1], [4, 3, 2]]],
        [52, 52, 40],
        1e-5,
    ),
    Value("mean1", lambda x: x - x.sum(1, keepdims=True) * 0.3333333333333, [UP], [[-1, 0, 1], [-1, 0, 1]]),
    Value("var1", lambda x: ops.square(x - x.mean(0, keepdims=True)).sum(0) / 2, [UP], [2.25, 2.25, 2.25]),
    Value("mean2", lambda x: x - x.mean(1, keepdims=True), [UP], [[-1, 0, 1], [-1, 0, 1]]),
    Value("var2", lambda x: ops.square(x - x.mean(1, keepdims=True)).sum(1) / 3, [UP], [0.666666, 0.666666]),
    Value("var3", lambda x: ops.var(x, 1, correction=0), [UP], [0.666666, 0.666666]),
    Value("var4", lambda x: ops.var(x, 0, correction=0), [UP], [2.25, 2.25, 2.25]),
    Value("var4", lambda x: ops.var(x, 1, correction=0), [UP], [0.666666, 0.666666]),
    Value(
        "softmax_2",
        lambda x: ops.softmax(x.reshape(6)).reshape(2, 3),
        [[[2.0, 4, 3], [4, 2, 3]]],
        [[0.0450152867, 0.3326204717, 0.1223642379], [0.3326204717, 0.0450152867, 0.1223642379]],
    ),
    Value(
        "softmax_2",
        lambda x: ops.softmax(x, 0),
        [[[2.0, 4, 3], [4, 2, 3]]],
        [[0.1192029193, 0.8807970285, 0.5], [0.8807970285, 0.1192029193, 0.5]],
    ),
    Value(
        "softmax_2",
        lambda x: ops.softmax(x, 1),
        [[[2.0, 4, 3], [4, 2, 3]]],
        [[0.0900305659, 0.6652408838, 0.2447284609], [0.6652408838, 0.0900305659, 0.2447284609]],
    ),
    Value(
        "causal_self_attention",
        joined_heads,
        [
            [[[1.0, 0, 4, 2], [2, 5, 0, 1], [0, 8, 1, 0], [5, 1, 0, 0]]],
            [*ATTENTION, [3.0, 1, 2, 3, 1, 2, 5, 8, 2, 3, 1, 3]],
        ],
        [[[18, 27, 9, 24]] * 4],
        5e-6,
    ),
    Value(
        "dot6", lambda x, w: repeated(10, lambda x: x @ w, x), [[2, 3, 1], MATRIX], [492004322, 323660910, 445342573]
    ),
    Value(
        "dot4",
        lambda x, w, b: repeated(10, lambda x: x @ w + b, x),
        [[2, 3, 1], MATRIX, [2, 3, 5]],
        [671627020, 441824135, 607929878],
    ),
    Value(
        "cross_entropy",
        lambda x, target: -ops.log_softmax(x, 1) * target,
        [[[2.0, 3, 4], [5, 6, 7]], [[0.0, 1, 0], [0, 0, 1]]],
        [[0, 1.407606, 0], [0, 0, 0.407606]],
    ),
    Value("test_padding_on_elementwise_kernel", lambda x: (ops.pad(x, [(1, 1)]) + 1).shape, [[2, 3, 4]], [5]),
    Value("test_padding_on_elementwise_kernel", lambda x: (ops.pad(x, [(1, 1)]) + 1)[1], [[2, 3, 4]], 3),
    Value("test_expand_on_elementwise_kernel", lambda x: (x.expand(3, 3) + 1).shape, [[2, 3, 4]], [3, 3]),
    Value("test_expand_on_elementwise_kernel", lambda x: (x.expand(3, 3) + 1)[1, 1], [[2, 3, 4]], 4),
    Value("test_reshape_on_elementwise_kernel", lambda x: (x.reshape(3, 1) * 2).shape, [[2, 3, 4]], [3, 1]),
    Value("test_reshape_on_elementwise_kernel", lambda x: (x.reshape(3, 1) * 2)[2, 0], [[2, 3, 4]], 8),
    Value("test_permute_on_elementwise_kernel", lambda x: (x.permute(2, 0, 1) + 1).shape, [CUBE8F], [2, 2, 2]),
    Value("test_permute_on_elementwise_kernel", lambda x: (x.permute(2, 0, 1) + 1)[1, 0, 1], [CUBE8F], 5),
    Value(
        "test_padding_on_reduce_kernel",
        lambda x: ops.pad(x, [(0, 0), (1, 1)]).sum(0),
        [[[1.0, 2], [3, 4]]],
        [0, 4, 6, 0],
    ),
    Value("test_expand_on_reduce_kernel", lambda x: x.expand(3, 2).mean(1).shape, [[[1.0], [2], [3]]], [3]),
    Value("test_expand_on_reduce_kernel", lambda x: x.expand(3, 2).mean(1)[1], [[[1.0], [2], [3]]], 2),
    Value("test_reshape_on_reduce_kernel", lambda x: x.reshape(4).sum(0), [[[1.0, 2], [3, 4]]], 10),
    Value("test_permute_on_reduce_kernel", lambda x: x.permute(1, 2, 0).sum(2).shape, [CUBE8F], [2, 2]),
    Value("test_permute_on_reduce_kernel", lambda x: x.permute(1, 2, 0).sum(2)[0, 0], [CUBE8F], 6),
]

W1 = [[2.0, 3, 1, 4, 5], [1, 6, 2, 3, 1], [6, 2, 4, 1, 4]]
W2 = [[2.0, 3, 1, 4], [5, 1, 6, 2], [3, 1, 6, 2], [4, 1, 4, 5], [1, 2, 4, 1]]


def linear(weight: Any, bias: Any) -> Any:
    return tensor(float32([2, 3, 1])) @ weight + bias


def two_layers(w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    return ops.square(ops.relu(linear(w1, b1)) @ w2 + b2 - float32([5, 4, 5, 2])).sum()


def below(x: Any) -> Any:
    return (x < 2.0).cast(np.float32)


def of_itself(x: Any) -> list[Any]:
    with Tape() as tape:
        total = x.sum()
        return tape.gradient(total, [total])


AUTOGRAD = [
    Value("grad_relu_1", ops.relu, [[3, 0, -1]], [3, 0, 0]),
    Value("grad_relu_2", gradient(ops.relu), [[3, -2, 0]], [[1, 0, 0]]),
    Value("grad_reciprocal", gradient(ops.reciprocal), [[3, 2, 4]], [[-0.1111111111, -0.25, -0.0625]]),
    Value("grad_reciprocal_2", gradient(ops.reciprocal), [[2, -1, 0.5]], [[-0.25, -1, -4]]),
    Value(
        "grad_floor",
        gradient(ops.floor, zeros=True),
        [[0.5, 1.5, -0.5, -1.5, 0.1, 0.9, -0.1, -0.9, 2.3, -2.3]],
        [[0] * 10],
    ),
    Value(
        "grad_trunc",
        gradient(ops.trunc, zeros=True),
        [[0.5, 1.5, -0.5, -1.5, 0.1, 0.9, -0.1, -0.9, 2.3, -2.3]],
        [[0] * 10],
    ),
    Value(
        "grad_pow_2",
        gradient(ops.power),
        [[2, 3, 4], [3, 2, 0.5]],
        [[12, 6, 0.25], [8 * math.log(2), 9 * math.log(3), 2 * math.log(4)]],
    ),
    Value("grad_cos_2", gradient(ops.cos), [[3, 2, 4]], [[-0.1411200017, -0.9092974067, 0.7568024993]]),
    Value("grad_add", gradient(ops.add), [[3, 2, 4], [3, 1, 5]], [[1, 1, 1], [1, 1, 1]]),
    Value("grad_sub", gradient(ops.subtract), [[3, 2, 4], [3, 1, 5]], [[1, 1, 1], [-1, -1, -1]]),
    Value("grad_mul", gradient(ops.multiply), [[3, 2, 4], [3, 1, 5]], [[3, 1, 5], [3, 2, 4]]),
    Value(
        "grad_div", gradient(ops.divide), [[3, 2, 4], [3, 1, 5]], [[0.3333333333, 1, 0.2], [-0.3333333333, -2, -0.16]]
    ),
    Value(
        "grad_pow",
        gradient(ops.power),
        [[3, 2, 4], [3, 1, 5]],
        [[27, 1, 1280], [29.6625317940, 1.3862943611, 1419.5654257868]],
    ),
    Value("grad_reshape", gradient(lambda x: x.reshape(1, 3, 1, 1)), [[[4], [3], [1]]], [[[1], [1], [1]]]),
    Value("grad_expand_1", gradient(lambda x: x.expand(3, 4)), [[[4], [3], [1]]], [[[4], [4], [4]]]),
    Value("grad_expand_2", gradient(lambda x: x.reshape(3, 1).expand(3, 4)), [[4, 3, 1]], [[4, 4, 4]]),
    Value("grad_permute", gradient(lambda x: x.permute(1, 0)), [[[4], [3], [1]]], [[[1], [1], [1]]]),
    Value("grad_dot", gradient(ops.matmul), [[2, 3, 1], [[2], [3], [1]]], [[2, 3, 1], [[2], [3], [1]]]),
    Value("grad_linear_1", gradient(linear), [W1, [4, 1, 5, 7, 6]], [[[2] * 5, [3] * 5, [1] * 5], [1] * 5]),
    Value("grad_mse", gradient(lambda x, y: (x - y) * (x - y)), [[2, 3, 1], [5, 1, 1]], [[-6, 4, 0], [6, -4, 0]]),
    Value(
        "grad_linear_2",
        gradient(two_layers),
        [W1, [4, 1, 5, 7, 6], W2, [4, 1, 5, 7]],
        [
            [[11528, 21316, 18580, 19872, 11476], [17292, 31974, 27870, 29808, 17214], [5764, 10658, 9290, 9936, 5738]],
            [5764, 10658, 9290, 9936, 5738],
            [
                [11628, 5542, 16082, 10506],
                [18468, 8802, 25542, 16686],
                [11628, 5542, 16082, 10506],
                [17100, 8150, 23650, 15450],
                [15732, 7498, 21758, 14214],
            ],
            [684, 326, 946, 618],
        ],
    ),
    Value("grad_t7", of_itself, [[0.25, 0.5]], [1]),
    Value("grad_add_2", gradient(lambda x: x + float32([4, 5, 6])), [[1, 2, 3]], [[1, 1, 1]]),
    Value("grad_sub_2", gradient(lambda x: x - float32([4, 5, 6])), [[1, 2, 3]], [[1, 1, 1]]),
    Value("grad_mul_2", gradient(lambda x: x * float32([4, 5, 6])), [[1, 2, 3]], [[4, 5, 6]]),
    Value("grad_div_2", gradient(lambda x: x / float32([1, 2, 3])), [[2, 4, 6]], [[1, 1 / 2, 1 / 3]]),
    Value("grad_pow_4", gradient(lambda x: x ** float32([2, 2, 2])), [[1, 2, 3]], [[2, 4, 6]]),
    Value("grad_neg", gradient(lambda x: -x), [[1, -2, 3]], [[-1, -1, -1]]),
    Value("grad_sum", gradient(lambda x: x.sum()), [[1, 2, 3]], [[1, 1, 1]]),
    Value("grad_max", gradient(lambda x: x.max()), [[1, 3, 2]], [[0, 1, 0]]),
    Value("grad_cmplt_none", gradient(below), [[1, 2, 3]], [None]),
    Value("grad_maximum", gradient(lambda x: ops.maximum(x, float32([2, 3, 3]))), [[1, 5, 2]], [[0, 1, 0]]),
    Value(
        "grad_cmpgt_source",
        gradient(lambda x, w: (x > 2.0).cast(np.float32) * w),
        [[1, 2, 3], [1, 1, 1]],
        [None, [0, 0, 1]],
    ),
]

REALIZE = [
    Value("t04", ops.softmax_cross_entropy, [[5.0, 2, -3], [1.0, 0, 0]], 0.048907),
    Value("pad_1", lambda: ops.arange(20).reshape(4, 5)[:, 3:4], [], [[3], [8], [13], [18]]),
    Value("t_15", lambda x: repeated(10, lambda x: x + x, x), [THREES], [[2048, 3072, 1024], [2048, 4096, 1024]]),
    Value("trunc_1", ops.trunc, [[1.7, 2.3, 3.9, 4.1]], [1, 2, 3, 4]),
    Value("trunc_1", ops.trunc, [[-1.7, -2.3, -3.9, -4.1]], [-1, -2, -3, -4]),
    Value("trunc_1", ops.trunc, [[1.0, 2.0, 3.0, 4.0]], [1, 2, 3, 4]),
    Value("trunc_1", ops.trunc, [[1.7, -2.3, 3.9, -4.1]], [1, -2, 3, -4]),
]

FIVE = [1, 2, 3, 4, 5]
GRID = [[1, 2, 3], [4, 5, 6]]
SQUARE = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
TENS = [10, 20, 30, 40, 50]
X3 = [[[1, 5, 2], [4, 0, 3]], [[7, 2, 6], [1, 8, 0]]]


def along(axis: int) -> Callable[[Any, Any], Any]:
    return lambda x, indices: ops.gather(x, axis, indices)


def chosen(axis: int) -> Callable[[Any, Any], Any]:
    return lambda x, indices: ops.take(x, indices, axis)


def highest(axis: int | None) -> Callable[[Any], Any]:
    return lambda x: ops.argmax(x, axis)


INDEXING = [
    Value("b_arange", lambda: ops.arange(10000), [], range(10000)),
    Value("slice_negative_index", lambda x: x[-1], [FIVE], 5),
    Value("slice_range", lambda x: x[1:4], [FIVE], [2, 3, 4]),
    Value("slice_range_from", lambda x: x[2:], [FIVE], [3, 4, 5]),
    Value("slice_range_to", lambda x: x[:3], [FIVE], [1, 2, 3]),
    Value("slice_range_full", lambda x: x[:], [FIVE], FIVE),
    Value("slice_2d_single_index", lambda x: x[0], [GRID], [1, 2, 3]),
    Value("slice_2d_tuple_index", lambda x: x[0, 1], [GRID], 2),
    Value("slice_2d_range", lambda x: x[:, 1:3], [GRID], [[2, 3], [5, 6]]),
    Value("slice_2d_partial", lambda x: x[0, :], [GRID], [1, 2, 3]),
    Value("rslice_basic", lambda x: x[..., -1:], [GRID], [[3], [6]]),
    Value("rslice_2d", lambda x: x[..., :], [GRID], GRID),
    Value("diagonal_2d", ops.diagonal, [SQUARE], [1, 5, 9]),
    Value(
        "slice_3d",
        lambda: ops.arange(1, 25).reshape(2, 3, 4)[1, :, :],
        [],
        [[13, 14, 15, 16], [17, 18, 19, 20], [21, 22, 23, 24]],
    ),
    Value("slice_chain", lambda x: x[:, 1:3][0], [GRID], [2, 3]),
    Value("slice_last_element", lambda x: x[-1], [FIVE], 5),
    Value("slice_negative_range", lambda x: x[-3:], [FIVE], [3, 4, 5]),
    Value("slice_mixed_tuple", lambda x: x[1, 0:2], [SQUARE], [4, 5]),
    Value("slice_all_dims_explicit", lambda x: x[:], [[1, 2, 3, 4]], [1, 2, 3, 4]),
    Value("gather_basic", along(1), [uint16(ROWS), PLACES], [[10, 30, 50], [21, 41, 11], [52, 22, 32]]),
    Value(
        "gather_axis0",
        lambda x, i: ops.gather(x[:, :2], 0, i),
        [SQUARE, [[0, 1], [1, 2], [0, 2]]],
        [[1, 5], [4, 8], [1, 8]],
    ),
    Value("gather_1d", along(0), [TENS, uint16([0, 2, 4, 1])], [10, 30, 50, 20]),
    Value("gather_negative_indices", along(1), [GRID, [[-1, 0], [1, -2]]], [[3, 1], [5, 5]]),
    Value("gather_duplicate_indices", along(0), [[10, 20, 30], uint16([0, 0, 1, 1, 2, 0])], [10, 10, 20, 20, 30, 10]),
    Value("gather_3d_tensor", along(2), [CUBE8, [[[0], [1]], [[1], [0]]]], [[[1], [4]], [[6], [7]]]),
    Value("gather_axis_minus1", along(-1), [GRID, [[0, 2], [1, 0]]], [[1, 3], [5, 4]]),
    Value(
        "gather_axis_minus2",
        lambda x, i: ops.gather(x[:, :1], -2, i),
        [[[1, 2], [3, 4], [5, 6]], [[0], [0], [2]]],
        [[1], [1], [5]],
    ),
    Value("gather_f32_dtype", along(0), [[1.0, 2, 3, 4], uint16([0, 2, 3, 1])], [1, 3, 4, 2]),
    Value("gather_single_element", along(0), [[42], uint16([0])], [42]),
    Value("gather_all_indices", along(0), [FIVE, uint16([0, 1, 2, 3, 4])], FIVE),
    Value("gather_indices_larger_than_axis", along(1), [TWO_BY_TWO, [[0, 0, 1], [1, 1, 0]]], [[1, 1, 2], [4, 4, 3]]),
    Value(
        "scatter_basic",
        lambda x, i: ops.scatter_add(ops.zeros((3, 3), np.int32), 0, i, x).shape,
        [GRID, [[0, 1, 2], [0, 1, 2]]],
        [3, 3],
    ),
    Value("gather_4d_tensor", lambda x, i: ops.gather(x[:, :1], 3, i), [[CUBE8], [[[[0], [1]]]]], [[[[1], [4]]]]),
    Value(
        "gather_large_tensor_axis0",
        lambda i: ops.gather(ops.arange(10000), 0, i),
        [uint16([0, 5000, 9999, 0, 9999])],
        [0, 5000, 9999, 0, 9999],
    ),
    Value(
        "gather_large_2d_tensor",
        lambda i: ops.gather(ops.arange(10000).reshape(100, 100)[:2], 1, i),
        [uint16([[0, 50, 99], [99, 0, 50]])],
        [[0, 50, 99], [199, 100, 150]],
    ),
    Value(
        "gather_mnist_like_sampling",
        lambda i: ops.gather(ops.arange(1000, dtype=np.float32).reshape(1000, 1), 0, i.reshape(7, 1)).reshape(7),
        [uint16([0, 500, 999, 0, 999, 100, 200])],
        [0, 500, 999, 0, 999, 100, 200],
    ),
    Value("slice_range_clamped_to_dim_size", lambda x: x[0:100], [FIVE], FIVE),
    Value("slice_negative_range_clamped", lambda x: x[-10:3], [FIVE], [1, 2, 3]),
    Value("slice_range_to_clamped", lambda x: x[:100], [FIVE], FIVE),
    Value("rslice_range_clamped_to_dim_size", lambda x: x[..., -10:], [GRID], GRID),
    Value("cumsum_large_tensor", lambda: ops.cumsum(ops.ones(1000, np.int32), 0), [], range(1, 1001)),
    Value("arange_large_range", lambda: ops.arange(1000), [], range(1000)),
    Value("one_hot_large_num_classes", lambda x: ops.one_hot(x, 100).shape, [uint16([0, 1, 2])], [3, 100]),
    Value(
        "gather_with_one_hot_large_dim",
        lambda i: ops.gather(ops.arange(500, dtype=np.float32), 0, i),
        [uint16([0, 499, 0, 250])],
        [0, 499, 0, 250],
    ),
    Value("index_select_1", chosen(0), [SQUARE, [2, 0]], [[7, 8, 9], [1, 2, 3]]),
    Value("index_select_1", chosen(1), [SQUARE, [2, 0]], [[3, 1], [6, 4], [9, 7]]),
    Value("index_select_1", chosen(0), [SQUARE, [-1, -3]], [[7, 8, 9], [1, 2, 3]]),
    Value("index_select_1", chosen(1), [SQUARE, [-2, -1]], [[2, 3], [5, 6], [8, 9]]),
    Value("index_select_1", lambda x, i, j: ops.take(ops.take(x, i, 0), j, 1), [SQUARE, [1], [2]], [[6]]),
    Value("argmax_comprehensive", highest(None), [[1, 3, 2, 5]], 3),
    Value("argmax_comprehensive", highest(0), [[1, 3, 2, 5]], 3),
    Value("argmax_comprehensive", highest(None), [[[1, 3, 2], [4, 6, 5], [7, 9, 8]]], 7),
    Value("argmax_comprehensive", highest(0), [[[1, 3, 2], [4, 6, 5], [7, 9, 8]]], [2, 2, 2]),
    Value("argmax_comprehensive", highest(1), [[[1, 3, 2], [4, 6, 5], [7, 9, 8]]], [1, 1, 1]),
    Value("argmax_comprehensive", highest(None), [[[-1, -3, -2], [-4, -6, -5]]], 0),
    Value("argmax_comprehensive", highest(0), [[[-1, -3, -2], [-4, -6, -5]]], [0, 0, 0]),
    Value("argmax_comprehensive", highest(1), [[[-1, -3, -2], [-4, -6, -5]]], [0, 0]),
    Value("argmax_comprehensive", highest(None), [[[42]]], 0),
    Value("argmax_comprehensive", highest(0), [[[42]]], [0]),
    Value("argmax_comprehensive", highest(1), [[[42]]], [0]),
    Value("argmax_comprehensive", highest(0), [X3], [[1, 0, 1], [0, 1, 0]]),
    Value("argmax_comprehensive", highest(1), [X3], [[1, 0, 1], [0, 1, 0]]),
    Value("argmax_comprehensive", highest(2), [X3], [[1, 0], [0, 1]]),
]

# What is an error in zyx is one here.
REFUSED = {
    "misc": [
        Value("more_padding", lambda x: ops.pad(x, [(-10, 0)]), [FIVE], ShapeError),
        Value("t3", lambda x: x.expand(*[1024] * 6) + 1.0, [[1.0]], OutOfMemory),
    ],
    "indexing": [
        Value("slice_error_rank_mismatch", lambda x: x[0, 0], [[1, 2, 3]], ShapeError),
        Value("slice_error_out_of_bounds", lambda x: x[10], [[1, 2, 3]], ShapeError),
        Value("slice_index_out_of_bounds_positive", lambda x: x[10], [[1, 2, 3]], ShapeError),
        Value("slice_index_out_of_bounds_negative", lambda x: x[-10], [[1, 2, 3]], ShapeError),
        Value("gather_error_wrong_axis", along(2), [TWO_BY_TWO, [[0, 1], [1, 0]]], ArgumentError),
    ],
}

FORMULAS = "test_elementwise.py::test_values_are_those_of_numpy"
DERIVATIVES = "test_elementwise.py::test_derivatives_are_central_differences"
PROGRAMS = "test_random_programs.py::test_programs_equal_numpy"
PRODUCTS = "test_products.py::test_matmul_is_numpys"
# The test of ours that stands for each test of zyx without numbers.
REPLACED: dict[str, dict[str, str]] = {
    "unary": {
        FORMULAS: "neg exp exp2 ln log2 reciprocal sqrt sin cos not tanh_1 f16_relu f16_neg f16_exp2 f16_log2 f16_sqrt "
        "f16_sin",
    },
    "binary": {FORMULAS: "add sub mul div pow maximum cmplt"},
    "movement": {},
    "reduce": {"test_reductions.py::test_values_are_those_of_numpy": "sum_reduce_last_dim_3d"},
    "misc": {
        PROGRAMS: "complex_binary fuse_4 fuse_5 graph_tensor_ordering arange_1 arange_2 dot3",
        PRODUCTS: "matmul_1 batched_matmul matmul_disk bench_mm1",
    },
    "autograd": {
        DERIVATIVES: "grad_exp2 grad_pow_3 grad_log2 grad_ln grad_reciprocal_3 grad_sqrt grad_sin grad_cos",
        "test_tape.py::test_second_derivative_of_a_product_of_matrices_with_gelu": "grad_t6",
        "test_tape.py::test_gradient_persistent_keeps_it": "grad7 grad8",
    },
    "realize": {
        FORMULAS: "cos1",
        PROGRAMS: "t05 b_sftmx2",
        PRODUCTS: "arange_matmul_cos",
        "test_running.py::test_a_loop_compiles_nothing_after_its_first_step": "t01 t02 t03 iter1",
        "test_softmax.py::test_shares_and_their_logarithms": "b_sftmx1 sftmx3",
        "test_embedding.py::test_rows_for_tokens": "embedding_test",
    },
    "indexing": {"test_movement.py::test_choice_and_its_transpose": "index_select_zeros index_select_large"},
}
# And why some have none.
WITHOUT: dict[str, dict[str, str]] = {
    "unary": {"bf16_relu bf16_neg bf16_exp2 bf16_log2": "the graph has no bfloat16"},
    "misc": {"rand_get": "the numbers of zyx's own generator", "conv2": "commented out, and wrong"},
    "realize": {"wmma_matmul": "a kernel written for tensor cores by hand"},
    "indexing": {
        "slice_invalid_range_end_less_than_start slice_range_start_out_of_bounds": (
            "empty slices are errors in zyx; here as in NumPy not"
        )
    },
}
VALUES = {
    "unary": UNARY,
    "binary": BINARY,
    "movement": MOVEMENT,
    "reduce": REDUCE,
    "misc": MISC,
    "autograd": AUTOGRAD,
    "realize": REALIZE,
    "indexing": INDEXING,
}


@pytest.mark.parametrize("row", UNARY, ids=str)
def test_unary(row: Value) -> None:
    """X-A17: functions of one number, and the losses among them."""
    check(row)


@pytest.mark.parametrize("row", BINARY, ids=str)
def test_binary(row: Value) -> None:
    """X-A17: functions of two numbers."""
    check(row)


@pytest.mark.parametrize("row", MOVEMENT, ids=str)
def test_movement(row: Value) -> None:
    """X-A17: reshapes, orders of axes, padding."""
    check(row)


@pytest.mark.parametrize("row", REDUCE, ids=str)
def test_reduce(row: Value) -> None:
    """X-A17: sums and maxima."""
    check(row)


@pytest.mark.parametrize("row", MISC, ids=str)
def test_misc(row: Value) -> None:
    """X-A17: programs of several operations, products, normalisations, attention."""
    check(row)


@pytest.mark.parametrize("row", AUTOGRAD, ids=str)
def test_autograd(row: Value) -> None:
    """X-A17: derivatives of sums."""
    check(row)


@pytest.mark.parametrize("row", REALIZE, ids=str)
def test_realize(row: Value) -> None:
    """X-A17: what zyx tries its kernels with."""
    check(row)


@pytest.mark.parametrize("row", INDEXING, ids=str)
def test_indexing(row: Value) -> None:
    """X-A17: slices, choices by indices, places of the largest."""
    check(row)


@pytest.mark.parametrize("row", [row for rows in REFUSED.values() for row in rows], ids=str)
def test_refused(row: Value) -> None:
    """X-A17: what is an error in zyx."""
    with pytest.raises(row.expected):
        row.compute(*map(given, row.inputs)).realize()


def test_all_published_tests_are_accounted_for() -> None:
    """X-A17: each of the 273 once: by its numbers, by a test of ours that is there, or by a reason; the table above
    counts them.
    """
    totals = np.zeros(4, int)
    for category, published in PUBLISHED.items():
        ported = {row.of for row in (*VALUES[category], *REFUSED.get(category, []))}
        replaced = " ".join(REPLACED[category].values()).split()
        without = " ".join(WITHOUT.get(category, {})).split()
        assert len(ported | {*replaced} | {*without}) == len(ported) + len(replaced) + len(without) == published, (
            category
        )
        counts = (published, len(ported), len(replaced), len(without))
        assert f"\n{category:<12}{counts[0]:>11}{counts[1]:>8}{counts[2]:>10}{counts[3]:>21}\n" in str(__doc__), counts
        totals += counts
        for test in REPLACED[category]:
            file, name = test.split("::")
            assert f"\ndef {name}(" in (Path(__file__).parent / file).read_text(encoding="utf-8"), test
    assert f"\nall {totals[0]:>19}{totals[1]:>8}{totals[2]:>10}{totals[3]:>21}\n" in str(__doc__), totals
