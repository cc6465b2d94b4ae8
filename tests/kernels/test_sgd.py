"""P-S4, P-S5: SGD."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slopes import normal

from typednn.kernels.update_rules import sgd

pytestmark = pytest.mark.usefixtures("on_the_reference")

# After the rate: momentum, 1 - dampening, Nesterov, whether it is the first step, and no weight decay.
PLAIN = (0.0, 1.0, False, True, 0.0, 1.0)


def torch_rule(weight, grads, lr, momentum, dampening, nesterov):
    """One number through torch.optim.SGD's documented pseudo-code."""
    buffer = None
    for g in grads:
        if momentum != 0:
            buffer = g if buffer is None else momentum * buffer + (1 - dampening) * g
            g = g + momentum * buffer if nesterov else buffer
        weight = weight - lr * g
    return weight


@settings(max_examples=40, deadline=None)
@given(
    shape=st.lists(st.integers(1, 3), min_size=1, max_size=4),
    steps=st.integers(1, 4),
    momentum=st.sampled_from([0.0, 0.5, 0.9]),
    dampening=st.sampled_from([0.0, 0.3]),
    nesterov=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_is_torch_rule(shape, steps, momentum, dampening, nesterov, seed):
    """P-S4: several steps, element by element."""
    start, grads = normal(seed, *shape), [normal(seed + 1 + step, *shape) for step in range(steps)]
    weights, velocity = start.copy(), np.full(shape, np.nan)
    for number, grad in enumerate(grads):
        kept = velocity if momentum else None
        sgd.step(weights, grad, kept, 0.1, momentum, 1 - dampening, nesterov, number == 0, 0.0, 1.0)
    expected = [
        torch_rule(w, [grad[place] for grad in grads], 0.1, momentum, dampening, nesterov)
        for place, w in np.ndenumerate(start)
    ]
    np.testing.assert_allclose(weights.ravel(), expected, rtol=1e-12, atol=1e-14)


def test_plain_step_by_hand():
    """P-S4: w - eta·g (eq 44)."""
    weights = np.array([1.0, 2.0])
    sgd.step(weights, np.array([8.0, -8.0]), None, 0.125, *PLAIN)  # numbers without rounding
    np.testing.assert_array_equal(weights, [0, 3])


def test_momentum_by_hand():
    """P-S4: the first velocity is the gradient itself, undampened; nesterov looks one step ahead."""
    weights, velocity = np.zeros(1), np.zeros(1)
    rates = 1.0, 0.5, 0.5
    sgd.step(weights, np.ones(1), velocity, *rates, False, True, 0.0, 1.0)
    assert (weights.item(), velocity.item()) == (-1, 1)
    sgd.step(weights, np.ones(1), velocity, *rates, False, False, 0.0, 1.0)
    assert (weights.item(), velocity.item()) == (-2, 1)
    sgd.step(weights, np.ones(1), velocity, *rates, True, False, 0.0, 1.0)
    assert (weights.item(), velocity.item()) == (-3.5, 1)


def test_both_ways_to_decay():
    """P-S5: w - eta·(g + 2·lambda·w), decayed by the caller, equals w·(1 - 2·eta·lambda) - eta·g."""
    grad, lr, decay = np.array([0.3, -0.2]), 0.1, 0.01
    coupled, shrunk = np.array([1.0, -2.0]), np.array([1.0, -2.0])
    sgd.step(coupled, grad + 2 * decay * coupled, None, lr, *PLAIN)
    shrunk *= 1 - 2 * lr * decay
    sgd.step(shrunk, grad, None, lr, *PLAIN)
    np.testing.assert_allclose(coupled, shrunk, rtol=1e-15)
