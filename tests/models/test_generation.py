"""Generation (G-C3, G-C4, G-C5): with the cache as without it, beyond the positions too; what is drawn, and from how
many tokens.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.engines import observing
from typednn.errors import ArgumentError, StateError
from typednn.models import GPT2, compact, generate, next_scores, probabilities, stream
from typednn.models.generation import _choice
from typednn.random import XorShift64

pytestmark = pytest.mark.usefixtures("on_the_reference")


def model_of(seed: int) -> GPT2:
    rng = np.random.default_rng(seed)
    model: GPT2 = GPT2(11, 6, 8, 2, 2, rng=rng)
    for array in model.parameters():
        array += rng.normal(0.0, 0.5, array.shape).astype(array.dtype)
    return model


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 99), batch=st.integers(1, 3), time=st.integers(1, 9), count=st.integers(0, 14))
def test_the_cache_changes_nothing(seed: int, batch: int, time: int, count: int) -> None:
    """G-C4, C-R5: greedy text is that of forward on the last 6 tokens, also of prompts and texts longer than that."""
    model = model_of(seed)
    prompt = np.random.default_rng([seed, 1]).integers(0, 11, (batch, time))
    expected = prompt
    model.eval()
    for _ in range(count):
        expected = np.concatenate([expected, model.forward(expected[:, -6:])[:, -1:].argmax(axis=2)], axis=1)
    model.train()
    np.testing.assert_array_equal(generate(model, prompt, count, temperature=0), expected)
    assert model.training


def test_a_prompt_is_read_at_once() -> None:
    """And each token after it alone, until the positions are used up; the head computes one position each time."""
    model = model_of(0)
    ran: list[Any] = []
    text = stream(model, np.array([[1, 2, 3]]), 6, temperature=0)
    with observing(ran.append):
        assert len(list(text)) == 6
    assert [each.arguments[0].shape for each in ran if each.op.name == "embedding.forward"] == [
        (1, time) for time in (3, 1, 1, 1, 6, 6)
    ]
    assert [len(each.result) for each in ran if each.op.name == "linear.forward" and each.result.shape[1] == 11] == [
        1
    ] * 6


def test_top_1_is_greedy() -> None:
    """G-C5, Z-N5."""
    model, prompt = model_of(0), np.array([[1, 2]])
    greedy = generate(model, prompt, 9, temperature=0)
    np.testing.assert_array_equal(generate(model, prompt, 9, top_k=1, rng=np.random.default_rng(0)), greedy)
    np.testing.assert_array_equal(generate(model, prompt, 9, top_p=0.0, rng=np.random.default_rng(0)), greedy)


@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p", "expected"),
    [
        (1.0, None, None, [0.1, 0.2, 0.3, 0.4]),
        (0.5, None, None, [1 / 30, 4 / 30, 9 / 30, 16 / 30]),
        (1.0, 2, None, [0, 0, 3 / 7, 4 / 7]),
        (1.0, 9, None, [0.1, 0.2, 0.3, 0.4]),
        (1.0, None, 0.65, [0, 0, 3 / 7, 4 / 7]),
        (1.0, None, 0.75, [0, 2 / 9, 3 / 9, 4 / 9]),
        (1.0, None, 1.0, [0.1, 0.2, 0.3, 0.4]),
        (1.0, 3, 0.5, [0, 0, 3 / 7, 4 / 7]),
    ],
)
def test_what_is_drawn(temperature: float, top_k: int | None, top_p: float | None, expected: list[float]) -> None:
    """Z-N5: by shares of 40,000 draws, whose deviation is 0.0025 at most; what is excluded is never drawn."""
    scores = np.log(np.tile([0.1, 0.2, 0.3, 0.4], (40_000, 1)))
    chances = probabilities(scores[:1], temperature=temperature, top_k=top_k, top_p=top_p)
    np.testing.assert_allclose(chances, [expected], rtol=1e-12)
    drawn = _choice(scores, temperature=temperature, top_k=top_k, top_p=top_p, rng=np.random.default_rng(3))
    shares = np.bincount(drawn, minlength=4) / len(drawn)
    np.testing.assert_allclose(shares, expected, atol=0.0125)
    assert not shares[np.array(expected) == 0].any()


def test_scores_of_any_size() -> None:
    scores = np.array([[1e4, -1e4, 0.0], [-1e30, -1e30, 1e30]], np.float32)
    np.testing.assert_array_equal(
        _choice(scores, temperature=0.01, top_k=None, top_p=None, rng=np.random.default_rng(0)), [0, 2]
    )


def test_equal_scores_are_kept_from_the_first() -> None:
    np.testing.assert_array_equal(probabilities(np.zeros((1, 4)), top_p=0.5), [[0.5, 0.5, 0, 0]])
    np.testing.assert_allclose(probabilities(np.zeros((1, 4)), top_k=3), [[1 / 3, 1 / 3, 1 / 3, 0]], rtol=1e-12)
    np.testing.assert_array_equal(
        probabilities(np.array([[1.0, 3.0, 3.0], [2.0, 1.0, 0.0]]), temperature=0), [[0, 1, 0], [1, 0, 0]]
    )
    assert probabilities(np.array([[0.0, 1.0]], np.float32), temperature=1e-310).tolist() == [[0.0, 1.0]]


class Coins:
    """Draws what it was given."""

    def __init__(self, *coins: float) -> None:
        self.coins = list(coins)

    def random(self, size: tuple[int, ...], /) -> Any:
        return np.array([self.coins.pop(0) for _ in range(int(np.prod(size)))]).reshape(size)


def test_a_coin_chooses_by_the_sum_of_probabilities() -> None:
    """G-C3: in the order of the vocabulary, the first token whose sum is above the coin; the last where rounding leaves
    none.
    """
    scores = np.log(np.tile([0.25, 0.5, 0.125, 0.125], (7, 1)))
    coins = Coins(0.0, 0.2499, 0.25, 0.7499, 0.75, 0.9999, 1.0)
    assert _choice(scores, temperature=1.0, top_k=None, top_p=None, rng=coins).tolist() == [0, 0, 1, 1, 2, 3, 3]
    scores = np.log(np.tile([0.1, 0.2, 0.4, 0.3, 0.0001], (4, 1)))
    assert _choice(scores, temperature=1.0, top_k=2, top_p=None, rng=Coins(0.0, 0.571, 0.572, 1.0)).tolist() == [
        2,
        2,
        3,
        3,
    ]


def test_drawn_with_the_numbers_of_gpt_c() -> None:
    """G-C3: token after token, each by the definition in plain Python."""
    model, prompt = model_of(4), np.array([[1, 2]])
    text, coins = prompt, XorShift64(1337)
    model.eval()
    for _ in range(9):
        scores = [float(score) for score in model.forward(text[:, -6:])[0, -1]]
        likely = [math.exp((score - max(scores)) / 0.8) for score in scores]
        coin = (coins.next_uint32() >> 8) / 2**24 * sum(likely)
        token = next(token for token in range(11) if coin < sum(likely[: token + 1]))
        text = np.append(text, [[token]], axis=1)
    np.testing.assert_array_equal(generate(model, prompt, 9, temperature=0.8, rng=XorShift64(1337)), text)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 99), time=st.integers(1, 9))
def test_the_next_scores_are_those_of_forward(seed: int, time: int) -> None:
    """C-R5: of the last row, also of prompts that are longer than the model's positions."""
    model, prompt = model_of(seed), np.random.default_rng([seed, 2]).integers(0, 11, (2, time))
    scores = next_scores(model, prompt)
    assert model.training
    expected = model.eval().forward(prompt[:, -6:])[:, -1]
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(
        probabilities(scores).argmax(axis=1), generate(model, prompt, 1, temperature=0)[:, -1]
    )


