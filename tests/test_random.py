"""typednn/random.py: golden numbers of the paper and of PCG's author, then statistics, laws, and refusals.

Rows P-R1 to P-R5, P-L2, P-E3 and torch.nn.Linear's rule of the specification.
"""

from __future__ import annotations

import copy
import importlib
import json
import math
import pkgutil
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import typednn.random as module
from typednn.errors import ArgumentError
from typednn.layers import Linear
from typednn.random import (
    PCG32,
    Constant,
    Draws,
    Fans,
    HeNormal,
    HeUniform,
    Initialiser,
    KaimingNormal,
    KaimingUniform,
    Normal,
    Ones,
    Rng,
    Uniform,
    XavierNormal,
    XavierUniform,
    XorShift64,
    Zeros,
    initialiser,
)
from typednn.random.generator import Floats

SEEDS = st.integers(0, 2**64 - 1)
STREAMS = st.integers(0, 2**63 - 1)
CHUNK = 1 << 14
ROUNDING = 1e-12  # NumPy's log and cos may round an element by its place in the array


def unseen(value: object) -> Any:
    """Hand a value past the type checker, to see what happens to it at run time."""
    return value


def paper() -> PCG32:
    """The generator of the paper's experiment."""
    return PCG32(42, 6)


def rigged(monkeypatch: pytest.MonkeyPatch, *u32: int) -> PCG32:
    """A generator whose u32 are these."""
    numbers = np.array(u32, np.uint32)
    monkeypatch.setattr(PCG32, "integers32", lambda self, size: np.resize(numbers, size))
    return paper()


def textbook_u32(seed: int, stream: int, count: int) -> list[int]:
    """Eqs 48 and 49 written once more, from the paper, with nothing shared."""
    increment = (stream * 2 + 1) % 2**64
    state = ((increment + seed) * 6364136223846793005 + increment) % 2**64
    numbers: list[int] = []
    for _ in range(count):
        word = ((state ^ (state >> 18)) >> 27) % 2**32
        bits = f"{word:032b}"
        turn = state >> 59
        numbers.append(int(bits[32 - turn :] + bits[: 32 - turn], 2))
        state = (state * 6364136223846793005 + increment) % 2**64
    return numbers


# --- golden numbers ------------------------------------------------------------------------------------------------


def test_u32_of_the_authors_demo() -> None:
    """P-R1: the published output of pcg32-demo, seed 42, stream 54."""
    expected = [0xA15C02B7, 0x7B47F409, 0xBA1D3330, 0x83D2F293, 0xBFA4784B, 0xCBED606E]
    assert PCG32(42, 54).integers32((6,)).tolist() == expected
    scalar = PCG32(42, 54)
    assert [scalar.next_uint32() for _ in range(6)] == expected


def test_u32_of_the_paper() -> None:
    """P-R1: seed 42, stream 6."""
    assert paper().integers32((6,)).tolist() == [1725101930, 3003856880, 2649591122, 128887272, 2846745395, 3087037459]


def test_uniforms_of_the_paper() -> None:
    """P-R2, eq 50."""
    np.testing.assert_allclose(paper().random((4,)), [0.40165660, 0.69938993, 0.61690599, 0.03000891], atol=1e-7)


def test_normals_of_the_paper() -> None:
    """P-R3, eq 52."""
    np.testing.assert_allclose(paper().standard_normal((4,)), [-0.4223013, 0.9654723, -0.1768957, 1.2615314], atol=1e-5)


def test_first_weights_of_the_papers_experiment() -> None:
    """P-E3, C-R7, eq 55: the first convolution has 1·5·5 inputs, six outputs, one generator."""
    weights = HeNormal()(paper(), (6, 5, 5, 1), Fans(25, 150))
    np.testing.assert_allclose(weights.ravel()[:4], [-0.1194448, 0.2730768, -0.0500337, 0.3568150], atol=1e-5)


def test_shuffle_of_the_paper() -> None:
    """P-R4."""
    expected = [0, 5, 2, 3, 8, 4, 7, 6, 9, 1]
    assert paper().permutation(10).tolist() == expected
    assert paper().shuffle("abcdefghij") == ["abcdefghij"[place] for place in expected]


# --- PCG32 ---------------------------------------------------------------------------------------------------------


