"""Programs: what a `realize` computes, and what each pass makes of it."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from typednn.errors import ArgumentError
from typednn.graph.kinds import Kind
from typednn.graph.nodes import binary, constant, pad, tensor, unary
from typednn.graph.operations import Binary, Unary
from typednn.graph.passes import PASSES, common, dead, fold_constants, left_out, optimised, products, without_passes
from typednn.graph.program import PRODUCT, Program, described, traced
from typednn.graph.tensor import AnyTensor


def program(*tensors: AnyTensor) -> Program:
    return traced([each.id for each in tensors])[0]


def kinds(of: Program) -> list[int]:
    return [each.kind for each in of.instructions]


def test_a_program_names_no_nodes() -> None:
    """The same operations of other arrays are an equal program; other sizes, operations and constants are not."""

    def build(size: int = 3, number: float = 2.0, operation: Unary = Unary.EXP) -> Program:
        x = tensor(np.random.default_rng().normal(size=size))
        y = unary(operation, x * number)
        return program(y, y + x)

    assert build() == build()
    assert hash(build()) == hash(build())
    assert len({build(), build(4), build(3, 3.0), build(3, 2.0, Unary.SIN)}) == 4


def test_inputs_come_first_and_known_arrays_are_leaves() -> None:
    x = tensor(np.ones(3), name="x")
    y = (x * 2.0).realize()
    z = y + x
    made, leaves = traced([z.id])
    assert sorted(leaves) == sorted([y.id, x.id])
    assert kinds(made) == [Kind.LEAF, Kind.LEAF, Kind.BINARY]
    assert made.outputs == (2,)
    assert all(given < place for place, each in enumerate(made.instructions) for given in each.inputs)


def test_constants_are_folded() -> None:
    """X-A9: functions of constants are one, movements of them too, and factors of one go."""
    x = tensor(np.arange(6.0).reshape(2, 3))
    two = constant(2.0, np.float64)
    y = x + (unary(Unary.EXP, two) * 3.0 - two).reshape(1, 1).expand(2, 3)
    folded = dead(fold_constants(program(y)))
    assert sorted(kinds(folded)) == [Kind.CONST, Kind.LEAF, Kind.BINARY]
    np.testing.assert_allclose(y.numpy(), x.numpy() + np.exp(2) * 3 - 2)
    for same in (x * 1.0, 1.0 * x, x / 1.0):
        assert kinds(dead(fold_constants(program(same)))) == [Kind.LEAF]
    other = 1.0 / x
    assert Kind.BINARY in kinds(dead(fold_constants(program(other))))


def test_folding_warns_of_nothing() -> None:
    """X-A9: the logarithm of a constant 0 is minus infinity, as it is without the pass."""
    y = unary(Unary.LOG, constant(0.0, np.float32)) / 0.0
    assert y.numpy() == -np.inf


def test_equal_instructions_are_one() -> None:
    """X-H1, X-A9"""
    x = tensor(np.ones(3))
    y = unary(Unary.EXP, x * 2.0) + unary(Unary.EXP, x * 2.0)
    assert len(program(y).instructions) == 8
    assert len(common(program(y)).instructions) == 5
    different = unary(Unary.EXP, x * 2.0) + unary(Unary.EXP, x * 3.0)
    assert len(common(program(different)).instructions) == 8
    zero, minus = constant(0.0, np.float64, (3,)), constant(-0.0, np.float64, (3,))
    assert len(common(program(x / zero, x / minus)).instructions) == 5


PRODUCTS: dict[str, tuple[Callable[[], AnyTensor], bool]] = {
    "matmul": (lambda: tensor(np.ones((2, 3))) @ tensor(np.ones((3, 4))), True),
    "batched": (lambda: tensor(np.ones((5, 2, 3))) @ tensor(np.ones((5, 3, 4))), True),
    "outer": (lambda: (tensor(np.ones((2, 1, 3))) * tensor(np.ones((1, 4, 3)))).sum(axis=2), True),
    "dot": (lambda: tensor(np.ones(3)) @ tensor(np.ones(3)), False),
    "squares": (lambda: (tensor(np.ones((2, 3))) * tensor(np.ones((2, 3)))).sum(axis=1), False),
    "integers": (lambda: tensor(np.ones((2, 3), int)) @ tensor(np.ones((3, 4), int)), False),
    "sum of an expanded axis": (lambda: (tensor(np.ones((2, 1, 1))) * tensor(np.ones((1, 4, 3)))).sum(axis=2), False),
    "maximum": (lambda: (tensor(np.ones((2, 1, 3))) * tensor(np.ones((1, 4, 3)))).max(axis=2), False),
}


@pytest.mark.parametrize("case", PRODUCTS)
def test_products_of_matrices_are_recognised(case: str) -> None:
    """Where pairs would be stored, and only there."""
    build, is_product = PRODUCTS[case]
    y = build()
    found = dead(products(program(y)))
    assert (PRODUCT in kinds(found)) == is_product
    assert (
        Binary.MULTIPLY in [each.operation for each in found.instructions if each.kind == Kind.BINARY]
    ) != is_product


def test_what_nothing_needs_goes() -> None:
    """X-A9: and places are counted anew."""
    x = tensor(np.ones(3))
    whole = program(x + 1.0, unary(Unary.EXP, x))
    part = dead(whole._replace(outputs=whole.outputs[1:]))
    assert kinds(part) == [Kind.LEAF, Kind.UNARY]
    assert part.instructions[1].inputs == (0,)
    assert part.outputs == (1,)


def test_passes_can_be_left_out() -> None:
    """X-A9: one, several, all; in blocks in blocks."""
    x = tensor(np.ones(3))
    made = program((x * 1.0) + (x * 1.0))
    assert left_out() == frozenset()
    assert len(optimised(made).instructions) == 2
    with without_passes("common"):
        assert left_out() == {"common"}
        with without_passes("dead", "products"):
            assert left_out() == {"common", "dead", "products"}
        assert left_out() == {"common"}
    with without_passes():
        assert left_out() == set(PASSES)
        assert optimised(made) == made
    assert left_out() == frozenset()
    with (
        pytest.raises(
            ArgumentError, match="without_passes: names are fold_constants, common, products, windows, dead, got fusion"
        ),
        without_passes("fusion"),
    ):
        pass


def test_results_are_equal_without_each_pass() -> None:
    """X-A9: of a computation that each pass changes."""
    x, w = np.random.default_rng(0).normal(size=(2, 4, 4))

    def compute() -> Any:
        a, b = tensor(x), tensor(w)
        h = unary(Unary.TANH, a @ b * (constant(1.0, np.float64) + 1.0)) * 1.0
        return (pad(h, [(1, 0), (0, -1)]) + pad(h, [(1, 0), (0, -1)])).numpy()

    expected = np.pad(np.tanh(x @ w * 2), ((1, 0), (0, 0)))[:, :-1] * 2
    whole = compute()
    np.testing.assert_allclose(whole, expected, rtol=1e-12)
    for name in PASSES:
        with without_passes(name):
            np.testing.assert_allclose(compute(), whole, rtol=1e-14)


def test_programs_as_text() -> None:
    x = tensor(np.ones((2, 3), np.float32))
    y = unary(Unary.EXP, x * 2.0).T.sum(axis=0)
    assert described(program(y)).splitlines() == [
        "%0 = const 2.0 : float32 (2, 3)",
        "%1 = leaf 0 : float32 (2, 3)",
        "%2 = multiply %1 %0 : float32 (2, 3)",
        "%3 = exp %2 : float32 (2, 3)",
        "%4 = permute (1, 0) %3 : float32 (3, 2)",
        "%5 = sum (0,) %4 : float32 (2,)",
        "results %5",
    ]
    assert "product" in described(dead(products(program(x @ x.T))))


def test_passes_are_left_out_in_every_thread() -> None:
    seen: list[Any] = []
    with without_passes("dead"):
        thread = threading.Thread(target=lambda: seen.append(left_out()))
        thread.start()
        thread.join()
    assert seen == [{"dead"}]
    assert binary(Binary.ADD, tensor(np.ones(1)), 1.0).numpy().tolist() == [2]
