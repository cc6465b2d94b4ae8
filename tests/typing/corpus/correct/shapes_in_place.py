"""Arrays whose own shape is set, through one of their names."""

from typing import Any

import numpy as np
from jaxtyping import Float

from typednn import Array2


def by_another_name(x: Float[Array2, "4 3"]) -> Float[Array2, "5 3"]:
    y = x.copy()
    same = y
    same.resize((5, 3), refcheck=False)
    return y


def in_a_list(x: Float[Array2, "4 3"]) -> Float[Array2, "5 3"]:
    rows = [x.copy()]
    rows[0].resize((5, 3), refcheck=False)
    return rows[0]


def lengthen(x: Any) -> None:
    x.resize((5, 3), refcheck=False)


def by_a_function(x: Float[Array2, "4 3"]) -> Float[Array2, "5 3"]:
    y = x.copy()
    lengthen(y)
    return y


def by_a_method(x: Float[Array2, "4 3"]) -> Float[Array2, "5 3"]:
    y = x.copy()
    resize = y.resize
    resize((5, 3), refcheck=False)
    return y


def by_a_lambda(x: Float[Array2, "4 3"]) -> Float[Array2, "5 3"]:
    y = x.copy()
    longer = lambda: y.resize((5, 3), refcheck=False)  # noqa: E731
    longer()  # type: ignore[no-untyped-call]
    return y


if __name__ == "__main__":
    x = np.ones((4, 3))
    print([each(x).shape for each in (by_another_name, in_a_list, by_a_function, by_a_method, by_a_lambda)])
