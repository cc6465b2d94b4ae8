"""What layers share that normalise channels by a batch: which mean and variance a call takes, and the running ones."""

from typing import Any, Protocol, TypeVar

from jaxtyping import Float

from typednn.arrays import AnyArray, Array1
from typednn.errors import ShapeError, explain
from typednn.kernels import batch_norm
from typednn.kernels.activations import IDENTITY, Activation

X = TypeVar("X", bound=AnyArray)


class Normalising(Protocol):
    """A layer with running statistics: PyTorch's arguments, parameters and buffers, under its names."""

    training: bool
    eps: float
    momentum: float
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def label(self) -> str: ...


def infers(layer: Normalising) -> bool:
    """Whether a call takes the running mean and variance: in eval, where they are tracked."""
    return not layer.training and layer.running_mean is not None


def inferred(
    layer: Normalising, x: Float[X, "*batch channels"], activation: Activation = IDENTITY
) -> Float[X, "*batch channels"]:
    """The output by the running mean and variance."""
    return batch_norm.infer(x, layer.running_mean, layer.running_var, layer.weight, layer.bias, layer.eps, activation)


def normalised(
    layer: Normalising, x: Float[X, "*batch channels"], activation: Activation = IDENTITY
) -> tuple[Float[X, "*batch channels"], Float[Array1, " channels"], Float[Array1, " channels"]]:
    """(output, mean, variance) by the batch's mean and variance; while training the running ones follow them."""
    count = x.size // x.shape[-1]
    if count < 2:
        rule = "a batch that gives its own mean and variance has at least two numbers for each channel"
        cure = "use a larger batch, or call eval()" if layer.running_mean is not None else "use a larger batch"
        raise ShapeError(explain(f"{layer.label()}.forward", rule, f"shape {tuple(x.shape)}", cure), layer)
    y, mean, variance = batch_norm.forward(x, layer.weight, layer.bias, layer.eps, activation)
    if layer.training and layer.running_mean is not None:
        layer.num_batches_tracked[...] += 1
        batch_norm.track(layer.running_mean, layer.running_var, mean, variance, layer.momentum, count)
    return y, mean, variance
