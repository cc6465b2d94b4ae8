"""GPT-2: sizes, order, derivatives, causality, the tied head, dropout, checkpointing, and reading a text piece by
piece.
"""

import copy
import gc
import math
import tracemalloc
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from typednn import gradcheck
from typednn.engines import observing, using
from typednn.errors import ArgumentError, CheckError, StateError
from typednn.losses import SoftmaxCrossEntropy
from typednn.models import GPT2, GPT2Block, save_gpt2, write_gpt_c
from typednn.optim import SGD, AdamW
from typednn.testing.subject import arrays_in, bits

pytestmark = pytest.mark.usefixtures("on_the_reference")


def small(dropout: float = 0.0, checkpointing: bool = False, **sizes: int) -> Any:
    given: Any = {"vocab_size": 11, "n_positions": 6, "n_embd": 8, "n_layer": 2, "n_head": 2, **sizes}
    return GPT2(**given, dropout=dropout, checkpointing=checkpointing)


@pytest.mark.parametrize(
    ("n_layer", "n_head", "n_embd", "count"),
    [
        (12, 12, 768, 124_439_808),
        (24, 16, 1024, 354_823_168),
        (36, 20, 1280, 774_030_080),
        (48, 25, 1600, 1_557_611_200),
    ],
)
def test_published_counts(n_layer: int, n_head: int, n_embd: int, count: int) -> None:
    """G-L11: nothing is allocated to count them."""
    model: GPT2 = GPT2(n_embd=n_embd, n_layer=n_layer, n_head=n_head)
    assert model.num_parameters() == count
    assert len(model.parameter_shapes()) == 12 * n_layer + 4
    with pytest.raises(StateError):
        model.parameters()


def test_gpt_c_example_count() -> None:
    """G-L11: ``--block-size=128 --layers=2 --heads=12 --embd=128`` would not divide; with 4 heads the count is the
    document's.
    """
    assert GPT2(n_positions=128, n_embd=128, n_layer=2, n_head=4).num_parameters() == 6_846_080


def test_counts_by_layer() -> None:
    """G-L13, G-L14: each part counts its own, and the tree that is printed has them."""
    model = small()
    own = {name: part.num_parameters() for name, part in model.children()}
    assert own == {"wte": 88, "wpe": 48, "drop": 0, "h": 2 * 872, "ln_f": 16}
    assert model.num_parameters() == 88 + 48 + 2 * 872 + 16
    printed = str(model)
    for words in ("Embedding(11, 8)", "weight (11, 8)", "1,896 parameters"):
        assert words in printed, printed


def test_no_growth() -> None:
    """G-C11: fifty steps more of one layer and one head keep nothing; its smallest gradient of 31 tokens alone has 992
    bytes.

    The least of three times fifty: what is traced is the whole process, other threads too.
    """
    model: Any = GPT2(31, 16, 8, 1, 1, rng=np.random.default_rng(0))
    loss, optimizer, tokens = SoftmaxCrossEntropy(), AdamW(1e-3), np.random.default_rng(1).integers(0, 31, (2, 17))

    def steps(count: int) -> int:
        for _ in range(count):
            _, next_grad = loss.loss_and_grad(model.forward(tokens[:, :-1]), tokens[:, 1:])
            model.update(optimizer, model.backward(next_grad))
        model.free_cache()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        sizes = [steps(100), steps(50), steps(50), steps(50)]
        assert min(after - before for before, after in pairwise(sizes)) < 20_000
    finally:
        tracemalloc.stop()


def test_order_of_parameters() -> None:
    """G-L12."""
    names = list(small(n_layer=1).parameter_shapes())
    block = [
        "ln_1.weight",
        "ln_1.bias",
        "attn.in_proj_weight",
        "attn.in_proj_bias",
        "attn.out_proj_weight",
        "attn.out_proj_bias",
    ]
    block += ["ln_2.weight", "ln_2.bias", "c_fc.weight", "c_fc.bias", "c_proj.weight", "c_proj.bias"]
    assert names == ["wte.weight", "wpe.weight", *(f"h.copies.0.{name}" for name in block), "ln_f.weight", "ln_f.bias"]


