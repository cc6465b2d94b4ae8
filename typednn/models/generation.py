"""Text from a language model: token after token, each drawn from what the model says comes next.

p = softmax(scores/temperature), of the ``top_k`` likeliest tokens, of the fewest that together have ``top_p``
token: the first whose p_0 + … + p_token is more than u, drawn from U[0, 1), as gpt.c draws it

The prompt is read in one pass. The context's keys and values are kept, so a token costs one position. Once the model's
positions are used up, the context is its last ``n_positions`` tokens, which are then read anew for each token, as each
stands at another position than before.
Sources: top-k: Fan et al. 2018, "Hierarchical Neural Story Generation"; top-p: Holtzman et al. 2020, "The Curious Case
of Neural Text Degeneration".
"""

from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from jaxtyping import Float, Integer

from typednn.arguments import integer, number
from typednn.arrays import Array2, IntArray1, IntArray2
from typednn.backends import to_device, to_numpy
from typednn.errors import ArgumentError, StateError, explain
from typednn.kernels.attention.cache import Cache
from typednn.models.compact import CompactGPT2
from typednn.models.gpt2 import GPT2
from typednn.random import Draws


def generate(
    model: GPT2 | CompactGPT2,
    prompt: Integer[IntArray2, "batch time"],
    max_new_tokens: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    stop: Collection[int] = (),
    rng: Draws | None = None,
) -> Integer[IntArray2, "batch _"]:
    """``prompt`` and behind it up to ``max_new_tokens`` more, as `stream` gives them, with its errors."""
    drawn = [
        *stream(model, prompt, max_new_tokens, temperature=temperature, top_k=top_k, top_p=top_p, stop=stop, rng=rng)
    ]
    whole: IntArray2 = np.concatenate([_tokens(model, prompt), *(tokens[:, None] for tokens in drawn)], axis=1)
    return whole


def stream(
    model: GPT2 | CompactGPT2,
    prompt: Integer[IntArray2, "batch time"],
    max_new_tokens: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    stop: Collection[int] = (),
    rng: Draws | None = None,
) -> Iterator[Integer[IntArray1, " batch"]]:
    """The next token of each prompt, as soon as it is drawn; the prompts are of one length.

    ``temperature`` 0 takes the likeliest token, of equals the first. A text ends with a token of ``stop``, which
    repeats until all have ended. The model is in eval meanwhile, so what forward kept is gone. Arguments are checked at
    the call, before the first token. A `StateError` where scores are NaN or infinite: it names the parameter that is,
    if one is.
    """
    context = _tokens(model, prompt)
    count = integer("generate", "max_new_tokens", max_new_tokens, least=0)
    heat, kept, mass = _checked("generate", temperature, top_k, top_p)
    ends = [integer("generate", "stop", token, least=0) for token in stop]
    if heat and rng is None:
        raise ArgumentError(
            explain("generate", "drawing needs rng", "None", "give a NumPy Generator, or temperature=0"), "rng"
        )
    return _drawn(model, context, count, ends, partial(_choice, temperature=heat, top_k=kept, top_p=mass, rng=rng))


def next_scores(model: GPT2 | CompactGPT2, prompt: Integer[IntArray2, "batch time"]) -> Float[Array2, "batch vocab"]:
    """Scores of what follows each prompt; of a prompt that is too long, its last tokens."""
    seen: list[Array2] = []

    def kept(scores: Float[Array2, "batch vocab"]) -> Integer[IntArray1, " batch"]:
        seen.append(scores)
        first: IntArray1 = scores.argmax(axis=1)
        return first

    for _ in _drawn(model, _tokens(model, prompt), 1, [], kept):
        pass
    return seen[0]


