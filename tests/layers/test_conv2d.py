"""Conv2d: ways to construct one."""

import numpy as np
import pytest

from typednn import Input
from typednn.errors import StackError
from typednn.layers import Conv2d
from typednn.random import PCG32


def test_ways_to_construct_a_convolution() -> None:
    """P-L6: all ones, random by a generator, a kernel that is given, and with the image's shape before anything is
    there.
    """
    ones: Conv2d = Conv2d(2, 3, (2, 4), weight_init="ones", bias=True, bias_init="ones", rng=PCG32(1))
    assert [array.tolist() for array in ones.parameters()] == [np.ones((3, 2, 4, 2)).tolist(), [1, 1, 1]]
    drawn: Conv2d = Conv2d(2, 3, (2, 4), weight_init="he_normal", rng=PCG32(42, 6))
    numbers = PCG32(42, 6).standard_normal((3, 2, 4, 2)) * np.sqrt(2 / (2 * 2 * 4))
    np.testing.assert_allclose(drawn.weight, numbers, rtol=1e-6)
    kernel = np.arange(48, dtype=np.float32).reshape(3, 2, 4, 2)
    given: Conv2d = Conv2d(2, 3, (2, 4))
    given.load_state_dict({"weight": kernel})
    pixel = np.zeros((1, 2, 4, 2), np.float32)
    pixel[0, 1, 2, 1] = 1
    assert given.forward(pixel).ravel().tolist() == kernel[:, 1, 2, 1].tolist()
    assert given.weight is not kernel
    shaped = Input(9, 8, 2) >> Conv2d(2, 3, (2, 4))
    assert shaped.sample.flow.sizes() == (9, 8, 2)
    assert shaped.trace(shaped.sample.flow).sizes() == (8, 5, 3)
    with pytest.raises(StackError, match="expects 2 channels, gets 1"):
        Input(9, 8, 1) >> Conv2d(2, 3, (2, 4))
