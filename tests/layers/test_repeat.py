"""Repeat with checkpointing: the same numbers, to the bit, of less memory."""

import copy
from typing import Any

import numpy as np
import pytest

from typednn.errors import ArgumentError, NotForwarded, StateError
from typednn.layers import BatchNorm1d, Dropout, Linear, Repeat, Tanh
from typednn.testing.subject import arrays_in, bits

X = np.random.default_rng(0).standard_normal((2, 8, 6)).astype(np.float32)
INNER = [
    Linear(6, 6) >> Tanh(),
    Dropout(0.5) >> Linear(6, 6),
    BatchNorm1d(6) >> Linear(6, 6) >> Dropout(0.3),
]
EACH = pytest.mark.parametrize("inner", INNER, ids=["fused", "dropout", "batch norm"])


def pair(inner: Any) -> list[Any]:
    """Without and with checkpointing, of the same state."""
    return [Repeat(inner, 3, checkpointing).init(np.random.default_rng(1)) for checkpointing in (False, True)]


def kept(layer: Any) -> list[Any]:
    """What forward kept: each array once."""
    found = {
        id(array): array for _, module in layer.named_modules() for _, array in arrays_in(module.__typednn_calls__.kept)
    }
    return list(found.values())


@EACH
def test_numbers_and_state_are_the_same(inner: Any) -> None:
    """Of two batches, each forward and backward; and of a backward that comes after another forward of a twin with the
    same seeds.
    """
    results, models = [], pair(inner)
    for model in models:
        twin = model.shared()
        outputs = [model.forward(X[0])]
        twin.forward(X[1])  # draws too, of the same seeds
        gradients = [model.backward(X[1]), twin.backward(X[0])]
        outputs.append(model.forward(X[1]))
        gradients.append(model.backward(X[0]))
        total = gradients[0] + gradients[1] + gradients[2]
        arrays = [*outputs, *total.leaves().values(), *(gradient.input for gradient in gradients)]
        results.append((bits(arrays), bits(model.state_dict())))
    assert results[0] == results[1]


@EACH
def test_backward_leaves_the_buffers_alone(inner: Any) -> None:
    """They are the same arrays as before, not written meanwhile."""
    model = pair(inner)[1]
    model.forward(X[0])
    buffers = {name: array for name, array in model.state_dict().items() if name not in model.named_parameters()}
    before = bits(buffers)
    for array in buffers.values():
        array.flags.writeable = False
    model.backward(X[1])
    assert all(model.state_dict()[name] is array for name, array in buffers.items())
    assert bits(buffers) == before


def test_only_inputs_are_kept() -> None:
    """Before backward, and after it."""
    plain, model = pair(Linear(6, 6) >> Dropout(0.5) >> Linear(6, 6) >> Tanh())
    x = X[0]
    plain.forward(x)
    model.forward(x)
    for _ in range(2):
        inputs = [array for array in kept(model) if array.shape == x.shape]
        assert inputs[0] is x
        assert len(inputs) == 3
        # and a seed of two integers for each copy
        assert sum(array.nbytes for array in kept(model)) == 3 * (x.nbytes + 2 * 8)
        model.backward(X[1])
    assert sum(array.nbytes for array in kept(plain)) >= 2 * sum(array.nbytes for array in kept(model))
    model.free_cache()
    assert not kept(model)
    with pytest.raises(NotForwarded, match="call forward first"):
        model.backward(X[1])


def test_eval_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it read or write the state of any layer: one model serves many threads."""
    plain, model = (each.eval() for each in pair(INNER[2]))
    monkeypatch.setattr(type(model.copies[0]), "free_cache", lambda self: pytest.fail("called"))
    np.testing.assert_array_equal(model.forward(X[0]), plain.forward(X[0]))
    assert not kept(model)


def test_buffers_are_put_back_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    model = pair(Dropout(0.5))[1]
    model.forward(X[0])
    before = copy.deepcopy(model.state_dict())
    monkeypatch.setattr(Dropout, "forward", lambda self, x: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.backward(X[1])
    assert bits(model.state_dict()) == bits(before)


def test_what_cannot_be_read_says_so() -> None:
    """Each copy's own derivative is kept; those between its parts are not, nor in a copy of the gradient, a sum or a
    multiple.
    """
    model = Repeat(Linear(6, 6) >> Tanh(), 2, checkpointing=True).init(np.random.default_rng(0))
    model.forward(X[0])
    gradient = model.backward(X[1])
    np.testing.assert_array_equal(gradient.copies[0].input, gradient.input)
    for each in (gradient, copy.deepcopy(gradient), gradient + gradient, 2 * gradient):
        assert len(each.leaves()) == 4
        assert "weight" in repr(each)
        with pytest.raises(StateError, match=r"checkpointing=False|when it was made"):
            _ = each.copies[0].parts[1].input


def test_checkpointing_is_a_flag() -> None:
    with pytest.raises(ArgumentError, match="Repeat: checkpointing"):
        Repeat(Tanh(), 2, checkpointing=2)  # type: ignore[arg-type]


def test_a_number_of_copies_that_no_memory_holds() -> None:
    """Refused at once, also where each of two numbers is small."""
    one: Any = Tanh()
    wrong: list[tuple[Any, int, str]] = [
        (one, 10**9, "1,000,000,000 times 1"),
        (Repeat(one, 100), 100, "100 times 101"),
    ]
    for inner, times, got in wrong:
        with pytest.raises(ArgumentError, match=f"Repeat: times must make at most 10,000 layers, .*, got {got}"):
            Repeat(inner, times)
