"""Builders by name."""

from collections.abc import Callable
from typing import Any

from typednn import Module
from typednn.layers import Linear, ReLU, Tanh

Builder = Callable[..., Module]
BUILDERS: dict[str, Builder] = {}


def register(name: str) -> Callable[[Builder], Builder]:
    def keep(builder: Builder) -> Builder:
        BUILDERS[name] = builder
        return builder

    return keep


@register("dense")
def dense(inputs: int, outputs: int, **options: Any) -> Module:
    return Linear(inputs, outputs, **options)


@register("activation")
def activation(name: str = "relu") -> Module:
    return {"relu": ReLU, "tanh": Tanh}[name]()
