"""pad2d in Halide against the reference: the same bits, but for the sums of the replicated border's gradient."""

import numpy as np
import pytest
from effort import expensive
from fast_ops import agree, every_target, floats, needs_halide, numbers, quiet, seeds
from hypothesis import given
from hypothesis import strategies as st

from typednn.kernels import pad2d
from typednn.kernels.pad2d import cpu, reference

pytestmark = [needs_halide, quiet]

borders = st.tuples(*[st.integers(0, 3)] * 4)
modes = st.sampled_from(["constant", "replicate"])
images = st.tuples(
    st.integers(1, 3), st.integers(1, 6), st.sampled_from([1, 2, 3, 7, 16, 28, 50]), st.sampled_from([1, 2, 3, 16, 17])
)


def both_ways(x, border, mode, value):
    (y,) = agree(pad2d.forward, x, border, mode, value)
    next_grad = numbers(7, *y.shape, dtype=x.dtype)

    def magnitude(next_grad, border, mode):
        return reference.backward(abs(next_grad), border, mode)

    agree(pad2d.backward, next_grad, border, mode, magnitude=magnitude if mode == "replicate" else None)
    # NaN reaches the pixels that its own reaches, and no others.
    agree(pad2d.backward, np.where(abs(next_grad) > 5, np.nan, 0).astype(x.dtype), border, mode)


@expensive
@given(
    shape=images,
    border=borders,
    mode=modes,
    value=st.sampled_from([0.0, 0.3, -np.inf, np.nan]),
    seed=seeds,
    dtype=floats,
)
def test_any_border(shape, border, mode, value, seed, dtype):
    both_ways(numbers(seed, *shape, special=True, dtype=dtype), border, mode, value)


@pytest.mark.parametrize("mode", ["constant", "replicate"])
@pytest.mark.parametrize("shape", [(190, 28, 28, 1), (40, 14, 14, 6), (1, 200, 300, 3), (9, 32, 32, 64)])
def test_large_images(shape, mode):
    """Enough work for several threads."""
    both_ways(numbers(0, *shape, special=True), (1, 2, 3, 0), mode, 0.5)


@pytest.mark.parametrize("mode", ["constant", "replicate"])
@pytest.mark.parametrize("size", [(5, 3, 1), (5, 40, 6)])
def test_on_every_target(size, mode, tmp_path):
    x, border = numbers(0, 2, *size), (1, 2, 3, 0)
    y = pad2d.forward(x, border, mode, 0.5)
    flat, wide = x.reshape(2, size[0], -1), y.reshape(2, y.shape[1], -1)
    every_target(
        cpu._kernels[size[:2], size[2], border, mode, x.dtype][0], (flat, 0.5), [(wide.shape, np.float32)], tmp_path
    )
    every_target(
        cpu._kernels[size[:2], size[2], border, mode, x.dtype][1], (wide,), [(flat.shape, np.float32)], tmp_path
    )
