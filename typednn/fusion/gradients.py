"""What the backward of a fused model returns: every parameter's derivative where the unfused model has it, and the input's on demand."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, Self, final

from typing_extensions import TypeVar

from typednn.arrays import AnyArray
from typednn.errors import StateError, explain
from typednn.gradients import ChainGrad, Gradient, Shared, set_shared

In = TypeVar("In", covariant=True)


@final
@dataclass(frozen=True, slots=True)
class FusedPartGrad(Gradient):
    """The derivatives by one part's own parameters. The part shares a kernel with its neighbours: between them there is no derivative."""

    weight: AnyArray | None = None
    bias: AnyArray | None = None

    @property
    def parameters(self) -> None:
        """None, as an activation's."""
        return

    @property
    def input(self) -> NoReturn:
        """Raises: the unfused model has it."""
        raise StateError(
            explain(
                "fuse",
                "a part that runs in one kernel with its neighbours has no derivative by its own input",
                "input of such a part",
                "call forward and backward of the model that was fused: it has the same parameters",
            )
        )


@final
class FusedGrad(ChainGrad[In, *tuple[Any, ...]]):
    """As `ChainGrad`: ``parts[i]`` belongs to part ``i``. ``input`` is computed when it is first read, from the weights of the backward."""

    __slots__ = ("_later",)
    _later: Callable[[], Any]
    __deferred__: ClassVar[tuple[str, ...]] = ("input",)

    def __init__(self, parts: tuple[Any, ...], later: Callable[[], Any]) -> None:
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "_later", later)

    def __getattr__(self, name: str) -> Any:
        # Called for what is not there: the place of ``input`` is empty until somebody asks.
        if name != "input":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = self._later()
        object.__setattr__(self, "input", value)
        return value

    def replaced(self, changed: dict[str, Any]) -> Self:
        return type(self)(changed["parts"], lambda: self.input)

    def __reduce__(self) -> Any:
        return _rebuilt, (self.parts, self.input, self.shared_leaves())

    def __repr__(self) -> str:
        return f"FusedGrad(parts={self.parts!r})"


def _rebuilt(parts: tuple[Any, ...], input: Any, shared: Shared) -> FusedGrad[Any]:
    gradient: FusedGrad[Any] = FusedGrad(parts, lambda: input)
    set_shared(gradient, shared)
    return gradient
