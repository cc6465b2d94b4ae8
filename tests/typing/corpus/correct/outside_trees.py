"""Trees of arrays and scalars: ``PyTree``, ``ArrayLike``, ``Float[Array, ""]``, ``Scalar`` by another name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

from typednn import Array0, Array1, Array2

if TYPE_CHECKING:
    from jaxtyping import PyTree  # needs JAX at run time

Scalar: TypeAlias = Float[np.ndarray, ""]


def total(x: Float[Array1, " n"]) -> Float[Array0, ""]:
    return np.asarray(x.sum(), dtype=x.dtype)


def scaled(x: Float[Array2, "rows columns"], by: Float[Array0, ""]) -> Float[Array2, "rows columns"]:
    return x * by


def chosen(which: Bool[Array0, ""] | bool, x: Float[Array1, " n"], y: Float[Array1, " n"]) -> Float[Array1, " n"]:
    return x if which else y


def step(
    params: Mapping[str, Float[np.ndarray, "..."]], grads: PyTree[Float[np.ndarray, "..."]], rate: float | Scalar
) -> dict[str, np.ndarray]:
    return {name: value - rate * grads[name] for name, value in params.items()}


def energy(
    f: Callable[[Float[Array1, " n"]], Float[Array0, ""]], x: Float[Array1, " n"], y: Float[Array1, " m"]
) -> Sequence[Float[Array0, ""]]:
    return [f(x), f(y)]


def leaves(tree: PyTree[Int[np.ndarray, "?n"]]) -> list[Any]:
    return [leaf for each in tree for leaf in leaves(each)] if isinstance(tree, list) else [tree]


if __name__ == "__main__":
    x = np.ones(3, np.float32)
    print(scaled(np.ones((2, 3), np.float32), total(x)).shape, chosen(True, x, x).shape, energy(total, x, x[:2]))
    print(step({"w": np.ones((2, 3)), "b": np.ones(3)}, {"w": np.ones((2, 3)), "b": np.ones(3)}, np.asarray(0.5))["w"].shape)
    print(len(leaves([np.ones(2, int), [np.ones(3, int)]])))
