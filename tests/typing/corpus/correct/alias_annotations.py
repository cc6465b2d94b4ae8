"""Annotations by type alias."""

from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Integer

from typednn import Array2, Array4, IntArray1
from typednn.layers import Conv2d, Flatten, Linear
from typednn.losses import SoftmaxCrossEntropy

Images: TypeAlias = Float[Array4, "batch 28 28 1"]
Scores: TypeAlias = Float[Array2, "batch 10"]
Labels: TypeAlias = Integer[IntArray1, " batch"]

rng = np.random.default_rng(0)
conv, flatten, fc = Conv2d(1, 2, 9, stride=2, rng=rng), Flatten(), Linear(10 * 10 * 2, 10, rng=rng)


def predict(images: Images) -> Scores:
    return fc(flatten(conv(images)))


def error(images: Images, labels: Labels) -> float:
    return SoftmaxCrossEntropy().loss(predict(images), labels)


if __name__ == "__main__":
    print(error(np.ones((3, 28, 28, 1), np.float32), np.array([1, 2, 3])))
