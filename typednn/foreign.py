"""Foreign: an object that has ``forward``, ``backward`` and ``update`` of its own, as a part of a model.

It need not derive from anything. What it reads and gives is held to the Protocols' laws here, where it is consumed: arrays, the batch
kept, a gradient with an ``input`` shaped as what was read. Its parameters are its own affair: `update` is handed on, and so is whatever
else a model is asked for (saving, counting, filling, moving, sharing), if the object has a method of that name; if not, the error says
which. ``train``, ``eval`` and ``free_cache`` are handed on where they exist.
"""

import inspect
import typing
from collections.abc import Iterator
from typing import Any, Self, final

from jaxtyping import Shaped

from typednn.arrays import AnyArray, is_array
from typednn.checks import attribute_lookup, is_array_hint
from typednn.errors import DefinitionError, explain
from typednn.module import Module
from typednn.protocols import InputGrad, Optimizer
from typednn.shapes import Flow

_METHODS = ("forward", "backward", "update")


@final
class Foreign(Module):
    """``inner`` between layers of typednn."""

    foreign = True

    def __init__(self, inner: Any) -> None:
        self.inner: Any = inner

    def forward(self, x: Shaped[AnyArray, "batch *input"]) -> Shaped[AnyArray, "batch *output"]:
        output: AnyArray = self.inner.forward(x)
        return output

    def backward(self, next_grad: Shaped[AnyArray, "batch *output"]) -> InputGrad[Any]:
        gradient: InputGrad[Any] = self.inner.backward(next_grad)
        return gradient

    def update(self, optimizer: Optimizer, grad: InputGrad[Any]) -> None:
        self.inner.update(optimizer, grad)

    def require(self, method: str) -> None:
        """Raise unless ``inner`` has a method of this name."""
        if not callable(getattr(self.inner, method, None)):
            kind = type(self.inner).__qualname__
            rule = f"a model's {method} asks every part"
            raise DefinitionError(explain(kind, rule, f"no method {method!r}", f"write {kind}.{method}, or derive {kind} from Layer"))

    def ask(self, method: str, *arguments: Any) -> Any:
        """What ``inner`` answers."""
        self.require(method)
        return getattr(self.inner, method)(*arguments)

    def offer(self, method: str) -> None:
        """Call a method of ``inner`` that it need not have."""
        if callable(getattr(self.inner, method, None)):
            getattr(self.inner, method)()

    @property
    def training(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]  # the object is told
        return bool(vars(self).get("_training", True))

    @training.setter
    def training(self, mode: bool) -> None:
        vars(self)["_training"] = mode
        self.offer("train" if mode else "eval")

    @property
    def learns(self) -> bool:
        return True

    def updates(self, grad: Any) -> Iterator[Any]:
        """None: the object steps its parameters itself."""
        return iter(())

    def named_gradients(self, grad: Any) -> dict[str, AnyArray]:
        held = ((name, getattr(grad, name)) for name in dir(grad) if not name.startswith("_") and name != "input")
        return {name: value for name, value in held if is_array(value)}

    def shared(self) -> Self:
        return type(self)(self.ask("shared"))

    def trace(self, flow: Flow) -> Flow:
        """The shapes that the object's own annotations promise; without any, nothing is known after it."""
        hints = _array_hints(getattr(type(self.inner), "forward", None))
        if hints is None:
            return flow.through(self.label(), "batch *input", "batch *output")
        return flow.through(self.label(), hints[0].dim_str, hints[1].dim_str, attribute_lookup(self.inner))

    def printed_count(self, own: int) -> str:
        return f"{self.inner.num_parameters():,}" if callable(getattr(self.inner, "num_parameters", None)) else "?"

    def __repr__(self) -> str:
        kind: Any = type(self.inner)
        return kind.__name__ if vars(object)["__repr__"] is kind.__repr__ else repr(self.inner)


def _array_hints(forward: Any) -> tuple[Any, Any] | None:
    """The annotations of input and output, where both are arrays with axes."""
    try:
        hints = typing.get_type_hints(forward)
        names = list(inspect.signature(forward).parameters)[1:]
    except (NameError, AttributeError, SyntaxError, TypeError, ValueError):  # nobody promised that they can be resolved
        return None
    pair = (hints.get(names[0]) if names else None, hints.get("return"))
    return pair if all(map(is_array_hint, pair)) else None


def adopted(part: Any) -> Any:
    """``part`` itself, or, where it is no module and has the three methods, wrapped so that it can be a part of a model."""
    return part if isinstance(part, Module | type) or missing_methods(part) else Foreign(part)


def missing_methods(part: object) -> list[str]:
    """What an object lacks to be a part of a model."""
    return [name for name in _METHODS if not callable(getattr(part, name, None))]


def identity(part: object) -> object:
    """The object that a part stands for: it may be in a model once, however often it was wrapped."""
    return part.inner if isinstance(part, Foreign) else part


__all__ = ["Foreign", "adopted", "identity", "missing_methods"]
