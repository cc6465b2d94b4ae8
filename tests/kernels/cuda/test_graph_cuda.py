"""The graph's kernels in CUDA, against the interpreter on NumPy: X-A7, fused as on a CPU; each kind of group and each
operation.
"""

import cuda_on_cpu
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.engines import using
from typednn.graph.cuda import source
from typednn.graph.description import Group
from typednn.graph.grouping import grouped, split_reductions
from typednn.graph.nodes import binary, cast_to, pad, realize, reduce, tensor, unary
from typednn.graph.operations import Binary, Reduce, Unary
from typednn.graph.passes import optimised
from typednn.graph.program import traced

# Their operands are integers, or remainders of them: the interpreter computes these.
ELSEWHERE = {
    Binary.MODULO,
    Binary.BITWISE_AND,
    Binary.BITWISE_OR,
    Binary.BITWISE_XOR,
    Binary.LEFT_SHIFT,
    Binary.RIGHT_SHIFT,
}


def softmax(x):
    e = unary(Unary.EXP, x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layer_norm(x):
    d = x - x.mean(axis=-1, keepdims=True)
    return d / unary(Unary.SQRT, (d * d).mean(axis=-1, keepdims=True) + 1e-5)


def functions(x):
    """Each unary operation where it is defined, summed up with a factor of its own."""
    positive = unary(Unary.ABS, x) + 0.1
    total = x
    for place, operation in enumerate(Unary):
        if operation == Unary.ERF:  # the interpreter computes it in float64
            total = total + cast_to(unary(operation, cast_to(x, np.float32)), x.dtype)
        elif operation != Unary.BITWISE_NOT:
            total = total + unary(
                operation, positive if operation in (Unary.LOG, Unary.LOG2, Unary.SQRT) else x + 3.0
            ) * (place + 1.0)
    return total


def comparisons(x):
    """Each binary operation of floats and of truths."""
    y = x * x
    total = binary(Binary.POWER, y + 0.5, x)
    for power in (-2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 3.0, 4.0):
        total = total + binary(Binary.POWER, y + 0.5, power)
    truths = [binary(operation, x, y) for operation in Binary if operation.row.takes == "any"]
    for operation in Binary:
        if operation.row.takes == "booleans":
            truths.append(binary(operation, truths[0], truths[1]))
    for place, truth in enumerate([*truths, ~truths[0]]):
        total = total + binary(Binary.MASKED, truth, y) * (place + 1.0) + cast_to(truth, x.dtype)
    return binary(Binary.MAXIMUM, total - y / (x + 5.0), y)


PROGRAMS = {
    "functions": functions,
    "comparisons": comparisons,
    "softmax": softmax,
    "layer_norm": layer_norm,
    "columns": lambda x: (x * x).sum(axis=0) + x.max(axis=0),
    "every reduction": lambda x: sum((reduce(operation, x, -1) for operation in Reduce), x.min(axis=-1)),
    "padded": lambda x: pad(x, ((1, 2), (-1, 3))) * 2.0,
    "turned": lambda x: x.T + 1.0,
    "repeated": lambda x: x.reshape(x.shape[0], 1, x.shape[1]).expand(x.shape[0], 3, x.shape[1]).max(axis=1),
    "whole": lambda x: (x * x).sum(),
    "product": lambda x: (x @ x.T) * 0.5,
    "to float64": lambda x: cast_to(x, np.float64) * 3.0,
}


@settings(max_examples=3, deadline=None)
@given(
    rows=st.integers(1, 5),
    columns=st.sampled_from([1, 3, 33, 300]),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 99),
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_the_interpreter(gpu, name, rows, columns, dtype, seed):
    """G-C13, X-A7: every kind of group."""
    x = np.random.default_rng(seed).standard_normal((rows, columns)).astype(dtype)
    y = PROGRAMS[name](tensor(gpu.put(x)))
    got = gpu.get(y.array)
    with using("reference"):
        expected = PROGRAMS[name](tensor(x)).numpy()
    assert got.dtype == expected.dtype
    exact = 1e-12 if dtype is np.float64 and name != "functions" else 1e-5
    np.testing.assert_allclose(got, expected, rtol=exact, atol=exact * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("name", ["softmax", "layer_norm"])
def test_one_kernel(gpu, name):
    """X-A7: one launch each."""
    if gpu.contracts:
        pytest.skip("the stand-in notes launches")
    y = PROGRAMS[name](tensor(gpu.put(np.ones((4, 5), np.float32))))
    before = len(cuda_on_cpu.launches)
    y.realize()
    assert len(cuda_on_cpu.launches) == before + 1


def test_not_a_number(gpu):
    """NaN and infinities as NumPy has them."""
    x = np.array([[np.nan, 1.0, -np.inf], [np.inf, -0.0, np.nan]], np.float32)
    y = tensor(gpu.put(x))
    results = [binary(Binary.MAXIMUM, y, 0.0), y.max(axis=1), y.min(axis=0), binary(Binary.MASKED, y > 0, y)]
    realize(*results)
    for got, expected in zip(
        results, [np.maximum(x, 0), x.max(axis=1), x.min(axis=0), np.where(x > 0, x, 0)], strict=True
    ):
        np.testing.assert_array_equal(gpu.get(got.array), expected)


def test_every_operation_is_somewhere():
    """An operation without a program here would never run."""
    used = set[tuple[str, int]]()
    for make in PROGRAMS.values():
        program = split_reductions(optimised(traced([make(tensor(np.ones((3, 4), np.float32))).id])[0]))
        for step in grouped(program):
            if isinstance(step, Group):
                assert "__global__" in source(step.description)
                used |= {
                    (node[0], node[1]) for node in step.description.nodes if node[0] in ("unary", "binary", "reduce")
                }
    assert {("unary", each) for each in Unary if each != Unary.BITWISE_NOT} <= used
    assert {("binary", each) for each in Binary if each not in ELSEWHERE} <= used
    assert {("reduce", each) for each in Reduce} <= used
