"""The scores of attention."""

import numpy as np
from jaxtyping import Float

from typednn import Array3


def attend(
    q: Float[Array3, "batch query size"], k: Float[Array3, "batch key size"], v: Float[Array3, "batch key width"]
) -> Float[Array3, "batch query width"]:
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    y: Array3 = weights @ v
    return y


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    print(attend(rng.standard_normal((2, 3, 5)), rng.standard_normal((2, 7, 5)), rng.standard_normal((2, 7, 11))).shape)
