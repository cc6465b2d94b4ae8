"""X-N1: what the laws of all layers do not say of RNN, GRU, LSTM and LastStep."""

from typing import Any

import numpy as np
import pytest

from typednn import Incremental, Input
from typednn.errors import ArgumentError, CheckError, ShapeError, StackError
from typednn.layers import GRU, LSTM, RNN, Embedding, LastStep, Linear
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import Adam

X = np.random.default_rng(0).standard_normal((3, 5, 4)).astype(np.float32)
each_layer = pytest.mark.parametrize("kind", [RNN, GRU, LSTM])


def made(kind: Any, **options: Any) -> Any:
    return kind(4, 6, rng=np.random.default_rng(1), **options)


@each_layer
def test_steps_give_what_the_sequence_gives(kind: Any) -> None:
    """The law of Incremental: from no state, position by position; a state may be used twice, and nothing is kept."""
    layer = made(kind)
    assert isinstance(layer, Incremental)
    whole, state, states = layer.eval().forward(X), None, []
    for position in range(5):
        states.append(state)
        y, state = layer.step(X[:, position], state)
        np.testing.assert_allclose(y, whole[:, position], rtol=1e-5, atol=1e-6)
    again, _ = layer.step(X[:, 3], states[3])
    np.testing.assert_allclose(again, whole[:, 3], rtol=1e-5, atol=1e-6)
    assert not layer.__typednn_calls__.kept


@each_layer
def test_a_state_of_another_batch_or_size_is_refused(kind: Any) -> None:
    layer = made(kind)
    _, state = layer.step(X[:, 0])
    for x in (X[:2, 0], X[:, 0, :3], X):
        with pytest.raises(ShapeError):
            layer.step(x, state)
    other = kind(4, 7, rng=np.random.default_rng(1)).step(X[:, 0])[1]
    with pytest.raises(
        ShapeError, match=r'must be "batch \{self.hidden_size\}", self.hidden_size = 6, got shape \(3, 7\)'
    ):
        layer.step(X[:, 0], other)


@pytest.mark.parametrize("lengths", [[5, 0, 1], [5, 6, 1]])
@pytest.mark.parametrize("layer", [made(RNN), made(GRU), made(LSTM), LastStep()], ids=repr)
def test_lengths_outside_the_sequence_are_refused(layer: Any, lengths: list[int]) -> None:
    with pytest.raises(CheckError) as error:
        layer.forward(X, np.array(lengths))
    assert str(error.value) == f"{layer.label()}.forward: lengths are 1 to 5, got {lengths[1]} in row 1"
    with pytest.raises(CheckError, match="lengths must be"):
        layer.forward(X, np.array([5, 1]))


@each_layer
def test_what_is_after_the_end_has_no_effect(kind: Any) -> None:
    """On the output, and on every derivative: NaN in the padding stays there."""
    layer, lengths = made(kind), np.array([2, 5, 1])
    padded = np.where((np.arange(5) >= lengths[:, None])[:, :, None], np.float32(np.nan), X)
    y = layer.forward(padded, lengths)
    gradient = layer.backward(np.ones_like(y))
    for sequence, length in enumerate(lengths):
        assert not y[sequence, length:].any()
        assert not gradient.input[sequence, length:].any()
    assert all(np.isfinite(array).all() for array in (y, gradient.input, *layer.named_gradients(gradient).values()))


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: RNN(0, 3), "input_size"),
        (lambda: LSTM(3, 0), "hidden_size"),
        (lambda: GRU(3, 2.0), "hidden_size"),  # type: ignore[arg-type]
        (lambda: RNN(3, 2, nonlinearity="gelu"), "nonlinearity"),  # type: ignore[arg-type]
    ],
)
def test_wrong_arguments(make: Any, name: str) -> None:
    with pytest.raises(ArgumentError, match=rf"^(RNN|GRU|LSTM): {name} must be"):
        make()


def test_sizes_are_followed_through_a_stack() -> None:
    model = Input(7, dtype=int) >> Embedding(9, 4) >> LSTM(4, 6) >> GRU(6, 5) >> LastStep() >> Linear(5, 2)
    assert str(model.trace(Input(7).flow).contract).endswith("batch 2")
    with pytest.raises(
        StackError, match=r"LSTM\(5, 6\) cannot follow Embedding\(9, 4\): expects 5 input_size, gets 4|gets 4"
    ):
        Input(7, dtype=int) >> Embedding(9, 4) >> LSTM(5, 6)
    with pytest.raises(StackError, match="gets 3 axes"):
        Input(7, 4) >> LSTM(4, 6) >> Linear(6, 2)  # type: ignore[operator]


def test_a_pattern_is_learnt() -> None:
    """What the first of five tokens was; the loss of a guess is 0.69."""
    rng = np.random.default_rng(0)
    model: Any = (Input(5, dtype=int) >> Embedding(2, 4) >> LSTM(4, 16) >> LastStep() >> Linear(16, 2)).init(rng)
    loss, optimizer = SoftmaxCrossEntropy(), Adam(lr=0.02)
    value = 1.0
    for _ in range(100):
        tokens = rng.integers(0, 2, (32, 5))
        value, derivative = loss.loss_and_grad(model.forward(tokens), tokens[:, 0])
        model.update(optimizer, model.backward(derivative))
    assert value < 0.2