@given(SEEDS, STREAMS, st.integers(0, 200))
def test_vectorised_equals_scalar(seed: int, stream: int, count: int) -> None:
    """P-R1: the two ways to draw, and the textbook, agree on numbers and on the state they leave."""
    vector, scalar = PCG32(seed, stream), PCG32(seed, stream)
    expected = textbook_u32(seed, stream, count)
    assert vector.integers32((count,)).tolist() == expected
    assert [scalar.next_uint32() for _ in range(count)] == expected
    assert vector == scalar


@pytest.mark.parametrize("count", [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 3])
def test_chunks_join(count: int) -> None:
    """P-R1: nothing is lost or drawn twice where one pass ends and the next begins."""
    vector, scalar = paper(), paper()
    assert vector.integers32((count,)).tolist() == [scalar.next_uint32() for _ in range(count)]
    assert vector == scalar
    parts = paper()
    normals = np.concatenate([parts.standard_normal((5,)), parts.standard_normal((count - 5,))])
    np.testing.assert_allclose(normals, paper().standard_normal((count,)), rtol=ROUNDING)


@given(SEEDS, STREAMS, st.lists(st.integers(0, 20), max_size=5))
def test_interleaving(seed: int, stream: int, counts: list[int]) -> None:
    """P-R5: 3 numbers and then 5 are the same as 8."""
    for method in ("integers32", "random", "standard_normal"):
        parts, whole = PCG32(seed, stream), PCG32(seed, stream)
        drawn = [getattr(parts, method)((count,)) for count in counts]
        np.testing.assert_allclose(
            np.concatenate([np.empty(0), *drawn]), getattr(whole, method)((sum(counts),)), rtol=ROUNDING
        )
        assert parts == whole


@pytest.mark.parametrize("method", ["integers32", "random", "standard_normal"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 3), (2, 0, 3), (2, 3, 4, 1)])
def test_row_major(method: str, shape: tuple[int, ...]) -> None:
    """P-R5: the last axis moves fastest; rank 0 is an array too."""
    drawn = getattr(paper(), method)(shape)
    assert isinstance(drawn, np.ndarray)
    assert drawn.shape == shape
    np.testing.assert_array_equal(drawn.ravel(), getattr(paper(), method)((math.prod(shape),)))


def test_what_a_draw_costs() -> None:
    """P-R3: one u32 a uniform, two a normal; P-R4: n a permutation."""
    rows: list[tuple[Callable[[PCG32], object], int]] = [
        (lambda rng: rng.random((3, 5)), 15),
        (lambda rng: rng.uniform(-1.0, 1.0, (3, 5)), 15),
        (lambda rng: rng.standard_normal((3, 5)), 30),
        (lambda rng: rng.normal(0.0, 2.0, (3, 5)), 30),
        (lambda rng: rng.permutation(7), 7),
        (lambda rng: rng.random((0,)), 0),
    ]
    for draw, cost in rows:
        drawn, counted = paper(), paper()
        draw(drawn)
        counted.integers32((cost,))
        assert drawn == counted


def test_never_one_even_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    """P-R2: eq 50 as printed gives 1.0 in float32 from 2³²-128 on; the values below are left alone."""
    assert np.float32((2**32 - 128) / 2**32) == 1.0
    drawn = rigged(monkeypatch, 2**32 - 1, 2**32 - 128, 2**32 - 129, 2**32 - 256, 2**31, 0).random((6,))
    assert (drawn < 1.0).all()
    assert (drawn.astype(np.float32) < 1.0).all()
    np.testing.assert_array_equal(drawn[3:], [(2**32 - 256) / 2**32, 0.5, 0.0])
    assert (np.diff(drawn) <= 0.0).all()


def test_normal_of_zero_is_finite(monkeypatch: pytest.MonkeyPatch) -> None:
    """P-R3: u₁ = 0 is clamped to the smallest positive normal float32."""
    assert rigged(monkeypatch, 0, 0).standard_normal((1,)) == pytest.approx(
        math.sqrt(-2.0 * math.log(np.finfo(np.float32).tiny))
    )
    assert np.isfinite(rigged(monkeypatch, 0, 2**32 - 1).standard_normal((4,))).all()


def test_uniform_by_chi_square() -> None:
    """P-R2: ten bins, 100,000 draws; 27.9 is the 99.9 % point for nine degrees of freedom."""
    counts, _ = np.histogram(paper().random((100_000,)), bins=10, range=(0.0, 1.0))
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 27.9


