"""The twelve kinds of nodes, and the operations that four of them choose from.

=========  ==================================================  ==============================================
kind       value at each place                                 what it has besides its inputs
=========  ==================================================  ==============================================
CONST      one number everywhere                               the number
LEAF       an array                                            the array; a file that is read when needed
EXPAND     x, where axes of size 1 repeat                      the shape
PERMUTE    x with its axes in another order                    the order
RESHAPE    x with the same numbers in another shape            the shape
PAD        x with zeros around it; negative widths cut off     two widths for each axis
REDUCE     the sum, product, maximum, minimum over some axes   the axes, which the result lacks
CAST       x in another dtype                                  the dtype
UNARY      a function of one number                            which
BINARY     a function of two numbers                           which
TO_DEVICE  x on another device                                 the device
CUSTOM     what a `Function` computes                          the function
=========  ==================================================  ==============================================

Inputs of BINARY have one shape and one dtype; what broadcasts does so by RESHAPE and EXPAND.
Source: zyx, "The Graph".
"""

from enum import IntEnum
from typing import Any, Final

import numpy as np


class Kind(IntEnum):
    """What a node is."""

    CONST = 0
    LEAF = 1
    EXPAND = 2
    PERMUTE = 3
    RESHAPE = 4
    PAD = 5
    REDUCE = 6
    CAST = 7
    UNARY = 8
    BINARY = 9
    TO_DEVICE = 10
    CUSTOM = 11


class Unary(IntEnum):
    """Functions of one number."""

    NEGATIVE = 0
    BITWISE_NOT = 1
    EXP = 2
    EXP2 = 3
    LOG = 4
    LOG2 = 5
    RECIPROCAL = 6
    SQRT = 7
    SIN = 8
    COS = 9
    FLOOR = 10
    TRUNC = 11
    ABS = 12
    TANH = 13
    ERF = 14
    LOG1P = 15
    EXPM1 = 16


class Binary(IntEnum):
    """Functions of two numbers. MASKED is the second where the first, a boolean, is true, and 0 elsewhere."""

    ADD = 0
    SUBTRACT = 1
    MULTIPLY = 2
    DIVIDE = 3
    POWER = 4
    MODULO = 5
    LESS = 6
    GREATER = 7
    GREATER_EQUAL = 8
    MAXIMUM = 9
    LOGICAL_OR = 10
    LOGICAL_AND = 11
    LOGICAL_XOR = 12
    BITWISE_OR = 13
    BITWISE_AND = 14
    BITWISE_XOR = 15
    LEFT_SHIFT = 16
    RIGHT_SHIFT = 17
    NOT_EQUAL = 18
    EQUAL = 19
    MASKED = 20


class Reduce(IntEnum):
    """How the numbers along some axes become one."""

    SUM = 0
    PROD = 1
    MAX = 2
    MIN = 3


# What gives booleans, whatever it compares.
COMPARISONS: Final = frozenset({Binary.LESS, Binary.GREATER, Binary.GREATER_EQUAL, Binary.NOT_EQUAL, Binary.EQUAL})
LOGICAL: Final = frozenset({Binary.LOGICAL_OR, Binary.LOGICAL_AND, Binary.LOGICAL_XOR})
BITWISE: Final = frozenset({Binary.BITWISE_OR, Binary.BITWISE_AND, Binary.BITWISE_XOR, Binary.LEFT_SHIFT, Binary.RIGHT_SHIFT})

# A node names its dtype by its place here.
DTYPES: Final[tuple[np.dtype[Any], ...]] = (
    *(np.dtype(name) for name in ("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")),
    *(np.dtype(name) for name in ("float16", "float32", "float64")),
)
CODES: Final[dict[np.dtype[Any], int]] = {dtype: code for code, dtype in enumerate(DTYPES)}
