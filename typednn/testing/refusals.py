"""Arguments that contradict a layer's annotations must be errors: in forward, backward, each gradient
field and update.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import partial
from itertools import product
from typing import Any, Final, TypeAlias

import numpy as np

from typednn.arrays import device_of, is_floating
from typednn.backends import to_device, to_numpy
from typednn.contracts.checks import Mode, checking
from typednn.contracts.hints import array_hints
from typednn.errors import StackError
from typednn.layer import MultiInput
from typednn.module.module import Module
from typednn.optim import SGD
from typednn.shapes import Flow, parse
from typednn.testing.subject import Subject, names_of, raises, refused


def _longer(array: Any) -> Any:
    """An array whose last axis is longer by one."""
    host = to_numpy(array)
    return to_device(np.concatenate([host, host[..., :1]], axis=-1), device_of(array))


WRONG: Final[dict[str, Callable[[Any], Any]]] = {
    "rank": lambda array: array.reshape((1, *array.shape)),
    "size": _longer,
    "precision": lambda array: array.astype(np.float64 if array.dtype == np.float32 else np.float32),
    "integers": lambda array: array.astype(np.int64),
    "list": lambda array: to_numpy(array).tolist(),
}


def checked_inputs(subject: Subject, wrong: str, corrupt: Callable[[Any], Any]) -> list[int]:
    """The indices of the inputs whose annotations make this change an error."""
    layer, arrays = subject.ready(), subject.arrays()
    places: list[int] = []
    bound: set[str] = set()
    for place, (annotation, x) in enumerate(zip(subject.hints, arrays, strict=True)):
        if x is None:
            continue
        hint, names = array_hints(annotation)[0], names_of(annotation)
        slots = parse(hint.dim_str)
        if wrong in ("rank", "size"):
            last = slots[-1]
            by_name = not any(slot.variadic for slot in slots) and (
                wrong == "rank" or bool(last.text and not last.broadcast and (not last.is_name or last.text in bound))
            )
            places += [place] if by_name or refused_by_trace(layer, tuple(corrupt(x).shape)) else []
        elif wrong == "integers":
            places += [place] if x.dtype.kind != "i" and names and "int64" not in names else []
        elif wrong == "precision" and not is_floating(x.dtype):
            places += [place] if names and "float32" not in names else []
        elif wrong == "list" or layer.num_parameters():  # a layer without parameters takes any precision and device
            places.append(place)
        bound |= {slot.text for slot in slots if slot.is_name}
    return places


def refused_by_trace(layer: Module, shape: tuple[int, ...]) -> bool:
    """Whether the trace of a stack rejects the shape: a stack's annotations are more general than its parts'."""
    return not isinstance(layer, MultiInput) and raises(StackError, layer.trace, Flow.of(shape))


# A description, a valid call, and the call that must be an error.
Case: TypeAlias = tuple[str, Callable[[], object], Callable[[], object]]


def forward(subject: Subject, wrong: str, corrupt: Callable[[Any], Any]) -> Iterator[Case]:
    """Each input that the annotations constrain."""
    for place in checked_inputs(subject, wrong, corrupt):
        layer, inputs = subject.ready(), subject.arrays()
        corrupted = [corrupt(x) if other == place else x for other, x in enumerate(inputs)]
        yield (
            f"forward: input {place} of wrong {wrong}",
            partial(layer.forward, *inputs),
            partial(layer.forward, *corrupted),
        )


def next_grad(subject: Subject, wrong: str, corrupt: Callable[[Any], Any]) -> Iterator[Case]:
    """The derivative by the output."""
    layer = subject.ready()
    good = subject.next_grad(layer.forward(*subject.arrays()))
    yield f"backward: next_grad of wrong {wrong}", partial(layer.backward, good), partial(layer.backward, corrupt(good))


def gradient(subject: Subject, wrong: str, corrupt: Callable[[Any], Any]) -> Iterator[Case]:
    """Each field that backward returns must fit its quantity."""
    layer = subject.ready()
    good = subject.next_grad(layer.forward(*subject.arrays()))
    for name in gradient_fields(layer.backward(good)):
        yield (
            f"backward: gradient field {name!r} of wrong {wrong}",
            *_good_and_bad_backward(subject, good, name, corrupt),
        )


def _good_and_bad_backward(
    subject: Subject, good: Any, name: str, corrupt: Callable[[Any], Any]
) -> tuple[Callable[[], object], Callable[[], object]]:
    """Two calls of one layer's backward: one returns the gradient unchanged, one with a corrupted field."""
    corrupted = False

    def corrupted_backward() -> Any:
        nonlocal corrupted
        corrupted = True
        return faulty.backward(good)

    faulty = with_changed_backward(
        subject.ready(), lambda grad: changed_field(grad, name, corrupt) if corrupted else grad
    )
    faulty.forward(*subject.arrays())
    return partial(faulty.backward, good), corrupted_backward


def update(subject: Subject, wrong: str, corrupt: Callable[[Any], Any]) -> Iterator[Case]:
    """Each derivative in update must fit its parameter."""
    layer = subject.ready()
    if layer.num_parameters() and wrong != "list":
        good, optimizer = layer.backward(subject.next_grad(layer.forward(*subject.arrays()))), SGD(0.1)
        with checking("off"):  # with checks on, the constructor rejects such a gradient
            bad = good.map(corrupt)
        yield (
            f"update: a gradient of wrong {wrong}",
            partial(layer.update, optimizer, good),
            partial(layer.update, optimizer, bad),
        )


METHODS: Final = {"forward": forward, "next_grad": next_grad, "gradient": gradient, "update": update}


def check_cases(cases: Iterable[Case], after_valid: bool) -> None:
    """Each case must be an error; with ``after_valid`` two valid calls come first, so that their verdict is cached."""
    for what, good, bad in cases:
        for _ in range(2 * after_valid):
            good()
        with refused(what):
            bad()


def all_refused(subject: Subject) -> None:
    """Wrong rank, size, precision, kind and type are errors: in mode full, in cached, and in cached
    after a valid call.
    """
    modes: list[tuple[Mode, bool]] = [("full", False), ("cached", False), ("cached", True)]
    for (mode, after_valid), method, (wrong, corrupt) in product(modes, METHODS.values(), WRONG.items()):
        with checking(mode):
            check_cases(method(subject, wrong, corrupt), after_valid)


# ------------------------------------------------------------------ faulty layers


def with_changed_backward(layer: Any, change: Callable[[Any], Any]) -> Any:
    """The same layer, of a class whose backward returns ``change(gradient)``, as in a faulty layer."""
    cls: Any = layer.__class__
    body: Any = cls.backward.__wrapped__

    def backward(self: Any, next_grad: Any) -> Any:
        return change(body(self, next_grad))

    backward.__annotations__ = dict(body.__annotations__)
    layer.__class__ = type(cls.__name__, (cls,), {"backward": backward, "__module__": cls.__module__})
    return layer


def gradient_fields(gradient: Any) -> list[str]:
    """Dotted names of the arrays in a layer's own gradient, without those of sublayers."""
    names = [field.name for field in fields(gradient) if hasattr(getattr(gradient, field.name), "shape")]
    parameters = getattr(gradient, "parameters", None)
    if is_dataclass(parameters):
        names += [f"parameters.{field.name}" for field in fields(parameters)]
    return names


def changed_field(gradient: Any, name: str, change: Callable[[Any], Any]) -> Any:
    """The gradient with one of its arrays changed."""
    head, _, rest = name.partition(".")
    part = getattr(gradient, head)
    return replace(gradient, **{head: changed_field(part, rest, change) if rest else change(part)})
