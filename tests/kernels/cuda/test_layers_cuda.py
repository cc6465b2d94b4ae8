"""Linear, LayerNorm and attention in CUDA against their references in float64, slopes, and what is left to the
reference.
"""

from unittest import mock

import numpy as np
import pytest
from fast_ops import numbers, seeds
from hypothesis import given, settings
from hypothesis import strategies as st
from slopes import assert_slopes, normal

from typednn.engines import counting
from typednn.kernels import attention, class_targets, layer_norm, linear
from typednn.kernels.activations import Activation
from typednn.kernels.attention import cuda as attention_on_gpu

EPS32 = np.finfo(np.float32).eps
ACTIVATIONS = [Activation("identity"), Activation("relu"), Activation("sigmoid")]
few = st.integers(1, 9)


def wide(*arrays):
    return [None if array is None else array.astype(np.float64) for array in arrays]


def near(got, exact, bound):
    assert got.dtype == np.float32
    assert got.shape == exact.shape
    assert (abs(got - exact) <= bound).all()


def close(got, exact):
    """A few roundings of the largest number, and of 1."""
    near(got, exact, 32 * EPS32 * (abs(exact).max() + 1))


# ------------------------------------------------------------------ Linear


@settings(max_examples=30, deadline=None)
@given(
    batch=few,
    inputs=few,
    outputs=few,
    biased=st.booleans(),
    activation=st.sampled_from(ACTIVATIONS),
    wants=st.booleans(),
    seed=seeds,
)
def test_linear(gpu, batch, inputs, outputs, biased, activation, wants, seed):
    x, weight, dy = numbers(seed, batch, inputs), numbers(seed + 1, outputs, inputs), numbers(seed + 2, batch, outputs)
    bias = numbers(seed + 3, outputs) if biased else None
    y = gpu.run(linear.forward, x, weight, bias, activation)
    near(
        y, gpu.reference(linear.forward, *wide(x, weight, bias), activation), 8 * EPS32 * (abs(x) @ abs(weight).T + 10)
    )

    got = gpu.run(linear.backward, dy, x, weight, y, activation, wants)
    exact = gpu.reference(linear.backward, *wide(dy, x, weight, y), activation, wants)
    bounds = abs(dy) @ abs(weight), abs(dy).T @ abs(x), abs(dy).sum(0)
    assert (got[0] is None) == (not wants)
    for found, true, bound in zip(got, exact, bounds, strict=True):
        if found is not None:
            near(found, true, 16 * EPS32 * (bound + 1))


def test_linear_of_sizes_that_do_not_fit_is_left_to_the_reference(gpu):
    with counting() as counts, pytest.raises(ValueError, match=r"matmul|mismatch|shape"):
        linear.forward(gpu.put(numbers(0, 2, 3)), gpu.put(numbers(1, 4, 5)), None, ACTIVATIONS[0])
    assert dict(counts) in ({}, {("linear.forward", "reference"): 1})
    with counting() as counts:
        linear.forward(gpu.put(numbers(0, 3, 2)).T, gpu.put(numbers(1, 4, 3)), None, ACTIVATIONS[0])
    assert dict(counts) == {("linear.forward", "reference"): 1}


# ------------------------------------------------------------------ LayerNorm and RMSNorm

features = st.one_of(st.integers(2, 40), st.sampled_from([63, 64, 65, 255, 257, 700]))


@settings(max_examples=15, deadline=None)
@given(
    rows=few,
    features=features,
    centred=st.booleans(),
    learnt=st.booleans(),
    mean=st.sampled_from([0, 1000]),
    seed=seeds,
)
def test_layer_norm(gpu, rows, features, centred, learnt, mean, seed):
    x, dy = numbers(seed, rows, 2, features) + np.float32(mean), numbers(seed + 1, rows, 2, features)
    weight, bias = (numbers(seed + 2, features), numbers(seed + 3, features)) if learnt else (None, None)
    y = gpu.run(layer_norm.forward, x, weight, bias, 1e-3, centred)
    close(y, gpu.reference(layer_norm.forward, *wide(x, weight, bias), 1e-3, centred))

    got = gpu.run(layer_norm.backward, dy, x, weight, 1e-3, centred)
    exact = gpu.reference(layer_norm.backward, *wide(dy, x, weight), 1e-3, centred)
    for found, true in zip(got, exact, strict=True):
        close(found, true)


