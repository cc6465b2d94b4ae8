"""Sizes beyond memory are refused with the shape and the bytes, before anything is made or lost."""

from typing import Any

import numpy as np
import pytest
from jaxtyping import Float

from typednn import AnyArray, Elementwise, ElementwiseGrad, Input, Sequential, system
from typednn.errors import OutOfMemory
from typednn.layers import Conv2d, Linear, Pad2d, ReLU, Residual


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Linear(10**9, 10**9, rng=rng()),
            r"^Linear.*\.init, 'weight': .* got float32 of shape \(1000000000, 1000000000\), 4,000,000,0",
        ),
        (
            lambda: Linear(10**18, 10**18, bias=False).init(rng()),
            r"shape \(1000000000000000000, 1000000000000000000\), 4,0",
        ),
        (
            lambda: (Input(9, 9, 10**9) >> Conv2d(10**9, 10**9, 3)).init(rng()),
            r"'0\.weight'.* shape \(1000000000, 3, 3, 1000000000\), 36,",
        ),
        (
            lambda: Pad2d(10**9).forward(np.ones((1, 2, 2, 1))),
            r"float64 of shape \(1, 2000000002, 2000000002, 1\), 32,000,000,06",
        ),
        (
            lambda: Pad2d(10**9, mode="replicate").eval().forward(np.ones((1, 2, 2, 1))),
            r"float64 of shape \(1, 2000000002",
        ),
    ],
)
def test_sizes_beyond_memory(make: Any, words: str) -> None:
    with pytest.raises(OutOfMemory, match=words) as caught:
        make()
    assert "GiB); this machine has " in str(caught.value)


@pytest.mark.parametrize(
    "wrapped",
    [lambda model: model, lambda model: Sequential([ReLU(), model.named("inner")])],
    ids=["alone", "in another"],
)
def test_a_part_of_a_model_is_named(wrapped: Any) -> None:
    inner = Linear(1, 4) >> Linear(4, 10**7, bias=False).named("last")
    model = wrapped(inner)
    x = np.broadcast_to(np.float32(1), (10**7, 1))
    with pytest.raises(
        OutOfMemory,
        match=r'layer "(last|inner)": (Linear\(4, 10000000, bias=False\)|Chain)\.forward: .* shape \(10000000, '
        r"10000000\)",
    ):
        model.forward(x)


def test_all_parameters_are_looked_at_before_one_is_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Linear(2, 3) >> Linear(3, 1000)
    model.init(rng())
    before = {name: array.copy() for name, array in model.named_parameters().items()}
    monkeypatch.setattr(system, "memory", lambda: 10_000)
    with pytest.raises(OutOfMemory, match=r"'1\.weight'.* shape \(1000, 3\), 12,000 bytes"):
        model.init(np.random.default_rng(1))
    for name, array in model.named_parameters().items():
        np.testing.assert_array_equal(array, before[name])


class Greedy(Elementwise[None]):
    """Runs out of memory in the midst of its work."""

    def __init__(self, forward: bool, backward: bool) -> None:
        self.greedy = forward, backward

    def forward(self, x: Float[AnyArray, "*shape"]) -> Float[AnyArray, "*shape"]:
        if self.greedy[0]:
            np.empty((2**20, 2**38), np.uint8)
        return x

    def backward(self, next_grad: Float[AnyArray, "*shape"]) -> ElementwiseGrad[AnyArray, None]:
        if self.greedy[1]:
            np.empty((2**20, 2**38), np.uint8)
        return ElementwiseGrad(next_grad, None)


@pytest.mark.parametrize("training", [True, False])
def test_memory_that_runs_out_in_forward(training: bool) -> None:
    model: Any = (Linear(2, 2) >> Greedy(True, False).named("greedy")).init(rng()).train(training)
    with pytest.raises(
        OutOfMemory, match=r'layer "greedy": .* got Unable to allocate .* \(1048576, 274877906944\)'
    ) as caught:
        model.forward(np.ones((3, 2), np.float32))
    assert isinstance(caught.value, MemoryError)
    assert isinstance(caught.value.__cause__, MemoryError)


def test_memory_that_runs_out_in_backward() -> None:
    model: Any = Residual(Linear(2, 2) >> Greedy(False, True)).init(rng())
    y = model.forward(np.ones((3, 2), np.float32))
    with pytest.raises(OutOfMemory, match="Unable to allocate"):
        model.backward(y)


def test_memory_that_runs_out_in_an_initialiser() -> None:
    layer = Linear(2, 3)

    def greedy(*_: Any) -> Any:
        return np.empty((2**20, 2**38), np.uint8)

    layer.initialise_with(weight=greedy)
    with pytest.raises(OutOfMemory, match=r"'weight' of shape \(3, 2\), 24 bytes"):
        layer.init(rng())
