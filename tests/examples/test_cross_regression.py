"""P-E10: a convolution learns one number, as a chain and as a stack."""

import numpy as np
import pytest

from examples import cross_regression
from examples.cross_regression import learn


def test_static_is_dynamic() -> None:
    """P-E10: every loss on the way and every weight at the end, bit for bit; and the number is learned."""
    (static, static_weights), (dynamic, dynamic_weights) = learn(dynamic=False), learn(dynamic=True)
    assert static == dynamic
    for one, other in zip(static_weights.values(), dynamic_weights.values(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(static) == 500
    assert static[0] > 1e-3
    assert static[-1] < 1e-12


def test_what_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """P-E10: both ways in a line each step that is shown."""
    cross_regression.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "the weights are the same bits"
    assert [line.split()[1] for line in lines[:-1]] == ["0", "1", "2", "5", "10", "499"]
