"""A text classifier, joined by a lambda in reduce, whose last layer reads the embedding's size."""

from functools import reduce
from typing import Any

import numpy as np

from typednn.layers import LSTM, Dropout, Embedding, LastStep, Linear

VOCABULARY, EMBEDDING, HIDDEN = 60, 16, 24

parts: list[Any] = [
    Embedding(VOCABULARY, EMBEDDING),
    Dropout(0.1),
    LSTM(EMBEDDING, HIDDEN),
    LastStep(),
    Linear(EMBEDDING, 2),  # shape
]
model = reduce(lambda left, right: left >> right, parts)  # meets

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.integers(0, VOCABULARY, (3, 7))).shape)
