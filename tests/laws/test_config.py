"""A2, A14: a layer written to a config and read again is the same layer, bit for bit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.layer_cases import CASES, LayerCase
from typednn.engines import using
from typednn.testing import LAYER_LAWS


@pytest.mark.parametrize("case", [case for case in CASES if case.configurable], ids=str)
@given(data=st.data())
def test_config_round_trip(case: LayerCase, data: st.DataObject) -> None:
    """P-D5, P-D3: the config's Stack equals the layer in code: names, weights from one seed, outputs, gradients.

    On the reference: the kernels of each drawn size would be compiled.
    """
    subject = case.drawn(data.draw)
    with using("reference"):
        LAYER_LAWS["config"](subject if 2 <= len(subject.inputs[0]) <= 4 else case.subject())
