"""Ranks and dtypes of graph functions, as mypy --strict and pyright --strict know them. Never run. X-A15, Z-T4."""

from typing import Any, assert_type

import numpy as np

from typednn.graph import (
    Tensor,
    argmax,
    concatenate,
    cumsum,
    flip,
    gelu,
    isnan,
    masked_fill,
    randn,
    relu,
    softplus,
    swapaxes,
    tensor,
    transpose,
    tril,
    var,
)

x: Tensor[tuple[int, int], np.float32] = tensor(np.ones((2, 3), np.float32))

# What is elementwise or moves keeps rank and dtype.
assert_type(relu(x), Tensor[tuple[int, int], np.float32])
assert_type(softplus(gelu(x)), Tensor[tuple[int, int], np.float32])
assert_type(masked_fill(x, isnan(x), 0.0), Tensor[tuple[int, int], np.float32])
assert_type(isnan(x), Tensor[tuple[int, int], np.bool_])
assert_type(flip(tril(x), 1), Tensor[tuple[int, int], np.float32])
assert_type(swapaxes(transpose(x), 0, 1), Tensor[tuple[int, int], np.float32])
assert_type(concatenate([x, x], 1), Tensor[tuple[int, int], np.float32])
assert_type(cumsum(x, 0), Tensor[tuple[int, int], np.float32])

# A reduction keeps its dtype.
assert_type(var(x, 0), Tensor[Any, np.float32])
assert_type(argmax(x, 1), Tensor[Any, np.int64])

# What must be refused.
relu(np.ones(3))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
randn(0, (2, 3))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
vector: Tensor[tuple[int], np.float32] = relu(x)  # type: ignore[arg-type]  # pyright: ignore[reportAssignmentType]
