"""Cross entropy of logits in CUDA against the reference in float64; NaN and infinities as the reference's; slopes."""

import numpy as np
import pytest
from fast_ops import numbers, seeds
from hypothesis import given, settings
from hypothesis import strategies as st
from slopes import assert_slopes, normal

from typednn.engines import counting
from typednn.kernels import softmax, softmax_cross_entropy

# Around the numbers of threads that a block may have, 32 to 256.
classes = st.one_of(st.integers(1, 40), st.sampled_from([63, 64, 65, 255, 256, 257, 1000]))


def targets(seed, batch, classes, soft):
    rng = np.random.default_rng(seed)
    if soft:
        return rng.dirichlet(np.ones(classes), batch).astype(np.float32)
    return np.eye(classes, dtype=np.float32)[rng.integers(classes, size=batch)]


@settings(max_examples=40, deadline=None)
@given(
    batch=st.integers(1, 5),
    classes=classes,
    soft=st.booleans(),
    scale=st.sampled_from([1, 0.25]),
    offset=st.sampled_from([0, 1e6]),  # beside which the sum's logarithm would be lost
    seed=seeds,
)
def test_is_the_reference(gpu, batch, classes, soft, scale, offset, seed):
    logits = numbers(seed, batch, classes, scale=20.0) + np.float32(offset)
    target = targets(seed, batch, classes, soft)
    wide = logits.astype(np.float64), target.astype(np.float64)
    eps = np.finfo(np.float32).eps

    loss = gpu.run(softmax_cross_entropy.forward, logits, target)
    assert loss.dtype == np.float32
    exact = gpu.reference(softmax_cross_entropy.forward, *wide)
    spread = np.abs(logits - logits.max(axis=1, keepdims=True)) + np.log(classes) + 1
    assert (np.abs(loss - exact) <= 16 * eps * spread * target).all()

    grad = gpu.run(softmax_cross_entropy.backward, logits, target, scale)
    assert grad.dtype == np.float32
    exact = gpu.reference(softmax_cross_entropy.backward, *wide, scale)
    # exp(z) loses |z| roundings, and below 1e-30 nothing is left to compare.
    bound = 8 * eps * ((spread + 16) * softmax.forward(wide[0]) + target) * scale + 1e-30
    assert (np.abs(grad - exact) <= bound).all()

    both = softmax_cross_entropy.forward_and_backward(*map(gpu.put, (logits, target)), scale)
    assert [gpu.get(each).tobytes() for each in both] == [loss.tobytes(), grad.tobytes()]
    assert softmax_cross_entropy.forward_and_backward.op.engine(*map(gpu.put, (logits, target)), scale).name == "cuda"


@settings(max_examples=30, deadline=None)
@given(
    batch=st.integers(1, 5),
    classes=classes,
    ignored=st.sampled_from([-100, 0, 2]),
    wide_labels=st.booleans(),
    summed=st.booleans(),
    held=st.booleans(),
    seed=seeds,
)
def test_labels_are_the_references(gpu, batch, classes, ignored, wide_labels, summed, held, seed):
    """Some are ignored, some are no class; the scale may be an array of the GPU."""
    logits = numbers(seed, batch, classes)
    labels = np.random.default_rng(seed).integers(-1, classes + 1, batch).astype(np.int64 if wide_labels else np.int16)
    settings = None, 0.0, ignored
    loss = gpu.run(softmax_cross_entropy.forward, logits, labels, *settings, summed)
    exact = gpu.reference(softmax_cross_entropy.forward, logits.astype(np.float64), labels, *settings, summed)
    assert loss.dtype == (np.float64 if summed else np.float32)
    np.testing.assert_allclose(loss, exact, rtol=1e-5, atol=1e-5)
    scale = np.array(0.25, np.float32) if held else 0.25
    grad = gpu.run(softmax_cross_entropy.backward, logits, labels, scale, *settings)
    exact = gpu.reference(softmax_cross_entropy.backward, logits.astype(np.float64), labels, 0.25, *settings)
    assert grad.dtype == np.float32
    np.testing.assert_allclose(grad, exact, rtol=1e-5, atol=1e-6)
    assert not grad[(labels == ignored) | (labels < 0) | (labels >= classes)].any()


@pytest.mark.parametrize("spoiled", [0, 1])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("classes", [1, 3, 300])
def test_nan_and_infinity_are_the_references(gpu, spoiled, bad, classes):
    """At a target's class and beside it; one row of nothing else; the rows around them stay as they are."""
    arrays = [numbers(0, 5, classes).copy(), targets(0, 5, classes, False)]
    hot = int(arrays[1][1].argmax())
    arrays[spoiled][1, hot] = arrays[spoiled][2, classes - 1] = bad
    arrays[spoiled][3] = bad
    for name, more in (("forward", ()), ("backward", (0.5,))):
        function = getattr(softmax_cross_entropy, name)
        got = gpu.run(function, *arrays, *more)
        np.testing.assert_allclose(got, gpu.reference(function, *arrays, *more), rtol=1e-4, atol=1e-6)


def test_slopes_in_float64(gpu):
    logits, target = normal(0, 3, 37), targets(0, 3, 37, True).astype(np.float64)
    grad = gpu.run(softmax_cross_entropy.backward, logits, target, 2.0)

    def forward(logits):
        return gpu.run(softmax_cross_entropy.forward, logits, target)

    assert_slopes([grad], forward, [logits], 2.0)


def test_the_same_bits_every_time(gpu):
    logits, target = numbers(0, 6, 700), targets(0, 6, 700, True)
    results = {gpu.run(softmax_cross_entropy.backward, logits, target, 1.0).tobytes() for _ in range(3)}
    assert len(results) == 1


def test_shapes_that_differ_are_left_to_the_reference(gpu):
    with counting() as counts:
        softmax_cross_entropy.backward(gpu.put(numbers(0, 3, 4)), gpu.put(numbers(0, 1, 4)), 1.0)
        softmax_cross_entropy.forward(gpu.put(numbers(0, 4, 3)).T, gpu.put(numbers(0, 3, 4)))
    assert dict(counts) == {
        ("softmax_cross_entropy.backward", "reference"): 1,
        ("softmax_cross_entropy.forward", "reference"): 1,
    }
