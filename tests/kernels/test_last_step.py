"""The last position of each sequence."""

import numpy as np
import pytest

from typednn.kernels import last_step


@pytest.mark.parametrize("lengths", [None, np.array([4, 1, 2])])
def test_last_step(lengths):
    x, dy = np.arange(24.0).reshape(3, 4, 2), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    y, dx = last_step.forward(x, lengths), last_step.backward(dy, 4, lengths)
    for sequence, last in enumerate([3, 3, 3] if lengths is None else [3, 0, 1]):
        np.testing.assert_array_equal(y[sequence], x[sequence, last])
        np.testing.assert_array_equal(dx[sequence, last], dy[sequence])
        assert not np.delete(dx[sequence], last, 0).any()
    assert y.flags.c_contiguous
