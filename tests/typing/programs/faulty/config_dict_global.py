"""A text classifier from a global dictionary, whose recurrent layer's size is changed in one place of two."""

from typing import Any

import numpy as np

from typednn import Array2, FirstLayer, Input, IntArray2
from typednn.layers import LSTM, Dropout, Embedding, LastStep, Linear

CONFIG: dict[str, int] = {"vocabulary": 80, "embedding": 12, "hidden": 24, "classes": 4, "length": 9}
SEEN: list[int] = []


def build() -> FirstLayer[IntArray2, Array2, Any]:
    embedding = Embedding(CONFIG["vocabulary"], CONFIG["embedding"])
    lstm = LSTM(CONFIG["embedding"], hidden := CONFIG["hidden"])
    SEEN.append(hidden)
    return Input(CONFIG["length"], dtype=int) >> embedding >> lstm >> LastStep() >> Dropout(0.2) >> Linear(32, CONFIG["classes"])  # shape


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model = build().init(rng)
    print(model.forward(rng.integers(0, CONFIG["vocabulary"], (2, CONFIG["length"]))).shape)
