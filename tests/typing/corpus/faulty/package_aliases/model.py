"""The model. NumPy refuses it."""

from package_aliases import shapes
from package_aliases.shapes import Images, Weight

from typednn import Array2


def scores(x: Images, weight: Weight) -> shapes.Scores:
    product: Array2 = x @ weight  # shape: 784 columns meet 10 rows
    return product


def twice(x: Images, weight: Weight) -> Array2:
    first = scores(x, weight)
    return first + scores(first, weight)  # shape: expects axis 1 to be 784, gets 10
