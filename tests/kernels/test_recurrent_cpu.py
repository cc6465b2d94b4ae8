"""Recurrent layers by kernels and products against the reference: to rounding, with NaN in the same places."""

import numpy as np
import pytest
from fast_ops import every_target, needs_halide, numbers, quiet, widened
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.engines import counting, get_threads, set_threads, using
from typednn.kernels import recurrent
from typednn.kernels.op import OPS
from typednn.kernels.recurrent import cpu, schedules
from typednn.kernels.recurrent.cells import GATES

pytestmark = [needs_halide, quiet]

# The cell, hidden_size, whether there are biases, and the dtype; 260 is multiplied by OpenBLAS.
KERNELS = [
    ("tanh", 1, True, np.float32),
    ("relu", 35, False, np.float32),
    ("gru", 35, True, np.float32),
    ("gru", 3, True, np.float64),
    ("lstm", 35, True, np.float32),
    ("lstm", 7, False, np.float64),
    ("lstm", 260, True, np.float32),
]
each_kernel = pytest.mark.parametrize(("cell", "hidden", "biased", "dtype"), KERNELS)


def arrays(seed, cell, hidden, biased, dtype, batch, time, inputs):
    """x and the parameters, and lengths in every other example."""
    rows, lengths = GATES[cell] * hidden, np.random.default_rng(seed).integers(1, time + 1, batch) if seed % 2 else None
    scale = hidden**-0.5
    parameters = [numbers(seed, rows, size, scale=scale, dtype=dtype) for size in (inputs, hidden)]
    biases = [numbers(seed + place, rows, scale=scale, dtype=dtype) if biased else None for place in (1, 2)]
    return numbers(seed, batch, time, inputs, scale=1.0, dtype=dtype), *parameters, *biases, lengths, cell


def compared(name, *arguments):
    """The results of an op, which are the same twice, and the reference's: NaN in the same places, other numbers to
    rounding.

    They may be as far apart as PyTorch's from ours in the parity tests. OpenBLAS adds in another order on two threads
    than on one.
    """
    function, before = OPS[name].run, get_threads()
    try:
        for threads in (1, 2):
            set_threads(threads)
            with counting() as counts:
                found, again = function(*arguments), function(*arguments)
            assert dict(counts) == {(name, "halide"): 2}
            with using("reference"):
                exact = function(*map(widened, arguments))
            for one, other, true in zip(found, again, exact, strict=True):
                np.testing.assert_array_equal(one.view(np.uint8), other.view(np.uint8))
                assert one.dtype == arguments[0].dtype
                assert one.flags.c_contiguous
                np.testing.assert_array_equal(np.isnan(one), np.isnan(true))
                unit = np.finfo(one.dtype).eps * max(1.0, float(abs(true).max(initial=0.0, where=~np.isnan(true))))
                assert abs(one - true).max(initial=0.0, where=~np.isnan(true)) <= 64 * unit
    finally:
        set_threads(before)
    return found


@each_kernel
@settings(max_examples=8, deadline=None)
@given(
    batch=st.sampled_from([1, 5, 13, 70]),
    time=st.integers(1, 5),
    inputs=st.sampled_from([1, 3, 20]),
    seed=st.integers(0, 2**16),
)
def test_forward_and_backward(cell, hidden, biased, dtype, batch, time, inputs, seed):
    """X-N1."""
    forward = arrays(seed, cell, hidden, biased, dtype, batch, time, inputs)
    x, weight_ih, weight_hh, *_, lengths, _ = forward
    _, kept = compared("recurrent.forward", *forward)
    next_grad = numbers(seed + 7, batch, time, hidden, scale=1.0, dtype=dtype)
    compared("recurrent.backward", next_grad, x, weight_ih, weight_hh, kept, lengths, cell)


@each_kernel
def test_nan_stays_in_its_sequence(cell, hidden, biased, dtype):
    """From the position on at which it stands; where the reference is NaN is compared too."""
    x, *others = arrays(2, cell, hidden, biased, dtype, 4, 5, 3)
    x = x.copy()
    x[1, 2, 0] = np.nan
    y, kept = compared("recurrent.forward", x, *others)
    assert np.isnan(y[1, 2:]).all()
    assert np.isfinite(y[[0, 2, 3]]).all()
    assert np.isfinite(y[1, :2]).all()
    next_grad = numbers(3, 4, 5, hidden, dtype=dtype)
    dx, *_ = compared("recurrent.backward", next_grad, x, *others[:2], kept, None, cell)
    assert np.isfinite(dx[[0, 2, 3]]).all()


