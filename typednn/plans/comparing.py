"""What a plan gives beside what the layers give, bit by bit."""

from __future__ import annotations

import dataclasses
import hashlib
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


def gradients_differ(own: Any, grad: Any) -> str:
    """Leaf by leaf; each use of a shared parameter by itself."""
    expected = dict(named_leaves(grad))
    for name, leaf in named_leaves(own):
        if why := differs(f"the derivative by {name}", leaf, expected.pop(name)):
            return why
    return "a derivative is missing" if expected else ""


def inputs_differ(own: Any, grad: Any, name: str = "grad") -> str:
    """The derivatives by inputs of layers, which both gradients hold."""
    if isinstance(own, tuple | list):
        pairs = zip(cast("tuple[Any, ...]", own), grad, strict=True)
        return next((why for one, two in pairs if (why := inputs_differ(one, two, name))), "")
    if not isinstance(own, Gradient):
        return ""
    for each in dataclasses.fields(cast("Any", own)):
        path, why = f"{name}.{each.name}", ""
        with suppress(StateError):  # what the layers could not compute
            got, expected = getattr(own, each.name), getattr(grad, each.name)
            is_input = each.name in own.__inputs__ and type(got) is np.ndarray
            why = differs(path, got, expected) if is_input else inputs_differ(got, expected, path)
        if why:
            return why
    return ""


def read_inputs(value: Any) -> None:
    """Compute the derivatives by inputs that were put off, but for those that the layers let go."""
    if isinstance(value, tuple | list):
        for each in cast("tuple[Any, ...]", value):
            read_inputs(each)
    elif isinstance(value, Gradient):
        for each in dataclasses.fields(cast("Any", value)):
            with suppress(StateError):
                read_inputs(getattr(value, each.name))
