"""The fields of a batch, by attribute and by name."""

from copy import deepcopy
from dataclasses import dataclass
from typing import NamedTuple, TypedDict

import numpy as np
from jaxtyping import Float

from typednn import Array2


@dataclass
class Images:
    pixels: Float[Array2, "batch 4"]


class Labels(NamedTuple):
    one_hot: Float[Array2, "batch 3"]


class Both(TypedDict):
    images: Float[Array2, "batch 4"]
    labels: Float[Array2, "batch 3"]


def scores(images: Images, labels: Labels, both: Both) -> Array2:
    first: Array2 = images.pixels @ np.ones((4, 2)) + labels.one_hot @ np.ones((3, 2))
    second: Array2 = both["images"] @ np.ones((4, 2))
    return first + second


if __name__ == "__main__":
    ones, one_hot = np.ones((2, 4)), np.ones((2, 3))
    both: Both = {"images": ones, "labels": one_hot}
    print(scores(Images(ones), Labels(one_hot), deepcopy(both)).shape)