def test_normal_by_moments() -> None:
    """P-R3, eq 53: four standard errors of each moment over 100,000 draws."""
    n = 100_000
    z = paper().standard_normal((n,))
    assert abs(z.mean()) < 4 / math.sqrt(n)
    assert abs(z.var() - 1.0) < 4 * math.sqrt(2 / n)
    assert abs((z**3).mean()) < 4 * math.sqrt(15 / n)
    assert abs((z**4).mean() - 3.0) < 4 * math.sqrt(96 / n)
    np.testing.assert_array_equal(paper().normal(3.0, 0.5, (n,)), 3.0 + 0.5 * z)


def test_uniform_of_an_interval() -> None:
    """P-R3, eq 51."""
    np.testing.assert_array_equal(paper().uniform(-2.0, 6.0, (50,)), -2.0 + 8.0 * paper().random((50,)))
    assert paper().uniform(3.0, 3.0, ()) == 3.0


@given(SEEDS, st.integers(0, 60))
def test_permutation(seed: int, n: int) -> None:
    """P-R4: each number once, in the order that the paper's words give."""
    order = PCG32(seed, 1).permutation(n)
    assert order.dtype == np.int64
    rng, left, expected = PCG32(seed, 1), list(range(n)), []
    while left:
        place = rng.next_uint32() % len(left)
        left[place], left[-1] = left[-1], left[place]
        expected.append(left.pop())
    assert order.tolist() == expected
    assert sorted(expected) == list(range(n))


def test_seeds_and_streams_differ() -> None:
    """P-R1: by the largest ones too."""
    starts = {
        tuple(PCG32(seed, stream).integers32((4,)).tolist())
        for seed in (0, 1, 2**64 - 1)
        for stream in (0, 1, 2**63 - 1)
    }
    assert len(starts) == 9
    assert PCG32(3) == PCG32(3, 0)
    assert PCG32(unseen(np.int64(42)), 6) == paper()


def test_state_is_saved_and_restored() -> None:
    """A run goes on where it stopped, through JSON or a copy."""
    rng = paper()
    rng.standard_normal((11,))
    saved = json.loads(json.dumps(rng.state))
    twins = [copy.copy(rng), copy.deepcopy(rng), PCG32(0)]
    twins[-1].state = saved
    expected = rng.random((5,))
    for twin in twins:
        assert twin != rng
        np.testing.assert_array_equal(twin.random((5,)), expected)
        assert twin == rng


def test_equality_and_printing() -> None:
    """Equal when all to come is equal; unhashable, because it changes."""
    assert paper() != PCG32(42, 7)
    assert paper() != "PCG32"
    assert repr(PCG32(42, 6)).startswith("<PCG32 stream=6 state=0x")
    with pytest.raises(TypeError):
        hash(paper())


