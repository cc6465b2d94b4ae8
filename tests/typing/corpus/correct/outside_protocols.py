"""Protocols and base classes with annotated methods, and classes that keep them under other names of axes, or read more."""

from abc import ABC, abstractmethod
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2


@runtime_checkable
class Kernel(Protocol):
    def __call__(self, x: Float[np.ndarray, "*batch n d"], y: Float[np.ndarray, "*batch m d"]) -> Float[np.ndarray, "*batch n m"]: ...


class Mean(ABC):
    @abstractmethod
    def __call__(self, x: Float[Array2, "n d"]) -> Float[Array2, "n q"]: ...

    def centred(self, x: Float[Array2, "n d"], y: Float[Array2, "n q"]) -> Float[Array2, "n q"]:
        return y - self(x)


class Linear:
    def __call__(self, x: Float[np.ndarray, "... rows dims"], y: Float[np.ndarray, "... columns dims"]) -> Float[np.ndarray, "... _ _"]:
        product: np.ndarray = x @ np.swapaxes(y, -1, -2)
        return product


class Zero(Mean):
    def __call__(self, x: Float[Array2, "points dims"]) -> Float[Array2, "points 1"]:
        return np.zeros((x.shape[0], 1), np.float32)


class Constant(Mean):
    def __init__(self, value: Float[Array1, " q"]) -> None:
        self.value = value

    def __call__(self, x: Float[Array2, "n d"]) -> Float[Array2, "n q"]:
        return np.zeros((len(x), 1), np.float32) + self.value


def predict(
    kernel: Kernel, mean: Mean, x: Float[Array2, "n d"], y: Float[Array2, "n q"], new: Float[Array2, "m d"]
) -> Float[Array2, "m q"]:
    weights: Array2 = np.linalg.solve(kernel(x, x) + np.eye(len(x), dtype=np.float32), mean.centred(x, y))
    among: Array2 = kernel(new, x)
    return mean(new) + among @ weights


if __name__ == "__main__":
    x, new = np.eye(4, 3, dtype=np.float32), np.ones((2, 3), np.float32)
    for mean in (Zero(), Constant(np.ones(2, np.float32))):
        print(predict(Linear(), mean, x, np.ones((4, 2), np.float32), new).shape)
