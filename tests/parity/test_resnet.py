"""ResNet-18 as a whole beside PyTorch's: scores, every gradient, the running statistics, and three
steps of training.
"""

from typing import Any

import numpy as np
import pytest

from benchmarks.layer_works import given, ours, theirs, torch_resnet18
from typednn.losses import SoftmaxCrossEntropy
from typednn.models import resnet18
from typednn.optim import SGD

pytestmark = [pytest.mark.parity, pytest.mark.usefixtures("on_the_reference")]


def test_output_gradients_and_steps(torch: Any) -> None:
    rng = np.random.default_rng(0)
    model = resnet18(5, image=(16, 16, 3), rng=rng).astype("float64")
    twin = given(torch_resnet18(5).double(), model)
    x, labels = rng.standard_normal((3, 16, 16, 3)), np.array([0, 3, 4])
    optimizer, loss = SGD(lr=0.01, momentum=0.9), SoftmaxCrossEntropy()
    peer = torch.optim.SGD(twin.parameters(), lr=0.01, momentum=0.9)
    for step in range(3):
        scores, expected = model.forward(x), twin(theirs(x))
        np.testing.assert_allclose(scores, expected.detach().numpy(), rtol=1e-8, atol=1e-8)
        gradient = model.backward(loss.loss_grad(scores, labels))
        peer.zero_grad()
        torch.nn.functional.cross_entropy(expected, torch.tensor(labels)).backward()
        for (name, array), parameter in zip(model.named_gradients(gradient).items(), twin.parameters(), strict=True):
            np.testing.assert_allclose(
                array, ours(parameter.grad), rtol=1e-6, atol=1e-9, err_msg=f"{name}, step {step}"
            )
        model.update(optimizer, gradient)
        peer.step()
    statistics = [array for name, array in model.state_dict().items() if "running" in name]
    expected_statistics = [array.numpy() for name, array in twin.state_dict().items() if "running" in name]
    for array, wanted in zip(statistics, expected_statistics, strict=True):
        np.testing.assert_allclose(array, wanted, rtol=1e-8, atol=1e-10)
    model.eval()
    twin.eval()
    np.testing.assert_allclose(model.forward(x), twin(theirs(x)).detach().numpy(), rtol=1e-8, atol=1e-8)