@pytest.mark.parametrize("rng", [paper(), np.random.default_rng(0)])
def test_rng_is_one_protocol(rng: Rng) -> None:
    """P-R5: NumPy's generator and the paper's are drawn from alike."""
    assert isinstance(rng, Rng)
    for drawn in (
        rng.random((2, 3)),
        rng.standard_normal((2, 3)),
        rng.uniform(0.0, 2.0, (2, 3)),
        rng.normal(0.0, 2.0, (2, 3)),
    ):
        assert isinstance(drawn, np.ndarray)
        assert drawn.shape == (2, 3)
        assert drawn.dtype == np.float64
    assert rng.permutation(4).dtype == np.int64


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PCG32(-1, 0), "PCG32: seed is an integer from 0 to 18446744073709551615, got -1"),
        (lambda: PCG32(2**64, 0), "PCG32: seed is an integer from 0 to 18446744073709551615, got 18446744073709551616"),
        (lambda: PCG32(unseen(1.0), 0), "PCG32: seed is an integer from 0 to 18446744073709551615, got 1.0"),
        (lambda: PCG32(True, 0), "PCG32: seed is an integer from 0 to 18446744073709551615, got True"),
        (lambda: PCG32(unseen("42"), 0), "PCG32: seed is an integer from 0 to 18446744073709551615, got '42'"),
        (lambda: PCG32(0, -1), "PCG32: stream is an integer from 0 to 9223372036854775807, got -1"),
        (lambda: PCG32(0, 2**63), "PCG32: stream is an integer from 0 to 9223372036854775807, got 9223372036854775808"),
        (lambda: paper().random(unseen(3)), "PCG32: size is a tuple of integers, got 3; write (3,) for three numbers"),
        (lambda: paper().random((2, -1)), "PCG32: each of size is an integer from 0 to 9223372036854775807, got -1"),
        (
            lambda: paper().standard_normal((-1,)),
            "PCG32: each of size is an integer from 0 to 9223372036854775807, got -1",
        ),
        (
            lambda: paper().uniform(1.0, 0.0, (1,)),
            "PCG32.uniform: low is at most high, got low=1.0, high=0.0; swap them",
        ),
        (lambda: paper().uniform(0.0, math.inf, (1,)), "PCG32.uniform: high must be a finite number, got inf"),
        (
            lambda: paper().normal(0.0, -1.0, (1,)),
            "PCG32.normal: scale must be a finite number with 0 <= scale < inf, got -1.0",
        ),
        (lambda: paper().normal(math.nan, 1.0, (1,)), "PCG32.normal: loc must be a finite number, got nan"),
        (lambda: paper().permutation(-1), "PCG32.permutation: n is an integer from 0 to 4294967295, got -1"),
        (lambda: Fans(0, 1), "Fans: fan_in is an integer from 1 to 9223372036854775807, got 0"),
        (lambda: Fans(1, unseen(2.0)), "Fans: fan_out is an integer from 1 to 9223372036854775807, got 2.0"),
        (lambda: Constant(math.nan), "Constant: value must be a finite number, got nan"),
        (lambda: Normal(-0.1), "Normal: std must be a finite number with 0 <= std < inf, got -0.1"),
        (lambda: Normal(unseen("1")), "Normal: std must be a finite number with 0 <= std < inf, got '1'"),
        (lambda: Uniform(1.0, -1.0), "Uniform: low is at most high, got low=1.0, high=-1.0; swap them"),
        (lambda: XavierNormal(-1.0), "XavierNormal: gain must be a finite number with 0 <= gain < inf, got -1.0"),
        (lambda: KaimingUniform(a=math.inf), "KaimingUniform: a must be a finite number, got inf"),
        (
            lambda: HeNormal(unseen("fan_in")),
            "HeNormal: fan is 'in' or 'out', got 'fan_in'; 'in' keeps the variance going forward, 'out' going backward",
        ),
        (
            lambda: initialiser("he_normall"),
            "initialiser: a name is one of zeros, ones, he_normal, he_uniform, xavier_normal, xavier_uniform, "
            "kaiming_uniform, "
            "kaiming_normal, got 'he_normall'; did you mean 'he_normal'?",
        ),
        (
            lambda: initialiser("?"),
            "initialiser: a name is one of zeros, ones, he_normal, he_uniform, xavier_normal, xavier_uniform, "
            "kaiming_uniform, "
            "kaiming_normal, got '?'; or pass a rule, such as Normal(0.02)",
        ),
        (
            lambda: initialiser(unseen(HeNormal)),
            "initialiser: expects a rule, got <class 'typednn.random.initialisers.HeNormal'>; write HeNormal(...)",
        ),
        (
            lambda: initialiser(unseen(3)),
            "initialiser: expects a name or a rule, got 3; pass HeNormal() or 'he_normal'",
        ),
    ],
)
def test_refusals(call: Any, message: str) -> None:
    """Word for word."""
    with pytest.raises(ArgumentError) as refused:
        call()
    assert str(refused.value) == message


@pytest.mark.parametrize(
    "saved",
    [
        {},
        {"state": 1},
        {"state": 1, "increment": 2},
        {"state": -1, "increment": 1},
        {"state": 1, "increment": 1, "x": 0},
    ],
)
def test_foreign_state_is_refused(saved: dict[str, int]) -> None:
    """And leaves the generator as it was."""
    rng = paper()
    with pytest.raises(ArgumentError, match=r"^PCG32\.state: "):
        rng.state = saved
    assert rng == paper()


# --- initialisers --------------------------------------------------------------------------------------------------

