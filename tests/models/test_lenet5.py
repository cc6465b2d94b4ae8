"""LeNet5, by hand and stacked: the paper's sizes, counts and initial weights, and that the two are one model."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from typednn import Optimizer
from typednn.arrays import AnyArray, Array2, Array4
from typednn.errors import LayerReused, NotForwarded, ShapeError
from typednn.layer import Layer
from typednn.layers import MaxPool2d
from typednn.losses import CrossEntropy, SoftmaxCrossEntropy
from typednn.models import LeNet5, LeNet5Grad, lenet5
from typednn.optim import SGD, Adam
from typednn.random import PCG32, HeNormal, Zeros

AnyModel = Layer[Array4, Array2, Any]
WRITTEN: dict[str, Callable[..., AnyModel]] = {"by hand": LeNet5, "stacked": lenet5}
both = pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)


def _images(count: int, dtype: type = np.float32) -> Array4:
    return np.random.default_rng(5).standard_normal((count, 28, 28, 1)).astype(dtype)


def _targets(count: int) -> Array2:
    return np.eye(10, dtype=np.float32)[np.arange(count) % 10]


@both
def test_counts(written: Callable[..., AnyModel]) -> None:
    """P-L5: 61,684 parameters without the convolutions' bias, 61,706 with; counted before anything is allocated."""
    assert written().num_parameters() == 61_684
    assert written(bias=True).num_parameters() == 61_706
    assert written(softmax=False).num_parameters() == 61_684


def test_same_names_in_the_same_order() -> None:
    """P-E2: the two take each other's saved weights."""
    names = [f"{layer}.{field}" for layer in ("conv1", "conv2", "fc1", "fc2", "fc3") for field in ("weight", "bias")]
    shapes = [(6, 5, 5, 1), (6,), (16, 5, 5, 6), (16,), (120, 400), (120,), (84, 120), (84,), (10, 84), (10,)]
    expected = dict(zip(names, shapes, strict=True))
    for written in WRITTEN.values():
        assert list(written(bias=True).parameter_shapes().items()) == list(expected.items())
    hand, stack = LeNet5(rng=PCG32(1)), lenet5()
    stack.load_state_dict(hand.state_dict())
    np.testing.assert_array_equal(stack.forward(_images(2)), hand.forward(_images(2)))


def test_shapes_on_the_way() -> None:
    """P-E2: 28, 32, 28, 14, 10, 5, then 400, 120, 84, 10."""
    x: AnyArray = _images(3)
    shapes = []
    for layer in lenet5(rng=PCG32(0)).parts:
        x = layer.forward(x)
        shapes.append(x.shape[1:])
    assert shapes == [
        (32, 32, 1),
        *[(28, 28, 6), (28, 28, 6), (14, 14, 6)],
        *[(10, 10, 16), (10, 10, 16), (5, 5, 16)],
        *[(400,), (120,), (120,), (84,), (84,), (10,), (10,)],
    ]


def test_the_papers_layers_in_the_papers_order() -> None:
    """P-E2: and no layer stands for two."""
    told = [repr(part) for part in lenet5().parts]
    assert told == [
        "Pad2d(2)",
        *["Conv2d(1, 6, 5)", "ReLU()", "MaxPool2d(2)"],
        *["Conv2d(6, 16, 5)", "ReLU()", "MaxPool2d(2)"],
        *["Flatten()", "Linear(400, 120)", "ReLU()", "Linear(120, 84)", "ReLU()", "Linear(84, 10)", "Softmax()"],
    ]
    hand = LeNet5()
    assert [repr(part) for _, part in hand.children()] == told
    assert len({id(part) for _, part in hand.children()}) == 14
    assert [repr(part) for part in lenet5(softmax=False).parts] == told[:-1]


@both
def test_initial_weights_are_the_papers(written: Callable[..., AnyModel]) -> None:
    """P-E3: one PCG(42, 6) through conv1, conv2, fc1, fc2 and fc3, weights before biases, N(0, 2/fan_in)."""
    model = written(rng=PCG32(42, 6))
    state = model.state_dict()
    np.testing.assert_allclose(
        state["conv1.weight"].reshape(-1)[:4], [-0.1194448, 0.2730768, -0.0500337, 0.3568150], atol=1e-6
    )
    # Drawn here with the generator alone, in the paper's order.
    rng = PCG32(42, 6)
    for name, shape, fan_in in (
        ("conv1.weight", (6, 5, 5, 1), 25),
        ("conv2.weight", (16, 5, 5, 6), 150),
        ("fc1.weight", (120, 400), 400),
        ("fc1.bias", (120,), 400),
        ("fc2.weight", (84, 120), 120),
        ("fc2.bias", (84,), 120),
        ("fc3.weight", (10, 84), 84),
        ("fc3.bias", (10,), 84),
    ):
        np.testing.assert_array_equal(
            state[name], rng.normal(0.0, np.sqrt(2 / fan_in), shape).astype(np.float32), err_msg=name
        )


