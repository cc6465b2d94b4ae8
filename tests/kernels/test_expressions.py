"""The dialect of formulas: its functions in kernels are NumPy's, and an op is its value and its derivative."""

from typing import Any

import numpy as np
import pytest
from fast_ops import needs_halide, quiet, special_pairs

from typednn.engines import counting
from typednn.kernels.expressions import Expressions
from typednn.kernels.op import OPS
from typednn.kernels.pointwise import Formula, Pointwise

pytestmark = [needs_halide, quiet]
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def value(xp: Any, x: Any, far: Any) -> Any:
    return xp.where(x > far, 0.1 * x, 0.3 * xp.tanh(x) + xp.exp(-x * x))


# An activation: two formulas. Float32 has none of its numbers exactly.
step = Pointwise(
    "step",
    Formula(value, flops=9, uses_exp=True),
    Formula(
        lambda xp, dy, x, far: dy * xp.where(x > far, 0.1, 0.3 * (1 - xp.square(xp.tanh(x))) - 2 * x * xp.exp(-x * x)),
        arrays=2,
    ),
)


def every_function(xp: Any, x: Any, y: Any) -> tuple[Any, ...]:
    return (
        abs(x),
        xp.clip(x, -1, 2),
        xp.exp(x),
        xp.maximum(x, y),
        xp.minimum(x, y),
        xp.sign(x),
        xp.sqrt(abs(x)),
        xp.square(x),
        xp.tanh(x),
        *(xp.where(test, 2.5, y) for test in (x < y, x <= y, x > y, x >= y, (x < y) | (x > y), (x < 1) & (y >= 0))),
        x + 0.1 - y / 7 * -x,
    )


every = Formula(every_function, arrays=2, results=16)
every.op("every function")
for _name in ("step.forward", "step.backward", "every function"):
    del OPS[_name]  # other tests are of the package's ops


@DTYPES
def test_an_activation_is_its_value_and_its_derivative(dtype: Any) -> None:
    x, h = np.linspace(-3, 3, 5001).astype(dtype), 1e-6
    with counting() as counts:
        y, dx = step.forward(x, 1.7), step.backward(np.ones_like(x), x, 1.7)
    assert {engine for _, engine in counts} == {"halide"}
    wide, bound = x.astype(np.float64), 8 * np.finfo(dtype).eps
    np.testing.assert_allclose(y, value(np, x, 1.7), rtol=bound, atol=bound)
    np.testing.assert_allclose(y, value(np, wide, 1.7), rtol=bound, atol=bound)
    slope = (value(np, wide + h, 1.7) - value(np, wide - h, 1.7)) / (2 * h)
    np.testing.assert_allclose(dx, slope, atol=max(1e-9, bound))


@DTYPES
def test_functions_are_numpys_for_special_numbers_too(dtype: Any) -> None:
    x, y = (each.astype(dtype) for each in special_pairs())
    for found, exact in zip(every.run(x, y), every_function(np, x, y), strict=True):
        # A kernel's exponential makes denormal numbers 0.
        np.testing.assert_allclose(found, exact, rtol=8 * np.finfo(dtype).eps, atol=np.finfo(dtype).tiny)


def test_a_formula_of_other_functions_has_no_kernel() -> None:
    names = Expressions()
    assert names.has(every_function, 2)
    assert not names.has(lambda xp, x: xp.sin(x), 1)
    assert not names.has(lambda xp, x: x if x > 0 else -x, 1)
    with pytest.raises(AttributeError, match="no Halide for sin"):
        names.sin  # noqa: B018
