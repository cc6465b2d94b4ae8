"""dropout: Philox's published bits, the masks' statistics, and the kernel against the reference, bit for bit."""

import math

import numpy as np
import pytest
from fast_ops import every_target, needs_halide, numbers

from typednn.engines import counting
from typednn.kernels.dropout import cpu, dropout, reference

# From Random123's file of known answers, kat_vectors: counter, key, result.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
ones = np.ones(1 << 16, np.float32)


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_philox_gives_the_published_bits(counter, key, expected):
    found = reference.philox(np, tuple(np.array([word], np.uint64) for word in counter), key)
    assert tuple(int(word[0]) for word in found) == expected


def test_numbers_are_words_of_blocks():
    """Number 64·k + 16·j + lane is word j of counter 16·k + lane, whatever was drawn before."""
    found = reference.bits(np, 150, 2**33 + 5, 2**32 + 9)
    for number in (0, 15, 16, 63, 64, 149):
        k, j, lane = number // 64, number % 64 // 16, number % 16
        counter = tuple(np.array([word], np.uint64) for word in (16 * k + lane, 0, 9, 1))
        assert found[number] == reference.philox(np, counter, (5, 2))[j][0]


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9])
def test_zeros_with_probability_p_and_the_mean_is_kept(p):
    """Z-F4: u > p keeps a number and scales it by 1/(1 - p)."""
    y = dropout(ones, p, 1, 0)
    deviation = math.sqrt(p * (1 - p) / ones.size)
    assert abs((y == 0).mean() - p) <= 4 * deviation
    assert abs(y.mean() - 1) <= 4 * deviation / (1 - p)
    np.testing.assert_array_equal(np.unique(y[y > 0]), np.float32(1 / (1 - p)))


def test_masks_of_other_keys_and_calls_are_others():
    """Independent: two masks of p = ½ agree in half of the places."""
    masks = [dropout(ones, 0.5, key, drawn) > 0 for key, drawn in ((1, 0), (1, 1), (2, 0), (1, 2**32), (1 + 2**32, 0))]
    for place, one in enumerate(masks):
        for other in masks[:place]:
            assert abs((one == other).mean() - 0.5) <= 4 * 0.5 / math.sqrt(ones.size)
        shifted = (one[1:] == one[:-1]).mean()
        assert abs(shifted - 0.5) <= 4 * 0.5 / math.sqrt(ones.size)


def test_extremes():
    x = np.array([1.0, np.nan, np.inf, -2.0], np.float32)
    np.testing.assert_array_equal(dropout(x, 0.0, 1, 0), x)
    np.testing.assert_array_equal(dropout(x, 1.0, 1, 0), [0, 0, 0, 0])
    almost = math.nextafter(1.0, 0.0)
    with counting() as counts:
        np.testing.assert_array_equal(dropout(x, almost, 1, 0), [0, 0, 0, 0])
    assert dict(counts) == {("dropout", "reference"): 1}
    assert reference.least_kept(0.0) == 0
    assert reference.least_kept(0.5) == 2**31


def test_whole_channels():
    """One u for each image and channel."""
    x = np.ones((50, 3, 4, 20), np.float32)
    y = dropout(x, 0.4, 3, 1, True)
    assert (y == y[:, :1, :1]).all()
    assert abs((y[:, 0, 0] == 0).mean() - 0.4) <= 4 * math.sqrt(0.24 / 1000)
    np.testing.assert_array_equal(y[:, 0, 0].ravel(), dropout(np.ones(1000, np.float32), 0.4, 3, 1))


@needs_halide
def test_on_every_target(tmp_path):
    x = numbers(0, 1001)
    every_target(cpu._kernels[x.dtype], (x, 2.0, -(2**31), 5, 6, 7, 8), [(x.shape, np.float32)], tmp_path, rtol=0)
