"""A program in two: together they give what it gives, and the second computes only what is left."""

from contextlib import nullcontext
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from typednn.graph import Tape, linear, tanh
from typednn.graph.interpreter import interpret
from typednn.graph.nodes import tensor
from typednn.graph.program import Program, traced
from typednn.graph.splitting import split
from typednn.graph.tensor import AnyTensor, array_of
from typednn.graph.whole import Derived, decomposed

sizes = st.integers(1, 5)


def numbers(*shape: int, seed: int = 0) -> AnyTensor:
    return tensor(np.random.default_rng(seed).standard_normal(shape))


def program_of(*results: AnyTensor) -> tuple[Program, list[Any]]:
    program, leaves = traced([each.id for each in results])
    return program, [array_of(number) for number in leaves]


def net(batch: int, inputs: int, hidden: int) -> tuple[Program, list[Any]]:
    """The derivatives of two layers by the input, then by the weights."""
    x, first, bias, second = (
        numbers(batch, inputs),
        numbers(hidden, inputs, seed=1),
        numbers(hidden, seed=2),
        numbers(3, hidden, seed=3),
    )
    with Tape() as tape:
        y = linear(tanh(linear(x, first, bias)), second)
        gradients = tape.gradient((y * numbers(batch, 3, seed=4)).sum(), [x, first, bias, second], zeros=True)
    return program_of(*gradients)


@given(sizes, sizes, sizes, st.booleans())
def test_both_give_what_the_program_gives(batch: int, inputs: int, hidden: int, whole: bool) -> None:
    with nullcontext() if whole else decomposed():
        program, arrays = net(batch, inputs, hidden)
    parts = split(program, len(arrays))
    if parts is None:  # a sum over one number is none
        assert not whole
        assert 1 in (batch, inputs, hidden)
        return
    expected = interpret(program, arrays)
    found = interpret(parts.now, arrays)
    last = interpret(parts.later, [*arrays, *found[-parts.between :]])
    for ours, theirs in zip([*last, *found[: -parts.between]], expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


def test_the_second_computes_what_is_left() -> None:
    """The first computes no derivative by the input, and the second reads what the first computed of
    the layer above.
    """
    program, arrays = net(4, 5, 6)
    parts = split(program, len(arrays))
    assert parts is not None
    assert parts.between == 1
    wanted = [
        [each.extra.wanted for each in part.instructions if isinstance(each.extra, Derived)]
        for part in (parts.now, parts.later)
    ]
    assert wanted == [[(True, True), (False, True, True)], [(True, False, False)]]


def test_what_saves_nothing_is_not_split() -> None:
    x, weight = numbers(2, 3), numbers(3, seed=1)
    assert split(*counted(x * weight, (x * x).sum(axis=0))) is None, "number by number"
    product = x @ numbers(3, 2, seed=1)
    assert split(*counted(product, product * 2.0)) is None, "computed with the others"


def test_what_reads_a_result_that_leaves_is_not_split() -> None:
    x, weight = numbers(2, 3), numbers(3, 2, seed=1)
    moved = (tanh(x) * 2.0).reshape(3, 2)
    assert split(*counted(tanh(x) @ weight, tanh(x).sum(axis=0))) is not None
    assert split(*counted((tanh(x) * 2.0) @ weight, moved)) is None, "the same numbers in another shape"
    assert split(*counted(x.T.T @ weight, tanh(x.T))) is not None, "an array by itself"


def counted(*results: AnyTensor) -> tuple[Program, int]:
    program, arrays = program_of(*results)
    return program, len(arrays)