def test_a_head_of_its_own() -> None:
    """Z-N1: Nina's model has 11,301,817 parameters, and its first loss is within 10.3 and 10.6."""
    nina: GPT2 = GPT2(12_729, 128, 256, 6, 8, tie_word_embeddings=False, initial="he")
    assert nina.num_parameters() == 11_301_817
    assert nina.shared_parameters() == []
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, 12_729, (1, 129))
    loss = SoftmaxCrossEntropy().loss(nina.init(rng).forward(tokens[:, :-1]), tokens[:, 1:])
    assert 10.3 < loss < 10.6
    own: GPT2 = GPT2(5, 4, 8, 1, 2, tie_word_embeddings=False, initial="he", rng=rng)
    gradcheck(own, np.array([[0, 3, 4], [4, 1, 0]]))
    writers: tuple[Any, ...] = (save_gpt2, write_gpt_c)
    for write in writers:
        with pytest.raises(ArgumentError, match="the head is the embedding, as GPT-2's is, got a head of its own"):
            write(own, "nowhere")


@settings(max_examples=8, deadline=None)
@given(
    heads=st.integers(1, 3),
    features=st.integers(1, 3),
    layers=st.integers(1, 2),
    time=st.integers(1, 5),
    batch=st.integers(1, 3),
)
def test_derivatives(heads: int, features: int, layers: int, time: int, batch: int) -> None:
    """G-L8, G-L9, G-L10: through both uses of wte, by differences; weights far from their small initial values."""
    assume(heads * features != 2)  # of two features layer normalisation leaves little but the sign of their difference
    rng = np.random.default_rng([heads, features, layers, time, batch])
    model = small(n_embd=heads * features, n_head=heads, n_layer=layers, vocab_size=5, n_positions=5).init(rng)
    for array in model.parameters():
        array += rng.normal(0.0, 0.3, array.shape).astype(array.dtype)
    assert gradcheck(model, rng.integers(0, 5, (batch, time)), most=12).error < 1e-5


def test_no_token_sees_a_later_one() -> None:
    """G-L7."""
    model = small().init(np.random.default_rng(0)).eval()
    tokens = np.random.default_rng(1).integers(0, 11, (2, 6))
    changed = tokens.copy()
    changed[:, 4:] = (changed[:, 4:] + 1) % 11
    before, after = model.forward(tokens), model.forward(changed)
    np.testing.assert_array_equal(before[:, :4], after[:, :4])
    assert np.abs(before[:, 4:] - after[:, 4:]).min() > 0


def test_the_head_is_the_embedding() -> None:
    """G-L10: one array, and one derivative by both uses: that of a head with equal weights of its own,
    added to wte's.
    """
    model, apart = small(), small(tie_word_embeddings=False)
    state = model.init(np.random.default_rng(0)).state_dict()
    apart.load_state_dict(state | {"lm_head.weight": state["wte.weight"], "lm_head.bias": np.zeros(11, np.float32)})
    tokens = np.random.default_rng(1).integers(0, 11, (2, 5))
    next_grad = np.random.default_rng(2).normal(size=(2, 5, 11)).astype(np.float32)
    np.testing.assert_array_equal(model.forward(tokens), apart.forward(tokens))
    gradient, both = model.backward(next_grad), apart.backward(next_grad)
    assert gradient.lm_head is None
    np.testing.assert_allclose(
        gradient.wte.weight, both.wte.weight + both.lm_head.parameters.weight, rtol=1e-6, atol=1e-6
    )
    expected = model.wte.weight - 0.5 * gradient.wte.weight
    model.update(SGD(lr=0.5), gradient)
    np.testing.assert_allclose(model.wte.weight, expected, rtol=1e-6, atol=1e-7)


def test_initial_values() -> None:
    model = GPT2(500, 200, 64, 8, 4, rng=np.random.default_rng(0))
    for array, spread in (
        (model.wte.weight, 0.02),
        (model.wpe.weight, 0.02),
        (model.h.copies[3].attn.in_proj_weight, 0.02),
        (model.h.copies[3].c_fc.weight, 0.02),
        (model.h.copies[3].attn.out_proj_weight, 0.02 / 4),
        (model.h.copies[7].c_proj.weight, 0.02 / 4),
    ):
        assert array is not None
        assert array.std() == pytest.approx(spread, rel=0.06)
        assert abs(array.mean()) < spread / 10
    assert not model.h.copies[0].c_fc.bias.any()


