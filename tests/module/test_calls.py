"""Observers are told of every call of a model's modules, and of nothing else."""

from typing import Any

import numpy as np
import pytest

from typednn import Call, Input, checking, observing
from typednn.errors import ShapeError
from typednn.layers import Linear, ReLU


def model() -> Any:
    return (Input(3) >> Linear(3, 4).named("fc1") >> ReLU() >> (Linear(4, 5) >> Linear(5, 2)).named("head")).init(
        np.random.default_rng(0)
    )


def array(*shape: int) -> Any:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


FORWARD = ["fc1", "1", "head.0", "head.1", "head", ""]


@pytest.mark.parametrize("mode", ["full", "cached", "off"])
def test_every_forward_and_backward_is_told(mode: Any) -> None:
    net, x, dy = model(), array(6, 3), array(6, 2)
    calls: list[Call] = []
    y = grad = None
    with checking(mode):
        for _ in range(2):  # judged, and known
            calls.clear()
            with observing(net, calls.append):
                y = net.forward(x)
                grad = net.backward(dy)
        assert [(call.path, call.method) for call in calls[:6]] == [(path, "forward") for path in FORWARD]
        assert [call.path for call in calls[6:]] == ["head.1", "head.0", "head", "1", "fc1", ""]
        assert calls[0].inputs[0] is x
        assert calls[5].result is y
        assert calls[-1].result is grad
        assert calls[-1].inputs[0] is dy
        assert all(call.module is dict(net.named_modules())[call.path] for call in calls)
        np.testing.assert_allclose(calls[0].result, x @ net[0].weight.T + net[0].bias, rtol=1e-5)
        told = len(calls)
        net.forward(x)
        model().forward(x)
        assert len(calls) == told


def test_observers_end_with_their_block() -> None:
    """Also where one of them raises; two are told each."""
    net, x = model(), array(6, 3)
    first: list[Call] = []
    second: list[Call] = []

    def interrupted() -> None:
        with observing(net, first.append), observing(net[2], second.append):
            net.forward(x)
            net.forward(array(6, 4))

    with pytest.raises(ShapeError):
        interrupted()
    assert [call.path for call in first] == FORWARD
    assert [call.path for call in second] == ["0", "1", ""]
    net.forward(x)
    assert len(first) == len(FORWARD)
