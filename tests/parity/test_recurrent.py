"""X-N1: RNN, GRU, LSTM and Embedding beside PyTorch's: outputs, gradients, packed sequences, and ten
steps of training.
"""

from typing import Any

import numpy as np
import pytest
from effort import LONG, expensive
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from typednn import Input
from typednn.layers import GRU, LSTM, RNN, Embedding, LastStep, Linear
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import SGD

pytestmark = [pytest.mark.parity, pytest.mark.usefixtures("few_kernels")]

compiling = settings(expensive if LONG else settings(), suppress_health_check=[HealthCheck.function_scoped_fixture])
hard = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
sizes = st.integers(1, 6)
seeds = st.integers(0, 2**32 - 1)

KINDS = {
    "RNN": (RNN, "RNN", {}),
    "RNN of relu": (RNN, "RNN", {"nonlinearity": "relu"}),
    "GRU": (GRU, "GRU", {}),
    "LSTM": (LSTM, "LSTM", {}),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def numbers(seed: int, shape: tuple[int, ...], dtype: Any) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def peer_of(torch: Any, kind: str, inputs: int, hidden: int, bias: bool, dtype: Any) -> Any:
    _, name, options = KINDS[kind]
    return getattr(torch.nn, name)(
        inputs, hidden, bias=bias, batch_first=True, dtype=getattr(torch, str(dtype)), **options
    )


def ours(kind: str, inputs: int, hidden: int, bias: bool = True, seed: int = 0) -> Any:
    layer, _, options = KINDS[kind]
    return layer(inputs, hidden, bias=bias, rng=np.random.default_rng(seed), **options)


@compiling
@given(
    batch=sizes,
    time=sizes,
    inputs=sizes,
    hidden=st.integers(1, 20),
    bias=st.booleans(),
    lengths=st.booleans(),
    seed=seeds,
)
@each_kind
def test_sequences(
    peer: Any,
    dtype: Any,
    kind: str,
    batch: int,
    time: int,
    inputs: int,
    hidden: int,
    bias: bool,
    lengths: bool,
    seed: int,
) -> None:
    """X-N1: with lengths as pack_padded_sequence and pad_packed_sequence; there the numbers of the padding are read by
    neither.
    """
    layer = ours(kind, inputs, hidden, bias, seed).astype(dtype)
    theirs = peer_of(peer.torch, kind, inputs, hidden, bias, dtype)
    rnn = peer.torch.nn.utils.rnn
    long = np.random.default_rng(seed).integers(1, time + 1, batch) if lengths else None

    def formula(x: Any, **parameters: Any) -> Any:
        named = {f"{name}_l0": value for name, value in parameters.items()}
        if long is None:
            return peer.torch.func.functional_call(theirs, named, x)[0]
        packed = rnn.pack_padded_sequence(x, peer.torch.tensor(long), batch_first=True, enforce_sorted=False)
        y, _ = peer.torch.func.functional_call(theirs, named, (packed,))  # a tuple itself
        return rnn.pad_packed_sequence(y, batch_first=True, total_length=time)[0]

    peer.compare(layer, numbers(seed, (batch, time, inputs), dtype), formula, others=() if long is None else (long,))


@each_kind
def test_steps(torch: Any, close: Any, kind: str) -> None:
    """X-N1: a step at a time, as RNNCell, GRUCell and LSTMCell, and as the whole sequence at once."""
    layer = ours(kind, 5, 7).eval()
    options = KINDS[kind][2]
    cell = getattr(torch.nn, f"{KINDS[kind][1]}Cell")(5, 7, **options)
    cell.load_state_dict({name: torch.tensor(array) for name, array in layer.state_dict().items()})
    x = numbers(1, (3, 6, 5), np.float32)
    whole, state, theirs = layer.forward(x), None, None
    for position in range(6):
        y, state = layer.step(x[:, position], state)
        theirs = cell(torch.tensor(x[:, position]), theirs)
        pair = zip(state, theirs, strict=True) if kind == "LSTM" else [(state, theirs)]
        for mine, other in pair:
            close(mine, other.detach().numpy(), f"state {position}")
        close(y, whole[:, position], f"output {position}")


@each_kind
def test_state_is_pytorchs_under_its_names_for_one_layer(torch: Any, kind: str) -> None:
    """G-D11: weight_ih is PyTorch's weight_ih_l0, of the same shape and in the same order."""
    theirs = peer_of(torch, kind, 5, 7, True, np.dtype(np.float32)).state_dict()
    layer = ours(kind, 5, 7)
    assert {f"{name}_l0": shape for name, shape in layer.parameter_shapes().items()} == {
        name: tuple(value.shape) for name, value in theirs.items()
    }
    layer.load_state_dict({name.removesuffix("_l0"): value.numpy() for name, value in theirs.items()})


@hard
@given(vocab=sizes, shape=st.tuples(sizes, sizes), features=sizes, padding=st.booleans(), seed=seeds)
def test_embedding(
    peer: Any, dtype: Any, close: Any, vocab: int, shape: Any, features: int, padding: bool, seed: int
) -> None:
    """G-L2: rows, and the sum of the gradients of a token's places; none for the padding."""
    token = int(np.random.default_rng(seed).integers(-vocab, vocab)) if padding else None
    layer = Embedding(vocab, features, token, rng=np.random.default_rng(seed)).astype(dtype)
    x = np.random.default_rng(seed).integers(0, vocab, shape)
    weight = peer.tensor(layer.weight, learnt=True)
    expected = peer.torch.nn.functional.embedding(peer.torch.tensor(x), weight, token)
    close(layer.forward(x), expected.detach().numpy(), "output", ulps=0)
    next_grad = numbers(seed, (*shape, features), dtype)
    expected.backward(peer.tensor(next_grad))
    close(layer.backward(next_grad).weight, weight.grad.numpy(), "gradient of weight")


@each_kind
@pytest.mark.parametrize("lengths", [False, True])
def test_ten_steps_of_training(torch: Any, close: Any, kind: str, lengths: bool) -> None:
    """X-N1: tokens, a recurrent layer, its last step and a classifier; weights after each step, in float64."""
    dtype = np.dtype(np.float64)
    words, recurrent, last, head = Embedding(9, 5), ours(kind, 5, 7), LastStep(), Linear(7, 3)
    model: Any = (
        (Input(6, dtype=int) >> words >> recurrent >> last >> head).init(np.random.default_rng(3)).astype(dtype)
    )
    theirs = torch.nn.ModuleList(
        [torch.nn.Embedding(9, 5), peer_of(torch, kind, 5, 7, True, dtype), torch.nn.Linear(7, 3)]
    ).double()
    for layer, other in zip((words, recurrent, head), theirs, strict=True):
        suffix = "_l0" if layer is recurrent else ""
        other.load_state_dict({name + suffix: torch.tensor(array) for name, array in layer.state_dict().items()})
    rule, loss, optimizer = (
        torch.optim.SGD(theirs.parameters(), 0.3, 0.9),
        SoftmaxCrossEntropy(),
        SGD(lr=0.3, momentum=0.9),
    )
    generator = np.random.default_rng(4)
    for _ in range(10):
        x, labels = generator.integers(0, 9, (4, 6)), generator.integers(0, 3, 4)
        long = generator.integers(1, 7, 4) if lengths else np.full(4, 6)
        sequence = theirs[1](theirs[0](torch.tensor(x)))[0]
        rule.zero_grad()
        torch.nn.functional.cross_entropy(theirs[2](sequence[np.arange(4), long - 1]), torch.tensor(labels)).backward()
        rule.step()
        if lengths:  # several inputs: by hand
            scores = head.forward(last.forward(recurrent.forward(words.forward(x), long), long))
            of_head = head.backward(loss.loss_grad(scores, labels))
            of_recurrent = recurrent.backward(last.backward(of_head.input).input)
            of_words = words.backward(of_recurrent.input)
            for layer, gradient in ((words, of_words), (recurrent, of_recurrent), (head, of_head)):
                layer.update(optimizer, gradient)
        else:
            model.update(optimizer, model.backward(loss.loss_grad(model.forward(x), labels)))
        for mine, other in zip(model.parameters(), theirs.parameters(), strict=True):
            close(mine, other.detach().numpy(), "weights")