@pytest.mark.parametrize("batch", [1, 3])
def test_steps_are_forward(batch: int) -> None:
    model = small().init(np.random.default_rng(0)).eval()
    tokens = np.random.default_rng(1).integers(0, 11, (batch, 6))
    scores, state = model.forward(tokens), ()
    for place in range(6):
        given_state = state
        one, state = model.step(tokens[:, place], given_state)
        np.testing.assert_allclose(one, scores[:, place], rtol=1e-4, atol=1e-7)
        np.testing.assert_array_equal(model.step(tokens[:, place], given_state)[0], one)
    with pytest.raises(CheckError, match="knows 6 positions, got a sequence of 7"):
        model.step(tokens[:, 0], state)


def in_pieces(model: Any, tokens: Any, ends: list[int]) -> list[Any]:
    """The scores after each piece of the tokens: those up to the first end, from there to the second, and so on."""
    scores, state = [], ()
    for start, end in pairwise([0, *ends]):
        one, state = model.read(tokens[:, start:end], state)
        scores.append(one)
    return scores


def agrees(model: Any, tokens: Any, ends: list[int]) -> None:
    """What is read in pieces is what the same model in double precision gives for all tokens at once."""
    truth = copy.deepcopy(model).astype("float64").forward(tokens)
    for scores, end in zip(in_pieces(model, tokens, ends), ends, strict=True):
        assert scores.dtype == np.float32
        np.testing.assert_allclose(scores, truth[:, end - 1], rtol=0, atol=1e-5 * np.abs(truth[:, end - 1]).max())


@settings(max_examples=20, deadline=None)
@given(batch=st.integers(1, 3), ends=st.sets(st.integers(1, 12), min_size=1), seed=st.integers(0, 99))
def test_pieces_are_forward(batch: int, ends: set[int], seed: int) -> None:
    """A text read in any pieces, several tokens or one: causal among the new tokens, and over those before."""
    rng = np.random.default_rng(seed)
    model = small(n_positions=12).init(rng).eval()
    for array in model.parameters():
        array += rng.normal(0.0, 0.3, array.shape).astype(array.dtype)
    agrees(model, rng.integers(0, 11, (batch, 12)), sorted(ends))


@pytest.mark.parametrize("batch", [1, 2])
def test_pieces_are_forward_on_fast_kernels(batch: int) -> None:
    rng = np.random.default_rng(0)
    with using("fast"):
        agrees(
            small(n_positions=60, n_embd=16).init(rng).eval(), rng.integers(0, 11, (batch, 60)), [20, 21, 22, 40, 60]
        )


def test_a_state_goes_on_twice() -> None:
    """A state is a value: what one text adds to it, no other text sees."""
    model, tokens = (
        small(n_positions=12).init(np.random.default_rng(0)).eval(),
        np.random.default_rng(1).integers(0, 11, (2, 12)),
    )
    other = np.concatenate([tokens[:, :5], (tokens[:, 5:] + 1) % 11], axis=1)
    _, state = model.read(tokens[:, :4])
    _, state = model.read(tokens[:, 4:5], state)
    states, scores = [state, state], []
    for place in range(5, 12):  # in turns
        for number, text in enumerate((tokens, other)):
            one, states[number] = model.read(text[:, place : place + 1], states[number])
            scores.append(one)
    expected = model.forward(tokens)[:, 5:], model.forward(other)[:, 5:]
    np.testing.assert_allclose(np.stack(scores[::2], axis=1), expected[0], rtol=0, atol=1e-6)
    np.testing.assert_allclose(np.stack(scores[1::2], axis=1), expected[1], rtol=0, atol=1e-6)


