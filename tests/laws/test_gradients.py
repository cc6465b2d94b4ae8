"""Backward agrees with forward, for every layer."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from law_tools import bits, lock_parameters, locked, ready, values

from tests.layer_cases import LayerCase
from typednn import gradcheck
from typednn.backends import to_numpy
from typednn.engines import using
from typednn.gradient_check import GradcheckError


@given(data=st.data())
def test_central_differences(case: LayerCase, data: st.DataObject) -> None:
    """P-L1, P-L3, P-L4, P-L5, P-L7, P-L8, P-L9, P-L10, P-L11, P-L12, P-L13, P-L15, P-L16, G-D10: by finite differences."""
    layer, shape = case.draw(data.draw)
    report = gradcheck(ready(layer), values(shape, data.draw(st.integers(0, 9))), most=40)
    assert report.error <= 1e-6
    assert {quantity.name for quantity in report.quantities} == {"input", *layer.named_parameters()}


def test_backward_is_pure(case: LayerCase, device: str) -> None:
    """P-P3: backward twice gives the same bits and changes nothing."""
    layer, shape = case.example()
    ready(layer, device)
    y = layer.forward(locked(values(shape, dtype=np.float32), device))
    lock_parameters(layer, device)
    next_grad = locked(values(y.shape, 3, np.float32), device)
    before = [bits(tuple(module._kept.values())) for _, module in layer.named_modules()]
    first = bits(layer.backward(next_grad))
    assert bits(layer.backward(next_grad)) == first
    assert [bits(tuple(module._kept.values())) for _, module in layer.named_modules()] == before
    assert first


def test_read_only_arrays_are_enough(case: LayerCase, device: str) -> None:
    """P-T4: forward and backward write neither what they are given nor the parameters."""
    layer, shape = case.example()
    ready(layer, device)
    lock_parameters(layer, device)
    y = layer.forward(locked(values(shape, dtype=np.float32), device))
    layer.backward(locked(values(y.shape, dtype=np.float32), device))


def test_devices_agree(case: LayerCase) -> None:
    """P-E8: the same kernels compute the same on an array that refuses what CuPy refuses."""
    import strict_array

    strict_array.register()
    results = []
    for device in ("cpu", "strict"):
        layer, shape = case.example()
        ready(layer, device)
        with using("reference"):  # kernels round differently
            y = layer.forward(locked(values(shape, dtype=np.float32), device))
            gradient = layer.backward(locked(values(y.shape, dtype=np.float32), device))
        results.append([bits(y), bits(gradient)])
    assert results[0] == results[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_is_kept(case: LayerCase, dtype: type) -> None:
    layer, shape = case.example()
    ready(layer, dtype=dtype)
    y = layer.forward(values(shape, dtype=dtype))
    gradient = layer.backward(values(y.shape, dtype=dtype))
    assert y.dtype == dtype
    assert {array.dtype for array in layer.gradients(gradient)} <= {np.dtype(dtype)}
    assert gradient.input.dtype == dtype


def test_gradcheck_leaves_the_layer_as_it_was(case: LayerCase) -> None:
    layer, shape = case.example()
    ready(layer)
    before = copy.deepcopy({name: to_numpy(array) for name, array in layer.state_dict().items()})
    gradcheck(layer, values(shape), most=3)
    assert {name: array.tobytes() for name, array in layer.state_dict().items()} == {
        name: array.tobytes() for name, array in before.items()
    }
    assert layer.dtype == np.float32
    assert layer.training


def test_gradcheck_refuses_a_wrong_derivative(case: LayerCase) -> None:
    """The check on which all the others rest fails where it must: each quantity's derivative is spoiled in turn."""
    from law_tools import changed_field, gradient_fields, with_changed_backward

    layer, shape = case.example()
    ready(layer)
    y = layer.forward(values(shape, dtype=np.float32))
    for name in gradient_fields(layer.backward(values(y.shape, dtype=np.float32))):
        broken = with_changed_backward(
            ready(case.example()[0]), lambda gradient, name=name: changed_field(gradient, name, lambda array: array * 1.001)
        )
        with pytest.raises(GradcheckError, match="must be"):
            gradcheck(broken, values(shape), most=200)
