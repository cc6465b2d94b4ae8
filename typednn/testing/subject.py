"""The subject of a law, a layer with its inputs; and comparison of arrays bit by bit."""

import copy
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from typednn.arrays import is_array, is_floating
from typednn.backends import to_device, to_numpy
from typednn.contracts.checks import contract_of
from typednn.contracts.hints import array_hints
from typednn.errors import ArgumentError, CheckError, StateError, TypednnError, explain
from typednn.module.fields import named_dtypes
from typednn.module.module import Module

T = TypeVar("T")


class LawBroken(TypednnError, AssertionError):
    """A layer, a loss or an optimizer breaks a law."""


def broken(rule: str, got: str, cure: str = "") -> LawBroken:
    """The error of one law; `check_laws` prepends the name of the subject."""
    return LawBroken(explain("", rule, got, cure).removeprefix(": "))


@dataclass(frozen=True)
class Subject:
    """A layer that has not run, and its inputs: each an array, a shape, or None if the layer accepts None."""

    prototype: Module
    inputs: tuple[Any, ...]
    seed: int = 0
    device: str = "cpu"
    vocab: int = 2  # drawn integers are below it
    formula: Callable[..., Any] | None = None  # the layer's output in operations of `typednn.graph`

    @property
    def label(self) -> str:
        return self.prototype.label()

    @property
    def hints(self) -> tuple[Any, ...]:
        """The annotation of each input."""
        contract: Any = contract_of(type(self.prototype), "forward")
        hints: tuple[Any, ...] = contract.hints
        if len(hints) != len(self.inputs):
            raise ArgumentError(
                explain("check_layer", f"{self.label} takes {len(hints)} inputs", f"{len(self.inputs)}"), "inputs"
            )
        return hints

    def fresh(self) -> Module:
        """A new copy of the layer, as constructed."""
        return copy.deepcopy(self.prototype)

    def ready(self, dtype: Any = np.float32, seed: int = 1) -> Any:
        """The layer with random parameters: a factor of 1 or a bias of 0 would hide that it is not used."""
        layer = self.fresh().init(np.random.default_rng(seed)).astype(dtype)
        for place, array in enumerate(layer.parameters()):
            array += 0.2 * values(tuple(array.shape), seed + place, dtype)
        return layer.to(self.device)

    def arrays(self, dtype: Any = np.float32, seed: int = 0) -> tuple[Any, ...]:
        """The inputs as read-only arrays, floats in ``dtype``."""
        pairs = zip(self.hints, self.inputs, strict=True)
        arrays = (
            filled(hint, value, self.seed + seed + place, dtype, self.vocab)
            for place, (hint, value) in enumerate(pairs)
        )
        return tuple(locked(array, self.device) for array in arrays)

    def next_grad(self, output: Any, seed: int = 3) -> Any:
        """A read-only derivative by ``output``."""
        return locked(values(tuple(output.shape), self.seed + seed, output.dtype), self.device)

    def described(self) -> str:
        arrays = [
            self.prototype.label(),
            *(str(value.shape) if hasattr(value, "shape") else repr(value) for value in self.inputs),
        ]
        vocab = "" if self.vocab == 2 else f", vocab={self.vocab}"
        return f"{', '.join(arrays)}, seed={self.seed}{vocab}"


def names_of(hint: Any) -> tuple[str, ...]:
    """The dtypes that an array annotation allows; empty if it allows all."""
    return named_dtypes(array_hints(hint)[0])


def filled(hint: Any, value: Any, seed: int, dtype: Any, vocab: int = 2) -> Any:
    """An array that fits an annotation: ``value`` itself, or random numbers in that shape, integers below ``vocab``."""
    if value is None:
        return None
    if is_array(value):
        host = to_numpy(value)
        return host.astype(dtype) if is_floating(host.dtype) else host
    names = names_of(hint)
    if not names or np.dtype(dtype).name in names:
        return values(tuple(value), seed, dtype)
    kind = "bool" if "bool" in names else "int64" if "int64" in names else names[0]
    return np.random.default_rng(seed).integers(0, 2 if kind == "bool" else vocab, tuple(value)).astype(kind)


