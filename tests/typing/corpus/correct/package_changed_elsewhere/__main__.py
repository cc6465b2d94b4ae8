"""Every stack here fits when it is run."""

from typing import Any

from package_changed_elsewhere import parts
from package_changed_elsewhere.parts import BUILDERS, KEPT, Base, config, shared
from typednn.layers import Linear


class Derived(Base):
    def width(self) -> int:
        return 8


def built(base: Base) -> Any:
    return base.build() >> Linear(8, 2)


def change() -> None:
    parts.WIDTH = 10
    shared.width = 10
    config.width = 8
    BUILDERS["deep"] = lambda: Linear(4, 8)


if __name__ == "__main__":
    parts.configure(10)
    change()
    print(BUILDERS["deep"]() >> Linear(8, 2), Linear(4, KEPT[0]) >> Linear(8, 2))
    print(Linear(4, config.width) >> Linear(8, 2), parts.of_config() >> Linear(10, 2))
    print(parts.of_width() >> Linear(10, 2), parts.of_depth() >> Linear(10, 2))
    print(parts.decorated(4) >> Linear(8, 2), parts.from_elsewhere() >> Linear(8, 2))
    print(next(parts.layers()) >> Linear(9, 2), parts.twice() >> Linear(8, 2))
    print(built(Derived()), Derived().build() >> Linear(8, 2))
