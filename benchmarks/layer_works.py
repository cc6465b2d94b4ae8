"""What `benchmarks.layers` measures: for each row, typednn and both memory layouts of PyTorch, with equal weights and
inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np


class Contestant(Protocol):
    """One library on one row."""

    def run(self) -> object: ...

    def results(self) -> dict[str, Any]:
        """Arrays to compare, in typednn's layout."""
        ...


class Ours:
    """A model of typednn: forward, and backward of a given derivative."""

    def __init__(self, model: Any, x: Any, next_grad: Any) -> None:
        self.model, self.x, self.next_grad = model, x, next_grad

    def run(self) -> tuple[Any, Any]:
        output = self.model.forward(self.x)
        gradient = self.model.backward(self.next_grad)
        return output, (gradient, gradient.input)

    def results(self) -> dict[str, Any]:
        output, (gradient, dx) = self.run()
        return {"y": output, "dx": dx} | {
            str(place): array for place, array in enumerate(self.model.named_gradients(gradient).values())
        }


class Torch:
    """A module of PyTorch; ``images`` are moved to its order of axes, or to ``channels_last``; parameters are in the
    order of typednn's.
    """

    def __init__(self, module: Any, x: Any, next_grad: Any, images: bool = False, channels_last: bool = False) -> None:
        import torch

        self.images = images
        format_: Any = torch.channels_last if channels_last else torch.contiguous_format
        self.module = module.to(memory_format=format_) if images else module

        def tensor(array: Any) -> Any:
            return (
                torch.tensor(array.transpose(0, 3, 1, 2)).contiguous(memory_format=format_)
                if images
                else torch.tensor(array)
            )

        self.x, self.next_grad = tensor(x).requires_grad_(), tensor(next_grad)

    def run(self) -> Any:
        self.x.grad = None
        for parameter in self.module.parameters():
            parameter.grad = None
        output = self.module(self.x)
        output.backward(self.next_grad)
        return output

    def results(self) -> dict[str, Any]:
        output = self.run().detach()
        derivatives = [ours(parameter.grad) for parameter in self.module.parameters()]
        image = ours if self.images else (lambda tensor: tensor.numpy())
        return {"y": image(output), "dx": image(self.x.grad)} | {
            str(place): array for place, array in enumerate(derivatives)
        }


def ours(tensor: Any) -> Any:
    """Images and weights of convolutions with their channels last."""
    return tensor.permute(0, 2, 3, 1).numpy() if tensor.ndim == 4 else tensor.numpy()


def theirs(array: Any) -> Any:
    """A parameter of typednn as PyTorch has it."""
    import torch

    return torch.tensor(array.transpose(0, 3, 1, 2) if array.ndim == 4 else array)


def given(module: Any, model: Any) -> Any:
    """``module`` with the weights of ``model``, one after another."""
    import torch

    with torch.no_grad():
        for parameter, array in zip(module.parameters(), model.named_parameters().values(), strict=True):
            parameter.copy_(theirs(array))
    return module


def rng() -> np.random.Generator:
    """The generator of weights and labels."""
    return np.random.default_rng(0)


