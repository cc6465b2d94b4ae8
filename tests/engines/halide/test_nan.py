"""NaN and infinities survive in kernels, in what is loaded and in what is computed."""

from __future__ import annotations

import nan_kernels
import numpy as np
import pytest

from typednn.engines import Array, kernel
from typednn.engines.halide import toolchain

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="needs Halide")

SPECIAL = np.array(
    [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 88.7, 88.73, -87.0, -104.0, -150.0, 1e-40, 3e38],
    np.float32,
)
PAIRS = np.array([(x, y) for x in SPECIAL for y in SPECIAL], np.float32)


def computed(name: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    x, y = (np.ascontiguousarray(column) for column in PAIRS.T)
    out = np.empty_like(x)
    elements = Array("n")
    kernel(f"test.{name}", getattr(nan_kernels, name), inputs=(elements, elements), outputs=(elements,))(x, y, out)
    return out


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["is_nan", "is_nan_of_something_computed", "maximum", "relu_of_a_sum", "exp"])
def test_special_values(name: str) -> None:
    x, y = PAIRS.T
    expected = {
        "is_nan": lambda: np.isnan(x),
        "is_nan_of_something_computed": lambda: np.isnan(x * y + x),
        "maximum": lambda: np.maximum(x, y),
        "relu_of_a_sum": lambda: np.maximum(x + y, 0),
        "exp": lambda: np.exp(x.astype(np.float64)).astype(np.float32),
    }
    np.testing.assert_allclose(computed(name), expected[name]().astype(np.float32), rtol=1e-6, atol=1e-37)


def test_exp_is_exact_enough() -> None:
    x = np.linspace(-87, 88.7, 100_001, dtype=np.float32)
    out = np.empty_like(x)
    elements = Array("n")
    kernel("test.exp", nan_kernels.exp, inputs=(elements, elements), outputs=(elements,))(x, x, out)
    np.testing.assert_allclose(out, np.exp(x.astype(np.float64)), rtol=1e-6)
