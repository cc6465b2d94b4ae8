"""The names that a config may use: every layer of typednn, and those that a program has registered.

    @register("Swish")
    class Swish(Elementwise[None]): ...

A config cannot import anything. A user's layers are known once the module that registers them has been imported:
by the program, by ``load(path, imports=["my_layers"])``, or by ``typednn check FILE --import my_layers``.
"""

import functools
import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar

import typednn.layers
import typednn.optim
from typednn.contracts.protocols import DynLayer
from typednn.errors import ArgumentError, explain
from typednn.layer import Chain, ElementwiseChain, PositionwiseChain, Sequential
from typednn.models.gpt2 import GPT2, GPT2Block
from typednn.models.resnet import BasicBlock, Bottleneck
from typednn.module.foreign import identity
from typednn.module.module import Module
from typednn.module.printing import constructor_arguments
from typednn.module.stack import Stack
from typednn.optim import (
    EMA,
    ConstantLR,
    CosineLR,
    ExponentialLR,
    GradientOptimizer,
    LinearLR,
    OneCycleLR,
    PolynomialLR,
    ReduceLROnPlateau,
    StepLR,
)
from typednn.random import (
    Constant,
    HeNormal,
    HeUniform,
    KaimingNormal,
    KaimingUniform,
    Normal,
    Ones,
    Uniform,
    XavierNormal,
    XavierUniform,
    Zeros,
)

M = TypeVar("M", bound=Module | DynLayer)

# Keys with a meaning of their own in a config, so no constructor's argument can have these names.
RESERVED: Final = ("type", "name")


def _public(module: Any, base: type, *left_out: type) -> dict[str, Any]:
    members = {name: getattr(module, name) for name in module.__all__}
    return {
        name: member
        for name, member in members.items()
        if isinstance(member, type) and issubclass(member, base) and member not in left_out
    }


LAYERS: Final[dict[str, type[Module | DynLayer]]] = {
    **dict(sorted(_public(typednn.layers, Module).items())),
    **{kind.__name__: kind for kind in (BasicBlock, Bottleneck, GPT2, GPT2Block)},
    **{kind.__name__: kind for kind in (Chain, ElementwiseChain, PositionwiseChain, Sequential, Stack)},
}
BUILT_IN: Final = frozenset(LAYERS)  # all others are registered by users
OPTIMIZERS: Final[dict[str, type[GradientOptimizer]]] = _public(typednn.optim, GradientOptimizer, GradientOptimizer)
SCHEDULES: Final[dict[str, type[Any]]] = {
    kind.__name__: kind
    for kind in (ConstantLR, CosineLR, ExponentialLR, LinearLR, OneCycleLR, PolynomialLR, ReduceLROnPlateau, StepLR)
}
AVERAGES: Final[dict[str, type[Any]]] = {"EMA": EMA}
INITIALISERS: Final[dict[str, type[Any]]] = {
    kind.__name__: kind
    for kind in (
        Constant,
        HeNormal,
        HeUniform,
        KaimingNormal,
        KaimingUniform,
        Normal,
        Ones,
        Uniform,
        XavierNormal,
        XavierUniform,
        Zeros,
    )
}


def register(name: str) -> Callable[[type[M]], type[M]]:
    """Let configs use a layer class as ``type = "name"``; a decorator, or ``register("Swish")(Swish)``.

    Any `DynLayer` will do: it need not derive from anything, and declares ``out_features``. Each instance then
    remembers the arguments that it is made with, from which `dumps` writes it.
    """
    if not str(name).isidentifier():
        raise ArgumentError(
            explain("register", "a layer type's name is an identifier", repr(name), 'such as "Swish"'), "name"
        )

    def decorate(layer: type[M]) -> type[M]:
        candidate: object = layer
        if not inspect.isclass(candidate) or not issubclass(candidate, Module | DynLayer):
            raise ArgumentError(
                explain(
                    f"register({name!r})",
                    "registers a class derived from Module, or one with forward, backward and update",
                    repr(layer),
                ),
                "layer",
            )
        if name in LAYERS:
            raise ArgumentError(
                explain(
                    f"register({name!r})",
                    "every layer type's name is its own",
                    f"that of {LAYERS[name].__module__}.{LAYERS[name].__qualname__}",
                    "choose another name",
                ),
                "name",
            )
        reserved = next(
            (parameter for parameter in RESERVED if parameter in inspect.signature(layer.__init__).parameters), None
        )
        if reserved is not None:
            raise ArgumentError(
                explain(
                    f"register({name!r})",
                    f"{reserved!r} is a key of every [[layer]]",
                    f"a constructor's argument of that name in {layer.__qualname__}",
                    "rename the argument",
                ),
                "layer",
            )
        LAYERS[name] = layer
        if not issubclass(candidate, Module):
            # to checkers, a constructor is no variable
            setattr(layer, "__init__", _remembering(layer, layer.__init__))  # noqa: B010
        return layer

    return decorate


def _remembering(kind: type, init: Callable[..., None]) -> Callable[..., None]:
    """The constructor of ``kind``, which is no `Module`, as `arguments_of` needs it."""

    @functools.wraps(init)
    def remember(self: Any, *positional: Any, **named: Any) -> None:
        if type(self) is kind:
            with suppress(AttributeError):  # an object of slots
                object.__setattr__(self, _ARGUMENTS, (positional, named))
        init(self, *positional, **named)

    return remember


_ARGUMENTS = "__typednn_arguments__"


def class_of(layer: Module) -> type[Any]:
    """The class that a config names: a layer's own, or that of the object that it stands for."""
    return type(identity(layer))


def arguments_of(layer: Module) -> dict[str, Any]:
    """The arguments that the layer was made with, by name; `ArgumentError` where nobody knows them."""
    made: Any = identity(layer)
    if made is layer:
        return constructor_arguments(layer)
    if not hasattr(made, _ARGUMENTS):
        kind = type(made).__qualname__
        cure = f'put @register("{kind}") above the class; with __slots__, derive it from Layer'
        raise ArgumentError(
            explain(
                "dumps", "every layer knows the arguments it was made with", f"{layer!r}, which is no Module", cure
            ),
            "model",
        )
    positional, named = getattr(made, _ARGUMENTS)
    bound = inspect.signature(type(made).__init__).bind(made, *positional, **named).arguments
    return {name: value for name, value in list(bound.items())[1:] if name != "rng"}


def registered_name(layer: Module) -> str:
    """The name that configs use for a layer's class."""
    kind = class_of(layer)
    name = next((name for name, known in LAYERS.items() if known is kind), None)
    if name is None:
        own = kind.__qualname__
        raise ArgumentError(
            explain(
                "dumps",
                "every layer's class has a name in configs",
                f"{own}, which has none",
                f'decorate it with @register("{own}")',
            ),
            "model",
        )
    return name
