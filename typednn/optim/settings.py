"""What an optimizer does to a parameter: its learning rate and its weight decay, common to all or of a
group by name; and when its settings are complete.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from typednn.arguments import number
from typednn.errors import ArgumentError, explain
from typednn.optim.schedule import Schedule, schedule


@dataclass(frozen=True, slots=True)
class Settings:
    """What may differ between groups of parameters."""

    lr: Schedule
    l2: float
    decay: float
    weight_decay: float
    frozen: bool = False

    def check(self, where: str) -> "Settings":
        names = [
            name for name in ("l2", "decay", "weight_decay") if number(where, name, getattr(self, name), least=0.0)
        ]
        if len(names) > 1:  # the error names l2 or decay, as AdamW has a weight_decay by default
            raise ArgumentError(
                explain(
                    where,
                    "takes one meaning of weight decay",
                    " and ".join(names),
                    "l2 is eq 46, decay eq 47, weight_decay PyTorch's",
                ),
                min(names),
            )
        return self


@dataclass(frozen=True, slots=True)
class Group:
    """Other settings for the parameters whose dotted name matches ``names``, where ``*`` stands for anything.

    ``Group("*.bias", weight_decay=0.0)``; None means the common setting. ``Group("body.*", frozen=True)``: those are
    not stepped, and keep no state.
    """

    names: str
    lr: float | Schedule | None = None
    l2: float | None = None
    decay: float | None = None
    weight_decay: float | None = None
    frozen: bool = False

    def settings(self, where: str, common: Settings) -> Settings:
        """The common settings with this group's own in their place."""
        frozen, names = cast("tuple[object, object]", (self.frozen, self.names))
        if not isinstance(names, str):
            raise ArgumentError(
                explain(where, "a group's names are one pattern", repr(names), 'such as "*.bias"'), "names"
            )
        where = f"{where}, group {names!r}"
        if frozen is not False:
            others = [name for name in ("lr", "l2", "decay", "weight_decay") if getattr(self, name) is not None]
            if frozen is not True or others:
                got = f"frozen={frozen!r}" + "".join(f" and {name}" for name in others)
                rule = "frozen is True or False, and a frozen group has no other setting"
                raise ArgumentError(explain(where, rule, got), "frozen")
            return replace(common, frozen=True)
        overrides = {
            name: getattr(self, name) for name in ("l2", "decay", "weight_decay") if getattr(self, name) is not None
        }
        lr = common.lr if self.lr is None else schedule(where, self.lr)
        return replace(common, lr=lr, **overrides).check(where)


def completing(init: Callable[..., None]) -> Callable[..., None]:
    """A constructor that completes the optimizer at its end, unless a derived class's constructor called it."""

    @functools.wraps(init)
    def complete(self: Any, *positional: Any, **named: Any) -> None:
        init(self, *positional, **named)
        outer: Any = type(self).__init__  # what makes a constructor public is around it
        while outer not in (complete, None):
            outer = getattr(outer, "__wrapped__", None)
        if outer is complete:
            self._complete = True

    return complete
