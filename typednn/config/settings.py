"""The other tables of a config: ``[optimizer]``, and ``[init]`` for the initial weights."""

from typing import Literal, cast

import numpy as np

from typednn.arguments import integer
from typednn.config.arguments import Arguments, shortened
from typednn.config.registry import OPTIMIZERS
from typednn.config.source import Item, Source
from typednn.errors import ArgumentError, explain
from typednn.module.module import Module
from typednn.optim import GradientOptimizer, Group
from typednn.random import PCG32, Rng


def build_optimizer(source: Source, table: Item, model: Module | None = None) -> GradientOptimizer:
    """The optimizer of ``[optimizer]``, bound to no model yet; each group must match a parameter of ``model``, if that
    is given.
    """
    arguments = Arguments.of_type(source, "optimizer", table, OPTIMIZERS, "an optimizer", ("type", "group"))
    arguments.parameters.pop("groups", None)
    arguments.check_keys()
    values = {key: arguments.plain(key) for key in arguments.table}
    optimizer: GradientOptimizer = arguments.call(values)
    groups: list[Group] = []
    for place, item in enumerate(_groups(source, table)):
        group = Arguments(source, f"optimizer, group {place}", "Group", Group, item)
        groups.append(group.build())
        try:
            one = arguments.factory(**values, groups=groups[-1:])
            if model is not None:
                one.bind(model)
        except ArgumentError as error:
            raise group.refusal(error) from error
    return arguments.factory(**values, groups=groups) if groups else optimizer


def _groups(source: Source, table: Item) -> list[Item]:
    item = (table.table or {}).get("group")
    if item is None:
        return []
    if not item.parts or any(group.table is None for group in item.parts):
        raise source.error(
            item.place,
            f"optimizer: group is a list of tables, got {shortened(item)}; write each as [[optimizer.group]]",
        )
    return item.parts


def build_rng(source: Source, table: Item) -> Rng:
    """The generator of ``[init]``, at its start."""
    return cast("Rng", Arguments(source, "init", "Rng", _generator, table).build())


def _generator(seed: int, generator: Literal["numpy", "pcg32"] = "numpy", stream: int | None = None) -> Rng:
    integer("Rng", "seed", seed, least=0)
    if generator == "pcg32":
        return PCG32(seed, 0 if stream is None else stream)
    if stream is not None:
        raise ArgumentError(
            explain("Rng", 'stream belongs to generator = "pcg32"', repr(generator), "leave it out"), "stream"
        )
    return np.random.default_rng(seed)
