"""Regions: all that is made inside goes at the end."""

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from typednn.errors import ArgumentError, StateError
from typednn.graph.graph import GRAPH
from typednn.graph.nodes import tensor
from typednn.graph.region import region
from typednn.graph.tape import Tape
from typednn.graph.tensor import AnyTensor, regions


@pytest.fixture(autouse=True)
def baseline() -> Iterator[int]:
    gc.collect()
    before = len(GRAPH)
    yield before
    gc.collect()
    assert len(GRAPH) == before
    assert regions == []


def test_everything_made_inside_goes(baseline: int) -> None:
    """Z-F10, Z-D2: whoever refers to it; counts are back where they were, and arrays are gone."""
    held: list[AnyTensor] = []
    array = np.ones((2, 3))
    alive = weakref.ref(array)
    with region():
        x = tensor(array)
        held += [x, x * 2.0, (x + x).realize()]
        assert len(GRAPH) == baseline + 4
        del array
    assert alive() is None  # at the end, not at the next look at the graph
    assert len(GRAPH) == baseline
    for each in held:
        with pytest.raises(StateError, match="Tensor: can be used until it is released, got a use after that"):
            each.numpy()
        with pytest.raises(StateError):
            _ = each + 1.0
        assert repr(each) == "Tensor(released)"


def test_what_is_kept_stays(baseline: int) -> None:
    """Z-F10, Z-D2"""
    x = tensor(np.arange(3.0))
    with region() as kept:
        y = x * 2.0
        z = kept((y + 1.0).realize())
        w = kept(y + 2.0)
    assert z.numpy().tolist() == [1, 3, 5]
    assert len(GRAPH) == baseline + 6  # x, z, w, and what w is made of: a number, the product y, and its number
    assert w.numpy().tolist() == [2, 4, 6]
    assert len(GRAPH) == baseline + 3
    with pytest.raises(StateError):
        y.numpy()
    x.numpy()


def test_a_region_in_a_region() -> None:
    """Z-D2: what the inner one keeps is the outer one's."""
    x = tensor(np.arange(3.0))
    with region() as outer:
        a = x + 1.0
        with region() as inner:
            b = inner(a + 1.0)
            c = inner(outer(a + 2.0))
            d = a + 3.0
        a.numpy()
        assert b.numpy().tolist() == [2, 3, 4]
        with pytest.raises(StateError):
            d.numpy()
    with pytest.raises(StateError):
        b.numpy()
    assert c.numpy().tolist() == [3, 4, 5]


def test_errors_free_too(baseline: int) -> None:
    """Z-D2: an exception's traceback refers to what was made."""
    seen: list[Any] = []

    def fail() -> None:
        with region():
            seen.append(tensor(np.ones(3)) * 2.0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert len(GRAPH) == baseline


def test_other_threads_keep_theirs() -> None:
    """Z-D2: a region is its thread's own."""
    x = tensor(np.arange(3.0))
    made: list[AnyTensor] = []
    with region():
        thread = threading.Thread(target=lambda: made.append(x + 1.0))
        thread.start()
        thread.join()
        own = x + 2.0
    assert made[0].numpy().tolist() == [1, 2, 3]
    with pytest.raises(StateError):
        own.numpy()


def test_a_training_step_in_a_region() -> None:
    """Z-D2: the new weight is kept; nodes, tapes and gradients go."""
    x, y = np.random.default_rng(0).normal(size=(2, 8, 3))
    w = tensor(np.zeros((3, 3)))
    before = len(GRAPH)
    losses = []
    for _ in range(10):
        with region() as kept:
            tape = Tape()
            loss = ((tensor(x) @ w - tensor(y)) ** 2).mean()
            (gradient,) = tape.gradient(loss, [w], zeros=True)
            new = kept((w - 0.1 * gradient).realize())
            losses.append(loss.item())
        w.release()
        w = new
        assert len(GRAPH) == before
    assert losses == sorted(losses, reverse=True)


def test_what_is_refused() -> None:
    with region() as kept:
        x = kept(tensor(np.ones(2)))
        with pytest.raises(ArgumentError, match="keeps tensors, one at a time, got list"):
            kept([x])  # type: ignore[type-var]
    with pytest.raises(StateError, match="keeps tensors until its end"):
        kept(x)


def test_released_twice_is_released_once() -> None:
    x = tensor(np.ones(2))
    y = x * 2.0
    x.release()
    x.release()
    assert y.numpy().tolist() == [2, 2]