def test_reading_does_what_is_asked_for_and_no_more() -> None:
    """The head computes one position, and the cache is not copied for each token: its memory is new 4 times in 60
    tokens.
    """
    model, tokens = small(n_positions=64).init(np.random.default_rng(0)).eval(), np.zeros((2, 64), int)
    rows: list[int] = []
    with observing(lambda ran: rows.append(len(ran.result)) if ran.op.name == "linear.forward" else None):
        _, state = model.read(tokens[:, :4])
    assert rows[-1] == 2
    assert set(rows[:-1]) == {2 * 4}
    copies = 0
    for place in range(4, 64):
        before = state[1].keys
        _, state = model.read(tokens[:, place : place + 1], state)
        copies += not np.shares_memory(before, state[1].keys)
    assert copies == 4  # at 4, 10, 22 and 46 positions
    assert state[1].keys.base.shape[1] < 2 * 64


def test_dropout_in_training_only() -> None:
    model = small(0.5).init(np.random.default_rng(0))
    tokens = np.random.default_rng(1).integers(0, 11, (2, 6))
    assert np.abs(model.forward(tokens) - model.forward(tokens)).max() > 0
    assert model.h.copies[0].attn.dropout == 0.5
    model.eval()
    np.testing.assert_array_equal(model.forward(tokens), model.forward(tokens))


def test_each_output_of_a_block_is_dropped() -> None:
    """Z-D7: by a probability of 1 all that attention and the features add is 0, whatever their biases; so is what they
    pass back.
    """
    block: GPT2Block = GPT2Block(6, 2, 1.0, rng=np.random.default_rng(0))
    for place, array in enumerate(block.parameters()):
        array += 0.5 + np.random.default_rng(place).standard_normal(array.shape, dtype=np.float32)
    x, next_grad = np.random.default_rng(1).standard_normal((2, 2, 5, 6), dtype=np.float32)
    np.testing.assert_array_equal(block.forward(x), x)
    np.testing.assert_array_equal(block.backward(next_grad).input, next_grad)
    assert not any(array.any() for name, array in block.backward(next_grad).leaves().items() if name != "input")
    assert np.abs(block.eval().forward(x) - x).min(axis=(0, 1)).max() > 0.1


@pytest.mark.parametrize("added", [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0)])
def test_the_two_dropouts_of_a_block(added: tuple[float, float]) -> None:
    """Z-D7: each output is kept with probability 0.75, and is then a third larger; of both by itself. The gradients
    have the same masks.
    """
    block: Any = GPT2Block(16, 2, 0.25, rng=np.random.default_rng(0))
    for array in (block.attn.out_proj_weight, block.c_proj.weight):
        array[...] = 0.0
    block.attn.out_proj_bias[...], block.c_proj.bias[...] = added
    x = np.zeros((40, 50, 16), np.float32)
    change = block.forward(x)
    counts = np.round(change * 0.75)
    np.testing.assert_allclose(change, counts / 0.75, rtol=1e-6)
    many = sum(added)
    for kept in range(int(many) + 1):
        chance = math.comb(int(many), kept) * 0.75**kept * 0.25 ** (many - kept)
        assert (counts == kept).mean() == pytest.approx(chance, abs=5 * (chance * (1 - chance) / counts.size) ** 0.5)
    grad = block.backward(np.ones_like(x))
    summed = grad.c_proj.parameters.bias * added[1] + grad.attn.out_proj_bias * added[0]
    np.testing.assert_allclose(summed, change.sum(axis=(0, 1), dtype=np.float64), rtol=1e-5)


def test_the_derivative_with_dropout() -> None:
    """Z-D7: along a direction of all parameters, by central differences over the same masks."""
    model = small(0.3).init(np.random.default_rng(0)).astype("float64")
    draws = np.random.default_rng(1)
    tokens, weights = draws.integers(0, 11, (3, 6)), draws.standard_normal((3, 6, 11))
    for array in model.parameters():
        array += draws.normal(0.0, 0.3, array.shape)
    state = {name: array.copy() for name, array in model.state_dict().items()}
    ways = {name: draws.standard_normal(array.shape) for name, array in model.named_parameters().items()}

    def value(step: float) -> float:
        moved = {name: array + step * ways[name] if name in ways else array for name, array in state.items()}
        model.load_state_dict(moved)  # the seeds too, so the masks are the same
        return float((model.forward(tokens) * weights).sum())

    slope = (value(1e-6) - value(-1e-6)) / 2e-6
    value(0.0)
    gradients = model.named_gradients(model.backward(weights))
    assert slope == pytest.approx(sum((gradients[name] * way).sum() for name, way in ways.items()), rel=1e-6)


