"""The parts put together."""

import numpy as np
from jaxtyping import Float

from package_parts.encoder import encoder
from package_parts.heads import classify, small
from typednn import Array2


def predict(x: Float[Array2, "batch 100"]) -> Float[Array2, "batch 2"]:
    return classify(encoder.forward(x))  # shape: 20


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    encoder.init(rng)
    small.init(rng)
    predict(rng.standard_normal((3, 100)).astype(np.float32))