def probabilities(
    scores: Float[Array2, "batch vocab"],
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Float[Array2, "batch vocab"]:
    """The probability of each token with which `generate` draws it from such scores, in float64."""
    heat, kept, mass = _checked("probabilities", temperature, top_k, top_p)
    rows = np.asarray(to_numpy(scores))
    if rows.ndim != 2 or not rows.shape[1]:
        raise ArgumentError(explain("probabilities", "scores are (batch, vocab_size)", f"shape {rows.shape}"), "scores")
    largest = rows.max(axis=1)
    if not np.isfinite(largest).all():  # -∞ is a token that is never drawn, where another can be
        got = f"a row whose largest is {largest[~np.isfinite(largest)][0]}"
        raise ArgumentError(explain("probabilities", "each row has scores that are finite, or -inf", got), "scores")
    if not heat:
        greedy: Array2 = np.eye(rows.shape[1])[rows.argmax(axis=1)]
        return greedy
    likely = _likely(rows, heat, kept, mass)
    shares: Array2 = likely / likely.sum(axis=1, keepdims=True)
    return shares


def _drawn(
    model: GPT2 | CompactGPT2,
    context: Integer[IntArray2, "batch time"],
    count: int,
    ends: list[int],
    choose: Callable[[Float[Array2, "batch vocab"]], Integer[IntArray1, " batch"]],
) -> Iterator[Integer[IntArray1, " batch"]]:
    state: tuple[Cache, ...] = ()
    was, ended = model.training, np.zeros(len(context), bool)
    model.eval()
    try:
        unread = context[:, -model.n_positions :]
        for _ in range(count):
            if state and state[0].length == model.n_positions:  # all positions are used up
                unread, state = context[:, -model.n_positions :], ()
            with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is an error below
                read, state = model.read(_on(model, unread), state)
            scores = to_numpy(read)
            if not np.isfinite(scores).all():
                raise _not_finite(model, scores)
            tokens = np.where(ended, context[:, -1], choose(scores))
            yield tokens
            ended |= np.isin(tokens, ends)
            if ended.all():
                return
            unread = tokens[:, None]
            context = np.concatenate([context, unread], axis=1)
    finally:
        model.train(was)


def _not_finite(model: GPT2 | CompactGPT2, scores: Float[Array2, "batch vocab"]) -> StateError:
    """The error that says where scores of NaN or infinity come from."""
    got, cure = (
        "NaN" if np.isnan(scores).any() else "infinity",
        "use weights from before the training diverged, or train anew",
    )
    if isinstance(model, GPT2):
        arrays = model.named_parameters().items()
        broken = next((name for name, array in arrays if not np.isfinite(to_numpy(array)).all()), None)
        got += (
            f', as the parameter "{broken}" holds such numbers'
            if broken
            else f": finite weights, too large for {model.dtype}"
        )
    return StateError(explain("generate", "the scores of the next token must be finite", got, cure), model)


def _choice(
    scores: Float[Array2, "batch vocab"],
    *,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    rng: Draws | None,
) -> Integer[IntArray1, " batch"]:
    """One token for each row of scores."""
    if not temperature or rng is None:
        first: IntArray1 = scores.argmax(axis=1)
        return first
    shares = np.cumsum(_likely(scores, temperature, top_k, top_p), axis=1)
    shares /= shares[:, -1:]  # the last that can be drawn has 1
    coins = np.minimum(rng.random((len(scores), 1)), np.nextafter(1.0, 0.0))
    tokens: IntArray1 = (shares <= coins).sum(axis=1)
    return tokens


def _likely(
    scores: Float[Array2, "batch vocab"], temperature: float, top_k: int | None, top_p: float | None
) -> Float[Array2, "batch vocab"]:
    """Numbers in proportion to the probabilities; 0 for what cannot be drawn."""
    wide = scores.astype(np.float64)
    with np.errstate(over="ignore"):  # where a temperature is next to nothing, e^-∞ is 0
        likely: Array2 = np.exp((wide - wide.max(axis=1, keepdims=True)) / temperature)
    if top_k is None and top_p is None:
        return likely
    order = np.argsort(-scores, axis=1, kind="stable")
    ranked = np.take_along_axis(likely, order, axis=1)
    if top_k is not None:
        ranked[:, top_k:] = 0
    if top_p is not None:  # the fewest whose shares reach it: one at least
        shares = np.cumsum(ranked, axis=1) / ranked.sum(axis=1, keepdims=True)
        ranked[np.arange(ranked.shape[1]) > (shares < top_p).sum(axis=1, keepdims=True)] = 0
    np.put_along_axis(likely, order, ranked, axis=1)
    return likely


def _checked(
    where: str, temperature: float, top_k: int | None, top_p: float | None
) -> tuple[float, int | None, float | None]:
    heat = number(where, "temperature", temperature, least=0.0)
    kept = None if top_k is None else integer(where, "top_k", top_k)
    mass = None if top_p is None else number(where, "top_p", top_p, least=0.0, most=1.0)
    return heat, kept, mass


def _on(model: GPT2 | CompactGPT2, tokens: npt.NDArray[Any]) -> Any:
    return to_device(np.ascontiguousarray(tokens), model.device)


def _tokens(model: GPT2 | CompactGPT2, prompt: Integer[IntArray2, "batch time"]) -> Integer[IntArray2, "batch time"]:
    """The prompt, checked: tokens of the model's vocabulary, one at least."""
    tokens = np.asarray(to_numpy(prompt))
    if tokens.ndim != 2 or not tokens.size or tokens.dtype.kind not in "iu":
        got = f"{tokens.dtype} of shape {tokens.shape}"
        raise ArgumentError(explain("generate", "prompt is integers (batch, time), one token at least", got), "prompt")
    if tokens.min() < 0 or tokens.max() >= model.vocab_size:
        got = str(tokens.min() if tokens.min() < 0 else tokens.max())
        raise ArgumentError(
            explain("generate", f"prompt's tokens must be 0 to {model.vocab_size - 1}", got, "another vocabulary?"),
            "prompt",
        )
    return tokens.astype(np.int64)
