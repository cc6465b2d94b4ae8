"""A user's own CuPy array passes the checks without anybody importing CuPy for it."""

from typing import Any

import numpy as np
from jaxtyping import Float

from typednn import arrays


def test_arrays_of_a_cupy_that_the_user_imported_pass_the_checks(install_cupy: Any) -> None:
    theirs = install_cupy().asarray(np.ones((2, 3)))
    assert isinstance(theirs, Float[arrays.Array2, "a b"])
    assert arrays.device_of(theirs) == "cuda"