@pytest.mark.parametrize("centred", [True, False])
def test_slopes_of_layer_norm(gpu, centred):
    x, weight, bias, dy = normal(0, 3, 7), normal(1, 7), normal(2, 7), normal(3, 3, 7)

    def forward(x, weight, bias):
        return gpu.run(layer_norm.forward, x, weight, bias, 1e-3, centred)

    slopes = gpu.run(layer_norm.backward, dy, x, weight, 1e-3, centred)
    assert_slopes(slopes, forward, (x, weight, bias), dy)


def test_nan_stays_in_its_row(gpu):
    x = numbers(0, 3, 40).copy()
    x[1, 5] = np.nan
    y = gpu.run(layer_norm.forward, x, None, None, 1e-5, True)
    assert np.isnan(y).all(axis=1).tolist() == [False, True, False]
    assert not np.isnan(y[[0, 2]]).any()


def test_layer_norm_of_sizes_that_do_not_fit_is_left_to_the_reference(gpu):
    with counting() as counts:
        layer_norm.forward(gpu.put(numbers(0, 2, 3)), gpu.put(numbers(1, 1)), None, 1e-5, True)
        layer_norm.backward(gpu.put(numbers(0, 1, 3)), gpu.put(numbers(1, 2, 3)), None, 1e-5, True)
    assert dict(counts) == {("layer_norm.forward", "reference"): 1, ("layer_norm.backward", "reference"): 1}


# ------------------------------------------------------------------ attention


def queries(seed, batch, time, memory, heads, features, dtype=np.float32):
    q, dy = (numbers(seed + place, batch, time, heads, features, scale=1.0, dtype=dtype) for place in (0, 1))
    return q, *(numbers(seed + place, batch, memory, heads, features, scale=1.0, dtype=dtype) for place in (2, 3)), dy


@settings(max_examples=15, deadline=None)
@given(
    batch=st.integers(1, 3),
    time=st.one_of(st.integers(1, 9), st.just(33)),
    memory=st.one_of(st.integers(1, 9), st.just(70)),
    heads=st.integers(1, 3),
    features=st.integers(1, 9),
    causal=st.booleans(),
    seed=seeds,
)
def test_attention(gpu, batch, time, memory, heads, features, causal, seed):
    q, k, v, dy = queries(seed, batch, time, memory, heads, features)
    y, log_sums = gpu.run(attention.forward, q, k, v, None, causal)
    true, true_sums = gpu.reference(attention.forward, *wide(q, k, v), None, causal)
    # Scores are a few units large: of exponentials of them, of weights and of sums a few roundings are left.
    close(y, true)
    close(log_sums, true_sums)

    got = gpu.run(attention.backward, dy, q, k, v, None, y, log_sums, causal)
    exact = gpu.reference(attention.backward, *wide(dy, q, k, v), None, true, true_sums, causal)
    for found, expected in zip(got, exact, strict=True):
        close(found, expected)


@pytest.mark.parametrize("causal", [True, False])
def test_a_sequence_that_attends_to_itself(gpu, causal):
    """q, k and v in one array: the bits of three arrays."""
    q, k, v, dy = queries(0, 2, 5, 5, 3, 4)
    qkv = np.stack([q, k, v], axis=2).reshape(2, 5, -1)
    y, log_sums = gpu.run(attention.self_forward, qkv, 3, None, causal)
    of_parts = gpu.run(attention.forward, q, k, v, None, causal)
    np.testing.assert_array_equal(y, of_parts[0].reshape(y.shape))
    np.testing.assert_array_equal(log_sums, of_parts[1])
    dqkv = gpu.run(attention.self_backward, dy.reshape(y.shape), qkv, None, y, log_sums, causal)
    slopes = gpu.run(attention.backward, dy, q, k, v, None, *of_parts, causal)
    np.testing.assert_array_equal(dqkv, np.stack(slopes, axis=2).reshape(qkv.shape))


