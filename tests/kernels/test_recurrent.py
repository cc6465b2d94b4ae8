"""X-N1: recurrent layers, step by step by their formulas, and the derivative backward through time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slopes import assert_slopes, normal

from typednn.kernels import recurrent
from typednn.kernels.recurrent.cells import GATES

pytestmark = pytest.mark.usefixtures("on_the_reference")

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 4)
each_cell = pytest.mark.parametrize("cell", GATES)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def by_hand(cell, a, z, hidden, memory):
    """(h, c) after one step of one sequence, as the table of `cells` says."""
    if cell == "gru":
        (a_r, a_u, a_n), (z_r, z_u, z_n) = np.split(a, 3), np.split(z, 3)
        r, u = sigmoid(a_r + z_r), sigmoid(a_u + z_u)
        return (1 - u) * np.tanh(a_n + r * z_n) + u * hidden, memory
    if cell == "lstm":
        i, f, g, o = np.split(a + z, 4)
        memory = sigmoid(f) * memory + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(memory), memory
    return np.tanh(a + z) if cell == "tanh" else np.maximum(a + z, 0), memory


def drawn(cell, seed, batch, time, inputs, hidden):
    rows = GATES[cell] * hidden
    shapes = [(batch, time, inputs), (rows, inputs), (rows, hidden), (rows,), (rows,)]
    return [normal(seed + place, *shape) for place, shape in enumerate(shapes)]


@each_cell
@settings(max_examples=15, deadline=None)
@given(batch=sizes, time=sizes, inputs=sizes, hidden=sizes, seed=seeds)
def test_forward(cell, batch, time, inputs, hidden, seed):
    x, weight_ih, weight_hh, bias_ih, bias_hh = arrays = drawn(cell, seed, batch, time, inputs, hidden)
    lengths = np.random.default_rng(seed).integers(1, time + 1, batch)
    whole, padded = recurrent.forward(*arrays, None, cell)[0], recurrent.forward(*arrays, lengths, cell)[0]
    for sequence in range(batch):
        state = np.zeros(hidden), np.zeros(hidden)
        for t in range(time):
            state = by_hand(cell, weight_ih @ x[sequence, t] + bias_ih, weight_hh @ state[0] + bias_hh, *state)
            np.testing.assert_allclose(whole[sequence, t], state[0], rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(padded[sequence, : lengths[sequence]], whole[sequence, : lengths[sequence]])
        assert not padded[sequence, lengths[sequence] :].any()


@each_cell
@settings(max_examples=15, deadline=None)
@given(batch=sizes, time=sizes, inputs=sizes, hidden=sizes, padded=st.booleans(), seed=seeds)
def test_backward(cell, batch, time, inputs, hidden, padded, seed):
    """By every array, with central differences."""
    if cell == "relu":
        return  # its kinks: see the laws, whose differences skip them
    arrays = drawn(cell, seed, batch, time, inputs, hidden)
    lengths = np.random.default_rng(seed).integers(1, time + 1, batch) if padded else None
    next_grad = normal(seed + 9, batch, time, hidden)
    x, weight_ih, weight_hh = arrays[:3]
    kept = recurrent.forward(*arrays, lengths, cell)[1]
    derivatives = recurrent.backward(next_grad, x, weight_ih, weight_hh, kept, lengths, cell)
    assert_slopes(derivatives, lambda *each: recurrent.forward(*each, lengths, cell)[0], arrays, next_grad)


@each_cell
def test_the_padding_is_not_read(cell):
    """NaN beyond the lengths, in x and in dy, changes nothing."""
    arrays, lengths, next_grad = drawn(cell, 0, 3, 5, 2, 4), np.array([5, 1, 3]), normal(9, 3, 5, 4)
    padding = np.arange(5) >= lengths[:, None]

    def results(fill):
        x, dy = arrays[0].copy(), next_grad.copy()
        x[padding] = dy[padding] = fill
        y, kept = recurrent.forward(x, *arrays[1:], lengths, cell)
        return y, *recurrent.backward(dy, x, *arrays[1:3], kept, lengths, cell)

    for other, zeros in zip(results(np.nan), results(0.0), strict=True):
        np.testing.assert_array_equal(other, zeros)
