"""Compact GPT-2: its scores are those of a GPT2 in float64 whose matrices are the numbers that 16 or 8
bits stand for.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from typednn.engines import available, counting, using
from typednn.errors import ArgumentError, ShapeError, StateError
from typednn.models import GPT2, compact, generate

SIZES = 23, 9, 16, 2, 2
MATRICES = "in_proj_weight", "out_proj_weight", "c_fc.weight", "c_proj.weight", "wte.weight", "lm_head.weight"
kinds = pytest.mark.parametrize("kind", ["bfloat16", "int8"])


def model_of(seed: int, tied: bool = True) -> GPT2:
    """Weights far from initial values."""
    rng = np.random.default_rng(seed)
    model: GPT2 = GPT2(*SIZES, tie_word_embeddings=tied, rng=rng)
    for array in model.parameters():
        array += rng.normal(0.0, 0.3, array.shape).astype(array.dtype)
    return model


def stands_for(weight: Any, kind: str) -> Any:
    """In float64: rounded to 8 digits in base 2, or to steps of each row's largest/127."""
    if kind == "int8":
        step = np.abs(weight).max(axis=1, keepdims=True).astype(np.float64) / 127
        return np.rint(weight / step) * step
    mantissa, exponent = np.frexp(weight.astype(np.float64))
    return np.ldexp(np.rint(mantissa * 256), exponent - 8)


def is_near_a_tie(model: GPT2) -> bool:
    """Whether a weight lies so close to the middle between two steps of int8 that float32 and float64 may round it
    apart.
    """
    for name, weight in model.named_parameters().items():
        if name.endswith(MATRICES):
            steps = weight / (np.abs(weight).max(axis=1, keepdims=True).astype(np.float64) / 127)
            if (np.abs(np.abs(steps - np.floor(steps)) - 0.5) < 2e-5).any():
                return True
    return False


def truth(model: GPT2, kind: str) -> GPT2:
    twin: GPT2 = GPT2(*SIZES, tie_word_embeddings=model.tie_word_embeddings)
    arrays = model.named_parameters()
    twin.load_state_dict(
        {name: (stands_for(x, kind) if name.endswith(MATRICES) else x).astype(np.float32) for name, x in arrays.items()}
    )
    return twin.astype("float64").eval()


@kinds
@pytest.mark.parametrize("engine", ["reference", "fast"])
@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 99),
    tied=st.booleans(),
    batch=st.integers(1, 3),
    pieces=st.lists(st.integers(1, 4), min_size=1, max_size=4),
)
def test_scores(kind: Any, engine: str, seed: int, tied: bool, batch: int, pieces: list[int]) -> None:
    """G-C4: also where a text is read in pieces."""
    model = model_of(seed, tied)
    assume(not is_near_a_tie(model))
    ends = np.minimum(np.cumsum(pieces), SIZES[1])
    x = np.random.default_rng(seed).integers(0, SIZES[0], (batch, ends[-1]))
    with using("reference"):
        expected = truth(model, kind).forward(x)
    small, state = compact(model, kind), ()
    with using(engine):
        for first, end in zip([0, *ends], ends, strict=False):
            if end > first:
                scores, state = small.read(x[:, first:end], state)
                np.testing.assert_allclose(scores, expected[:, end - 1], rtol=0, atol=2e-4 * np.abs(expected).max())


@kinds
def test_greedy_text_beyond_the_positions(kind: Any) -> None:
    model = model_of(3)
    prompt = np.array([[1, 2, 3], [4, 5, 6]])
    with using("reference"):
        expected = generate(truth(model, kind), prompt, 12, temperature=0)
    np.testing.assert_array_equal(generate(compact(model, kind), prompt, 12, temperature=0), expected)


@pytest.mark.skipif(not available(), reason="Halide is not installed")
@kinds
def test_kernels_run(kind: Any) -> None:
    with counting() as counts:
        compact(model_of(0), kind).read(np.array([[1]]))
    assert counts["compact_linear.forward", "halide"] == 4 * SIZES[3] + 1
    assert ("compact_linear.forward", "reference") not in counts


@kinds
def test_the_model_may_change_afterwards(kind: Any) -> None:
    model, x = model_of(0), np.array([[1, 2]])
    small = compact(model, kind)
    before = small.read(x)[0].copy()
    for array in model.parameters():
        array += 1
    np.testing.assert_array_equal(small.read(x)[0], before)


@pytest.mark.parametrize(("kind", "each", "per_row"), [("bfloat16", 2, 0), ("int8", 1, 4)])
def test_bytes(kind: Any, each: int, per_row: int) -> None:
    arrays = model_of(0).named_parameters()
    matrices = [x for name, x in arrays.items() if name.endswith(MATRICES)]
    others = sum(x.nbytes for name, x in arrays.items() if not name.endswith(MATRICES))
    small = compact(model_of(0), kind)
    assert small.nbytes == others + sum(each * x.size + per_row * len(x) for x in matrices)
    assert repr(small) == f"CompactGPT2(2 blocks, {kind}, {small.nbytes:,} bytes)"


def test_refused() -> None:
    model, wrong = model_of(0), np.zeros((1, 10), int)
    for made, text in [
        (lambda: compact(model, "int4"), "kind"),  # type: ignore[arg-type]
        (lambda: compact(model.ln_f, "int8"), "model is a GPT2"),  # type: ignore[arg-type]
        (lambda: compact(model_of(0).astype("float64"), "int8"), "float32"),
        (lambda: compact(model, "int8").read(wrong[:, :1] + SIZES[0]), "tokens must be 0 to 22"),
        (lambda: compact(model, "int8").read(wrong[:, :1] - 1), "tokens must be 0 to 22"),
    ]:
        with pytest.raises(ArgumentError, match=text):
            made()
    small = compact(model, "bfloat16")
    with pytest.raises(ShapeError, match="knows 9 positions"):
        small.read(wrong)
    _, state = small.read(wrong[:, :9])
    with pytest.raises(ShapeError, match="got 10"):
        small.step(wrong[:, 0], state)
    with pytest.raises(StateError, match="only reads and writes text"):
        small.train()
    assert small.train(mode=False) is small.eval()