@both
def test_other_initial_weights(written: Callable[..., AnyModel]) -> None:
    """P-L2: the biases' rule can be another than the weights'."""
    state = written(bias=True, weight_init=HeNormal(), bias_init=Zeros(), rng=PCG32(0)).state_dict()
    assert all(bool(array.any()) is name.endswith("weight") for name, array in state.items())


@pytest.mark.parametrize("softmax", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("make_optimizer", [lambda: SGD(0.1, momentum=0.9), lambda: Adam(1e-3)], ids=["SGD", "Adam"])
def test_by_hand_and_stacked_are_the_same_bits(
    softmax: bool, bias: bool, make_optimizer: Callable[[], Optimizer]
) -> None:
    """P-E2, P-P10: outputs, gradients and weights after three steps, part by part."""
    models: list[AnyModel] = [written(bias=bias, softmax=softmax, rng=PCG32(42, 6)) for written in WRITTEN.values()]
    optimizers = [make_optimizer() for _ in models]
    x, target = _images(4), _targets(4)
    for _ in range(3):
        seen: list[list[AnyArray]] = []
        for model, optimizer in zip(models, optimizers, strict=True):
            y = model.forward(x)
            grad = model.backward(
                CrossEntropy().loss_grad(y, target) if softmax else SoftmaxCrossEntropy().loss_grad(y, target)
            )
            model.update(optimizer, grad)
            seen.append([y, grad.input, *model.gradients(grad), *(weights.copy() for weights in model.parameters())])
        by_hand, stacked = seen
        assert [array.tobytes() for array in by_hand] == [array.tobytes() for array in stacked]


@both
@pytest.mark.parametrize("bias", [True, False])
def test_gradient_by_differences(written: Callable[..., AnyModel], bias: bool) -> None:
    """P-P10: central differences in float64, on a few coordinates of every parameter and of the input."""
    model = written(bias=bias, rng=PCG32(7)).astype(np.float64)
    x, target = _images(2, np.float64), _targets(2).astype(np.float64)
    loss = CrossEntropy()
    grad = model.backward(loss.loss_grad(model.forward(x), target))
    quantities = {"input": (x, grad.input)}
    quantities |= {
        name: (weights, model.named_gradients(grad)[name]) for name, weights in model.named_parameters().items()
    }
    assert len(quantities) == (11 if bias else 9)
    rng, step = np.random.default_rng(0), 1e-6
    for name, (quantity, derivative) in quantities.items():
        # Half of the places where there is something to see, half anywhere.
        largest = np.argsort(np.abs(derivative).reshape(-1))[-3:]
        for place in (*largest, *rng.integers(0, quantity.size, 3)):
            index = np.unravel_index(place, quantity.shape)
            kept = quantity[index]
            values = []
            for moved in (kept + step, kept - step):
                quantity[index] = moved
                values.append(loss.loss(model.forward(x), target))
            quantity[index] = kept
            difference = (values[0] - values[1]) / (2 * step)
            np.testing.assert_allclose(difference, derivative[index], rtol=1e-5, atol=1e-9, err_msg=f"{name}{index}")


def test_gradient_is_typed_and_whole() -> None:
    """P-P10: the model's own gradient class, leaves paired with the parameters."""
    model = LeNet5(bias=True, rng=PCG32(0))
    grad = model.backward(CrossEntropy().loss_grad(model.forward(_images(2)), _targets(2)))
    assert isinstance(grad, LeNet5Grad)
    assert list(grad.leaves()) == list(model.named_parameters())
    assert grad.conv1.bias is not None
    assert grad.input.shape == (2, 28, 28, 1)
    assert LeNet5(rng=PCG32(0)).num_parameters() == 61_684


@both
def test_training_makes_the_loss_small(written: Callable[..., AnyModel]) -> None:
    """P-E2: it can learn: ten images by heart."""
    model, loss, optimizer = written(softmax=False, bias=True, rng=PCG32(3)), SoftmaxCrossEntropy(), Adam(3e-3)
    x, target = _images(10), np.arange(10)
    losses = []
    for _ in range(25):
        scores = model.forward(x)
        losses.append(loss.loss(scores, target))
        model.update(optimizer, model.backward(loss.loss_grad(scores, target)))
    assert losses[0] > 1.5
    assert losses[-1] < 0.05


@both
def test_other_images_are_refused(written: Callable[..., AnyModel]) -> None:
    model = written(rng=PCG32(0))
    with pytest.raises(ShapeError, match="28"):
        model.forward(np.zeros((2, 32, 32, 1), np.float32))
    with pytest.raises(ShapeError, match="28"):
        model.forward(np.zeros((2, 28, 28, 3), np.float32))
    with pytest.raises(NotForwarded):
        model.backward(np.zeros((2, 10), np.float32))


def test_a_layer_used_twice_is_noticed() -> None:
    """P-P10: the mistake that a hand-written model invites."""
    model = LeNet5(rng=PCG32(0))
    model.pool2 = model.pool1
    with pytest.raises(LayerReused, match='layer "pool1"'):
        model.forward(_images(1))
    model.pool2 = MaxPool2d(2)
    model.forward(_images(1))
