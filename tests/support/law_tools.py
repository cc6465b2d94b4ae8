"""What the laws share: arrays for a case, everything read-only, and the refusals that must happen."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest
import strict_array

from typednn.backends import to_device, to_numpy
from typednn.errors import CheckError
from typednn.module import Module


def values(shape: tuple[int, ...], seed: int = 0, dtype: Any = np.float64) -> Any:
    """Distinct numbers away from zero, in random order and sign: no ties and no kinks."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    numbers = (rng.permutation(count) + 0.5 + rng.uniform(-0.2, 0.2, count)) / count + 0.05
    return (numbers * rng.choice([-1.0, 1.0], count)).reshape(shape).astype(dtype)


def locked(array: Any, device: str) -> Any:
    """A copy on ``device`` that refuses to be written."""
    if device == "strict":
        return strict_array.to_strict(np.array(array), readonly=True)
    copied = np.array(array)
    copied.flags.writeable = False
    return to_device(copied, device)


def ready(layer: Module, device: str = "cpu", dtype: Any = np.float32, seed: int = 1) -> Module:
    """The layer, filled, on ``device``; its parameters are random but the same for each call."""
    layer.init(np.random.default_rng(seed)).astype(dtype)
    return layer.to(device)


def lock_parameters(layer: Module, device: str) -> None:
    """Forward and backward write no parameter: from here on they cannot."""
    for *_, cell in list(layer._stored("parameter", "buffer")):
        cell.array = locked(to_numpy(cell.array), device)


def arrays_in(value: Any) -> Iterator[tuple[str, Any]]:
    """Every array inside a gradient, with its path, inputs included."""
    if hasattr(value, "shape"):
        yield "", value
    elif isinstance(value, tuple | list):
        for place, part in enumerate(value):
            yield from ((f"{place}.{path}", array) for path, array in arrays_in(part))
    elif is_dataclass(value):
        for field in fields(value):
            yield from ((f"{field.name}.{path}", array) for path, array in arrays_in(getattr(value, field.name)))


def bits(value: Any) -> list[bytes]:
    return [to_numpy(array).tobytes() for _, array in arrays_in(value)]


@contextmanager
def refused() -> Iterator[None]:
    """What stands in here must be refused by a check, in typednn's own words."""
    with pytest.raises(CheckError) as caught:
        yield
    assert " got " in str(caught.value) or " gets " in str(caught.value), str(caught.value)


def with_changed_backward(layer: Module, change: Callable[[Any], Any]) -> Module:
    """The same layer, of a class whose backward returns ``change(gradient)``: as a user's faulty layer would be."""
    cls = type(layer)
    original: Any = cls.backward
    body = original.__wrapped__

    def backward(self: Any, next_grad: Any) -> Any:
        return change(body(self, next_grad))

    backward.__annotations__ = dict(body.__annotations__)
    layer.__class__ = type(cls.__name__, (cls,), {"backward": backward, "__module__": cls.__module__})
    return layer


def gradient_fields(gradient: Any) -> list[str]:
    """Dotted names of the arrays that a layer's own gradient holds; the parts of sublayers are theirs."""
    names = [field.name for field in fields(gradient) if hasattr(getattr(gradient, field.name), "shape")]
    parameters = getattr(gradient, "parameters", None)
    if is_dataclass(parameters):
        names += [f"parameters.{field.name}" for field in fields(parameters)]
    return names


def changed_field(gradient: Any, name: str, change: Callable[[Any], Any]) -> Any:
    head, _, rest = name.partition(".")
    part = getattr(gradient, head)
    return replace(gradient, **{head: changed_field(part, rest, change) if rest else change(part)})


WRONG: dict[str, Callable[[Any], Any]] = {
    "rank": lambda array: array.reshape((1, *array.shape)),
    "size": lambda array: np_concatenate(array),
    "dtype": lambda array: array.astype(np.float64 if array.dtype == np.float32 else np.float32),
    "integers": lambda array: array.astype(np.int64),
    "device": lambda array: to_device(array, "strict" if isinstance(array, np.ndarray) else "cpu"),
    "list": lambda array: to_numpy(array).tolist(),
}


def np_concatenate(array: Any) -> Any:
    """One more on the last axis."""
    host = to_numpy(array)
    longer = np.concatenate([host, host[..., :1]], axis=-1)
    return to_device(longer, "cpu" if isinstance(array, np.ndarray) else "strict")
