"""Layers that are called one by one become the ops of a chain in a plan, with the same bits."""

import copy
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pytest
from jaxtyping import Float

from benchmarks.plans import ByHand
from typednn import Gradient, Input, Layer, S
from typednn.arrays import Array4
from typednn.layers import BatchNorm2d, Conv2d, LeakyReLU, Linear, MaxPool2d, Pad2d, ReLU, Sigmoid, Tanh
from typednn.layers.batch_norm2d import BatchNorm2dGrad
from typednn.layers.conv2d import Conv2dGrad
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import SGD
from typednn.plans import Compiled, plan, rewriting


@final
@dataclass(frozen=True, slots=True)
class PartsGrad(Gradient):
    """The gradients of what learns."""

    input: Float[Array4, "batch height width channels"]
    conv: Conv2dGrad
    bn: BatchNorm2dGrad | None


@final
class Parts(Layer[Array4, Array4, PartsGrad, S]):
    """A convolution, batch norm where it is asked for, an activation and a pooling, called one by one; ``twice``: what
    lies before the activation is the output, too.
    """

    def __init__(self, act: Any, *, norm: bool = False, pool: bool = True) -> None:
        self.conv: Conv2d = Conv2d(3, 5, 3, padding=1)
        self.norm: BatchNorm2d | None = BatchNorm2d(5) if norm else None
        self.act: Any = act
        self.pool: MaxPool2d | None = MaxPool2d(2) if pool else None

    def forward(self, x: Float[Array4, "batch 8 8 3"]) -> Float[Array4, "batch height width 5"]:
        y = self.conv.forward(x)
        if self.norm is not None:
            y = self.norm.forward(y)
        y = self.act.forward(y)
        return y if self.pool is None else self.pool.forward(y)

    def backward(self, next_grad: Float[Array4, "batch height width 5"]) -> PartsGrad:
        back: Any = next_grad if self.pool is None else self.pool.backward(next_grad).input
        back = self.act.backward(back).input
        norm = None if self.norm is None else self.norm.backward(back)
        conv = self.conv.backward(back if norm is None else norm.input)
        return PartsGrad(conv.input, conv, norm)


def steps(model: Any, shape: tuple[int, ...], times: int = 6) -> Compiled[Any, Any, Any]:
    """Forward and backward, planned, on other numbers each time, held to those of the layers."""
    other = copy.deepcopy(model)
    compiled: Compiled[Any, Any, Any] = Compiled(model, told=pytest.fail)
    for seed in range(times):
        x = np.random.default_rng(seed).standard_normal(shape, np.float32)
        y, expected = compiled.forward(x), other.forward(x)
        np.testing.assert_array_equal(y, expected)
        if model.training:
            derivatives, wanted = (learner.backward(np.sin(expected)).leaves() for learner in (compiled, other))
            for name, leaf in wanted.items():
                np.testing.assert_array_equal(derivatives[name], leaf, err_msg=name)
        for name, array in other.state_dict().items():
            np.testing.assert_array_equal(model.state_dict()[name], array, err_msg=name)
    return compiled


def ops(compiled: Compiled[Any, Any, Any]) -> list[str]:
    return [line.name for line in compiled.explain(times=1).lines]


@pytest.mark.parametrize("act", [ReLU, lambda: LeakyReLU(0.1), Sigmoid, Tanh, lambda: LeakyReLU(-0.1)])
@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("training", [True, False])
def test_bits_and_ops(act: Any, norm: bool, training: bool) -> None:
    """The bits are those of the layers; activations that an op takes are no op of their own."""
    model = Parts(act(), norm=norm).init(np.random.default_rng(0)).train(training)
    found = ops(steps(model, (4, 8, 8, 3)))
    if isinstance(model.act, ReLU):
        assert not any("relu" in name for name in found)
    if isinstance(model.act, LeakyReLU) and model.act.negative_slope < 0:  # y does not have the sign of x
        assert "leaky_relu.forward" in found


@pytest.mark.parametrize("bias", [False, True])
def test_a_convolution_takes_the_pooling(bias: bool) -> None:
    """Of few channels and of more; its derivatives have the bits of the layers'."""
    model = ByHand()
    model.conv1, model.conv2 = Conv2d(1, 6, 5, padding=2, bias=bias), Conv2d(6, 16, 5, bias=bias)
    found = ops(steps(model.init(np.random.default_rng(0)).train(), (8, 28, 28, 1)))
    assert not any("max_pool2d" in name or "relu" in name for name in found)
    assert len(found) == 10


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("pad", [Pad2d(2), Pad2d((1, 0, 2, 3)), Pad2d(2, value=0.5), Pad2d(2, "replicate")])
def test_a_convolution_takes_the_zeros(pad: Any, training: bool) -> None:
    """Of a border of another value, or of repeated pixels, and where a derivative is read through it, there are two
    ops.
    """
    chain: Any = Input(9, 8, 1) >> copy.deepcopy(pad) >> Conv2d(1, 6, 5, padding=1, bias=True) >> ReLU() >> MaxPool2d(2)
    model = chain.init(np.random.default_rng(0)).train(training)
    assert ("pad2d.forward" in ops(steps(model, (3, 9, 8, 1)))) == (pad.mode != "constant" or pad.value != 0)


