"""A function that makes two layers with the class that it is given."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from typednn import Array3, Layer
from typednn.layers import GRU, LSTM, RNN, Embedding, LastStep, Linear

Cell = Callable[[int, int], Layer[Array3, Array3, Any]]


def recurrent(cell: Cell, features: int, hidden: int) -> Layer[Array3, Array3, Any]:
    return cell(features, hidden) >> cell(hidden, hidden)


models = [Embedding(30, 8) >> recurrent(cast(Cell, cell), 8, 20) >> LastStep() >> Linear(20, 2) for cell in (RNN, GRU, LSTM)]

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    for model in models:
        print(model.init(rng).forward(rng.integers(0, 30, (2, 6))).shape)