@pytest.mark.parametrize("causal", [True, False])
def test_slopes_of_attention(gpu, causal):
    q, k, v, dy = queries(0, 1, 3, 2, 2, 2, np.float64)

    def forward(q, k, v):
        return gpu.run(attention.forward, q, k, v, None, causal)

    y, log_sums = forward(q, k, v)
    slopes = gpu.run(attention.backward, dy, q, k, v, None, y, log_sums, causal)
    assert_slopes(slopes, lambda *qkv: forward(*qkv)[0], (q, k, v), dy)


def test_some_samples_at_a_time(gpu, monkeypatch):
    q, k, v, dy = queries(0, 5, 4, 4, 2, 3)
    y, log_sums = gpu.run(attention.forward, q, k, v, None, True)
    whole = gpu.run(attention.backward, dy, q, k, v, None, y, log_sums, True)
    monkeypatch.setattr(attention_on_gpu, "SCORES_ON_GPU", 64)  # of two samples
    launched = []
    with mock.patch.object(attention_on_gpu, "_weights", wraps=attention_on_gpu._weights) as kernel:
        again = gpu.run(attention.forward, q, k, v, None, True)
        launched += [call.args[0] for call in kernel.rows.call_args_list]
    assert launched == [16, 16, 8]
    np.testing.assert_array_equal(again[0], y)
    np.testing.assert_array_equal(again[1], log_sums)
    for got, expected in zip(gpu.run(attention.backward, dy, q, k, v, None, y, log_sums, True), whole, strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.filterwarnings("ignore:invalid value encountered in matmul")
def test_a_query_that_attends_to_nothing(gpu):
    """All of its scores are -∞: its result is 0, and nothing of it reaches the values' derivatives."""
    q, k, v, dy = queries(0, 1, 3, 3, 1, 2)
    q, k = abs(q), abs(k) + np.float32(0.1)
    q[0, 1] = -np.inf
    y, log_sums = gpu.run(attention.forward, q, k, v, None, False)
    assert (y[0, 1] == 0).all()
    assert log_sums[0, 0, 1] == np.inf
    assert np.isfinite(y).all()

    def by_values(of):
        arrays = [np.ascontiguousarray(array) for array in (dy[:, of], q[:, of], k, v, y[:, of], log_sums[..., of])]
        return gpu.run(attention.backward, *arrays[:4], None, *arrays[4:], False)[2]

    np.testing.assert_allclose(by_values([0, 1, 2]), by_values([0, 2]), rtol=1e-5, atol=1e-6)


def test_masks_dropout_and_too_many_scores_are_left_to_the_reference(gpu, monkeypatch):
    q, k, v, _ = map(gpu.put, queries(0, 2, 3, 3, 1, 2))
    with counting() as counts:
        attention.forward(q, k, v, gpu.put(np.ones((2, 3), bool)), False)
        attention.forward(q, k, v, None, False, (0.5, 1, 0))
        monkeypatch.setattr(attention_on_gpu, "SCORES_ON_GPU", 8)
        attention.forward(q, k, v, None, False)
    assert dict(counts) == {("attention.forward", "reference"): 3}


# ------------------------------------------------------------------ how many labels count


@pytest.mark.parametrize("labels", [[3, -100, 0], [-100, -100], [5]])
@pytest.mark.parametrize("times", [1, 7])
def test_labels_that_count(gpu, labels, times):
    given = np.array(labels * 100)
    dtype = np.dtype(np.float32)
    divisor, scale = gpu.run(class_targets.counted, given, None, -100, times, dtype)
    expected = gpu.reference(class_targets.counted, given, None, -100, times, dtype)
    assert (divisor, divisor.dtype, scale.dtype) == (expected[0], np.float64, np.float32)
    np.testing.assert_allclose(scale, expected[1], rtol=EPS32)
    with counting() as counts:
        class_targets.counted(gpu.put(given.astype(np.int32)), None, -100, times, dtype)
        class_targets.counted(gpu.put(given), gpu.put(np.ones(9, np.float32)), -100, times, dtype)
    assert dict(counts) == {("class_targets.counted", "reference"): 2}