FANS = Fans(20, 80)
SHAPE = (40_000,)
NORMALS: list[tuple[Initialiser, float, float]] = [
    (Normal(0.02), 0.0, 0.02),
    (Normal(0.5, 3.0), 3.0, 0.5),
    (HeNormal(), 0.0, math.sqrt(0.1)),
    (HeNormal("out"), 0.0, math.sqrt(0.025)),
    (XavierNormal(), 0.0, math.sqrt(0.02)),
    (XavierNormal(gain=2.0), 0.0, 2.0 * math.sqrt(0.02)),
    (KaimingNormal(), 0.0, math.sqrt(0.1)),
    (KaimingNormal(a=1.0, fan="out"), 0.0, math.sqrt(0.0125)),
]
UNIFORMS: list[tuple[Initialiser, float, float]] = [
    (Uniform(-0.5, 2.0), -0.5, 2.0),
    (HeUniform(), -math.sqrt(0.3), math.sqrt(0.3)),
    (HeUniform("out"), -math.sqrt(0.075), math.sqrt(0.075)),
    (XavierUniform(), -math.sqrt(0.06), math.sqrt(0.06)),
    (XavierUniform(gain=0.5), -0.5 * math.sqrt(0.06), 0.5 * math.sqrt(0.06)),
    (KaimingUniform(), -1 / math.sqrt(20), 1 / math.sqrt(20)),
    (KaimingUniform(a=0.0, fan="out"), -math.sqrt(0.075), math.sqrt(0.075)),
]


@pytest.mark.parametrize("rng", [paper, lambda: np.random.default_rng(7)], ids=["PCG32", "numpy"])
@pytest.mark.parametrize(("rule", "mean", "std"), NORMALS, ids=lambda value: repr(value))
def test_normal_rules(rule: Initialiser, mean: float, std: float, rng: Any) -> None:
    """Z-T8, P-E3 (eq 55) and its kin: mean and deviation within four standard errors."""
    weights = rule(rng(), SHAPE, FANS)
    assert weights.shape == SHAPE
    assert weights.dtype == np.float64
    assert abs(weights.mean() - mean) < 4 * std / math.sqrt(weights.size)
    assert abs(weights.std() / std - 1.0) < 4 / math.sqrt(2 * weights.size)


@pytest.mark.parametrize("rng", [paper, lambda: np.random.default_rng(7)], ids=["PCG32", "numpy"])
@pytest.mark.parametrize(("rule", "low", "high"), UNIFORMS, ids=lambda value: repr(value))
def test_uniform_rules(rule: Initialiser, low: float, high: float, rng: Any) -> None:
    """Z-T8: torch.nn.Linear's rule and its kin: within the bounds, close to both, and as spread as a uniform is."""
    weights = rule(rng(), SHAPE, FANS)
    width = high - low
    assert weights.shape == SHAPE
    assert weights.dtype == np.float64
    assert low - 1e-12 <= weights.min() < low + width / 1000
    assert high + 1e-12 >= weights.max() > high - width / 1000
    assert abs(weights.mean() - (low + high) / 2) < 4 * width / math.sqrt(12 * weights.size)
    assert weights.std() == pytest.approx(width / math.sqrt(12), rel=0.02)


@pytest.mark.parametrize(("rule", "value"), [(Zeros(), 0.0), (Ones(), 1.0), (Constant(2.5), 2.5)])
def test_constant_rules_draw_nothing(rule: Initialiser, value: float) -> None:
    """P-L2: the paper's ``new`` is all ones."""
    rng = paper()
    numbers = rule(rng, (2, 3), FANS)
    np.testing.assert_array_equal(numbers, np.full((2, 3), value))
    assert numbers.dtype == np.float64
    assert rng == paper()


def test_weights_then_bias_from_one_generator() -> None:
    """P-L2: the paper's Linear draws its weights and then its biases, by the same rule."""
    rng, whole = paper(), HeNormal()(paper(), (3 * 4 + 3,), Fans(4, 3))
    np.testing.assert_allclose(HeNormal()(rng, (3, 4), Fans(4, 3)).ravel(), whole[:12], rtol=ROUNDING)
    np.testing.assert_allclose(HeNormal()(rng, (3,), Fans(4, 3)), whole[12:], rtol=ROUNDING)
    layer = Linear(4, 3, weight_init="he_normal", rng=paper())
    np.testing.assert_array_equal(layer.weight.ravel(), whole[:12].astype(np.float32))
    np.testing.assert_array_equal(layer.bias, whole[12:].astype(np.float32))
    assert all((array == 1).all() for array in Linear(4, 3, weight_init="ones", rng=paper()).parameters())


@pytest.mark.parametrize(
    ("rule", "cost"),
    [(row[0], 2) for row in NORMALS] + [(row[0], 1) for row in UNIFORMS],
    ids=lambda value: repr(value),
)
def test_what_a_rule_costs(rule: Initialiser, cost: int) -> None:
    """P-R3: as the numbers it draws, and no more."""
    rng, counted = paper(), paper()
    rule(rng, (3, 2), FANS)
    counted.integers32((6 * cost,))
    assert rng == counted


