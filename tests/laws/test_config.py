"""A2, A14: a layer written to a config and read again is the same layer, bit for bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from law_tools import bits, values

from tests.layer_cases import CASES, LayerCase
from typednn import Input, Sequential, config
from typednn.layer import Chain


@pytest.mark.parametrize("case", [case for case in CASES if case.configurable], ids=str)
@given(data=st.data())
def test_config_round_trip(case: LayerCase, data: st.DataObject) -> None:
    """P-D5, P-D3: the config's Stack equals the layer in code: names, weights from one seed, outputs, gradients."""
    layer, shape = case.draw(data.draw)
    if not 2 <= len(shape) <= 4:
        layer, shape = case.example()
    model = Sequential([layer], input=Input(*shape[1:]))  # type: ignore[call-overload]
    read = config.loads(config.dumps(layer if isinstance(layer, Chain) and layer.sample else model), name="round.toml").model()
    for built in (model, read):
        built.init(np.random.default_rng(5))
    assert list(read.parameter_shapes()) == list(model.parameter_shapes())
    assert bits(tuple(read.parameters())) == bits(tuple(model.parameters()))
    x = values(shape, dtype=np.float32)
    y = model.forward(x)
    flat = read.forward(x.reshape(shape[0], -1))
    assert bits(flat) == bits(y)
    dy = values(y.shape, 3, np.float32)
    gradient, flat_gradient = model.backward(dy), read.backward(dy.reshape(shape[0], -1))
    assert bits(flat_gradient.input) == bits(gradient.input)
    assert bits(tuple(read.gradients(flat_gradient))) == bits(tuple(model.gradients(gradient)))
