"""Compiled annotations against jaxtyping's own verdict, over random annotations, shapes and attributes."""

import random
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from effort import LONG
from jaxtyping import Float

from typednn.arrays import AnyArray
from typednn.contracts.checks import judged_place
from typednn.errors import DefinitionError
from typednn.shapes import Dim, evaluate
from typednn.shapes.compiled import comparison, outcome

ROUNDS = 10_000 if LONG else 600

WORDS = (
    "a", "b", "c", "a", "b", "3", "_", "_a", "...", "*g", "*h", "*#g", "#a", "#b", "#3", "size=a", "size=2", "{self.n}",
    "n={self.n}", "{self.k[0]}", "#{self.n}", "{self.part.n}", "a+1", "a*b", "a-b", "a//2", "a%2", "a**2",
    "(a-{self.k[1]})//{self.n}+1", "{self.n}**2", "2**{self.n}", "a-{self.n}", "a*{self.n}+b", "-{self.n}",
    "min(a,{self.n})", "max(a,b,2)", "abs(a-b)", "{self.n+1}", "a//{self.n-1}", "{self.n*2-1}*a", "{min(self.n,2)}",
    "#a+b", "{self.missing}", "min", "{-self.n}**2", "a%{self.n}",
)  # fmt: skip
NUMBERS = (1, 2, 3, 4, 1, 2, 3, 4, -1, -2, 0)
ODD = (2.0, "2", "1+1", None, True, 2.5, np.int64(2))


def annotation(draw: random.Random) -> str:
    words = [draw.choice(WORDS) for _ in range(draw.choice((0, 1, 1, 2, 2, 3, 4)))]
    several = [place for place, word in enumerate(words) if word.startswith(("*", "..."))]
    return " ".join(word for place, word in enumerate(words) if place not in several[1:])


def shape(
    text: str, layer: Any, known: dict[str, int], groups: dict[str, list[int]], draw: random.Random
) -> tuple[int, ...]:
    """One that often fits: names keep their size, expressions mostly have theirs."""

    def attribute(path: str) -> Dim | None:
        try:
            value = eval(path, {"self": layer})
        except Exception:
            return None
        return Dim.of(int(value)) if isinstance(value, int) else None

    sizes: list[int] = []
    for word in text.split():
        if word.startswith(("*", "...")):
            group = groups.setdefault(
                word.strip("*#."), [draw.choice((1, 2, 3)) for _ in range(draw.choice((0, 1, 2)))]
            )
            sizes += group
            continue
        bare = word.split("=")[-1].strip("#_")
        if word.startswith("#") and draw.random() < 0.5:
            sizes.append(1)
            continue
        size: int | None = None
        if bare.isidentifier():
            size = known.setdefault(bare, draw.choice((1, 2, 3, 4)))
        elif bare:
            dim = evaluate(bare, lambda name: Dim.of(known[name]) if name in known else None, attribute)
            size = None if dim is None else dim.value
        sizes.append(draw.choice((1, 2, 3)) if size is None or not 0 <= size < 50 else size)
    if sizes and draw.random() < 0.3:
        place = draw.randrange(len(sizes))
        sizes[place] = draw.choice((0, 1, sizes[place] + 1))
    if draw.random() < 0.05:
        sizes.append(2)
    return tuple(sizes)


def test_both_judges_give_one_verdict() -> None:
    draw = random.Random(20)
    seen: Counter[str] = Counter()
    while seen["True"] + seen["False"] < ROUNDS:
        odd = draw.random() < 0.1
        values = NUMBERS + ODD if odd else NUMBERS
        layer: Any = SimpleNamespace(
            n=draw.choice(values),
            k=(draw.choice(values), draw.choice(values)),
            part=SimpleNamespace(n=draw.choice(values)),
        )
        first = [draw.choice(("a b", "a b *g", "*h b a"))] if draw.random() < 0.8 else []  # so that names are bound
        texts = first + [annotation(draw) for _ in range(draw.choice((1, 1, 2)))]
        known: dict[str, int] = {}
        groups: dict[str, list[int]] = {}
        try:
            shapes = [shape(text, layer, known, groups, draw) for text in texts]
            compiled = comparison("self, x", (), (tuple((f"x[{place}]", text) for place, text in enumerate(texts)),))
        except (DefinitionError, ZeroDivisionError):
            continue
        if compiled is None:
            continue
        arrays = [np.empty(sizes, np.float32) for sizes in shapes]
        verdict = bool(compiled()(layer, shapes))
        try:
            right = judged_place(layer, [Float[AnyArray, text] for text in texts], arrays) < 0
        except Exception:  # a missing attribute, a name that is not bound, a division by zero
            right = False
        seen[f"{right}"] += 1
        # What is odd may be handed to jaxtyping; what it refuses is never let through.
        assert verdict == right or (odd and right), (texts, shapes, layer)
        if right and len(texts) == 2:
            produced = outcome(*texts)(layer, shapes[0])
            seen["produced"] += produced is not None
            assert produced in (None, shapes[1]), (texts, shapes, layer)
    assert min(seen["True"], seen["False"]) > ROUNDS // 5, seen
    assert seen["produced"] > ROUNDS // 50, seen


@pytest.mark.parametrize(
    ("inputs", "output", "given", "expected"),
    [
        ("batch {self.n}", "batch {self.m}", (2, 3), (2, 5)),
        ("batch {self.n}", "batch {self.m}", (2, 4), None),
        ("batch height width c", "batch height*width*c", (2, 3, 4, 5), (2, 60)),
        ("batch (time)", "batch time", (2, 3), None),
        ("batch size", "batch size-3", (2, 3), None),
        ("*shape", "*shape", (2, 3), (2, 3)),
        ("batch ...", "batch ...", (2, 3), None),
        ("batch a", "batch other", (2, 3), None),
        ("batch *rest last", "*rest last batch", (1, 2, 3, 4), (2, 3, 4, 1)),
        ("#batch a", "batch a", (2, 3), None),
    ],
)
def test_what_shape_comes_out(
    inputs: str, output: str, given: tuple[int, ...], expected: tuple[int, ...] | None
) -> None:
    """None where the input does not fit, where nothing would be left of an axis, and where the annotation does not
    decide.
    """
    assert outcome(inputs, output)(SimpleNamespace(n=3, m=5), given) == expected


def test_facts_are_compared_with_what_they_were() -> None:
    make = comparison("x", ("x.__class__", "x.dtype"), ((("x.shape", "batch 3"),),))
    assert make is not None
    fits = make(np.ndarray, np.dtype(np.float32))
    assert fits(np.empty((2, 3), np.float32))
    assert not fits(np.empty((2, 3), np.float64))
    assert not fits(np.empty((2, 4), np.float32))
    assert not fits(None)
