"""Embedding's derivative in Halide against the reference."""

from pathlib import Path
from unittest import mock

import numpy as np
from fast_ops import agree, every_target, floats, needs_halide, numbers, quiet, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.engines import counting
from typednn.kernels import embedding
from typednn.kernels.embedding import cpu

pytestmark = [needs_halide, quiet]


def tokens(seed, vocab, *shape):
    return np.random.default_rng(seed).integers(0, vocab, shape)


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.sampled_from([(1, 1, None), (7, 5, 3), (1000, 35, None)]),
    shape=st.tuples(st.integers(1, 4), st.sampled_from([1, 3, 64, 1500])),
    special=st.booleans(),
    seed=seeds,
    dtype=floats,
)
def test_backward(sizes, shape, special, seed, dtype):
    """G-L2: of few and many tokens, with NaN and infinities in the gradient: both add the same doubles in one order."""
    vocab, features, padding = sizes
    next_grad = numbers(seed, *shape, features, special=special, dtype=dtype)
    agree(embedding.backward, next_grad, tokens(seed, vocab, *shape), vocab, padding)


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.sampled_from([(1000, 35, None), (997, 3, 5), (64, 1, 0)]),
    shape=st.tuples(st.integers(1, 4), st.sampled_from([1, 2])),
    special=st.booleans(),
    seed=seeds,
    dtype=floats,
)
def test_few_tokens_of_a_large_vocabulary(sizes, shape, special, seed, dtype):
    """Some are equal, some are padding, some outside."""
    vocab, features, padding = sizes
    next_grad, read = numbers(seed, *shape, features, special=special, dtype=dtype), tokens(seed, vocab + 2, *shape) - 1
    read[:, 0] = padding or 7
    read[-1, -1] = vocab if seed % 2 else -1
    exact = np.zeros((vocab, features))
    for place in np.ndindex(read.shape):
        exact[min(max(read[place], 0), vocab - 1)] += next_grad[place]
    exact[[] if padding is None else padding] = 0
    with mock.patch.object(cpu, "UNWRITTEN", 0), counting() as ran:
        found = embedding.backward(next_grad, read, vocab, padding)
    assert dict(ran) == {("embedding.backward", "rows"): 1}
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, exact.astype(dtype))


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.sampled_from([(1, 1, None), (7, 5, 3), (1000, 35, None), (997, 3, 5), (400, 1, 0)]),
    shape=st.tuples(st.integers(1, 4), st.sampled_from([1, 2, 64, 700])),
    seed=seeds,
    dtype=floats,
)
def test_added_to_another_derivative(sizes, shape, seed, dtype):
    """G-L10: of rows that are rare and that are not, of tokens that are equal, padding, or outside."""
    vocab, features, padding = sizes
    next_grad, read = numbers(seed, *shape, features, dtype=dtype), tokens(seed, vocab + 2, *shape) - 1
    before = numbers(seed + 1, vocab, features, dtype=dtype)
    exact = before.astype(np.float64)
    magnitudes = abs(exact)
    for place in np.ndindex(read.shape):
        row = min(max(read[place], 0), vocab - 1)
        exact[row] += next_grad[place]
        magnitudes[row] += abs(next_grad[place])
    if padding is not None:
        exact[padding] = 0
    with counting() as ran:
        dweight = before.copy()
        embedding.add_backward(dweight, next_grad, read, padding)
    rare = next_grad.size * cpu.RARE <= dweight.size
    assert dict(ran) == {("embedding.add_backward", "rows" if rare else "halide"): 1}
    assert (abs(dweight - exact) <= 2 * np.finfo(dtype).eps * magnitudes).all()


def test_zeros_of_a_large_vocabulary_take_no_memory():
    """64 MB of them, of which a page for each token is written, 2 MB at most; many tokens are the kernel's."""
    next_grad, read = numbers(0, 2, 3, 64), tokens(0, 1 << 18, 2, 3)
    with counting() as ran:
        before = resident()
        found = embedding.backward(next_grad, read, 1 << 18)
        grown = resident() - before
        assert ran["embedding.backward", "rows"] == 1
        assert found.nbytes == 1 << 26
        assert grown < 1 << 24
        embedding.backward(numbers(0, 8, 4096, 8), tokens(0, 1 << 17, 8, 4096), 1 << 17)
    assert ran["embedding.backward", "halide"] == 1


def resident():
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS:"))


def test_every_target(tmp_path):
    given = (numbers(0, 4500, 35), tokens(0, 1000, 4500))
    every_target(cpu._backward[1000, 35, None], given, [((1000, 35), np.float32)], tmp_path)
