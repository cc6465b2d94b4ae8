"""P-L1: linear against loops, and its gradients against finite differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.kernels import linear
from typednn.kernels.activations import IDENTITY, Activation

pytestmark = pytest.mark.usefixtures("on_the_reference")

SIGMOID, TANH = Activation("sigmoid"), Activation("tanh")
sizes = st.integers(1, 5)
seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=40, deadline=None)
@given(batch=sizes, in_features=sizes, out_features=sizes, biased=st.booleans(), seed=seeds)
def test_forward_is_the_loop(normal, batch, in_features, out_features, biased, seed):
    """P-L1: y = x weightᵀ + bias (eqs 22-23)."""
    x, weight = normal(seed, batch, in_features), normal(seed, out_features, in_features)
    bias = normal(seed, out_features) if biased else None
    expected = np.zeros((batch, out_features))
    for b in range(batch):
        for o in range(out_features):
            expected[b, o] = (bias[o] if biased else 0) + sum(x[b, i] * weight[o, i] for i in range(in_features))
    np.testing.assert_allclose(linear.forward(x, weight, bias), expected, rtol=1e-12, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    batch=sizes,
    in_features=sizes,
    out_features=sizes,
    activation=st.sampled_from([IDENTITY, SIGMOID, TANH]),
    seed=seeds,
)
def test_backward_is_the_slope(normal, assert_slope, batch, in_features, out_features, activation, seed):
    """Z-T6, P-L1: dx, dweight, dbias (eq 24)."""
    x, weight, bias = (
        normal(seed, batch, in_features),
        normal(seed, out_features, in_features),
        normal(seed, out_features),
    )
    next_grad = normal(seed + 1, batch, out_features)
    y = linear.forward(x, weight, bias, activation)
    dx, dweight, dbias = linear.backward(next_grad, x, weight, y, activation)
    assert_slope(dx, lambda at: linear.forward(at, weight, bias, activation), x, next_grad)
    assert_slope(dweight, lambda at: linear.forward(x, at, bias, activation), weight, next_grad)
    assert_slope(dbias, lambda at: linear.forward(x, weight, at, activation), bias, next_grad)
    assert linear.backward(next_grad, x, weight, y, activation, False)[0] is None


def test_chain_rule_of_two_numbers():
    """P-P8: h = w·x, f = id (eqs 11-16), with w = 3, x = 5."""
    dx, dweight, _ = linear.backward(np.ones((1, 1)), np.array([[5.0]]), np.array([[3.0]]))
    assert (dx.item(), dweight.item()) == (3.0, 5.0)
