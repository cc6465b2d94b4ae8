"""Foreign: an object that has ``forward``, ``backward`` and ``update`` of its own, as a part of a model.

It need not derive from anything. What it reads and gives is held to the Protocols' laws here, where it is consumed:
arrays, the batch kept, a gradient with an ``input`` shaped as what was read. It keeps its own parameters: `update`
calls its ``update``. Where it has one of `ANSWERS`, saving, counting, moving and sharing call its method of that name,
and where that is missing the error says so; else its arrays and layers are found in its fields (`typednn.module.held`).
``init``, ``train``, ``eval`` and ``free_cache`` are called where they exist.
"""

import inspect
import typing
from collections.abc import Callable
from typing import Any, Self, final

from jaxtyping import Shaped

from typednn.arrays import AnyArray, is_array
from typednn.contracts.hints import attribute_lookup, is_array_hint
from typednn.contracts.promises import METHODS
from typednn.contracts.protocols import InputGrad, Optimizer
from typednn.errors import DefinitionError, StackError, explain
from typednn.module.held import Held, Seen
from typednn.module.module import Module
from typednn.module.updates import layouts_kept
from typednn.shapes import Flow

# An object with one of these answers for its own state.
ANSWERS = ("state_dict", "load_state_dict", "named_parameters", "num_parameters")


@final
class Foreign(Module):
    """``inner`` between layers of typednn; ``rows`` where it is a `DynLayer` of a Stack, which declares its
    ``out_features``.
    """

    foreign = True

    def __init__(self, inner: Any, *, rows: bool = False, seen: Seen | None = None) -> None:
        self.inner: Any = inner
        self.rows = rows
        for name in ("out_features", "in_features")[: 2 if rows and hasattr(inner, "in_features") else rows]:
            size = getattr(inner, name, None)
            if not isinstance(size, int) or isinstance(size, bool) or size < 1:
                kind, got = type(inner).__qualname__, "no such attribute" if size is None else repr(size)
                rule = (
                    f"a part of a Stack declares {name}, how many numbers of a sample it "
                    f"{'gives' if name[0] == 'o' else 'reads'}"
                )
                raise StackError(explain(kind, rule, got, f"set self.{name} to a positive integer"))
        answers = any(callable(getattr(inner, name, None)) for name in ANSWERS)
        self.held: Held | None = None if answers else Held(inner, adopted, {} if seen is None else seen)
        self.updated: bool = False
        self.saved: bool = False  # whether a run saves it: then the first update says at once what cannot be saved

    def forward(self, x: Shaped[AnyArray, "batch *input"]) -> Shaped[AnyArray, "batch *output"]:
        output: AnyArray = self.inner.forward(x)
        return output

    def backward(self, next_grad: Shaped[AnyArray, "batch *output"]) -> InputGrad[Any]:
        gradient: InputGrad[Any] = self.inner.backward(next_grad)
        return gradient

    def update(self, optimizer: Optimizer, grad: InputGrad[Any]) -> None:
        held = self.held
        if held is None:
            self.inner.update(optimizer, grad)
            return
        with layouts_kept(optimizer, self, held.arrays_now(), held.put):
            if self.updated:
                self.inner.update(optimizer, grad)
            else:
                held.update(optimizer, grad, self.saved)
                self.updated = True

    def require(self, method: str) -> Callable[..., Any]:
        """The method of ``inner`` of this name, or what answers for it; `DefinitionError` where there is none."""
        for answering in (self.inner, self.held):
            function: object = getattr(answering, method, None)
            if callable(function):
                return function
        if method == "init":  # the constructor has filled it
            return lambda *_: None
        kind = type(self.inner).__qualname__
        rule = f"a model's {method} asks every part"
        raise DefinitionError(
            explain(kind, rule, f"no method {method!r}", f"write {kind}.{method}, or derive {kind} from Layer")
        )

    def known_names(self) -> list[str]:
        """The names of its parameters, as far as it can say."""
        if self.held is not None and self.held.unknown:
            return []
        answering: Any = self.inner if self.held is None else self.held
        return list(answering.named_parameters()) if callable(getattr(answering, "named_parameters", None)) else []

    def offer(self, method: str) -> None:
        """Call a method of ``inner`` that it need not have."""
        if callable(getattr(self.inner, method, None)):
            getattr(self.inner, method)()

    @property
    def training(self) -> bool:
        return bool(vars(self).get("_training", True))

    @training.setter
    # it calls the object
    def training(self, mode: bool) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        vars(self)["_training"] = mode
        self.offer("train" if mode else "eval")

    def named_gradients(self, grad: Any) -> dict[str, AnyArray]:
        fields = {name: getattr(grad, name) for name in dir(grad) if not name.startswith("_") and name != "input"}
        found = {name: value for name, value in fields.items() if is_array(value)}
        return found if self.held is None else found | self.held.derivatives_in(grad)

    def shared(self) -> Self:
        return type(self)(self.require("shared")(), rows=self.rows)

    def flow_after(self, flow: Flow) -> Flow:
        """The shapes that the object's own annotations promise; without any, nothing is known after it."""
        if self.rows:
            reads = f"={self.inner.in_features}" if hasattr(self.inner, "in_features") else ""
            return flow.through(
                self.label(), f"batch in_features{reads}", f"batch out_features={self.inner.out_features}"
            )
        hints = _array_hints(getattr(self.inner.__class__, "forward", None))
        if hints is None:
            return flow.through(self.label(), "batch *input", "batch *output")
        return flow.through(self.label(), hints[0].dim_str, hints[1].dim_str, attribute_lookup(self.inner))

    def printed_count(self, own: int) -> str:
        if self.held is not None:
            count = "?" if self.held.unknown else f"{self.held.num_parameters():,}"
            return "" if count == "0" else count
        return f"{self.inner.num_parameters():,}" if callable(getattr(self.inner, "num_parameters", None)) else "?"

    def printed_shapes(self) -> list[str]:
        return [] if self.held is None or self.held.unknown else self.held.shapes()

    def __repr__(self) -> str:
        kind: Any = self.inner.__class__
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


def adopted(part: Any, *, rows: bool = False, seen: Seen | None = None) -> Any:
    """``part`` itself, or, where it is no module and has the three methods, wrapped so that it can be a part of a
    model.
    """
    return part if isinstance(part, Module | type) or missing_methods(part) else Foreign(part, rows=rows, seen=seen)


def missing_methods(part: object) -> list[str]:
    """What an object lacks to be a part of a model."""
    return [name for name in METHODS if not callable(getattr(part, name, None))]


def not_a_part(part: object) -> str:
    """What something is that cannot be a part of a stack, and what it lacks."""
    if isinstance(part, type):
        return f"the class {part.__name__}; call it"
    missing = missing_methods(part)
    return type(part).__name__ + (f", which has no {' and no '.join(missing)}" if 0 < len(missing) < 3 else "")


def identity(part: object) -> object:
    """The object that a part stands for: it may be in a model once, however often it was wrapped."""
    return part.inner if isinstance(part, Foreign) else part
