"""Views: chains of movements as index arithmetic, and products that read and add to windows without storing them."""

import itertools
import math
import tracemalloc
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.differences import check_gradients, values
from tests.graph.test_windows import convolved, draw_conv, sliding, windows_of
from tests.support.effort import expensive
from typednn.engines import available, using
from typednn.engines.memory import pool
from typednn.graph import interpreter
from typednn.graph.graph import GRAPH
from typednn.graph.grouping import grouped, split_reductions
from typednn.graph.interpreter import seen, surrounded
from typednn.graph.kinds import Kind
from typednn.graph.nodes import broadcast_to, pad, permute, realize, reshape, tensor
from typednn.graph.passes import optimised, without_passes
from typednn.graph.program import PRODUCT, Program, described, traced
from typednn.graph.tape import Tape
from typednn.graph.tensor import AnyTensor
from typednn.graph.views import Chain, Windowed, split_for, view_of
from typednn.graph.whole import decomposed
from typednn.graph.windows import col2im, conv1d, conv2d, conv_transpose1d, conv_transpose2d, im2col

ENGINES = ["reference", pytest.param("fast", marks=pytest.mark.skipif(not available(), reason="needs Halide"))]


def chain_of(x: AnyTensor, y: AnyTensor) -> Chain:
    """The movements from ``x`` to ``y``."""
    program, _ = traced([y.id])
    return Chain(0, x.shape, program.instructions[1:])


def seen_by(chain: Chain, array: Any) -> Any:
    """What the chain gives, by strides alone; None where there is no view."""
    shape = chain.steps[-1].shape
    split = split_for(chain, range(len(shape)), tuple((size,) for size in shape))
    if split is None:
        return None
    view = view_of(chain, range(len(shape)), split)
    sizes = [part for parts in split for part in parts]
    return seen(np, surrounded(np, array, view), view, sizes, range(len(sizes))).reshape(shape)