def values(shape: tuple[int, ...], seed: int = 0, dtype: Any = np.float64) -> Any:
    """Distinct numbers away from zero, in random order and sign: no ties and no kinks."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    numbers = (rng.permutation(count) + 0.5 + rng.uniform(-0.2, 0.2, count)) / count + 0.05
    return (numbers * rng.choice([-1.0, 1.0], count)).reshape(shape).astype(dtype)


def locked(array: Any, device: str = "cpu") -> Any:
    """A copy on ``device``, read-only if the device supports it."""
    if array is None:
        return None
    copied = np.array(array)
    copied.flags.writeable = False
    return to_device(copied, device)


def arrays_in(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every array inside a gradient, with its path, inputs included but for those that were not kept."""
    if hasattr(value, "shape"):
        yield path.removesuffix("."), value
    elif isinstance(value, Mapping):
        for name, part in value.items():  # pyright: ignore[reportUnknownVariableType]  # whatever a layer keeps
            yield from arrays_in(part, f"{path}{name}.")
    elif isinstance(value, tuple | list):
        # likewise
        for place, part in enumerate(value):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            yield from arrays_in(part, f"{path}{place}.")
    elif is_dataclass(value):
        for field in fields(value):
            try:
                part = getattr(value, field.name)
            except StateError:
                continue
            yield from arrays_in(part, f"{path}{field.name}.")


def bits(value: Any) -> list[bytes]:
    """Dtype, shape and bytes of each array inside ``value``."""
    return [f"{array.dtype} {array.shape} ".encode() + to_numpy(array).tobytes() for _, array in arrays_in(value)]


def same(rule: str, before: Any, after: Any, cure: str = "") -> None:
    """Raise `LawBroken` with the law ``rule`` unless all arrays inside are equal bit by bit; it names the first that
    differs.
    """
    first, second = dict(arrays_in(before)), dict(arrays_in(after))
    different = [
        path
        for path in (*first, *second)
        if path not in first or path not in second or bits(first[path]) != bits(second[path])
    ]
    if different:
        raise broken(rule, f"another {different[0] or 'array'}", cure)


def copied(value: Any) -> dict[str, Any]:
    """Copies of the arrays inside ``value``, by path."""
    return {path: to_numpy(array).copy() for path, array in arrays_in(value)}


def raises(kind: type[Exception], call: Callable[..., object], *arguments: Any) -> bool:
    """Whether ``call`` raises a ``kind``."""
    try:
        call(*arguments)
    except kind:
        return True
    return False


@contextmanager
def refused(what: str) -> Generator[None]:
    """A check of typednn must reject the code in this block; otherwise the law is broken."""
    try:
        yield
    except CheckError as error:
        if " got " not in str(error) and " gets " not in str(error):
            raise broken("a refusal says what it got", str(error)) from error
    except TypednnError:
        raise
    except Exception as error:
        raise broken(f"{what} is refused by a check", f"{type(error).__name__}: {error}") from error
    else:
        raise broken(f"{what} is refused", "no error")


@contextmanager
def unwritten() -> Generator[None]:
    """Convert NumPy's error about a write in this block to a `LawBroken`."""
    try:
        yield
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        rule = "neither inputs, nor parameters, nor next_grad are written by forward and backward"
        raise broken(rule, f"{type(error).__name__}: {error}", "compute into a new array") from error


def check_laws(
    laws: Mapping[str, Callable[[T], None]], chosen: Iterable[str] | None, label: str, subject: T, repeat: str
) -> None:
    """Check the chosen laws; a `LawBroken` names the law, the subject, the actual values, and the call
    that repeats it.
    """
    for name in chosen_laws(laws, chosen):
        try:
            laws[name](subject)
        except TypednnError as error:
            raise LawBroken(f"{label}, law {name!r}: {error}\n{repeat}, laws=[{name!r}])") from error
        except Exception as error:
            error.add_note(f"{label}, law {name!r}\n{repeat}, laws=[{name!r}])")
            raise


def chosen_laws(laws: Mapping[str, Any], chosen: Iterable[str] | None) -> Sequence[str]:
    """The names of the laws to check; default: all."""
    named = list(laws) if chosen is None else list(chosen)
    unknown = next((name for name in named if name not in laws), None)
    if unknown is not None:
        raise ArgumentError(explain("typednn.testing", f"laws are {', '.join(laws)}", repr(unknown)), "laws")
    return named
