"""softmax_cross_entropy in Halide against the reference."""

import numpy as np
import pytest
from effort import expensive
from fast_ops import agree, batches, every_target, floats, needs_halide, numbers, quiet, seeds
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from typednn.engines import counting, using
from typednn.kernels import softmax_cross_entropy as joined
from typednn.kernels.class_targets import NONE, probabilities
from typednn.kernels.softmax_cross_entropy import cpu

pytestmark = [needs_halide, quiet]

classes = st.one_of(st.integers(2, 70), st.sampled_from([256, 300, 1023]))


def error_of_loss(logits, target):
    z = logits - logits.max(axis=1, keepdims=True)
    whole = np.exp(z).sum(axis=1, keepdims=True)
    return np.where(target == 0, 0, abs(target) * (abs(z) + np.log(whole) + 1))


def error_of_gradient(logits, target, scale):
    z = logits - logits.max(axis=1, keepdims=True)
    y = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    total = abs(target).sum(axis=1, keepdims=True)  # where nothing counts, the derivative is 0 whatever the logits are
    return abs(scale) * (np.where(total == 0, 0, y * (2 + abs(np.where(y > 0, z, 0))) * total) + abs(target))


def targets(seed, batch, classes, soft, dtype=np.float32):
    rng = np.random.default_rng(seed)
    if soft:
        return rng.random((batch, classes), dtype)
    return np.eye(classes, dtype=dtype)[rng.integers(0, classes, batch)]


@expensive
@given(
    batch=batches,
    classes=classes,
    special=st.booleans(),
    soft=st.booleans(),
    scale=st.sampled_from([0.1, 3.0, 50.0]),
    seed=seeds,
    dtype=floats,
)
def test_both(batch, classes, special, soft, scale, seed, dtype):
    logits, target = (
        numbers(seed, batch, classes, special=special, scale=scale, dtype=dtype),
        targets(seed, batch, classes, soft, dtype),
    )
    agree(joined.forward, logits, target, magnitude=error_of_loss)
    agree(joined.backward, logits, target, 1 / batch, magnitude=error_of_gradient)


@expensive
@given(batch=batches, classes=classes, special=st.booleans(), stray=st.booleans(), seed=seeds, dtype=floats)
def test_labels_are_rows_of_probabilities(batch, classes, special, stray, seed, dtype):
    """A label that names no class is a row of zeros, as in `one_hot`."""
    logits = numbers(seed, batch, classes, special=special, dtype=dtype)
    labels = np.random.default_rng(seed).integers(0, classes, batch)
    if stray:
        labels[:: batch // 2 + 1] = np.random.default_rng(seed).choice([-1, classes, 2**32, -(2**40), 2**63 - 1])
    rows = joined.one_hot(labels, classes, logits.dtype, logits)
    for function, more in ((joined.forward, ()), (joined.backward, (0.25,))):
        with counting() as counts:
            found, wanted = function(logits, labels, *more), function(logits, rows, *more)
        assert {engine for _, engine in counts} == {"halide"}
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)
        with using("reference"):
            np.testing.assert_array_equal(function(logits, labels, *more), function(logits, rows, *more))


@expensive
@given(
    batch=batches,
    classes=classes,
    special=st.booleans(),
    labelled=st.booleans(),
    scale=st.sampled_from([0.1, 50.0]),
    seed=seeds,
)
def test_one_pass_gives_the_bits_of_two(batch, classes, special, labelled, scale, seed):
    logits = numbers(seed, batch, classes, special=special, scale=scale)
    target = (
        np.random.default_rng(seed).integers(-1, classes + 1, batch)
        if labelled
        else targets(seed, batch, classes, True)
    )
    with counting() as counts:
        loss, grad = joined.forward_and_backward(logits, target, 1 / batch)
    assert dict(counts) == {("softmax_cross_entropy.forward_and_backward", "halide"): 1}
    assert loss.tobytes() == joined.forward(logits, target).tobytes()
    assert grad.tobytes() == joined.backward(logits, target, 1 / batch).tobytes()


@expensive
@given(
    batch=batches,
    classes=st.sampled_from([2, 3, 10, 37, 64]),
    special=st.booleans(),
    labelled=st.booleans(),
    weighted=st.booleans(),
    smoothing=st.sampled_from([0.0, 0.1]),
    ignored=st.sampled_from([-100, -1, 1]),
    seed=seeds,
    dtype=floats,
)
def test_weights_smoothing_and_an_ignored_class(
    batch, classes, special, labelled, weighted, smoothing, ignored, seed, dtype
):
    """As the reference with the target's probabilities written out; labels that are no class stay zeros."""
    logits = numbers(seed, batch, classes, special=special, dtype=dtype)
    rng = np.random.default_rng(seed)
    target = rng.integers(-1, classes + 1, batch) if labelled else targets(seed, batch, classes, True, dtype)
    weight = rng.uniform(0.1, 3, classes).astype(dtype) if weighted else None
    q = probabilities(logits, target, weight, smoothing, ignored)
    loss = agree_with(q, joined.forward, (logits, target), (weight, smoothing, ignored), error_of_loss)
    grad = agree_with(q, joined.backward, (logits, target, 0.25), (weight, smoothing, ignored), error_of_gradient)
    both = joined.forward_and_backward(logits, target, 0.25, weight, smoothing, ignored)
    assert [each.tobytes() for each in both] == [loss.tobytes(), grad.tobytes()]


