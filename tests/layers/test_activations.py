"""What the activations refuse: arguments without a meaning, and an odd number of features for GLU."""

from collections.abc import Callable

import numpy as np
import pytest

from typednn import Input, config
from typednn.errors import ArgumentError, ConfigError, ShapeError, StackError
from typednn.layers import ELU, GELU, GLU, Linear, SequenceLinear, Softplus

NAN = float("nan")
ODD = "GLU: the number of features must be even, for two halves, got 5; give it 6"


@pytest.mark.parametrize(
    ("build", "argument", "message"),
    [
        (lambda: Softplus(beta=0.0), "beta", "Softplus: beta must be positive, got 0.0"),
        (lambda: Softplus(beta=-1.0), "beta", "Softplus: beta must be positive, got -1.0"),
        (lambda: Softplus(beta=NAN), "beta", "Softplus: beta must be a finite number, got nan"),
        (lambda: Softplus(threshold=NAN), "threshold", "Softplus: threshold must be a finite number, got nan"),
        (lambda: ELU(alpha=NAN), "alpha", "ELU: alpha must be a finite number, got nan"),
        (lambda: ELU(alpha="1"), "alpha", "ELU: alpha must be a finite number, got '1'"),  # type: ignore[arg-type]
        (lambda: GELU("erf"), "approximate", "GELU: approximate must be one of 'none', 'tanh', got 'erf'"),  # type: ignore[arg-type]
    ],
)
def test_arguments_are_refused(build: Callable[[], object], argument: str, message: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        build()
    assert (str(refused.value), refused.value.argument) == (message, argument)


@pytest.mark.parametrize("build", [lambda: Linear(4, 5) >> GLU(), lambda: Input(3, 4) >> SequenceLinear(4, 5) >> GLU()])
def test_glu_refuses_a_stack_with_an_odd_number_of_features(build: Callable[[], object]) -> None:
    with pytest.raises(StackError) as refused:
        build()
    assert str(refused.value) == ODD


@pytest.mark.parametrize("shape", [(2, 5), (2, 3, 5)])
def test_glu_refuses_an_array_with_an_odd_number_of_features(shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError) as refused:
        GLU().forward(np.ones(shape, np.float32))
    assert ODD in str(refused.value)


def test_glu_refuses_a_config_with_an_odd_number_of_features() -> None:
    with pytest.raises(ConfigError) as refused:
        config.loads('format = 1\ninput = [5]\n[[layer]]\ntype = "GLU"\n').model()
    assert ODD in str(refused.value)
