"""The dictionary of settings has another number of features than the data's layer gives."""

from typing import Any, TypedDict

import numpy as np

from typednn import Array2, Input, Layer
from typednn.layers import Dropout, Linear, ReLU


class HeadConfig(TypedDict):
    features: int
    hidden: int
    classes: int


HEAD: HeadConfig = {"features": 90, "hidden": 32, "classes": 5}  # shape


def make_head(features: int, hidden: int, classes: int, p: float = 0.1) -> Layer[Array2, Array2, Any]:
    return Linear(features, hidden) >> ReLU() >> Dropout(p) >> Linear(hidden, classes)


encoder = Linear(200, 96) >> ReLU()
model = Input(200) >> encoder >> make_head(**HEAD)  # meets

if __name__ == "__main__":
    rng = np.random.default_rng(1)
    model.init(rng)
    scores = model.forward(rng.standard_normal((4, 200)).astype(np.float32))
    print(scores.argmax(axis=1))
