"""avg_pool2d and global_avg_pool2d in Halide against the reference."""

import numpy as np
import pytest
from fast_ops import agree, needs_halide, numbers

from typednn.kernels import avg_pool2d, global_avg_pool2d

pytestmark = needs_halide

each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@each_dtype
@pytest.mark.parametrize(
    ("shape", "kernel", "stride", "padding", "counted"),
    [
        ((2, 5, 7, 3), (3, 2), (2, 1), (1, 1), False),
        ((3, 9, 8, 17), (3, 3), (2, 2), (1, 1), True),
        ((1, 1, 1, 1), (1, 1), (1, 1), (0, 0), True),
        ((60, 15, 14, 6), (2, 2), (2, 2), (0, 0), True),  # several threads; a row that no window meets
        ((2, 6, 7, 2), (2, 2), (3, 3), (1, 0), False),
    ],
)
def test_avg_pool2d(shape, kernel, stride, padding, counted, dtype):
    x = numbers(0, *shape, dtype=dtype)
    window = kernel, stride, padding, counted
    y = agree(avg_pool2d.forward, x, *window, magnitude=lambda x, *rest: avg_pool2d.forward(abs(x), *rest))[0]
    next_grad = numbers(1, *y.shape, dtype=dtype)
    size = lambda dy, *rest: avg_pool2d.backward(abs(dy), *rest)  # noqa: E731
    agree(avg_pool2d.backward, next_grad, shape, *window, magnitude=size)


def test_what_is_no_number_stays_in_its_windows():
    x = np.ones((1, 4, 4, 5), np.float32)
    x[0, 0, 0, 0], x[0, 3, 3, 1] = np.nan, np.inf
    y = avg_pool2d.forward(x, (2, 2), (2, 2), (0, 0), True)
    assert np.isnan(y[0, 0, 0, 0])
    assert np.isposinf(y[0, 1, 1, 1])
    assert np.isfinite(y).sum() == y.size - 2


@each_dtype
@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (2, 7, 7, 20), (3, 5, 4, 3), (40, 16, 15, 16)])
def test_global_avg_pool2d(shape, dtype):
    x = numbers(2, *shape, dtype=dtype)
    magnitude = lambda x: abs(x).mean(axis=(1, 2))  # noqa: E731
    agree(global_avg_pool2d.forward, x, magnitude=magnitude)
