"""What a plan gives beside what the layers give, bit by bit."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, cast

import numpy as np

from typednn.errors import StateError
from typednn.module.gradients import Gradient, named_leaves


def digest(array: Any) -> bytes:
    """Of the numbers of an array that is not kept."""
    return hashlib.blake2b(np.ascontiguousarray(array).data).digest()


def differs(what: str, got: Any, expected: Any) -> str:
    """What to say of two arrays; empty where they have the same bits."""
    same = got.shape == expected.shape and got.dtype == expected.dtype and got.tobytes() == expected.tobytes()
    return "" if same else f"{what} of the plan differs from the layers'"


def buffers_differ(after: list[tuple[Any, Any]]) -> str:
    """Arrays, each with what it should hold."""
    return next((why for array, then in after if (why := differs("a buffer", array, then))), "")


def digests(grad: Any, inputs: bool) -> dict[str, bytes]:
    """Of the derivatives by parameters, each use of a shared one by itself, and if asked for by inputs of layers."""
    found = {name: digest(leaf) for name, leaf in named_leaves(grad)}
    return found | {name: digest(array) for name, array in _inputs(grad, "input of") if inputs}


def _inputs(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, tuple | list):
        for place, each in enumerate(cast("tuple[Any, ...]", value)):
            yield from _inputs(each, f"{path}.{place}")
    elif isinstance(value, Gradient):
        for each in dataclasses.fields(cast("Any", value)):
            with suppress(StateError):  # what the layers could not compute
                own = getattr(value, each.name)
                if each.name in value.__inputs__ and type(own) is np.ndarray:
                    yield f"{path}.{each.name}", own
                else:
                    yield from _inputs(own, f"{path}.{each.name}")


def read_inputs(value: Any) -> None:
    """Compute the derivatives by inputs that were put off, but for those that the layers let go."""
    if isinstance(value, tuple | list):
        for each in cast("tuple[Any, ...]", value):
            read_inputs(each)
    elif isinstance(value, Gradient):
        for each in dataclasses.fields(cast("Any", value)):
            with suppress(StateError):
                read_inputs(getattr(value, each.name))
