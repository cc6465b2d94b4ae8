"""What becomes one kernel: counted on the programs of well-known functions, and on a few that can't be one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from typednn import graph as ops
from typednn.graph.description import MOST_WORK, Group, described, operands, work
from typednn.graph.grouping import Alone, grouped, split_reductions
from typednn.graph.kinds import Kind
from typednn.graph.nodes import binary, broadcast_to, cast_to, pad, tensor, unary
from typednn.graph.operations import Binary, Unary
from typednn.graph.passes import optimised
from typednn.graph.program import PRODUCT, Program, traced
from typednn.graph.tape import Tape
from typednn.graph.tensor import AnyTensor


def program_of(*outputs: AnyTensor) -> Program:
    return split_reductions(optimised(traced([each.id for each in outputs])[0]))


def steps_of(*outputs: AnyTensor) -> tuple[list[Group], list[int]]:
    """The kernels, and the kinds of the other steps, views of arrays left out."""
    program = program_of(*outputs)
    steps = grouped(program)
    others = [program.instructions[step.place].kind for step in steps if isinstance(step, Alone)]
    views = {Kind.EXPAND, Kind.PERMUTE, Kind.RESHAPE}
    return [step for step in steps if isinstance(step, Group)], [kind for kind in others if kind not in views]


def drawn(*shape: int, dtype: Any = np.float32) -> AnyTensor:
    return tensor(np.random.default_rng(len(shape)).normal(size=shape).astype(dtype))


def softmax(x: AnyTensor) -> AnyTensor:
    e = unary(Unary.EXP, x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x: AnyTensor, weight: AnyTensor, bias: AnyTensor) -> AnyTensor:
    moved = x - x.mean(-1, keepdims=True)
    variance = (moved * moved).mean(-1, keepdims=True)
    return moved / unary(Unary.SQRT, variance + 1e-5) * weight + bias


def test_twenty_operations_are_one_kernel() -> None:
    """X-A7: a chain of 20 elementwise operations is one kernel."""
    x, y = drawn(6, 7), drawn(7)
    z = x
    for _ in range(6):
        z = binary(Binary.MAXIMUM, z * 0.5 + y, x)
    z = unary(Unary.EXP, -(z * z))
    kernels, others = steps_of(z)
    assert [each.description.kind for each in kernels] == ["flat"]
    assert not others


@pytest.mark.parametrize(("function", "most"), [("softmax", 1), ("layer_norm", 1)])
def test_forward_of_rows_is_one_kernel(function: str, most: int) -> None:
    """X-A7: softmax is one kernel, and layer norm too."""
    x = drawn(2, 5, 9)
    y = softmax(x) if function == "softmax" else layer_norm(x, drawn(9), drawn(9))
    kernels, others = steps_of(y)
    assert len(kernels) == most
    assert not others


def test_forward_and_gradient_of_rows_are_at_most_three_kernels() -> None:
    """X-A7: softmax and its gradient are one kernel; layer norm and its three gradients are two."""
    x, next_grad = drawn(5, 9), drawn(5, 9)
    with Tape() as tape:
        y = softmax(x)
        (dx,) = tape.gradient((y * next_grad).sum(), [x], zeros=True)
    kernels, others = steps_of(y, dx)
    assert ([each.description.kind for each in kernels], others) == (["rows"], [])
    weight, bias = drawn(9), drawn(9)
    with Tape() as tape:
        y = layer_norm(x, weight, bias)
        gradients = tape.gradient((y * next_grad).sum(), [x, weight, bias], zeros=True)
    kernels, others = steps_of(y, *gradients)
    assert ([each.description.kind for each in kernels], others) == (["rows", "columns"], [])


def test_products_are_no_kernels() -> None:
    """X-A7: a product is recognised, and what follows it is one kernel; no kernel and no array holds the pairs."""
    x, w, b = drawn(5, 6), drawn(6, 7), drawn(7)
    y = binary(Binary.MAXIMUM, x @ w + b, 0.0)
    kernels, others = steps_of(y)
    assert others == [PRODUCT]
    assert [each.description.kind for each in kernels] == ["flat"]
    program = program_of(y)
    stored = {
        place
        for step in grouped(program)
        for place in ([step.place] if isinstance(step, Alone) else [p for p, _ in step.outputs])
    }
    assert max(np.prod(program.instructions[place].shape) for place in stored) == 42


def test_movement_is_index_arithmetic() -> None:
    """X-A7: transposing, slicing, padding and repeating are no kernels of their own, and store nothing."""
    x, y = drawn(5, 5), drawn(5, 1)
    z = x.T[1:4] * broadcast_to(y, (5, 5))[:3] + pad(x, [(0, 0), (2, 0)])[2:, 2:]
    kernels, others = steps_of(z)
    assert len(kernels) == 1
    assert not others


def test_what_two_need_is_computed_twice_or_stored() -> None:
    """X-A7: a cheap value that a product and a kernel need is stored once; one that two kernels need is repeated; a
    reduction is not.
    """
    x = drawn(5, 6)
    cheap = x * 2.0 + 1.0
    kernels, _ = steps_of(cheap.sum(axis=0), cheap.sum(axis=1))
    assert sorted(each.description.kind for each in kernels) == ["columns", "rows"]
    assert all(len(each.outputs) == 1 for each in kernels)
    mean = x.mean(-1, keepdims=True)
    kernels, _ = steps_of((x - mean).sum(axis=0), x / mean)
    assert sum(len(each.outputs) for each in kernels) == 3  # the sum of each row is stored
    requested = unary(Unary.EXP, x)
    kernels, _ = steps_of(requested, requested + 1.0)
    assert [len(each.outputs) for each in kernels] == [2]


def test_results_of_one_space_are_one_kernel_unless_something_lies_between() -> None:
    """X-A7: independent results of one shape are one kernel; what a product of the first gives is in another."""
    x, y = drawn(4, 4), drawn(4, 4)
    kernels, _ = steps_of(x + y, x * y)
    assert len(kernels) == 1
    first = x + y
    kernels, _ = steps_of(first, first @ y + x)
    assert len(kernels) == 2


def test_sizes_and_constants_are_no_part_of_a_kernel() -> None:
    """X-A8: other sizes and other constants are the same kernel, as long as the same axes are of size 1."""
    descriptions = {
        steps_of(layer_norm(drawn(rows, columns), drawn(columns), drawn(columns)) * rate)[0][0].description
        for rows, columns, rate in [(5, 9, 0.3), (7, 9, 0.3), (7, 33, 0.1)]
    }
    assert len(descriptions) == 1
    ranks = {steps_of(drawn(*shape) * 2.0 + 1.0)[0][0].description for shape in [(60,), (5, 12), (3, 4, 5), (1, 60)]}
    assert len(ranks) == 1


def test_reductions_over_separated_axes_are_two() -> None:
    """A sum over the first and the last axis is one over the last, then one over the first."""
    program = program_of(drawn(3, 4, 5).sum(axis=(0, 2)))
    assert [each.extra for each in program.instructions if each.kind == Kind.REDUCE] == [(2,), (0,)]
    kept = program_of(drawn(3, 4, 5).sum(axis=(1, 2)))
    assert [each.extra for each in kept.instructions if each.kind == Kind.REDUCE] == [(1, 2)]


def test_integers_are_read_and_compared() -> None:
    """A one-hot row of labels is no array: integers are compared where they are read; sums of integers are left to the
    interpreter.
    """
    labels, classes, x = tensor(np.array([[2], [0]])), tensor(np.arange(3)), drawn(2, 3)
    hot = cast_to(binary(Binary.EQUAL, labels, classes), np.float32)
    kernels, others = steps_of((hot * x).sum(-1))
    assert (len(kernels), others) == (1, [])
    kernels, others = steps_of(labels + 1)
    assert (kernels, [kind for kind in others if kind != Kind.CONST]) == ([], [Kind.BINARY])


def test_a_kernel_as_text() -> None:
    """X-A6: the text of a kernel has its kind, its nodes by name, and its results."""
    (kernel,), _ = steps_of(unary(Unary.EXP, drawn(3, 4)).sum(-1))
    text = described(kernel)
    for word in ("rows of 2 axes", "read 0", "exp float32", "sum float32", "results"):
        assert word in text


def test_groups_that_need_each_other_stay_apart() -> None:
    """X-A7: a then b, and c then d; a and d could be one kernel, b and c another one, but each would need the other's
    results.
    """
    x, y = drawn(3, 4), drawn(3, 5)
    a, c = unary(Unary.EXP, x), unary(Unary.EXP, y)
    b, d = (a @ drawn(4, 5)) * 2.0, (c @ drawn(5, 4)) * 2.0
    kernels, others = steps_of(a, b, c, d)
    assert others == [PRODUCT, PRODUCT]
    done = set[int]()
    for step in grouped(program_of(a, b, c, d)):
        if isinstance(step, Group):
            done |= {place for place, _ in step.outputs}
    assert len(done) == 4
    assert len(kernels) > 2


def deviations(x: AnyTensor) -> AnyTensor:
    return ops.var(x, 0) + ops.std(x, 0)


def by_numbers(function: Callable[[AnyTensor], AnyTensor], *shape: int) -> list[AnyTensor]:
    """The sum of squares of ``function`` and its derivative."""
    with Tape() as tape:
        x = drawn(*shape)
        y = (function(x) ** 2).sum()
        (dx,) = tape.gradient(y, [x], zeros=True)
    return [y, dx]


OVER_ROWS: dict[str, Callable[[AnyTensor], AnyTensor]] = {
    "softmax": lambda x: ops.softmax(x, 0),
    "log_softmax": lambda x: ops.log_softmax(x, 0),
    "logsumexp": lambda x: ops.logsumexp(x, 0),
    "deviations": deviations,
    "batch_norm": ops.batch_norm,
    "the largest": lambda x: ops.max(x, 0),
    "the middle axis": lambda x: ops.softmax(x.reshape(2, 3, 4), 1),
}


@pytest.mark.parametrize("name", OVER_ROWS)
def test_sums_over_rows_do_not_read_each_other(name: str) -> None:
    """X-A7: a sum over rows is known after the last row, so that a sum that reads it is of another kernel."""
    kernels, _ = steps_of(OVER_ROWS[name](drawn(6, 4)), *by_numbers(OVER_ROWS[name], 6, 4))
    columns = [each.description for each in kernels if each.description.kind == "columns"]
    assert columns
    for how in columns:
        inner = {operand for node in how.nodes for operand in operands(node)}
        assert not [node for node in inner if how.nodes[node][0] == "reduce"]


def repeated(function: Callable[[AnyTensor, AnyTensor], AnyTensor], times: int) -> Callable[[AnyTensor], AnyTensor]:
    def whole(x: AnyTensor) -> AnyTensor:
        y = x
        for place in range(times):
            y = function(y, x * (1.0 + place))
        return y

    return whole


# What grows: sums of shifted arrays read each of n places; a long chain is long; a function of a function writes its
# argument down again.
LARGE: dict[str, tuple[Callable[[AnyTensor], AnyTensor], tuple[int, ...]]] = {
    "cumsum": (lambda x: ops.cumsum(x, 1), (8, 17)),
    "a long cumsum": (lambda x: ops.cumsum(x, 0), (300, 2)),
    "cumprod": (lambda x: ops.cumprod(x, 1), (4, 17)),
    "cummax": (lambda x: ops.cummax(x, 0), (17, 3)),
    "a long chain": (repeated(lambda y, x: y * 0.5 + x, 150), (3, 4)),
    "a chain of the larger": (repeated(ops.maximum, 30), (3, 4)),
    "a chain of activations": (repeated(lambda y, x: ops.gelu(y + x), 6), (3, 4)),
    "a chain of softmax": (repeated(lambda y, x: ops.softmax(y * x), 12), (3, 4)),
    "a sum of many arrays": (lambda x: ops.sum(ops.stack([drawn(3, 4) * x for _ in range(90)], 0), 0), (3, 4)),
}


@pytest.mark.parametrize("name", LARGE)
def test_no_kernel_is_more_than_the_compiler_can_do(name: str) -> None:
    """X-A7: a larger expression is cut into several kernels."""
    function, shape = LARGE[name]
    kernels, _ = steps_of(*by_numbers(function, *shape))
    amounts = [sum(map(work, each.description.nodes)) for each in kernels]
    assert sum(amounts) > MOST_WORK / 2
    assert max(amounts) <= MOST_WORK
    assert len(kernels) < 4 + 8 * sum(amounts) / MOST_WORK, "and into no more than it needs"
