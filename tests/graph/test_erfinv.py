"""erfinv against mpmath's, and its derivatives against central differences."""

import mpmath
import numpy as np
import pytest
from graph_rows import check_gradient

from typednn.errors import DTypeError
from typednn.graph import erf, erfinv, tensor

X = np.array([0.0, 1e-300, 1e-9, 0.1, -0.3, 0.5, -0.84, 0.85, 0.851, 0.9, 0.99, -0.999999, 1 - 1e-12, 1 - 2.0**-53])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_are_mpmaths(dtype: type) -> None:
    """X-A15: to a few units of the last place, near 0 and near ±1."""
    x = X.astype(dtype)
    x = x[np.abs(x) < 1]
    with mpmath.workdps(50):
        want = np.array([float(mpmath.erfinv(mpmath.mpf(float(each)))) for each in x])
    got = erfinv(tensor(x)).numpy()
    assert got.dtype == dtype
    np.testing.assert_allclose(got, want, rtol=8 * np.finfo(dtype).eps, atol=np.finfo(dtype).tiny)


def test_the_ends_and_beyond() -> None:
    """X-A15: infinite at ±1, NaN beyond; the sign of zero stays."""
    x = np.array([1.0, -1.0, 1.5, -2.0, np.nan, 0.0, -0.0])
    got = erfinv(tensor(x)).numpy()
    np.testing.assert_array_equal(got, [np.inf, -np.inf, np.nan, np.nan, np.nan, 0, 0])
    np.testing.assert_array_equal(np.signbit(got[-2:]), [False, True])


def test_it_is_the_inverse_and_differentiable() -> None:
    """X-A15: erf undoes it; first and second derivatives."""
    x = np.linspace(-0.97, 0.97, 9)
    np.testing.assert_allclose(erf(erfinv(tensor(x))).numpy(), x, rtol=1e-14)
    check_gradient(erfinv, [x], 0)


def test_integers_are_refused() -> None:
    with pytest.raises(DTypeError, match=r"erfinv.*floats"):
        erfinv(tensor(np.arange(3)))
