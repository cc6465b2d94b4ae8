"""Backward agrees with forward, for every layer."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.layer_cases import LayerCase
from typednn import gradcheck
from typednn.backends import to_numpy
from typednn.engines import using
from typednn.testing import LAYER_LAWS
from typednn.testing.gradcheck import GradcheckError
from typednn.testing.refusals import changed_field, gradient_fields, with_changed_backward
from typednn.testing.subject import bits


@given(data=st.data())
def test_central_differences(case: LayerCase, data: st.DataObject) -> None:
    """P-L1, P-L3, P-L4, P-L5, P-L7, P-L8, P-L9, P-L10, P-L11, P-L12, P-L13, P-L15, P-L16, G-D10: by finite differences.

    What is drawn is computed by the reference, as each size would have kernels of its own; see the test below.
    """
    with using("reference"):
        LAYER_LAWS["derivatives"](case.drawn(data.draw))


def test_central_differences_on_every_engine(case: LayerCase) -> None:
    LAYER_LAWS["derivatives"](case.subject())


def test_backward_is_pure(case: LayerCase, device: str) -> None:
    """P-P3, P-T4: backward twice gives the same bits and changes nothing; neither method writes what it is given."""
    LAYER_LAWS["purity"](case.subject(device))


def test_the_batch_is_kept(case: LayerCase, device: str) -> None:
    LAYER_LAWS["batch"](case.subject(device))


def test_dtype_is_kept(case: LayerCase, device: str) -> None:
    LAYER_LAWS["precision"](case.subject(device))


def test_devices_agree(case: LayerCase) -> None:
    """P-E8: the same kernels compute the same on an array that refuses what CuPy refuses."""
    import strict_array

    strict_array.register()
    results = []
    for device in ("cpu", "strict"):
        subject = case.subject(device)
        layer = subject.ready()
        with using("reference"):  # kernels round differently
            y = layer.forward(*subject.arrays())
            results.append([bits(y), bits(layer.backward(subject.next_grad(y)))])
    assert results[0] == results[1]


def test_gradcheck_leaves_the_layer_as_it_was(case: LayerCase) -> None:
    subject = case.subject()
    layer = subject.ready()
    before = copy.deepcopy({name: to_numpy(array) for name, array in layer.state_dict().items()})
    gradcheck(layer, *subject.arrays(np.float64), most=3)
    assert {name: array.tobytes() for name, array in layer.state_dict().items()} == {
        name: array.tobytes() for name, array in before.items()
    }
    assert layer.dtype == np.float32
    assert layer.training


def test_gradcheck_refuses_a_wrong_derivative(case: LayerCase) -> None:
    """The check on which all the others rest fails where it must: each quantity's derivative is spoiled in turn."""
    subject = case.subject()
    layer = subject.ready()
    y = layer.forward(*subject.arrays())
    for name in gradient_fields(layer.backward(subject.next_grad(y))):
        broken = with_changed_backward(
            subject.ready(), lambda gradient, name=name: changed_field(gradient, name, lambda array: array * 1.001)
        )
        with pytest.raises(GradcheckError, match="must be"):
            gradcheck(broken, *subject.arrays(np.float64), most=200)