def agree_with(q, function, arguments, more, magnitude):
    """`agree`, where the error counts the roundings of q too."""

    def size(logits, target, *rest):
        return 2 * magnitude(logits, q.astype(logits.dtype), *rest[: len(arguments) - 2])

    return agree(function, *arguments, *more, magnitude=size)[0]


def test_weights_of_another_length_are_left_to_the_reference():
    with pytest.raises(ValueError, match="broadcast"):
        joined.forward(numbers(0, 6, 5), np.arange(6) % 5, numbers(0, 4))


def test_other_labels_are_left_to_the_reference():
    logits = numbers(0, 6, 5)
    labels = np.arange(12) % 5
    for other in (labels[:6].astype(np.uint8), labels[::2], labels[:6].astype(">i8")):
        rows = joined.one_hot(other, 5, logits.dtype, logits)
        with counting() as counts:
            found = joined.forward(logits, other)
        assert dict(counts) == {("softmax_cross_entropy.forward", "reference"): 1}
        np.testing.assert_allclose(found, joined.forward(logits, rows), rtol=1e-5)


@pytest.mark.parametrize("classes", [2, 5, 16, 17, 64, 700])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, 1e30])
def test_each_place(classes, special):
    logits = numbers(0, classes + 1, classes).copy()
    logits[-1] = special
    np.fill_diagonal(logits, special)
    for target in (
        targets(0, classes + 1, classes, True),
        np.eye(classes + 1, classes, dtype=np.float32),
        np.zeros_like(logits),
    ):
        agree(joined.forward, logits, target, magnitude=error_of_loss)
        agree(joined.backward, logits, target, 0.5, magnitude=error_of_gradient)


@pytest.mark.parametrize("classes", [3, 10, 37, 300])
def test_on_every_target(classes, tmp_path):
    logits, target, shapes = numbers(0, 9, classes), targets(1, 9, classes, True), [((9, classes), np.float32)]
    for wanted in (target, np.arange(9, dtype=np.int64) % classes):
        every_target(
            cpu._kernel[classes, wanted.ndim == 1, logits.dtype], (logits, wanted, 0.1), shapes * 2, tmp_path, rtol=1e-4
        )


def test_weights_on_every_target(tmp_path):
    logits, shapes = numbers(0, 9, 10), [((9, 10), np.float32)]
    arguments = logits, np.arange(9, dtype=np.int64), abs(numbers(1, 10)), 0.1, 0.5
    every_target(cpu._kernel[10, True, logits.dtype, True, 3], arguments, shapes * 2, tmp_path, rtol=1e-4)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    batch=batches,
    classes=classes,
    soft=st.booleans(),
    weighted=st.booleans(),
    rows=st.integers(1, 5),
    seed=seeds,
    dtype=floats,
)
# rows enough for threads, and too few
@example(batch=64, classes=256, soft=True, weighted=True, rows=1, seed=719, dtype=np.float32)
def test_a_sum_of_losses_in_pieces_of_rows(monkeypatch, batch, classes, soft, weighted, rows, seed, dtype):
    """It is that of the losses by class, which it does not hold at once; gradients keep their bits."""
    logits, target = numbers(seed, batch, classes, dtype=dtype), targets(seed, batch, classes, soft, dtype)
    if not soft:
        target = target.argmax(axis=1)
    settings = (abs(numbers(seed + 1, classes, dtype=dtype)), 0.1, 1) if weighted else (None, 0.0, NONE)
    losses, grad = joined.forward_and_backward(logits, target, 0.5, *settings)
    monkeypatch.setattr(cpu, "PIECE", rows * classes)
    with counting() as counts:
        total, again = joined.forward_and_backward(logits, target, 0.5, *settings, True)
        alone = joined.forward(logits, target, *settings, True)
        backward = joined.backward(logits, target, 0.5, *settings)
    assert {engine for _, engine in counts} == {"halide"}
    assert (total.dtype, total.shape, float(alone)) == (np.float64, (), float(total))
    np.testing.assert_allclose(float(total), losses.sum(dtype=np.float64), rtol=1e-12, atol=1e-300)
    assert again.tobytes() == backward.tobytes() == grad.tobytes()
    with using("reference"):
        slow, _ = joined.forward_and_backward(logits, target, 0.5, *settings, True)
    np.testing.assert_allclose(float(slow), float(total), rtol=1e-4)


def test_a_sum_takes_the_memory_of_some_rows(monkeypatch):
    """3,000 rows of 500 classes are 6 MB; 20 rows at a time are 40 kB."""
    logits, labels = numbers(0, 3000, 500), np.zeros(3000, np.int64)
    rooms = []
    monkeypatch.setattr(cpu, "PIECE", 20 * 500)
    monkeypatch.setattr(cpu, "empty", lambda shape, dtype: rooms.append(shape) or np.empty(shape, dtype))
    joined.forward_and_backward(logits, labels, 1.0, None, 0.0, NONE, True)
    joined.forward(logits, labels, None, 0.0, NONE, True)
    joined.backward(logits, labels, 1.0)
    assert sorted(rooms) == [(20, 500)] * 4 + [(3000, 500)] * 2


def test_no_rows_have_a_sum_of_zero():
    nothing = np.zeros((0, 5), np.float32)
    total, grad = joined.forward_and_backward(nothing, np.zeros(0, np.int64), 1.0, None, 0.0, NONE, True)
    assert (float(total), grad.shape) == (0.0, (0, 5))
