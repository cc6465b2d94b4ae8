"""Three categorical columns as one-hot columns."""

import numpy as np
from jaxtyping import Float, Integer

from typednn import Array2, IntArray1


def encode(
    colour: Integer[IntArray1, " count"], size: Integer[IntArray1, " count"], kind: Integer[IntArray1, " count"]
) -> Float[Array2, "count 13"]:
    columns = [np.eye(3)[colour], np.eye(5)[size], np.eye(5)[kind]]
    return np.concatenate(columns, axis=1)


if __name__ == "__main__":
    zeros = np.zeros(7, np.int64)
    print(encode(zeros, zeros, zeros).shape)