def test_rules_are_values() -> None:
    """Printable, comparable, frozen."""
    assert repr(HeNormal()) == "HeNormal(fan='in')"
    assert repr(Normal(0.02)) == "Normal(std=0.02, mean=0.0)"
    assert KaimingNormal(a=0.0) == KaimingNormal()
    rules: set[Initialiser] = {HeNormal(), HeNormal("in"), HeNormal("out"), KaimingNormal(0.0, "in")}
    assert len(rules) == 3
    with pytest.raises(FrozenInstanceError):
        HeNormal().fan = "out"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("zeros", Zeros()),
        ("ones", Ones()),
        ("he_normal", HeNormal()),
        ("he_uniform", HeUniform()),
        ("xavier_normal", XavierNormal()),
        ("xavier_uniform", XavierUniform()),
        ("kaiming_uniform", KaimingUniform(math.sqrt(5.0))),
        ("kaiming_normal", KaimingNormal(0.0)),
    ],
)
def test_names(name: str, rule: Initialiser) -> None:
    """A name stands for the rule with its defaults; a rule stands for itself."""
    assert initialiser(name) == rule
    assert initialiser(rule) is rule
    assert isinstance(rule, Initialiser)


def test_any_function_is_a_rule() -> None:
    """The protocol asks for a call, not for a class."""

    def halves(rng: Rng, shape: tuple[int, ...], fans: Fans) -> Floats:
        return np.full(shape, 0.5)

    assert initialiser(halves) is halves


def test_all_is_what_there_is() -> None:
    """``__all__`` names every class of the package's files."""
    files = [importlib.import_module(f"typednn.random.{file.name}") for file in pkgutil.iter_modules(module.__path__)]
    classes = {
        name
        for file in files
        for name, value in vars(file).items()
        if isinstance(value, type) and value.__module__ == file.__name__
    }
    assert {name for name in classes if name[0] != "_"} == {
        name for name in module.__all__ if isinstance(getattr(module, name), type)
    }
    assert set(module.__all__) - classes == {"Fan", "initialiser"}


# --- xorshift64* ----------------------------------------------------------------------------------------------------


def test_xorshift_published() -> None:
    """G-C3: the numbers that Rosetta Code publishes for "Xorshift star": five of seed 1234567, and counts of 100,000 of
    another.
    """
    rng = XorShift64(1234567)
    assert [rng.next_uint32() for _ in range(5)] == [3540625527, 2750739987, 4037983143, 1993361440, 3809424708]
    rng = XorShift64(987654321)
    assert np.bincount([rng.next_uint32() * 5 >> 32 for _ in range(100_000)]).tolist() == [
        20103,
        19922,
        19937,
        20031,
        20007,
    ]


def test_xorshift_coins() -> None:
    """G-C3: of gpt.c's seed, as its two lines of C give them with gcc; of all bits set, and drawn by shape."""
    numbers = [989205090, 818269915, 1335155955, 3876892996, 2941700015, 1322121497]
    rng = XorShift64()
    assert [rng.next_uint32() for _ in range(6)] == numbers
    coins = XorShift64(1337).random((2, 3))
    np.testing.assert_allclose(
        coins, [[0.230317235, 0.19051826, 0.310865164], [0.902659476, 0.684917867, 0.307830393]], rtol=2e-8
    )
    np.testing.assert_array_equal(coins.astype(np.float32), coins)
    rng = XorShift64(2**64 - 1)
    assert [rng.next_uint32() for _ in range(4)] == [4180462053, 2415166680, 879531507, 3310800028]


def test_xorshift_takes_a_seed_that_is_not_0() -> None:
    for seed in (0, -1, 2**64, 1.0, True):
        with pytest.raises(ArgumentError, match="XorShift64: seed is an integer from 1 to 18446744073709551615, got"):
            XorShift64(seed)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="size is a tuple"):
        XorShift64().random(3)  # type: ignore[arg-type]
    generators: list[Draws] = [XorShift64(), PCG32(0), np.random.default_rng(0)]
    assert all(0 <= generator.random((1,))[0] < 1 for generator in generators)
    assert repr(XorShift64()) == "<XorShift64 state=0x0000000000000539>"
