"""Whole ops: one node with a kernel and the op's own backward, or the twelve kinds; what is computed once; what is
refused.
"""

from contextlib import nullcontext
from threading import Thread
from typing import Any

import numpy as np
import pytest

from tests.graph.differences import kinds_of
from typednn.engines import counting, using
from typednn.errors import ArgumentError, DTypeError
from typednn.graph.attention import attention
from typednn.graph.graph import GRAPH
from typednn.graph.kinds import Kind
from typednn.graph.losses import softmax_cross_entropy
from typednn.graph.nodes import realize, tensor
from typednn.graph.products import linear
from typednn.graph.tape import Tape
from typednn.graph.whole import decomposed
from typednn.graph.windows import conv2d, max_pool


def floats(*shape: int, dtype: Any = np.float32) -> Any:
    return tensor(np.random.default_rng(shape).normal(size=shape).astype(dtype))


def images() -> Any:
    """Scores of images from every kind of op: convolution, activation, pool, affine map."""
    x, kernel, weight, bias = floats(4, 12, 12, 8), floats(16, 3, 3, 8), floats(10, 6 * 6 * 16), floats(10)
    hidden = max_pool(abs(conv2d(x, kernel, padding=1)), 2)
    return linear(hidden.reshape(4, -1), weight, bias), [x, kernel, weight, bias]


def test_kernels_run_forward_and_backward_once() -> None:
    """X-A10: each op's own kernel, once for all derivatives, and with what forward kept; the twelve kinds agree."""
    labels, results = tensor(np.array([1, 0, 9, 3])), []
    for mode in (nullcontext, decomposed):
        with using("fast"), counting() as counts, mode(), Tape() as tape:
            scores, sources = images()
            loss = softmax_cross_entropy(scores, labels)
            gradients = tape.gradient(loss, sources, zeros=True)
            realize(loss, *gradients)
        results.append([each.numpy() for each in (loss, *gradients)])
        ran = {op: (engine, times) for (op, engine), times in counts.items()}
        if mode is nullcontext:
            for op in ("conv2d", "max_pool2d", "linear", "softmax_cross_entropy"):
                for way in ("forward", "backward"):
                    engine, times = ran[f"{op}.{way}"]
                    assert times == 1, f"{op}.{way} ran {times} times"
                    assert engine != "reference" or op == "softmax_cross_entropy"
        else:
            assert not ran
    for whole, parts in zip(*results, strict=True):
        np.testing.assert_allclose(whole, parts, rtol=1e-3, atol=1e-4)


def test_a_derivative_that_is_not_wanted_is_not_computed() -> None:
    """The first layer's derivative by its input: the kernel is told to leave it out."""
    seen = list[Any]()
    from typednn.engines import observing

    x, weight = floats(2, 6, 6, 1), floats(3, 3, 3, 1)
    with observing(lambda ran: seen.append(ran)), Tape() as tape:
        (gradient,) = tape.gradient(conv2d(x, weight).sum(), [weight], zeros=True)
        realize(gradient)
    (backward,) = [ran for ran in seen if ran.op.name == "conv2d.backward"]
    assert backward.result[0] is None


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (linear, ((2, 3), (4, 3))),
        (conv2d, ((1, 4, 4, 2), (3, 2, 2, 2))),
        (lambda x: max_pool(x, 2), ((1, 4, 4, 2),)),
        (attention, ((1, 2, 1, 2),) * 3),
        (lambda x: softmax_cross_entropy(x, tensor(np.array([1, 0]))), ((2, 3),)),
    ],
)
def test_second_derivatives(function: Any, shapes: Any) -> None:
    """X-A10: refused, with the way out; the twelve kinds have them."""
    sources = [floats(*shape, dtype=np.float64) for shape in shapes]
    with using("reference"):
        for mode in (nullcontext, decomposed):
            with mode(), Tape() as tape:
                y = function(*sources)
                (first,) = tape.gradient_persistent((y * y).sum(), sources[:1], zeros=True)
                if mode is decomposed:
                    (second,) = tape.gradient((first * first).sum(), sources[:1], zeros=True)
                    assert np.isfinite(second.numpy()).all()
                else:
                    with pytest.raises(ArgumentError, match="decomposed"):
                        tape.gradient((first * first).sum(), sources[:1])


def test_decomposed_is_of_a_block_and_of_a_thread() -> None:
    x, weight = floats(2, 3), floats(4, 3)
    other = list[Any]()
    with decomposed():
        thread = Thread(target=lambda: other.append(kinds_of(linear(x, weight))))
        thread.start()
        thread.join()
        assert Kind.CUSTOM not in kinds_of(linear(x, weight))
    assert other == [[Kind.CUSTOM]]
    assert kinds_of(linear(x, weight)) == [Kind.CUSTOM]


def test_nothing_is_left_behind() -> None:
    """After a step there are as many nodes as before it."""
    with using("reference"):
        q = floats(1, 4, 2, 3)
        before = len(GRAPH)
        for _ in range(2):
            with Tape() as tape:
                y = attention(q, q, q, causal=True)
                gradients = tape.gradient((y * y).sum(), [q], zeros=True)
                realize(y, *gradients)
            del y, gradients
            assert len(GRAPH) == before


def test_equal_ops_are_computed_once() -> None:
    x, weight = floats(2, 3), floats(4, 3)
    with counting() as counts:
        (linear(x, weight) + linear(x, weight)).realize()
    assert sum(counts.values()) == 1


def test_dtypes_do_not_mix_and_inputs_may_lie_anywhere_in_memory() -> None:
    x, weight = floats(3, 2), floats(4, 3)
    np.testing.assert_allclose(linear(x.T, weight).numpy(), x.numpy().T @ weight.numpy().T, rtol=1e-5)
    with pytest.raises(DTypeError, match="one dtype"):
        linear(x.T, weight.cast(np.float64))


def test_messages_name_the_op() -> None:
    """The error and the expression show what it is."""
    x, weight = floats(2, 3).named("x"), floats(4, 3).named("weight")
    assert "Linear(x (2, 3), weight (4, 3))" in repr(linear(x, weight))
    assert "MaxPool2d" in repr(max_pool(floats(1, 4, 4, 2), 2))
