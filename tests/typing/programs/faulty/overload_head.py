"""An overloaded factory: a list of sizes that does not begin with what is given."""

from typing import Any, overload

import numpy as np

from typednn import Array2, Input, Layer
from typednn.layers import Linear, ReLU


@overload
def head(features: int, classes: int) -> Linear: ...
@overload
def head(features: int, classes: int, hidden: int) -> Layer[Array2, Array2, Any]: ...
def head(features: int, classes: int, hidden: int | None = None) -> Layer[Array2, Array2, Any]:
    if hidden is None:
        return Linear(features, classes)
    return Linear(features, hidden) >> ReLU() >> Linear(hidden, classes)


body = Input(14) >> Linear(14, 70) >> ReLU()
shallow = body >> head(70, 4)
deep = body >> head(30, 4, hidden=70)  # shape

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    for model in (shallow, deep):
        model.init(rng)
        print(model.forward(rng.random((2, 14)).astype(np.float32)).shape)