def trained(checkpointing: bool) -> tuple[Any, list[Any]]:
    """Three steps with dropout, each of the sum of two batches' gradients; the model, and all gradients."""
    model, loss, optimizer, gradients = (
        small(0.3, checkpointing=checkpointing),
        SoftmaxCrossEntropy(),
        AdamW(lr=0.01),
        list[Any](),
    )
    model.init(np.random.default_rng(0))
    tokens = np.random.default_rng(1).integers(0, 11, (3, 2, 2, 7))
    for batches in tokens:
        parts = []
        for batch in batches:
            scores = model.forward(batch[:, :-1])
            parts.append(model.backward(loss.loss_grad(scores, batch[:, 1:])))
        gradients.append(parts[0] + parts[1])
        model.update(optimizer, gradients[-1])
    return model, gradients


def test_checkpointing_changes_no_bit() -> None:
    """Of gradients, weights, and the states of what draws; a model's file is the same."""
    (plain, expected), (model, gradients) = trained(False), trained(True)
    assert model.h.checkpointing
    assert bits([each.leaves() for each in gradients]) == bits([each.leaves() for each in expected])
    assert list(model.state_dict()) == list(plain.state_dict())
    assert bits(model.state_dict()) == bits(plain.state_dict())


def test_checkpointing_keeps_one_array_for_each_block() -> None:
    """Exactly; and what forward and backward allocate at most is less."""

    tokens, sums, peaks = np.zeros((8, 32), int), [], []
    for checkpointing in (False, True):
        model = small(0.1, checkpointing, n_positions=32, n_embd=16, n_layer=20).init(np.random.default_rng(0))
        tracemalloc.start()
        scores = model.forward(tokens)
        after_forward = tracemalloc.get_traced_memory()[1]
        kept = [array for _, module in model.h.named_modules() for _, array in arrays_in(module.__typednn_calls__.kept)]
        sums.append(sum({id(array): array.nbytes for array in kept}.values()))
        model.backward(scores)
        peaks.append((after_forward, tracemalloc.get_traced_memory()[1]))
        tracemalloc.stop()
    seeds = 3 * 2 * 8
    assert sums[1] == 20 * (8 * 32 * 16 * 4 + seeds)
    assert sums[1] < 0.1 * sums[0]
    assert peaks[1][0] < 0.3 * peaks[0][0]
    assert peaks[1][1] < 0.35 * peaks[0][1]


def test_mistakes_are_told() -> None:
    with pytest.raises(ArgumentError, match="n_embd must be a multiple of n_head"):
        GPT2(11, 6, 8, 2, 3)
    with pytest.raises(ArgumentError, match=r"GPT2: n_layer"):
        GPT2(n_layer=0)
    model = small().init(np.random.default_rng(0))
    with pytest.raises(CheckError, match="tokens"):
        model.forward(np.array([[3, 11]]))
    with pytest.raises(CheckError, match="knows 6 positions, got a sequence of 7"):
        model.forward(np.zeros((1, 7), int))
    with pytest.raises(
        StateError,
        match=r"reads tokens in eval, got a model in training. Cure: call eval\(\) first|call eval\(\) first",
    ):
        model.step(np.array([1]))
    with pytest.raises(StateError, match=r"call eval\(\) first"):
        GPT2Block(8, 2, rng=np.random.default_rng(0)).read(np.zeros((1, 1, 8), np.float32))


def test_it_learns_to_count() -> None:
    """The next token is the last plus 1, modulo 7."""
    rng = np.random.default_rng(0)
    model, loss, optimizer = small(vocab_size=7, n_embd=16).init(rng), SoftmaxCrossEntropy(), AdamW(lr=0.01)
    tokens = (np.arange(7) + rng.integers(0, 7, (16, 1))) % 7
    for _ in range(80):
        value, next_grad = loss.loss_and_grad(model.forward(tokens[:, :-1]), tokens[:, 1:])
        model.update(optimizer, model.backward(next_grad))
    assert value < 0.05
