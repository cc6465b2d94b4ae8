"""LeNet5 as a whole: output, loss, every gradient, and ten steps of training, beside PyTorch's channels-first model."""

from typing import Any

import numpy as np
import pytest

from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, Pad2d, ReLU, Softmax
from typednn.losses import CrossEntropy, SoftmaxCrossEntropy
from typednn.optim import SGD

pytestmark = pytest.mark.parity

# The row that Flatten gives is ordered (row, column, channel) here and (channel, row, column) there: position by
# position.
COLUMNS = np.arange(5 * 5 * 16).reshape(5, 5, 16).transpose(2, 0, 1).ravel()


def lenet5(bias: bool) -> Any:
    """The paper's layers, and a bias in its convolutions where asked; scores, without the Softmax."""
    images = (
        Input(28, 28, 1)
        >> Pad2d(2)
        >> Conv2d(1, 6, 5, bias=bias)
        >> ReLU()
        >> MaxPool2d(2)
        >> Conv2d(6, 16, 5, bias=bias)
        >> ReLU()
        >> MaxPool2d(2)
    )
    return images >> Flatten() >> Linear(400, 120) >> ReLU() >> Linear(120, 84) >> ReLU() >> Linear(84, 10)


def twin(peer: Any, model: Any, bias: bool) -> Any:
    """The same model as a PyTorch user writes it, with the same weights in PyTorch's layout."""
    nn = peer.torch.nn
    layers = [
        nn.Conv2d(1, 6, 5, padding=2, bias=bias),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5, bias=bias),
        nn.ReLU(),
        nn.MaxPool2d(2),
    ]
    made = nn.Sequential(
        *layers, nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)
    )
    state = model.state_dict()
    made = made.to(peer.tensor(next(iter(state.values()))).dtype)
    made.load_state_dict(
        dict(zip(made.state_dict(), map(peer.tensor, map(theirs, state, state.values())), strict=True))
    )
    return made


def theirs(name: str, array: Any) -> Any:
    """A parameter, or its derivative, in PyTorch's layout."""
    if array.ndim == 4:
        return array.transpose(0, 3, 1, 2)
    return array[:, COLUMNS] if name == "8.weight" else array


def data(dtype: Any, batch: int = 12) -> tuple[Any, Any]:
    generator = np.random.default_rng(11)
    return generator.standard_normal((batch, 28, 28, 1)).astype(dtype), generator.integers(0, 10, batch)


@pytest.mark.parametrize("bias", [False, True], ids=["the paper's", "with biases"])
def test_output_loss_and_gradients(peer: Any, close: Any, dtype: Any, bias: bool) -> None:
    """P-L5: 61,684 or 61,706 parameters."""
    model = lenet5(bias).init(np.random.default_rng(5)).astype(dtype)
    other = twin(peer, model, bias)
    count = sum(parameter.numel() for parameter in other.parameters())
    assert model.num_parameters() == count == (61706 if bias else 61684)

    x, labels = data(dtype)
    scores = model.forward(x)
    images = peer.tensor(x.transpose(0, 3, 1, 2), learnt=True)
    expected = other(images)
    close(scores, expected.detach().numpy(), "scores")

    loss = SoftmaxCrossEntropy()
    value = peer.torch.nn.functional.cross_entropy(expected, peer.tensor(labels))
    close(np.asarray(loss.loss(scores, labels), dtype), value.detach().numpy(), "loss")

    value.backward()
    grad = model.backward(loss.loss_grad(scores, labels))
    close(grad.input.transpose(0, 3, 1, 2), images.grad.numpy(), "input gradient")
    for (name, derivative), parameter in zip(model.named_gradients(grad).items(), other.parameters(), strict=True):
        close(theirs(name, derivative), parameter.grad.numpy(), f"gradient of {name}")


def test_ten_steps(peer: Any, dtype: Any) -> None:
    """The paper's recipe (Softmax, CrossEntropy over batch and classes, SGD of rate 1), step by step.

    Tolerances as for the small net in test_optimizers.py: the largest differences met are 8e-8 in float32 and 1.4e-16
    in float64.
    """
    model = (lenet5(False) >> Softmax()).init(np.random.default_rng(5)).astype(dtype)
    other = twin(peer, model, False)
    x, labels = data(dtype)
    target = np.full((len(labels), 10), 0.01, dtype)
    target[np.arange(len(labels)), labels] = 0.91
    loss, optimizer = CrossEntropy(), SGD(1.0)
    peer_optimizer = peer.torch.optim.SGD(other.parameters(), 1.0)
    images, wanted = peer.tensor(x.transpose(0, 3, 1, 2)), peer.tensor(target)
    tolerance = {"float64": 1e-12, "float32": 1e-5}[dtype.name]
    values = []
    for step in range(1, 11):
        prediction = model.forward(x)
        values.append(loss.loss(prediction, target))
        model.update(optimizer, model.backward(loss.loss_grad(prediction, target)))
        peer_optimizer.zero_grad()
        value = -(peer.torch.softmax(other(images), 1).clamp(min=1e-7).log() * wanted).mean()
        value.backward()
        peer_optimizer.step()
        assert values[-1] == pytest.approx(value.item(), rel=tolerance)
        for (name, ours), parameter in zip(model.state_dict().items(), other.parameters(), strict=True):
            np.testing.assert_allclose(
                theirs(name, ours),
                parameter.detach().numpy(),
                rtol=tolerance,
                atol=tolerance,
                err_msg=f"{name} after step {step}",
            )
    assert values[-1] < values[0]
