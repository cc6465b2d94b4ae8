"""Steps whose kernel's call is prepared: the same bits as by the op, whatever changes between them."""

import copy
import pickle  # noqa: TID251  # users copy by it
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from typednn.engines import available, observing, using
from typednn.errors import EngineError, ShapeError
from typednn.kernels.update_rules import Prepared
from typednn.optim import SGD, Adadelta, Adagrad, Adam, AdamW, CosineLR, Lion, RMSprop
from typednn.testing.subject import bits, values

pytestmark = pytest.mark.skipif(not available(), reason="needs Halide")

OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "SGD": lambda: SGD(0.1),
    "momentum": lambda: SGD(CosineLR(0.1, 15, 2), 0.9, 0.1),
    "nesterov": lambda: SGD(0.05, 0.8, nesterov=True, weight_decay=0.02),
    "Adam": lambda: Adam(0.02, (0.8, 0.95), 1e-6, maximize=True),
    "amsgrad": lambda: Adam(0.02, (0.8, 0.95), 1e-6, amsgrad=True, l2=0.1),
    "AdamW": lambda: AdamW(0.02, (0.8, 0.95), 1e-6, 0.1, ema=0.9),
    "RMSprop": lambda: RMSprop(0.01),
    "centered": lambda: RMSprop(0.01, centered=True, momentum=0.5),
    "Adagrad": lambda: Adagrad(0.05, 0.1, initial_accumulator_value=0.3),
    "Adadelta": Adadelta,
    "Lion": lambda: Lion(0.001, weight_decay=0.1),
}
SHAPES = ((3, 5), (1,), (67,), (17, 16))


def parameters(dtype: Any) -> list[Any]:
    return [values(shape, seed, dtype) for seed, shape in enumerate(SHAPES)]


class Both:
    """An optimizer whose steps are prepared, and another one of the same settings whose ops are observed."""

    def __init__(self, make: Callable[[], Any], dtype: Any = np.float32) -> None:
        self.optimizers = make(), make()
        self.weights = parameters(dtype), parameters(dtype)
        self.count = 0

    def step(self, change: Callable[[Any], Any] = lambda grad: grad) -> None:
        """A step of all parameters by both, which must have the same bits after it."""
        self.count += 1
        for place in range(2):
            weights = self.weights[place]
            grads = [
                change(values(each.shape, 100 * self.count + seed, each.dtype)) for seed, each in enumerate(weights)
            ]
            pairs = list(zip(weights, grads, strict=True))
            if place:
                with observing(lambda _: None):
                    self.optimizers[place].step_many(pairs)
            else:
                self.optimizers[place].step_many(pairs)
        for one, other in zip(*self.weights, strict=True):
            assert bits(one) == bits(other)

    def prepared(self) -> int:
        """How many parameters have a step that is prepared."""
        return sum(state.prepared is not None for state in self.optimizers[0]._states.values())


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=str)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_prepared_steps_are_those_of_the_op(name: str, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the third step on they run, for every parameter."""
    ran = 0
    run = Prepared.run

    def counted(self: Prepared, grad: Any) -> bool:
        nonlocal ran
        ran += 1
        return run(self, grad)

    monkeypatch.setattr(Prepared, "run", counted)
    both = Both(OPTIMIZERS[name], dtype)
    for _ in range(6):
        both.step()
    assert both.prepared() == len(SHAPES)
    assert ran >= 4 * len(SHAPES)


def test_what_is_set_between_steps_counts() -> None:
    """Rates, betas, eps, switches: a prepared step has the newest numbers."""
    both = Both(lambda: Adam(0.02))
    for _ in range(3):
        both.step()
    for name, value in (("lr", 0.5), ("betas", (0.5, 0.6)), ("eps", 0.1), ("maximize", True), ("lr", CosineLR(1.0, 9))):
        for each in both.optimizers:
            if name != "maximize":
                setattr(each, name, value)
        both.step()
        both.step()
    first, second = ([(each, each) for each in weights[:2]] for weights in both.weights)
    for each, pairs in zip(both.optimizers, (first, second), strict=True):  # between parameters of one step too
        with observing(lambda _: None) if pairs is second else nullcontext():
            each.lr = 0.1
            each.step(*pairs[0])
            each.eps = 0.5
            each.step(*pairs[1])
    both.step()
    nesterov = Both(lambda: SGD(0.1, 0.9))
    for switch in (False, True, False, True):
        for each in nesterov.optimizers:
            each.nesterov = switch
        for _ in range(3):
            nesterov.step()


def test_a_rate_of_0_shrinks_no_weights() -> None:
    """AdamW's factor of the weights is 1 then, which has a kernel of its own."""
    both = Both(lambda: AdamW(lambda step: 0.0 if step % 3 == 1 else 0.1, weight_decay=0.1))
    for _ in range(8):
        both.step()


def test_gradients_of_any_layout() -> None:
    """Those that the kernel can't read as they are go through the op."""
    both = Both(OPTIMIZERS["Adam"])
    turned: tuple[Callable[[Any], Any], ...] = (
        lambda grad: grad,
        lambda grad: np.repeat(grad, 2, axis=-1)[..., ::2],
        lambda grad: np.asfortranarray(grad),
        lambda grad: np.frombuffer(b"\0" + grad.tobytes(), grad.dtype, grad.size, 1).reshape(grad.shape),
    )
    for _ in range(2):
        for change in turned:
            both.step(change)
    wrong = [(weights, np.zeros((2, *weights.shape), weights.dtype)) for weights in both.weights[0]]
    before = [bits(each) for each in both.weights[0]]
    with pytest.raises(ShapeError):
        both.optimizers[0].step_many(wrong)
    assert [bits(each) for each in both.weights[0]] == before


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda both: pickle.loads(pickle.dumps(both))], ids=["copy", "pickle"]
)
def test_a_copy_steps_its_own_arrays(copied: Callable[[Any], Any]) -> None:
    both = Both(OPTIMIZERS["AdamW"])
    for _ in range(3):
        both.step()
    before = [bits(each) for each in both.weights[0]]
    other = Both(OPTIMIZERS["AdamW"])
    other.weights, other.optimizers, other.count = *copied((both.weights, both.optimizers)), both.count
    assert other.prepared() == 0
    other.step()
    other.step()
    assert other.prepared() == len(SHAPES)
    assert [bits(each) for each in both.weights[0]] == before
    both.step()
    both.step()
    assert [bits(each) for each in both.weights[0]] == [bits(each) for each in other.weights[0]]


def test_the_reference_is_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """``using("reference")`` computes by NumPy, also what is prepared."""
    both = Both(OPTIMIZERS["Adam"])
    for _ in range(3):
        both.step()
    seen: list[str] = []
    with using("reference"), observing(lambda ran: seen.append(ran.engine)):
        both.step()
    assert set(seen) == {"reference"}
    both.step()
    both.step()
    assert both.prepared() == len(SHAPES)
    monkeypatch.setattr(Prepared, "run", None)
    with using("reference"):
        both.optimizers[0].step_many([(each, each) for each in both.weights[0]])


def test_a_failure_of_the_kernel_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    both = Both(OPTIMIZERS["SGD"])
    for _ in range(3):
        both.step()
    for state in both.optimizers[0]._states.values():
        monkeypatch.setattr(state.prepared, "_function", lambda address: 1)
    with pytest.raises(EngineError, match=r"sgd\.step failed"):
        both.step()