@pytest.mark.parametrize("axes", [1, 2, 3])
@given(data=st.data())
def test_windows_are_views(axes: int, data: st.DataObject) -> None:
    """X-A7: of every size, stride, dilation and padding, also when their axes are joined, and in another order."""
    options = data.draw(sliding(axes))
    x = tensor(options.pop("x"))
    y = im2col(x, **options)
    array = windows_of(x.numpy(), **options)
    if y.id == x.id:
        return
    np.testing.assert_array_equal(seen_by(chain_of(x, y), x.numpy()), array)
    counts = array.shape[: 1 + axes]
    rows = reshape(y, (math.prod(counts), y.size // math.prod(counts)))
    np.testing.assert_array_equal(seen_by(chain_of(x, rows), x.numpy()), array.reshape(rows.shape))
    np.testing.assert_array_equal(seen_by(chain_of(x, rows.T), x.numpy()), array.reshape(rows.shape).T)


def drawn_steps(rng: np.random.Generator, x: AnyTensor) -> AnyTensor:
    """Some movements, the sizes small."""
    for _ in range(rng.integers(1, 7)):
        how = rng.integers(4)
        if how == 0:
            x = permute(x, tuple(int(axis) for axis in rng.permutation(x.ndim)))
        elif how == 1:
            wider = tuple(int(rng.integers(1, 4)) if size == 1 else size for size in x.shape)
            x = broadcast_to(x, (*[int(rng.integers(1, 3))] * int(rng.integers(2)), *wider))
        elif how == 2:
            widths = [(int(before), int(after)) for before, after in rng.integers(-1, 3, (x.ndim, 2))]
            if any(
                min(before, 0) + min(after, 0) + size < 1 for (before, after), size in zip(widths, x.shape, strict=True)
            ):
                continue
            x = pad(x, widths)
        else:
            sizes = [size for size in x.shape if size > 1]
            while len(sizes) > 1 and rng.random() < 0.6:
                at = int(rng.integers(len(sizes) - 1))
                sizes[at : at + 2] = [sizes[at] * sizes[at + 1]]
            at = int(rng.integers(len(sizes) + 1))
            whole = math.prod(sizes)
            divisors = [size for size in range(1, whole + 1) if whole % size == 0]
            first = int(rng.choice(divisors))
            x = reshape(x, (first, whole // first) if rng.random() < 0.4 else (*sizes[:at], 1, *sizes[at:]))
        if x.size > 3000:
            break
    return x


def test_a_view_of_any_movements_is_what_they_give() -> None:
    """X-A7: whatever chain has a view is seen right; many have one."""
    found = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        x = tensor(rng.normal(size=rng.integers(1, 6, rng.integers(1, 4))))
        y = drawn_steps(rng, x)
        if y.id == x.id:
            continue
        got = seen_by(chain_of(x, y), x.numpy())
        if got is not None:
            found += 1
            np.testing.assert_array_equal(got, y.numpy(), f"program {seed}")
    assert found > 250


def test_what_has_a_view() -> None:
    """A row that was cut out of all numbers, one that was repeated, and zeros around zeros."""
    x = tensor(np.arange(1.0, 13.0).reshape(4, 3))
    row = reshape(x, (12,))[6:9]
    repeated = reshape(broadcast_to(reshape(x, (4, 1, 3)), (4, 2, 3)), (4, 6))
    framed = pad(pad(x, [(0, 0), (1, 0)]), [(0, 2), (1, 0)])
    for y in (row, repeated, framed):
        np.testing.assert_array_equal(seen_by(chain_of(x, y), x.numpy()), y.numpy())


def test_what_has_no_view() -> None:
    """Places that are no sums of steps, and zeros in place of numbers."""
    x = tensor(np.arange(1.0, 7.0))
    twice = reshape(broadcast_to(reshape(x, (1, 6)), (5, 6)), (6, 5))  # places 0 to 4, then 5 and 0 to 3
    for y in (
        twice,
        pad(pad(x, [(-1, 0)]), [(1, 0)]),
        pad(reshape(x, (2, 3)), [(0, 0), (0, 1)]),
        broadcast_to(pad(x[:1], [(1, -1)]), (3,)),
    ):
        assert seen_by(chain_of(x, y), x.numpy()) is None


# ------------------------------------------------------------------ products of windows


def largest(program: Program) -> int:
    """The numbers of the largest value that is stored."""
    program = split_reductions(program)
    places = {place for place, each in enumerate(program.instructions) if each.kind == Kind.LEAF}
    for step in grouped(program):
        places |= {step.place} if hasattr(step, "place") else {place for place, _ in step.outputs}
    return max(math.prod(program.instructions[place].shape) for place in places)


def of_windows(program: Program) -> list[Windowed]:
    return [each.extra for each in program.instructions if isinstance(each.extra, Windowed)]


def test_no_windows_are_stored() -> None:
    """X-A7: of a convolution and its two gradients, three products read windows or add to them, and no value is as
    large as these are.
    """
    x, weight = (tensor(np.ones(shape, np.float32)) for shape in ((4, 12, 10, 3), (5, 3, 3, 3)))
    with decomposed(), Tape() as tape:
        y = conv2d(x, weight, padding=1)
        gradients = tape.gradient((y * y).sum(), [x, weight], zeros=True)
    program = traced([each.id for each in (y, *gradients)])[0]
    found = of_windows(optimised(program))
    assert sorted(how.into is not None for how in found) == [False, False, True]
    assert sum(view is not None for how in found for view in how.views) == 2
    assert largest(optimised(program)) == y.size
    with without_passes("windows"):
        assert largest(optimised(program)) >= 9 * x.size
        assert not of_windows(optimised(program))
    assert "added to windows" in described(optimised(program))
    assert "windows of 0" in described(optimised(program))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("way", ["forward", "gradients"])
def test_memory_is_that_of_a_block(engine: Any, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """X-A7: at its peak a convolution holds less than its windows are; without the pass it holds more."""
    monkeypatch.setattr(interpreter, "_BLOCK", 1 << 12)
    rng = np.random.default_rng(0)
    x, weight = (tensor(rng.normal(size=shape).astype(np.float32)) for shape in ((8, 20, 20, 8), (8, 5, 5, 8)))

    def run() -> None:
        with decomposed(), Tape() as tape:
            y = conv2d(x, weight)
            realize(*([y] if way == "forward" else tape.gradient((y * y).sum(), [x, weight], zeros=True)))

    def peak() -> int:
        run()  # what is compiled is compiled now
        GRAPH.collect()
        pool.clear()
        tracemalloc.start()
        run()
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    windows = 4 * 8 * 16 * 16 * 25 * 8
    with using(engine):
        assert peak() < windows / 2
        with without_passes("windows"):
            assert peak() > windows


def convolution(engine: Any, block: int, conv: Any, arrays: list[Any], options: dict[str, Any]) -> list[Any]:
    """y and the derivatives of Σ next_grad·y; without the pass for blocks of 0."""
    tensors = [tensor(array) for array in arrays]
    with pytest.MonkeyPatch.context() as patch, using(engine), decomposed(), Tape() as tape:
        patch.setattr(interpreter, "_BLOCK", block)
        y = conv(*tensors, **options)
        next_grad = np.random.default_rng(7).normal(size=y.shape)
        found = [y, *tape.gradient((y * next_grad).sum(), tensors, zeros=True)]
        with nullcontext() if block else without_passes("windows"):
            realize(*found)
    return [each.numpy() for each in found]


@pytest.mark.parametrize("block", [1, 7, 100])
@pytest.mark.parametrize(("axes", "conv"), [(1, conv1d), (2, conv2d)])
@given(data=st.data())
def test_convolutions_by_blocks(block: int, axes: int, conv: Any, data: st.DataObject) -> None:
    """X-A7, Z-F1: any window, stride, dilation, padding and groups, in blocks of any size, against the formula, and
    without the pass.
    """
    arrays, options = draw_conv(data, axes)
    ours, theirs = (convolution("reference", each, conv, arrays, options) for each in (block, 0))
    np.testing.assert_allclose(
        ours[0], convolved(*arrays, *[None] * (3 - len(arrays)), **options), rtol=1e-10, atol=1e-10
    )
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.skipif(not available(), reason="needs Halide")
@expensive
@given(data=st.data())
def test_compiled_convolutions_by_blocks(data: st.DataObject) -> None:
    """X-A7: BLAS multiplies the blocks, and kernels compute the rest."""
    arrays, options = draw_conv(data, 2)
    for one, other in zip(
        *(convolution(engine, 20, conv2d, arrays, options) for engine in ("fast", "reference")), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


@given(data=st.data())
def test_gradients_by_blocks(data: st.DataObject) -> None:
    """X-A7: against central differences, in blocks of a few numbers."""
    arrays, options = draw_conv(data, 2)
    with pytest.MonkeyPatch.context() as patch, decomposed():
        patch.setattr(interpreter, "_BLOCK", 20)
        check_gradients(lambda *tensors: conv2d(*tensors, **options), *arrays)


@pytest.mark.parametrize("block", [1, 30, 1 << 18])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_windows_that_are_written_by_hand(block: int, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """X-A7: rows of windows times a matrix, either way round, summed over rows, and with windows on both sides."""
    monkeypatch.setattr(interpreter, "_BLOCK", block)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2, 6, 5, 3)).astype(dtype)
    columns = windows_of(x, (3, 2), (1, 2), ((0, 0), (1, 1)), (1, 1)).reshape(-1, 18)
    w, g = rng.normal(size=(18, 4)).astype(dtype), rng.normal(size=(len(columns), 2)).astype(dtype)
    rows = reshape(im2col(tensor(x), (3, 2), (1, 2), ((0, 0), (1, 1))), columns.shape)
    cases = [(rows @ tensor(w), columns @ w), (tensor(w).T @ rows.T, w.T @ columns.T)]
    cases += [(rows.T @ tensor(g), columns.T @ g), (rows.T @ rows, columns.T @ columns)]
    near = {np.float16: 3e-2, np.float32: 1e-5, np.float64: 1e-12}[dtype]
    for ours, theirs in cases:
        assert bool(of_windows(optimised(traced([ours.id])[0]))) == (dtype is not np.float16)
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=near, atol=10 * near)


@pytest.mark.parametrize(("axes", "conv"), [(1, conv_transpose1d), (2, conv_transpose2d)])
def test_a_transposed_convolution_adds_to_windows(axes: int, conv: Any) -> None:
    """X-A7: what it gives is the convolution's derivative by its input, and its windows are never stored."""
    rng = np.random.default_rng(2)
    x, weight = rng.normal(size=(2, *[4] * axes, 3)), rng.normal(size=(3, *[3] * axes, 2))
    for stride, padding in itertools.product((1, 2, 4), (0, 1)):
        with decomposed():
            y = conv(tensor(x), tensor(weight), stride=stride, padding=padding)
            program = optimised(traced([y.id])[0])
            assert [how.into is not None for how in of_windows(program)] == ([True] if stride < 3 else [])
        whole = values(lambda x, w, s=stride, p=padding: conv(x, w, stride=s, padding=p), x, weight)
        np.testing.assert_allclose(y.numpy(), whole, rtol=1e-12, atol=1e-12)


def test_other_products_stay_as_they_are() -> None:
    """A product without windows, one whose rows are summed, and one whose windows are asked for elsewhere, which are
    stored once.
    """
    x, w = tensor(np.ones((6, 4))), tensor(np.ones((4, 3)))
    for y in (x @ w, x.T[:2] @ x, (x @ w).sum(axis=0), (x @ w).sum(axis=1)):
        program = optimised(traced([y.id])[0])
        assert PRODUCT in [each.kind for each in program.instructions]
        assert not of_windows(program)
    pairs = reshape(x @ w, (1, 3, 2, 3))  # three windows of two places
    y = col2im(pairs, (4,))
    assert [how.into is not None for how in of_windows(optimised(traced([y.id])[0]))] == [True]
    assert not of_windows(optimised(traced([y.id, pairs.id])[0]))