def test_zeros_through_which_a_derivative_is_read() -> None:
    """The derivative by what the zeros are put around is a part of another: two ops."""
    chain: Any = Input(9, 8, 1) >> Conv2d(1, 2, 3) >> Pad2d(1) >> Conv2d(2, 3, 3)
    assert "pad2d.forward" in ops(steps(chain.init(np.random.default_rng(0)).train(), (3, 9, 8, 1)))


def test_no_derivative_by_the_images() -> None:
    """Nobody reads it: the first convolution gives two results less."""
    model = Parts(ReLU(), pool=False).init(np.random.default_rng(0)).train()
    compiled = steps(model, (4, 8, 8, 3))
    (line,) = (each for each in compiled.explain(times=1).lines if each.name == "conv2d.backward")
    assert line.flops == 2 * 4 * 64 * model.conv.weight.size


def test_kept_inputs_are_not_left_out() -> None:
    """With ``keep="inputs"`` every derivative is there."""
    model = Parts(ReLU()).init(np.random.default_rng(0)).train()
    other = copy.deepcopy(model)
    compiled: Compiled[Any, Any, Any] = Compiled(model, "inputs", told=pytest.fail)
    for seed in range(5):
        x = np.random.default_rng(seed).standard_normal((2, 8, 8, 3), np.float32)
        expected = other.forward(x)
        grad, wanted = compiled.backward(np.sin(compiled.forward(x))), other.backward(np.sin(expected))
        np.testing.assert_array_equal(grad.input, wanted.input)
        np.testing.assert_array_equal(grad.conv.input, wanted.conv.input)


def test_other_bits_are_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule whose result differs in one bit is not applied."""

    def other(*_: Any) -> bool:
        return False

    monkeypatch.setattr(rewriting, "_same", other)
    model = ByHand().init(np.random.default_rng(0)).train()
    assert len(ops(steps(model, (2, 28, 28, 1)))) == 22


def test_a_rule_that_fails_on_real_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the model is planned without rules."""
    model = ByHand().init(np.random.default_rng(0)).train()
    forward, wrong = plan.Plan.forward, [True]

    def once(self: Any, x: Any) -> Any:
        y = forward(self, x)
        if wrong:
            wrong.pop()
            y[...] = 1
        return y

    monkeypatch.setattr(plan.Plan, "forward", once)
    assert "relu.forward" in ops(steps(model, (2, 28, 28, 1), times=8))


def test_training_by_hand() -> None:
    """Whole steps, to the same weights."""
    model = ByHand().init(np.random.default_rng(0)).train()
    other, loss = copy.deepcopy(model), SoftmaxCrossEntropy()
    compiled: Compiled[Any, Any, Any] = Compiled(model, told=pytest.fail)
    optimizers, learners = (SGD(0.1).bind(model), SGD(0.1).bind(other)), list[Any]([compiled, other])
    rng = np.random.default_rng(1)
    for _ in range(8):
        x, y = rng.standard_normal((5, 28, 28, 1), np.float32), rng.integers(0, 10, 5)
        for learner, own, optimizer in zip(learners, (model, other), optimizers, strict=True):
            own.update(optimizer, learner.backward(loss.loss_grad(learner.forward(x), y)))
    for name, array in other.named_parameters().items():
        np.testing.assert_array_equal(model.named_parameters()[name], array, err_msg=name)


def test_zeros_prove_nothing() -> None:
    """A plan is made while all weights are 0, where every order of sums and every tanh gives the same; later they are
    not.
    """
    model = (Input(5) >> Linear(5, 7) >> Tanh() >> Linear(7, 3) >> Tanh()).init(np.random.default_rng(0)).eval()
    weights = {name: array.copy() for name, array in model.state_dict().items()}
    for array in model.state_dict().values():
        array[...] = 0
    compiled: Compiled[Any, Any, Any] = Compiled(model, told=pytest.fail)
    for seed in range(40):
        if seed == 4:
            model.load_state_dict(weights)
        x = np.random.default_rng(seed).standard_normal((2, 5), np.float32)
        np.testing.assert_array_equal(compiled.forward(x), model.forward(x))
