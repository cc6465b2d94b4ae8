"""Dataclasses whose fields are arrays: a name of an axis means one size in one object, not in all of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypedDict

import numpy as np
from jaxtyping import Float, Int

from typednn import Array1, Array2


@dataclass
class Rays:
    origins: Float[Array2, "n 3"]
    directions: Float[Array2, "n 3"]
    times: Float[Array1, " n"] | None = None
    near: Float[Array1, " few"] = field(default_factory=lambda: np.zeros(0, np.float32))

    def __len__(self) -> int:
        return len(self.origins)

    def __getitem__(self, chosen: Int[Array1, " few"]) -> Rays:
        return Rays(self.origins[chosen], self.directions[chosen])

    def at(self, distance: Float[Array1, " n"]) -> Float[Array2, "n 3"]:
        return self.origins + distance[:, None] * self.directions


class Sample(NamedTuple):
    image: Float[Array2, "height width"]
    label: Int[Array1, " one"]


class Batch(TypedDict):
    tokens: Int[Array2, "batch time"]
    weights: Float[Array2, "batch time"]


def joined(a: Rays, b: Rays) -> Rays:
    return Rays(np.concatenate([a.origins, b.origins]), np.concatenate([a.directions, b.directions]))


def shifted(rays: Rays, by: Float[Array1, " 3"]) -> Rays:
    return replace(rays, origins=rays.origins + by)


def difference(a: Rays, b: Rays) -> Float[Array2, "m 3"]:
    middle: Array2 = a.at(np.ones(len(a), np.float32)).mean(axis=0, keepdims=True)
    return middle - b.at(np.ones(len(b), np.float32))


def loss(batch: Batch, sample: Sample) -> float:
    weighted = batch["weights"] * batch["tokens"].astype(np.float32)
    return float(weighted.sum() + sample.image.sum() + sample.label.sum())


if __name__ == "__main__":
    one, ones = Rays(np.ones((1, 3), np.float32), np.ones((1, 3), np.float32)), np.ones((5, 3), np.float32)
    many = joined(one, Rays(ones, ones))
    print(len(shifted(many, ones[0])), difference(one, many).shape, len(many[np.array([0, 2])]))
    print(loss(Batch(tokens=np.ones((2, 4), np.int64), weights=np.ones((2, 4), np.float32)), Sample(ones, np.ones(1, np.int64))))
