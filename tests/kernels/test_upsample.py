"""Upsample beyond the laws of ops: the image of nearest neighbours is a copy."""

import numpy as np
import pytest

from typednn.kernels import upsample


@pytest.mark.parametrize("scale", [(1, 1), (2, 1), (1, 3), (2, 2)])
@pytest.mark.parametrize("size", [(1, 1), (1, 2), (2, 1)])
def test_nearest_is_a_copy(size: tuple[int, int], scale: tuple[int, int]) -> None:
    """Not a view that repeats x's numbers, into which nobody may write, and which no kernel reads."""
    x = np.arange(2 * size[0] * size[1] * 3, dtype=np.float32).reshape(2, *size, 3)
    y = upsample.forward(x, scale, "nearest", False)
    np.testing.assert_array_equal(y, x.repeat(scale[0], axis=1).repeat(scale[1], axis=2))
    assert (y.flags.c_contiguous, y.flags.writeable, np.shares_memory(x, y)) == (True, True, False)
