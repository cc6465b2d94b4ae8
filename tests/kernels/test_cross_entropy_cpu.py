"""cross_entropy in Halide against the reference."""

import numpy as np
from fast_ops import agree, every_target, floats, needs_halide, numbers, quiet, seeds, sizes, special_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.engines import counting
from typednn.kernels.pointwise_losses import cross_entropy

pytestmark = [needs_halide, quiet]

epsilons = st.sampled_from([1e-30, 1e-7, 0.1])


def loss(prediction, target, eps):
    return np.where(target == 0, 0, abs(np.log(np.maximum(prediction, eps)) * target))


def slope(prediction, target, eps, scale):
    return np.where(target == 0, 0, abs(target / np.maximum(prediction, eps) * scale))


@settings(max_examples=60, deadline=None)
@given(size=sizes, special=st.booleans(), eps=epsilons, seed=seeds, dtype=floats)
def test_elementwise(size, special, eps, seed, dtype):
    prediction, target = (
        numbers(seed, size, special=special, dtype=dtype),
        numbers(seed + 1, size, special=special, dtype=dtype),
    )
    agree("cross_entropy.forward", cross_entropy.forward, prediction, target, eps, magnitude=loss)
    probability = np.random.default_rng(seed).random((1, size), dtype)
    agree("cross_entropy.forward", cross_entropy.forward, probability, target.reshape(1, -1), eps, magnitude=loss)


@settings(max_examples=60, deadline=None)
@given(size=sizes, special=st.booleans(), eps=epsilons, scale=st.floats(0.01, 10), seed=seeds, dtype=floats)
def test_gradient(size, special, eps, scale, seed, dtype):
    # 1e30 / 1e-30 is endless in float32 and not in float64, and with a scale of 0.1 not even there.
    eps = max(eps, 1e-7)
    prediction, target = (
        numbers(seed, size, special=special, dtype=dtype),
        numbers(seed + 1, size, special=special, dtype=dtype),
    )
    agree("cross_entropy.backward", cross_entropy.backward, prediction, target, eps, scale, magnitude=slope)


def test_special_pairs():
    prediction, target = special_pairs()
    agree("cross_entropy.forward", cross_entropy.forward, prediction, target, 1e-7, magnitude=loss)
    agree("cross_entropy.backward", cross_entropy.backward, prediction, target, 1e-7, 0.5, magnitude=slope)


def test_a_tiny_eps_is_left_to_the_reference():
    with counting() as counts:
        assert np.isposinf(cross_entropy.forward(np.zeros(1, np.float32), np.ones(1, np.float32), 0.0))
        cross_entropy.backward(np.ones(1, np.float32), np.ones(1, np.float32), 0.0, 1.0)
    assert dict(counts) == {("cross_entropy.forward", "reference"): 1, ("cross_entropy.backward", "reference"): 1}


def test_on_every_target(tmp_path):
    given = (abs(numbers(0, 1001)), numbers(1, 1001), 1e-7)
    every_target(cross_entropy.formulas[0].kernels[given[0].dtype], given, [((1001,), np.float32)], tmp_path)
    every_target(cross_entropy.formulas[1].kernels[given[0].dtype], (*given, 0.1), [((1001,), np.float32)], tmp_path)
