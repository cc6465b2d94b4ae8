"""ResNet-18 as a whole beside PyTorch's: scores, every gradient, the running statistics, and three
steps of training; weights under torchvision's names.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.layer_works import given, ours, theirs, torch_resnet18
from typednn.exchange import load_torch
from typednn.losses import SoftmaxCrossEntropy
from typednn.models import resnet18, resnet50
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


def as_torchvision_names_it(torch: Any, blocks: tuple[int, ...], bottleneck: bool, classes: int) -> Any:
    """A ResNet of so many blocks a stage, whose parts have the names that torchvision.models.resnet gives them."""
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, inputs: int, wide: int, stride: int) -> None:
            super().__init__()
            outputs = 4 * wide if bottleneck else wide
            sizes = [(wide, 3, stride), (wide, 3, 1)]
            if bottleneck:
                sizes = [(wide, 1, 1), (wide, 3, stride), (outputs, 1, 1)]
            self.count, before = len(sizes), inputs
            for number, (channels, side, step) in enumerate(sizes, 1):
                setattr(self, f"conv{number}", nn.Conv2d(before, channels, side, step, side // 2, bias=False))
                setattr(self, f"bn{number}", nn.BatchNorm2d(channels))
                before = channels
            self.downsample = None
            if stride != 1 or inputs != outputs:
                shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
                self.downsample = nn.Sequential(shortcut, nn.BatchNorm2d(outputs))

        def forward(self, x: Any) -> Any:
            y = x
            for number in range(1, self.count + 1):
                y = getattr(self, f"bn{number}")(getattr(self, f"conv{number}")(y))
                y = torch.relu(y) if number < self.count else y
            return torch.relu(y + (x if self.downsample is None else self.downsample(x)))

    class ResNet(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
            channels = 64
            for stage, count in enumerate(blocks, 1):
                parts = []
                for place in range(count):
                    parts.append(Block(channels, 32 * 2**stage, 2 if stage > 1 and place == 0 else 1))
                    channels = 32 * 2**stage * (4 if bottleneck else 1)
                setattr(self, f"layer{stage}", nn.Sequential(*parts))
            self.fc = nn.Linear(channels, classes)

        def forward(self, x: Any) -> Any:
            x = torch.nn.functional.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, 2, 1)
            for stage in range(1, len(blocks) + 1):
                x = getattr(self, f"layer{stage}")(x)
            return self.fc(x.mean((2, 3)))

    return ResNet()


@pytest.mark.parametrize("ending", ["safetensors", "pth"])
@pytest.mark.parametrize(
    ("model", "blocks", "bottleneck"), [(resnet18, (2, 2, 2, 2), False), (resnet50, (3, 4, 6, 3), True)]
)
def test_weights_under_torchvisions_names(
    torch: Any, tmp_path: Path, model: Callable[..., Any], blocks: tuple[int, ...], bottleneck: bool, ending: str
) -> None:
    """The same scores in eval, so every array is in its place; older files lack ``num_batches_tracked``."""
    torch.manual_seed(0)
    peer = as_torchvision_names_it(torch, blocks, bottleneck, 7)
    with torch.no_grad():
        for part in peer.modules():
            if isinstance(part, torch.nn.BatchNorm2d):
                part.running_mean.normal_(0, 0.1)
                part.running_var.uniform_(0.5, 1.5)
                part.weight.uniform_(0.5, 1.0)
                part.bias.normal_(0, 0.1)
    peer.double().eval()
    state, place = peer.state_dict(), tmp_path / f"weights.{ending}"
    if ending == "pth":
        torch.save({name: array for name, array in state.items() if "num_batches" not in name}, place)
    else:
        from safetensors.torch import save_file

        save_file(state, place)
    loaded = load_torch(place, model(7, image=(64, 64, 3)).astype("float64")).eval()
    x = np.random.default_rng(0).standard_normal((2, 64, 64, 3))
    np.testing.assert_allclose(loaded.forward(x), peer(theirs(x)).detach().numpy(), rtol=1e-9, atol=1e-9)