@pytest.mark.parametrize(
    ("scores", "options", "says"),
    [
        ([[1.0]], {"temperature": -1.0}, "probabilities: temperature"),
        ([[1.0]], {"top_k": 0}, "probabilities: top_k"),
        ([[1.0]], {"top_p": 2}, "probabilities: top_p must be a finite number with 0 <= top_p <= 1, got 2"),
        ([1.0], {}, r"scores are \(batch, vocab_size\), got shape \(1,\)"),
        ([[]], {}, r"got shape \(1, 0\)"),
        ([[0.0], [np.nan]], {}, "each row has scores that are finite, or -inf, got a row whose largest is nan"),
        ([[0.0, np.inf]], {"temperature": 0}, "got a row whose largest is inf"),
        ([[-np.inf, -np.inf]], {}, "got a row whose largest is -inf"),
    ],
)
def test_probabilities_of_what(scores: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        probabilities(np.array(scores), **options)


@pytest.mark.parametrize(
    ("name", "number"),
    [(name, np.nan) for name in ("wpe.weight", "h.copies.0.attn.in_proj_bias", "h.copies.1.c_fc.weight")]
    + [(name, number) for name in ("wte.weight", "ln_f.bias") for number in (np.nan, np.inf, -np.inf)],
)
def test_scores_that_are_not_finite(name: str, number: float) -> None:
    """The greedy token of NaN would be 0, in NumPy: the error names the parameter instead, before any token."""
    model, prompt = model_of(0), np.array([[1, 2]])
    model.named_parameters()[name].flat[7] = number
    for call in (
        lambda: generate(model, prompt, 3, temperature=0),
        lambda: generate(model, prompt, 3, rng=np.random.default_rng(0)),
        lambda: next(stream(model, prompt, 3, temperature=0)),
        lambda: next_scores(model, prompt),
    ):
        with pytest.raises(
            StateError, match=rf'scores of the next token must be finite, got .*, as the parameter "{name}"'
        ):
            call()
    assert model.training
    with pytest.raises(StateError, match="scores of the next token must be finite"):
        generate(compact(model, "bfloat16"), prompt, 3, temperature=0)


def test_scores_that_overflow() -> None:
    model = model_of(0)
    model.ln_f.weight[...] = 1e38
    model.wte.weight[...] *= 1e8
    with pytest.raises(StateError, match=r"got (NaN|infinity): finite weights, too large for float32"):
        generate(model, np.array([[1, 2]]), 3, temperature=0)
    assert len(generate(model.astype("float64"), np.array([[1, 2]]), 3, temperature=0)[0]) == 5


def test_a_token_that_is_never_drawn() -> None:
    scores = np.array([[-np.inf, 0.0, 0.0]])
    np.testing.assert_array_equal(probabilities(scores), [[0, 0.5, 0.5]])
    np.testing.assert_array_equal(probabilities(scores, top_k=1, temperature=0.5), [[0, 1, 0]])


def test_a_seed_repeats() -> None:
    model, prompt = model_of(1), np.array([[1, 2], [3, 4]])
    first, second, other = (generate(model, prompt, 20, rng=np.random.default_rng(seed)) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


def test_a_text_ends_with_a_stop_token() -> None:
    model, prompt = model_of(2), np.array([[1], [5], [7]])
    whole = generate(model, prompt, 12, rng=np.random.default_rng(0))
    stop = int(whole[1, 3])
    ended = generate(
        model, prompt[1:2], 12, stop=[int(generate(model, prompt[1:2], 12, temperature=0)[0, 3])], temperature=0
    )
    assert ended.shape[1] <= 4
    drawn = generate(model, prompt, 12, stop=[stop], rng=np.random.default_rng(0))
    for row in drawn[:, 1:]:
        if stop in row:
            first = list(row).index(stop)
            assert (row[first:] == stop).all()


def test_streaming_gives_each_token_at_once() -> None:
    model, prompt = model_of(3), np.array([[1, 2]])
    tokens: Iterator[Any] = stream(model, prompt, 8, temperature=0)
    first = [next(tokens), next(tokens)]
    assert not model.training
    tokens.close()  # type: ignore[attr-defined]
    assert model.training
    np.testing.assert_array_equal(np.concatenate(first), generate(model, prompt, 2, temperature=0)[0, 2:])


@pytest.mark.parametrize(
    ("prompt", "options", "says"),
    [
        ([[1, 11]], {"temperature": 0}, "prompt's tokens must be 0 to 10, got 11"),
        ([[-1]], {"temperature": 0}, "prompt's tokens must be 0 to 10, got -1"),
        ([1, 2], {"temperature": 0}, r"prompt is integers \(batch, time\)"),
        ([[]], {"temperature": 0}, "one token at least"),
        ([[1.0]], {"temperature": 0}, "prompt is integers"),
        ([[1]], {}, "drawing needs rng"),
        ([[1]], {"temperature": -1.0}, "temperature"),
        ([[1]], {"top_k": 0, "temperature": 0}, "top_k"),
        ([[1]], {"top_p": 1.5, "temperature": 0}, "top_p"),
        ([[1]], {"stop": [-1], "temperature": 0}, "stop"),
    ],
)
def test_mistakes_are_told_at_the_call(prompt: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        stream(model_of(0), np.array(prompt), 3, **options)