def numbers(*shape: int, seed: int = 0) -> Any:
    """Normal numbers."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape, dtype=np.float32)


def pair(
    model: Any, module: Callable[[], Any], shape: tuple[int, ...], out: tuple[int, ...], images: bool = False
) -> dict[str, Contestant]:
    """typednn, PyTorch, and where there are images PyTorch with channels last."""
    x, next_grad = numpy_pair(shape, out)
    contestants: dict[str, Contestant] = {"typednn": Ours(model, x, next_grad)}
    contestants["torch"] = Torch(given(module(), model), x, next_grad, images)
    if images:
        contestants["torch-channels-last"] = Torch(given(module(), model), x, next_grad, images, channels_last=True)
    return contestants


def numpy_pair(shape: tuple[int, ...], out: tuple[int, ...]) -> tuple[Any, Any]:
    """An input, and a derivative by the output."""
    return numbers(*shape), numbers(*out, seed=1)


def batch_norm_relu() -> dict[str, Contestant]:
    """4 M numbers: 64 images of 32x32 with 64 channels."""
    from torch import nn

    from typednn import Input
    from typednn.layers import BatchNorm2d, ReLU

    model = (Input(32, 32, 64) >> BatchNorm2d(64) >> ReLU()).init(rng())
    shape = (64, 32, 32, 64)
    return pair(model, lambda: nn.Sequential(nn.BatchNorm2d(64), nn.ReLU(inplace=True)), shape, shape, images=True)


def layer_norm() -> dict[str, Contestant]:
    """4 M numbers in rows of 1024."""
    from torch import nn

    from typednn.layers import LayerNorm

    return pair(LayerNorm(1024).init(rng()), lambda: nn.LayerNorm(1024), (4096, 1024), (4096, 1024))


def gelu(approximate: str = "none") -> dict[str, Contestant]:
    """4 M numbers."""
    from torch import nn

    from typednn.layers import GELU

    model: Any = GELU(approximate)  # type: ignore[arg-type]
    return pair(model, lambda: nn.GELU(approximate), (4096, 1024), (4096, 1024))


def gelu_tanh() -> dict[str, Contestant]:
    """The same by the formula with tanh."""
    return gelu("tanh")


class Masked:
    """Of a Dropout, whose masks differ: the share of zeros, the size of the others, and that backward has forward's
    mask.
    """

    def __init__(self, inner: Any) -> None:
        self.inner, self.run = inner, inner.run

    def results(self) -> dict[str, Any]:
        values = self.inner.results()
        y, dx = values["y"], values["dx"]
        kept = y != 0
        assert ((dx != 0) == kept).all()
        return {"kept": np.round(kept.mean(), 2), "scale": np.round(y[kept].std(), 2)}


def dropout() -> dict[str, Contestant]:
    """4 M numbers, a tenth of them dropped."""
    from torch import nn

    from typednn.layers import Dropout

    both = pair(Dropout(0.1).init(rng()), lambda: nn.Dropout(0.1), (4096, 1024), (4096, 1024))
    return {name: Masked(contestant) for name, contestant in both.items()}


def depthwise() -> dict[str, Contestant]:
    """A 3x3 convolution of each channel and a 1x1 convolution: 32 images of 56x56 with 64 channels."""
    from torch import nn

    from typednn import Input
    from typednn.layers import Conv2d

    model = (Input(56, 56, 64) >> Conv2d(64, 64, 3, padding=1, groups=64) >> Conv2d(64, 64, 1)).init(rng())
    shape = (32, 56, 56, 64)

    def module() -> Any:
        return nn.Sequential(nn.Conv2d(64, 64, 3, padding=1, groups=64, bias=False), nn.Conv2d(64, 64, 1, bias=False))

    return pair(model, module, shape, shape, images=True)


def lstm() -> dict[str, Contestant]:
    """64 sequences of 64 steps, 128 features in and out."""
    from torch import nn

    from typednn.layers import LSTM

    class First(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(128, 128, batch_first=True)

        def forward(self, x: Any) -> Any:
            return self.lstm(x)[0]

    return pair(LSTM(128, 128).init(rng()), First, (64, 64, 128), (64, 64, 128))


class Attended:
    """typednn's op: q, k, v (batch, time, heads, features). Results are compared without dropout, as each library draws
    its own.
    """

    def __init__(self, q: Any, k: Any, v: Any, next_grad: Any, *, dropout: float = 0.0) -> None:
        self.arrays, self.next_grad, self.dropout = (q, k, v), next_grad, dropout

    def run(self) -> tuple[Any, Any]:
        return self._run((self.dropout, 1, 0) if self.dropout else None)

    def _run(self, dropout: Any) -> tuple[Any, Any]:
        from typednn.kernels import attention

        y, log_sums = attention.forward(*self.arrays, None, True, dropout)
        return y, attention.backward(self.next_grad, *self.arrays, None, y, log_sums, True, dropout)

    def results(self) -> dict[str, Any]:
        y, derivatives = self._run(None)
        return {"y": y} | dict(zip(("dq", "dk", "dv"), derivatives, strict=True))


class TorchAttended:
    """PyTorch's scaled_dot_product_attention; heads before time, as views of the same layout or as
    arrays of their own.
    """

    def __init__(self, *arrays: Any, contiguous: bool, dropout: float = 0.0) -> None:
        import torch

        self.dropout = dropout
        moved = [torch.tensor(array).permute(0, 2, 1, 3) for array in arrays]
        *inputs, self.next_grad = [array.contiguous() for array in moved] if contiguous else moved
        self.inputs = [tensor.requires_grad_() for tensor in inputs]

    def run(self) -> Any:
        return self._run(self.dropout)

    def _run(self, dropout: float) -> Any:
        from torch.nn.functional import scaled_dot_product_attention

        for tensor in self.inputs:
            tensor.grad = None
        query, key, value = self.inputs
        output = scaled_dot_product_attention(query, key, value, is_causal=True, dropout_p=dropout)
        output.backward(self.next_grad)
        return output

    def results(self) -> dict[str, Any]:
        y = self._run(0.0).detach()
        tensors = {"y": y} | dict(zip(("dq", "dk", "dv"), (tensor.grad for tensor in self.inputs), strict=True))
        return {name: tensor.permute(0, 2, 1, 3).numpy() for name, tensor in tensors.items()}


def attention(time: int = 512, dropout: float = 0.0) -> dict[str, Contestant]:
    """4 sequences of 512 positions, 8 heads of 64 features, causal."""
    arrays = [numbers(4, time, 8, 64, seed=seed) for seed in range(4)]
    return {
        "typednn": Attended(*arrays, dropout=dropout),
        "torch": TorchAttended(*arrays, contiguous=True, dropout=dropout),
        "torch-strided": TorchAttended(*arrays, contiguous=False, dropout=dropout),
    }


class Step:
    """A training step of typednn's ResNet-18: cross entropy, SGD with momentum."""

    def __init__(self, model: Any, x: Any, labels: Any) -> None:
        from typednn.losses import SoftmaxCrossEntropy
        from typednn.optim import SGD

        self.model, self.x, self.labels = model, x, labels
        self.loss, self.optimizer = SoftmaxCrossEntropy(), SGD(0.01, momentum=0.9)

    def run(self) -> float:
        scores = self.model.forward(self.x)
        value, next_grad = self.loss.loss_and_grad(scores, self.labels)
        self.model.update(self.optimizer, self.model.backward(next_grad))
        return float(value)

    def results(self) -> dict[str, Any]:
        values = [self.run() for _ in range(3)]
        return {"losses": np.array(values)}


