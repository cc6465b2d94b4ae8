"""Arrays that are changed by ``x.at[i].set(y)``, of functions whose steps are passed on: scan, cond, einsum and rearrange."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2

Carry = TypeVar("Carry")


class At(Generic[Carry]):
    def __init__(self, array: Array2) -> None:
        self.array = array

    def __getitem__(self, place: Any) -> At[Carry]:
        self.place = place
        return self

    def set(self, values: Array1 | float) -> Array2:
        out = self.array.copy()
        out[self.place] = values
        return out


def scan(step: Callable[[Carry, Array1], tuple[Carry, Array1]], start: Carry, rows: Array2) -> tuple[Carry, Array2]:
    out = []
    for row in rows:
        start, y = step(start, row)
        out.append(y)
    return start, np.stack(out)


def rearrange(x: Any, pattern: str) -> Any:
    return x.reshape(-1) if pattern == "n d -> (n d)" else x.T


def cumulative(x: Float[Array2, "time d"]) -> tuple[Float[Array1, " d"], Float[Array2, "time d"]]:
    def step(total: Float[Array1, " d"], row: Float[Array1, " d"]) -> tuple[Float[Array1, " d"], Float[Array1, " d"]]:
        return total + row, total

    return scan(step, np.zeros(x.shape[1], np.float32), x)


def replaced(x: Float[Array2, "n d"], y: Float[Array1, " d"]) -> Float[Array2, "n d"]:
    at: At[int] = At(x)
    return at[0].set(y)


def filtered(x: Float[Array2, "time d"], weights: Sequence[Float[Array2, "d d"]]) -> Float[Array2, "time d"]:
    state, means = cumulative(x)
    for weight in weights:
        state = state @ weight
        state, means = cumulative(means + state)
    return means


def flat(x: Float[Array2, "n d"]) -> Float[Array1, " n*d"]:
    one: Array1 = rearrange(rearrange(x, "n d -> d n"), "n d -> (n d)")
    return one


def contracted(x: Float[Array2, "n d"], y: Float[Array2, "m d"]) -> Float[Array2, "m n"]:
    product: Array2 = np.einsum("n d, m d -> m n".replace(" ", ""), x, y)
    return product


if __name__ == "__main__":
    x = np.ones((4, 3), np.float32)
    print(cumulative(x)[1].shape, replaced(x, x[0]).shape, filtered(x, [np.eye(3, dtype=np.float32)] * 2).shape)
    print(flat(x).shape, contracted(x, x[:2]).shape)
