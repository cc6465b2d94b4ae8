"""A model from a dataclass of settings, defaults among them."""

from dataclasses import dataclass, field

import numpy as np

from typednn import Sequential
from typednn.layers import Linear, ReLU


@dataclass
class Settings:
    features: int = 12
    hidden: int = 24
    classes: int = 3
    widths: list[int] = field(default_factory=lambda: [12, 6])


def build(settings: Settings) -> Sequential:
    first = Linear(settings.features, settings.hidden)
    return Sequential([first, ReLU(), Linear(settings.hidden, settings.classes)])


defaults = Settings()
special = Settings(hidden=7)
defaults.hidden = 30
stack = Linear(12, special.hidden) >> ReLU() >> Linear(7, defaults.hidden) >> Linear(30, special.widths[0]) >> Linear(12, 1)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    print(build(defaults).init(rng).forward(np.ones((2, 12), np.float32)).shape)
    print(stack.init(rng).forward(np.ones((2, 12), np.float32)).shape)
