"""dropout: numbers become 0 at random, and the others grow, so that the mean stays.

y = x/(1 - p) where u > p, else 0       u uniform between 0 and 1

There is no generator behind it: the caller gives the numbers u, as a tensor, or a generator that draws them now.
Source: Srivastava et al. 2014, "Dropout: A Simple Way to Prevent Neural Networks from Overfitting".
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from typednn.arguments import number
from typednn.arrays import refuse_beyond_memory
from typednn.errors import ArgumentError, explain
from typednn.graph.nodes import binary, broadcast_to, tensor, zeros_like
from typednn.graph.operations import Binary
from typednn.graph.tensor import AnyTensor, Tensor


def dropout(x: Tensor[Any, Any], p: float, random: AnyTensor | np.random.Generator, training: bool = True) -> AnyTensor:
    """``x``, dropped with probability ``p``; ``x`` itself unless ``training``.

    ``random``: numbers u, or a mask of booleans that is true where numbers stay, of x's shape or one that broadcasts to
    it, so that whole channels may go; or a generator.
    """
    number("dropout", "p", p, least=0.0, most=1.0)
    if not training or p == 0.0:
        return x
    if p == 1.0:
        return zeros_like(x)
    if isinstance(random, np.random.Generator):
        refuse_beyond_memory("dropout", x.shape, np.dtype(np.float32), "cpu", None)
        random = tensor(cast("Any", random).random(x.shape, np.float32))
    elif not isinstance(random, Tensor):
        got = type(random).__name__
        raise ArgumentError(explain("dropout", "random is a tensor or a numpy.random.Generator", got), "random")
    stays: Any = random if random.dtype.kind == "b" else random > p
    return binary(Binary.MASKED, broadcast_to(stays, x.shape), x * (1 / (1 - p)))
