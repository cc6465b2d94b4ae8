"""The model."""

from package_of_aliases import shapes
from package_of_aliases.shapes import Images, Weight

from typednn import Array2


def scores(x: Images, weight: Weight) -> shapes.Scores:
    product: Array2 = x @ weight.T
    return product


def twice(x: Images, weight: Weight) -> Array2:
    first = scores(x, weight)
    return first + scores(2 * x, weight)