@each_kernel
def test_a_sequence_gives_the_same_bits_wherever_it_stands(cell, hidden, biased, dtype):
    """So two threads may both compute one where their tiles overlap."""
    if hidden > schedules.SMALL:
        return  # OpenBLAS decides
    x, *others = arrays(2, cell, hidden, biased, dtype, 13, 5, 3)
    next_grad, blocks = numbers(3, 13, 5, hidden, dtype=dtype), schedules.writes(cell)

    def steps(place):
        """Of sequences that were moved by ``place``, and moved back: what is kept, and the gradients."""
        _, kept = recurrent.forward(np.roll(x, place, axis=0), *others)
        states, found = kept.reshape(6, 13, -1, hidden), np.zeros((6, 13, blocks, hidden), dtype)
        kernel, before = cpu._backward[3, hidden, cell, np.dtype(dtype)][0], found.reshape(6, 13, -1)[:-1]
        kernel(np.roll(next_grad, place, axis=0), others[1], before, states[1:], states[:-1], 5, found[1:])
        return np.roll(kept, -place, axis=1), np.roll(found, -place, axis=1)

    for place in range(1, 13):
        for again, first in zip(steps(place), steps(0), strict=True):
            np.testing.assert_array_equal(again, first)


def test_the_padding_is_not_read():
    x, *others = arrays(1, "lstm", 35, True, np.float32, 4, 5, 3)
    lengths = np.array([5, 1, 2, 4])
    padded, padding = x.copy(), np.arange(5) >= lengths[:, None]
    padded[padding] = np.nan
    next_grad = numbers(3, 4, 5, 35).copy()
    next_grad[padding] = np.nan
    y, kept = compared("recurrent.forward", padded, *others[:4], lengths, "lstm")
    assert not y[padding].any()
    for derivative in compared("recurrent.backward", next_grad, padded, *others[:2], kept, lengths, "lstm"):
        assert np.isfinite(derivative).all()


@pytest.mark.parametrize(("dtype", "engine"), [("int32", "halide"), ("uint8", "halide"), ("uint64", "reference")])
def test_lengths_of_other_integers(dtype, engine):
    x, *others = arrays(1, "lstm", 35, True, np.float32, 4, 5, 3)
    lengths = np.array([1, 2, 3, 4])
    with counting() as ran:
        y, kept = recurrent.forward(x, *others[:4], lengths.astype(dtype), "lstm")
    assert dict(ran) == {("recurrent.forward", engine): 1}
    if engine == "halide":
        for found, exact in zip((y, kept), recurrent.forward(x, *others[:4], lengths, "lstm"), strict=True):
            np.testing.assert_array_equal(found, exact)


def test_every_target(tmp_path):
    """With sequences in whole tiles and one over, in several shares."""
    x, before, bias = (numbers(0, *shape, scale=0.3) for shape in ((13, 1, 3), (1, 13, 6, 35), (4, 35)))
    weight_ih, weight_hh = numbers(2, 140, 3, scale=0.3), numbers(2, 140, 35, scale=0.3)
    forward = x, weight_hh, before, 5, weight_ih, bias, bias
    every_target(
        cpu._forward[3, 35, True, "lstm", np.dtype(np.float32)], forward, [((1, 13, 6, 35), np.float32)], tmp_path
    )
    steps, after = cpu._backward[3, 35, "lstm", np.dtype(np.float32)]
    backward = numbers(1, 13, 1, 35), weight_hh, numbers(3, 1, 13, 175), before, before, 5
    every_target(steps, backward, [((1, 13, 5, 35), np.float32)], tmp_path, rtol=1e-4)
    every_target(
        after, (numbers(3, 13, 175), weight_ih), [((13, 3), np.float32), ((175,), np.float32)], tmp_path, rtol=1e-4
    )
