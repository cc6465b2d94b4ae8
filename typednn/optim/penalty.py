"""The value that weight decay adds to the loss.

l2·Σw²                                                                                      (the paper's eq 45; eq 46 is
                                                                                            its gradient)

Source: "Deep Learning Implementation With Rust", eq 45.
"""

from typing import Any

import numpy as np

from typednn.arguments import number
from typednn.arrays import namespace
from typednn.module.module import Module


def l2_penalty(model: Module, l2: float) -> float:
    """``l2`` times the sum of the squares of all parameters: with it, what ``SGD(lr, l2=l2)`` makes smaller can be
    watched.
    """
    squares: Any = (namespace(weights).square(weights, dtype=np.float64).sum() for weights in model.parameters())
    return number("l2_penalty", "l2", l2, least=0.0) * float(sum(squares))