class TorchStep:
    """The same step as PyTorch's users write it."""

    def __init__(self, module: Any, x: Any, labels: Any, channels_last: bool) -> None:
        import torch

        format_: Any = torch.channels_last if channels_last else torch.contiguous_format
        self.module = module.to(memory_format=format_)
        self.x, self.labels = (
            torch.tensor(x.transpose(0, 3, 1, 2)).contiguous(memory_format=format_),
            torch.tensor(labels),
        )
        self.optimizer = torch.optim.SGD(module.parameters(), 0.01, momentum=0.9, fused=True)

    def run(self) -> float:
        from torch.nn.functional import cross_entropy

        self.optimizer.zero_grad()
        loss = cross_entropy(self.module(self.x), self.labels)
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())

    def results(self) -> dict[str, Any]:
        return {"losses": np.array([self.run() for _ in range(3)])}


def torch_resnet18(classes: int = 10) -> Any:
    """ResNet-18 for small images, as PyTorch's users write it."""
    from torch import nn

    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
                nn.BatchNorm2d(outputs),
                nn.ReLU(inplace=True),
                nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
                nn.BatchNorm2d(outputs),
            )
            self.shortcut: Any = nn.Identity()
            if stride != 1 or inputs != outputs:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
                )
            self.relu = nn.ReLU(inplace=True)

        def forward(self, x: Any) -> Any:
            return self.relu(self.body(x) + self.shortcut(x))

    sizes = (
        (64, 64, 1),
        (64, 64, 1),
        (64, 128, 2),
        (128, 128, 1),
        (128, 256, 2),
        (256, 256, 1),
        (256, 512, 2),
        (512, 512, 1),
    )
    stem = (nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True))
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))
    return nn.Sequential(*stem, *(Block(*size) for size in sizes), *head)


def resnet18() -> dict[str, Contestant]:
    """64 images of 32x32."""
    from typednn.models import resnet18 as our_resnet18

    model = our_resnet18(10, image=(32, 32, 3)).init(rng())
    x, labels = numbers(64, 32, 32, 3), rng().integers(0, 10, 64)
    layouts = {"torch": False, "torch-channels-last": True}
    peers = {name: TorchStep(given(torch_resnet18(), model), x, labels, last) for name, last in layouts.items()}
    return {"typednn": Step(model, x, labels), **peers}


WORKS: dict[str, Callable[[], dict[str, Contestant]]] = {
    "resnet18": resnet18,
    "batch_norm_relu": batch_norm_relu,
    "layer_norm": layer_norm,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "dropout": dropout,
    "depthwise": depthwise,
    "lstm": lstm,
    "attention": attention,
    "attention_dropout": partial(attention, dropout=0.1),
}
