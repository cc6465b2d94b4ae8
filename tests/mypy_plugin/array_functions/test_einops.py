"""The rows for einops against einops itself, on random patterns."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from effort import cheap

from tests.mypy_plugin.array_functions.calls import MISTAKES, Draw
from tests.mypy_plugin.array_functions.comparison import Case, Library, judged
from tests.mypy_plugin.array_functions.test_array_functions import SYMBOLS, further_axis, silent
from typednn.mypy_plugin.array_functions import TABLE, Row

ROWS = {name: row for name, row in TABLE.items() if name.startswith("einops.")}
CALLS = max(100, cheap.max_examples // 4)


def computed(name: str, case: Case) -> Any:
    """What einops gives; `ValueError` where it refuses."""
    import einops

    try:
        return getattr(einops, name.removeprefix("einops."))(*case.arguments, **case.keywords)
    except (einops.EinopsError, RuntimeError) as error:
        raise ValueError(str(error)) from error


EINOPS = Library("einops", computed, lambda error: "dtype" in str(error))


def transformed(name: str, d: Draw) -> Case:
    """A pattern with groups on both sides; sometimes a name is lost, or a size wrong."""
    sizes = {letter: d.one((1, 2, 3, 5)) for letter in "abcd"[: d.random.randint(1, 4)]}
    letters, keywords = list(sizes), dict[str, int]()

    def grouped(names: list[str], *, left: bool) -> str:
        words = list(names)
        if len(words) > 1 and d.flag():
            place = d.random.randrange(len(words) - 1)
            if left:
                keywords[words[place]] = sizes[words[place]] + d.chance(MISTAKES)
            words[place : place + 2] = [f"({words[place]} {words[place + 1]})"]
        return " ".join(words)

    left = grouped(letters, left=True)
    dims = [
        int(np.prod([sizes[name] for name in re.findall(r"\w", word)])) for word in re.findall(r"\([^)]*\)|\w", left)
    ]
    after = d.random.sample(letters, len(letters))
    if name == "einops.reduce" or d.chance(MISTAKES):
        after = after[: d.random.randint(0, len(after))]
    if name == "einops.repeat":
        after.insert(d.random.randint(0, len(after)), "k")
        sizes["k"] = 3
        if not d.chance(MISTAKES):
            keywords["k"] = 3
    more = d.flag()
    shape = (*d.maybe(dims), *((2, 3) if more else ()))
    pattern = f"{left}{' ...' * more} -> {'... ' * more}{grouped(after, left=False)}"
    arguments = (np.zeros(shape, "float32"), pattern, *(("mean",) if name == "einops.reduce" else ()))
    return Case(arguments, keywords)


def summed(d: Draw) -> Case:
    sizes = {letter: d.one((2, 3, 5)) for letter in "ijkl"}
    terms = ["".join(d.random.sample("ijkl", d.random.randint(1, 3))) for _ in range(d.random.randint(1, 2))]
    letters = sorted(set("".join(terms)))
    after = d.random.sample(letters, d.random.randint(0, len(letters))) + ["z"] * d.chance(MISTAKES)
    arrays = [np.zeros(d.maybe([sizes[letter] for letter in term]), "float32") for term in terms]
    return Case((*arrays, f"{', '.join(' '.join(term) for term in terms)} -> {' '.join(after)}"))


def complaints(name: str, row: Row) -> Iterator[str]:
    for seed in range(CALLS):
        d = Draw(f"{name} {seed}")
        case = summed(d) if name == "einops.einsum" else transformed(name, d)
        for symbols in ({}, SYMBOLS[seed % 2]):
            verdict = judged(name, case, symbols, row, EINOPS)
            yield from filter(None, (verdict.wrong, verdict.open))


@pytest.mark.parity
@pytest.mark.parametrize("name", ROWS)
def test_each_row_says_what_einops_does(name: str) -> None:
    wrong = list(complaints(name, ROWS[name]))
    assert not wrong, "\n".join(wrong[:5])


@pytest.mark.parity
@pytest.mark.parametrize("name", ROWS)
def test_a_wrong_row_is_noticed(name: str) -> None:
    assert list(complaints(name, further_axis(ROWS[name])))
    assert list(complaints(name, silent(ROWS[name])))
