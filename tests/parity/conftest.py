"""What the parity tests share: PyTorch, the way there and back, and how near two results must be.

PyTorch is imported by a fixture, not by the modules: they are collected in every run of pytest, but run under
``make parity`` only. Without PyTorch they fail there; none of them is skipped.

How near: both engines add the same products in another order, and every addition rounds by at most half an eps of the
running sum. So an array may differ by ``ULPS`` eps of its own dtype, counted in units of its largest number (in units
of 1 where that is smaller: the inputs are of that size, and sums of them may cancel to anything). The largest
difference that 500 examples of every test met was 17.5 eps, in PReLU's slope, a sum of 1296 numbers; 7 eps everywhere
else. A factor, an axis or a term that is wrong gives thousands of eps at the very least. What only selects or copies
numbers (ReLU, pooling, padding, flattening) must be equal.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from effort import LONG

from typednn.engines import using

ULPS = 64.0


@pytest.fixture(scope="module")
def few_kernels() -> Iterator[None]:
    """For sizes drawn at random: the reference, with which tests/kernels compares every kernel. In
    "long", the kernels.
    """
    with using("fast" if LONG else "reference"):
        yield


@pytest.fixture(scope="session")
def torch() -> Any:
    """PyTorch; not having it fails the test."""
    import torch

    return torch


def agree(ours: Any, theirs: Any, what: str, *, ulps: float = ULPS) -> None:
    """Raise unless the arrays have one shape and dtype and differ by at most ``ulps`` eps; 0 means equal."""
    assert ours.shape == theirs.shape, f"{what}: shape {ours.shape}, PyTorch's {theirs.shape}"
    assert ours.dtype == theirs.dtype, f"{what}: {ours.dtype}, PyTorch's {theirs.dtype}"
    assert np.isfinite(theirs).all(), f"{what}: PyTorch itself gives {theirs}"
    eps = float(np.finfo(ours.dtype).eps)
    unit = eps * max(1.0, float(np.abs(theirs).max()))
    apart = float(np.abs(ours - theirs).max()) / unit
    assert apart <= ulps, f"{what}: {apart:.3g} eps apart, at most {ulps:g} allowed\nours\n{ours}\nPyTorch's\n{theirs}"


@dataclass(frozen=True)
class Peer:
    """PyTorch, spoken to in NumPy arrays."""

    torch: Any

    def tensor(self, array: Any, *, learnt: bool = False) -> Any:
        """A tensor with a copy of ``array``; ``learnt`` ones get a gradient."""
        return self.torch.tensor(np.ascontiguousarray(array)).requires_grad_(learnt)

    def tensors(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """One learnt tensor for each array."""
        return {name: self.tensor(array, learnt=True) for name, array in arrays.items()}

    def compare(
        self,
        layer: Any,
        x: Any,
        formula: Callable[..., Any],
        *,
        others: tuple[Any, ...] = (),
        seed: int = 0,
        ulps: float = ULPS,
        gradient_ulps: float | None = None,
    ) -> None:
        """Output and every gradient of ``layer`` against ``formula(x, **parameters)`` and PyTorch's own
        differentiation.

        ``others`` are further inputs of the layer, which have no derivative.

        ``formula`` works on tensors laid out as typednn's: where PyTorch wants channels first, it permutes, and
        autograd carries the gradients back to our layout.
        """
        learnt = self.tensors(layer.named_parameters())
        tensor = self.tensor(x, learnt=True)
        expected = formula(tensor, **{name.replace(".", "_"): value for name, value in learnt.items()})
        output = layer.forward(x, *others)
        agree(output, expected.detach().numpy(), "output", ulps=ulps)

        gradient_ulps = ulps if gradient_ulps is None else gradient_ulps
        next_grad = np.random.default_rng(seed).standard_normal(output.shape).astype(output.dtype)
        expected.backward(self.tensor(next_grad))
        grad = layer.backward(next_grad)
        agree(grad.input, tensor.grad.numpy(), "input gradient", ulps=gradient_ulps)
        gradients = layer.named_gradients(grad)
        assert list(gradients) == list(learnt)
        for name, derivative in gradients.items():
            agree(derivative, learnt[name].grad.numpy(), f"gradient of {name}", ulps=gradient_ulps)


@pytest.fixture(scope="session")
def peer(torch: Any) -> Peer:
    """PyTorch with the helpers of this folder."""
    return Peer(torch)


@pytest.fixture(scope="session")
def close() -> Callable[..., None]:
    """The function `agree`."""
    return agree


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> Any:
    """Both precisions."""
    return np.dtype(request.param)
