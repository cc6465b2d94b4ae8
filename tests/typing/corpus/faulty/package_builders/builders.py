"""Builders."""

from collections.abc import Callable
from functools import partial
from typing import Any

from typednn.layers import Linear, ReLU


def mlp(inputs: int, outputs: int, hidden: int) -> Any:
    return Linear(inputs, hidden) >> ReLU() >> Linear(hidden, outputs)


class Family:
    def __init__(self, width: int) -> None:
        self.width = width

    @classmethod
    def small(cls) -> "Family":
        return cls(8)

    @property
    def doubled(self) -> int:
        return 2 * self.width

    def head(self, outputs: int) -> Any:
        return Linear(self.doubled, outputs)

    @staticmethod
    def tail(inputs: int) -> Any:
        return Linear(inputs, 2)


narrow = partial(mlp, hidden=16)
BUILDERS: dict[str, Callable[..., Any]] = {"mlp": mlp, "narrow": narrow}
