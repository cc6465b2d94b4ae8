"""The twelve kinds of nodes, and the dtypes.

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
What UNARY, BINARY and REDUCE choose from is in `typednn.graph.operations`. Source: zyx, "The Graph".
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


# What only moves numbers, or repeats them, or puts zeros around them.
MOVEMENTS: Final = frozenset({Kind.EXPAND, Kind.PERMUTE, Kind.RESHAPE, Kind.PAD})
# A node names its dtype by its place here.
DTYPES: Final[tuple[np.dtype[Any], ...]] = (
    *(np.dtype(name) for name in ("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")),
    *(np.dtype(name) for name in ("float16", "float32", "float64")),
)
CODES: Final[dict[np.dtype[Any], int]] = {dtype: code for code, dtype in enumerate(DTYPES)}
