"""Annotations with all that jaxtyping knows: sizes that broadcast, any number of axes, documented and nameless ones, none at all."""

import numpy as np
from jaxtyping import Float, Num, Shaped

from typednn import AnyArray, Array2, Array3, Array4
from typednn.layers import Linear

rng = np.random.default_rng(0)
fc = Linear(6, 6, rng=rng)


def add(x: Float[Array2, "#batch features"], y: Float[Array2, "#batch features"]) -> Float[Array2, "#batch features"]:
    return x + y


def anything(x: Float[AnyArray, "batch *rest"], y: Shaped[AnyArray, "..."]) -> Float[AnyArray, "batch *rest"]:
    return x


def documented(x: Float[Array4, "batch rows=4 columns=4 _"]) -> Float[Array3, "batch 4 channels"]:
    flat: Array3 = x.mean(axis=1)
    return flat


def other_arrays(x: Float[np.ndarray, "batch 6"], y: Num[np.ndarray, "*batch 6"]) -> AnyArray:
    total: AnyArray = x + y
    return total


def number(x: Float[Array2, "1 1"] | float, mask: Float[Array2, "time time"] | None = None) -> float:
    return float(np.sum(x)) + (0.0 if mask is None else float(mask.sum()))


def nested(xs: list[Float[Array2, "batch _"]], by_name: dict[str, Float[Array2, "_ 6"]]) -> Float[Array2, "batch 6"]:
    return fc(by_name["x"]) + fc(xs[0])


if __name__ == "__main__":
    x = np.ones((2, 6), np.float32)
    print(add(x[:1], x).shape, anything(x, x[0]).shape, documented(np.ones((2, 4, 4, 3), np.float32)).shape)
    print(other_arrays(x, x).shape, number(x[:1, :1], None), nested([x], {"x": x, "y": x[:1]}).shape)
