"""An MLP from a tuple of sizes, with pairwise and a comprehension."""

from functools import reduce
from itertools import pairwise
from operator import rshift
from typing import Any

import numpy as np

from typednn import Array2, Layer
from typednn.layers import Linear, ReLU

SIZES = (30, 64, 32, 16)

blocks: list[Layer[Array2, Array2, Any]] = [Linear(a, b) >> ReLU() for a, b in pairwise(SIZES)]
body = reduce(rshift, blocks)
model = body >> Linear(SIZES[-1], 2)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.standard_normal((4, 30)).astype(np.float32)).shape)
