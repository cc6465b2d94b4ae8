"""Adam: an optimizer with memory, for which P-P6 leaves room."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slopes import normal
from update_rows import adam_rates

from typednn.kernels.update_rules import adam

pytestmark = pytest.mark.usefixtures("on_the_reference")


def algorithm_1(weight, grads, lr, beta1, beta2, eps):
    """One number through Kingma and Ba's algorithm 1."""
    m = v = 0.0
    for t, g in enumerate(grads, start=1):
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        weight = weight - lr * (m / (1 - beta1**t)) / (math.sqrt(v / (1 - beta2**t)) + eps)
    return weight


@settings(max_examples=40, deadline=None)
@given(
    shape=st.lists(st.integers(1, 3), min_size=1, max_size=4),
    steps=st.integers(1, 5),
    beta1=st.sampled_from([0.0, 0.5, 0.9]),
    beta2=st.sampled_from([0.9, 0.999]),
    eps=st.sampled_from([1e-8, 0.1]),
    seed=st.integers(0, 2**32 - 1),
)
def test_is_algorithm_1(shape, steps, beta1, beta2, eps, seed):
    """P-P6: several steps, element by element; a large eps shows where it is added."""
    start, grads = normal(seed, *shape), [normal(seed + 1 + step, *shape) for step in range(steps)]
    weights, m, v = start.copy(), np.zeros(shape), np.zeros(shape)
    for number, grad in enumerate(grads, start=1):
        adam.step(weights, grad, m, v, *adam_rates(0.01, beta1, beta2, eps, number), 0.0, 1.0)
    expected = [
        algorithm_1(w, [grad[place] for grad in grads], 0.01, beta1, beta2, eps) for place, w in np.ndenumerate(start)
    ]
    np.testing.assert_allclose(weights.ravel(), expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_first_step_is_lr_against_the_sign(dtype):
    """Whatever the gradient's size, the first step is lr long; at 0 it is 0."""
    weights, m, v = np.zeros((3, 3), dtype=dtype)
    adam.step(weights, np.array([1000, -0.001, 0], dtype=dtype), m, v, *adam_rates(0.01, 0.9, 0.999, 1e-8, 1), 0.0, 1.0)
    np.testing.assert_allclose(weights, [-0.01, 0.01, 0], rtol=1e-4)
