"""A model that is planned, and a copy that is computed layer by layer: every call is made on both, and compared."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from jaxtyping import Float

from typednn import AnyArray, Gradient, Layer, S
from typednn.layers import BatchNorm1d, Dropout, Linear, Tanh
from typednn.module.gradients import named_leaves
from typednn.optim import SGD
from typednn.plans import Compiled
from typednn.testing.subject import arrays_in

Change = Callable[[Any], Any]


def assert_bits(got: Any, expected: Any, what: str) -> None:
    """Two arrays of one dtype and shape, and of the same bits; of NaN, whose sign IEEE 754 leaves open, only that."""
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype), what
    if got.tobytes() != expected.tobytes():
        np.testing.assert_array_equal(got, expected, err_msg=what)
        same = (np.signbit(got) == np.signbit(expected)) | np.isnan(got)
        assert same.all(), f"{what}: zeros of another sign"


def outcome(call: Callable[[], Any]) -> tuple[Any, str]:
    """What a call gives, and the kind and the text of its error."""
    try:
        return call(), ""
    except Exception as error:  # whatever it is, both must raise it
        return None, f"{type(error).__name__}: {error}"


def assert_gradients(got: Any, expected: Any, *, inputs: bool = False) -> None:
    """Each use of each parameter, their sums, and with ``inputs`` whatever a gradient of the layers holds."""
    ours, theirs = dict(named_leaves(got)), dict(named_leaves(expected))
    assert list(ours) == list(theirs)
    for name, leaf in theirs.items():
        assert_bits(ours[name], leaf, f"the derivative by {name}")
    assert got.shared_leaves() == expected.shared_leaves()
    if inputs:
        ours, theirs = dict(arrays_in(got)), dict(arrays_in(expected))
        assert list(ours) == list(theirs)
        for name, leaf in theirs.items():
            assert_bits(ours[name], leaf, name)


@final
class Pair:
    """``model`` is compiled, ``other`` a deep copy; each method does the same to both."""

    def __init__(
        self,
        model: Any,
        optimizer: Callable[[], Any] = lambda: SGD(0.1),
        keep: Literal["parameters", "inputs"] = "parameters",
    ) -> None:
        self.model: Any = model
        self.other: Any = copy.deepcopy(model)
        self.told: list[str] = []
        self.error: str = ""  # of the last forward
        self.compiled: Compiled[Any, Any, Any] = Compiled(model, keep, self.told.append)
        self.optimizers: list[Any] = [optimizer().bind(each) for each in self.models]
        self.held: list[tuple[Any, Any]] = []  # arrays that someone kept, and their numbers at that time

    @property
    def models(self) -> tuple[Any, Any]:
        return self.model, self.other

    def forward(self, x: Any) -> Any:
        """The output; None where both raise the same error."""
        (got, error), (expected, wanted) = (
            outcome(lambda: self.compiled.forward(x)),
            outcome(lambda: self.other.forward(x)),
        )
        assert error == wanted
        self.error = error
        if not wanted:
            assert_bits(got, expected, "the output")
            self.hold(got)
        self.same_state()
        return got

    def backward(self, next_grad: Any) -> tuple[Any, Any] | None:
        """Both gradients; None where both raise the same error."""
        (grad, error), (expected, wanted) = (
            outcome(lambda: self.compiled.backward(next_grad)),
            outcome(lambda: self.other.backward(np.require(next_grad, requirements=["C", "A"]))),
        )
        self.error = error
        assert error == wanted
        if wanted:
            return None
        assert_gradients(grad, expected, inputs=self.compiled.keep == "inputs")
        for leaf in grad.leaves().values():
            self.hold(leaf)
        self.same_state()
        return grad, expected

    def hold(self, array: Any) -> None:
        """From now on it keeps its numbers."""
        self.held.append((array, array.copy()))

    def update(self, grads: tuple[Any, Any]) -> None:
        for model, optimizer, grad in zip(self.models, self.optimizers, grads, strict=True):
            model.update(optimizer, grad)
        self.same_state()

    def step(self, x: Any) -> Any:
        """Forward, and in training backward and an update; the output."""
        y = self.forward(x)
        if y is not None and self.model.training:
            grads = self.backward(np.sin(3 * y))
            assert grads is not None, self.error
            self.update(grads)
        return y

    def change(self, change: Change) -> None:
        """The same change of both models."""
        for model in self.models:
            change(model)

    def same_state(self) -> None:
        """Weights, buffers, and what was kept."""
        ours, theirs = self.model.state_dict(), self.other.state_dict()
        assert list(ours) == list(theirs)
        for name, array in theirs.items():
            assert_bits(ours[name], array, name)
        for array, numbers in self.held:
            assert_bits(array, numbers, "an array that was kept")

    @property
    def plans(self) -> int:
        """Kinds of input that have a plan which was tried."""
        return sum(each.plan is not None and each.is_right for each in self.compiled._planned.values())  # pyright: ignore[reportPrivateUsage]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def numbers(*shape: int, seed: int = 0) -> Any:
    return rng(seed).standard_normal(shape, np.float32)


def small() -> Any:
    """With buffers of two kinds."""
    model = Linear(4, 6) >> BatchNorm1d(6) >> Tanh() >> Dropout(0.3) >> Linear(6, 3)
    return model.init(rng()).train()


def trained(model: Any, steps: int = 6, **options: Any) -> Pair:
    pair = Pair(model, **options)
    for seed in range(steps):
        assert pair.step(numbers(5, 4, seed=seed)) is not None, pair.error
    return pair


def only(pair: Pair, *told: str) -> None:
    """What was told, by its first words."""
    assert len(pair.told) == len(told), pair.told
    found = [each.removeprefix("layer by layer: ") for each in pair.told]
    assert all(one.startswith(other) for one, other in zip(found, told, strict=True)), pair.told


# ------------------------------------------------------------------ layers one by one, without a chain


@final
@dataclass(frozen=True, slots=True)
class BetweenGrad(Gradient):
    """The gradients of the three."""

    input: Float[AnyArray, "batch *input"]
    before: Any
    inner: Any
    after: Any


class Between(Layer[AnyArray, AnyArray, BetweenGrad, S]):
    """A layer between two others, called one by one, so that nothing is fused."""

    def __init__(self, before: Any, inner: Any, after: Any) -> None:
        self.before: Any = before
        self.inner: Any = inner
        self.after: Any = after

    def forward(self, x: Float[AnyArray, "batch *input"]) -> Float[AnyArray, "batch *output"]:
        y: AnyArray = self.after.forward(self.inner.forward(self.before.forward(x)))
        return y

    def backward(self, next_grad: Float[AnyArray, "batch *output"]) -> BetweenGrad:
        after = self.after.backward(next_grad)
        inner = self.inner.backward(after.input)
        before = self.before.backward(inner.input)
        return BetweenGrad(before.input, before, inner, after)
