"""What a part of a model can do, and the laws it keeps. One screen; everything else implements these.

The annotations are enforced: a class that derives from one of these is held to them when it is defined and whenever
its methods are called (`typednn.contracts.promises`); ``isinstance`` works on all of them where they are consumed.
Parameters are positional: an implementer calls them what it likes.
"""

# Strings, so that whoever derives from Forward[Array2, Array2] is held to "Shaped[In, ...]" with Array2 put in for In.
from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from jaxtyping import Float, Shaped
from typing_extensions import TypeVar

from typednn.arrays import AnyArray, Array2
from typednn.contracts.promises import enforce_class
from typednn.errors.public import opened

In = TypeVar("In", contravariant=True)
Out = TypeVar("Out", covariant=True)
NextGrad = TypeVar("NextGrad", contravariant=True)
GradIn = TypeVar("GradIn", covariant=True)
G = TypeVar("G", contravariant=True)
Prediction = TypeVar("Prediction")
Target = TypeVar("Target", contravariant=True)
State = TypeVar("State")


class Enforced(Protocol):
    """A class that derives from a Protocol gets that Protocol's annotations enforced on its own methods."""

    if not TYPE_CHECKING:  # no member of any Protocol: a class that has the methods is an implementer without deriving

        def __init_subclass__(cls, **keywords):
            super().__init_subclass__(**keywords)
            if not getattr(cls, "_is_protocol", False):
                enforce_class(cls)
                opened(cls)


@runtime_checkable
class Forward(Enforced, Protocol[In, Out]):
    """Law: the batch is kept. While training, what ``backward`` needs is kept, by reference; in eval nothing is."""

    @abstractmethod
    def forward(self, x: Shaped[In, "batch *input"], /) -> Shaped[Out, "batch *output"]:
        """The output for a batch of inputs."""


@runtime_checkable
class InputGrad(Enforced, Protocol[GradIn]):
    """A gradient knows at least the loss's derivative by the layer's input, shaped as that input."""

    if TYPE_CHECKING:

        @property
        def input(self) -> Shaped[GradIn, "batch *input"]: ...
    else:  # a property would be in the way of a dataclass's field
        input: Shaped[GradIn, "batch *input"]


@runtime_checkable
class Backward(Enforced, Protocol[NextGrad, GradIn]):
    """Law: pure. Reads what ``forward`` kept, changes nothing; twice gives the same. ``next_grad`` is shaped as the
    output.
    """

    @abstractmethod
    def backward(self, next_grad: Shaped[NextGrad, "batch *output"], /) -> InputGrad[GradIn]:
        """The gradient, given the loss's derivative by the output."""


@runtime_checkable
class Optimizer(Enforced, Protocol):
    """Law: writes ``weights`` in place and none of its other arguments; may keep state of its own.

    It may have a ``step_many(pairs)`` too: ``step`` of each ``(weights, grad)``, in order. Then an inherited ``update``
    passes a model's parameters all at once; without it, it is one ``step`` per parameter.
    """

    @abstractmethod
    def step(self, weights: Float[AnyArray, "*weights"], grad: Float[AnyArray, "*weights"], /) -> None:
        """Change one parameter by its derivative."""


@runtime_checkable
class Update(Enforced, Protocol[G]):
    """Law: one ``optimizer.step(weights, grad)`` per parameter, in the order of declaration. Only a layer knows its
    weights.

    ``grad`` is what ``backward`` returned: each of its arrays is what the gradient's own annotations say.
    """

    @abstractmethod
    def update(self, optimizer: Optimizer, grad: G, /) -> None:
        """Step every parameter by its derivative in ``grad``."""


PartIn = TypeVar("PartIn", contravariant=True)
PartOut = TypeVar("PartOut")
PartGrad = TypeVar("PartGrad", bound=InputGrad[Any])


class Part(Protocol[PartIn, PartOut, PartGrad]):
    """What can stand between layers, or be trained, without deriving from anything; its arrays are checked there."""

    def forward(self, x: PartIn, /) -> PartOut: ...

    def backward(self, next_grad: PartOut, /) -> PartGrad: ...

    def update(self, optimizer: Optimizer, grad: PartGrad, /) -> None: ...


@runtime_checkable
class Loss(Enforced, Protocol[Prediction, Target]):
    """Law: the gradient is shaped as the prediction. The value is no part of this: reductions return
    different types.
    """

    @abstractmethod
    def loss_grad(
        self, prediction: Shaped[Prediction, "batch *features"], target: Shaped[Target, "batch *target"], /
    ) -> Shaped[Prediction, "batch *features"]:
        """The loss's derivative by the prediction."""


@runtime_checkable
class Incremental(Enforced, Protocol[State]):
    """A layer of sequences that can read them one position at a time, as generation does.

    Law: from no state, steps over a sequence's positions give what ``forward`` gives in eval. A state is a value: a
    step writes into none of its arguments, so that a state may be used twice. Nothing is kept for ``backward``.
    """

    @abstractmethod
    def step(
        self, x: Float[Array2, "batch in_features"], state: State | None = None, /
    ) -> tuple[Float[Array2, "batch out_features"], State]:
        """The output at the next position, and the state after it; no state before the first."""


@runtime_checkable
class DynLayer(Enforced, Protocol):
    """A layer of a model loaded at run time: every tensor is ``batch features``; the layer reshapes for itself."""

    @abstractmethod
    def forward(self, x: Float[Array2, "batch in_features"], /) -> Float[Array2, "batch out_features"]: ...

    @abstractmethod
    def backward(self, next_grad: Float[Array2, "batch out_features"], /) -> InputGrad[Array2]: ...

    @abstractmethod
    def update(self, optimizer: Optimizer, grad: Any, /) -> None: ...


class ValuedLoss(Protocol[Prediction, Target]):
    """A loss whose value is one number, which can be shown: any reduction of `typednn.losses` that gives a number.

    It may have a ``loss_and_grad`` too, which returns both results for the same arguments. Then `fit` calls only that.

    It may have a ``divisor(prediction, target)``: what ``loss`` divided the sum of the batch's losses by, such as the
    labels that count, or None where it is a sum. Then batches together count as one. Without it a batch counts its
    rows.
    """

    def loss(self, prediction: Prediction, target: Target) -> float: ...

    def loss_grad(self, prediction: Prediction, target: Target) -> Prediction: ...


def one_pass(loss: object) -> Callable[[Any, Any, Any], tuple[Any, Any]] | None:
    """The ``loss_and_grad`` of the loss's class; None where there is none, or where a derived class has another loss or
    loss_grad.
    """
    for kind in type(loss).__mro__:
        members: Mapping[str, Any] = vars(kind)
        if {"loss", "loss_grad", "loss_and_grad"} & members.keys():
            return members.get("loss_and_grad")
    return None
