"""How a module prints: as the call that builds it, or a line for each module below it; in a notebook, a table."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from typednn.errors import TypednnError, counted
from typednn.module import delegation
from typednn.module.state import Stateful
from typednn.screen import columns

# Printing a stack asks for the same few again and again; bounded, so that classes made at run time can go.
_constructor = functools.lru_cache(maxsize=256)(inspect.signature)


def constructor_arguments(module: Stateful) -> dict[str, Any]:
    """The arguments that build this module again, as its constructor got them, without a random generator."""
    positional, named = module.__typednn_storage__.arguments
    bound = _constructor(type(module).__init__).bind(module, *positional, **named).arguments
    return {name: value for name, value in list(bound.items())[1:] if name != "rng"}


def arguments(module: Stateful) -> Iterator[str]:
    """Required arguments by position, the others by name where they differ from the default;
    initialisers are left out.
    """
    parameters = _constructor(type(module).__init__).parameters
    for name, value in constructor_arguments(module).items():
        default = parameters[name].default
        if parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            yield from map(_written, value)
        elif default is inspect.Parameter.empty:
            yield _written(value)
        elif value != default and not name.endswith("_init"):
            yield f"{name}={_written(value)}"


def _written(value: Any) -> str:
    """``repr``; of an integer of any kind, such as NumPy's or an enum's, the number."""
    integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return repr(int(cast("int", value))) if integer else repr(cast("object", value))


def rows(model: Any) -> Iterator[tuple[str, str, str, str]]:
    """For each module its name, layer, shapes, count; a shared parameter is counted where it stands first."""
    first: dict[int, tuple[str, str]] = {}
    for path, module in model.named_modules():
        own: list[str] = []
        count = 0
        for name, field in module.stored_fields():
            shape = field.shape(module)
            kind = "buffer " if field.kind == "buffer" else ""
            holder, parameter = first.setdefault(id(field.cell(module)), (path, name))
            if (holder, parameter) == (path, name):
                own.append(f"{kind}{name} {shape}")
                count += 0 if kind else math.prod(shape)
            else:
                own.append(
                    f"{kind}{name} shared with "
                    f"{holder if parameter == name else f'{holder}.{parameter}'.removeprefix('.')}"
                )
        own += module.printed_shapes()
        layer = repr(module) if next(module.children(), None) is None else type(module).__name__
        depth = path.count(".") + 1 if path else 0
        yield f"{'  ' * depth}{path.rpartition('.')[2]}", layer, ", ".join(own), module.printed_count(count)


def table(model: Any, width: int | None = None) -> str:
    """`rows` in columns, in lines of at most ``width``, and how many parameters there are in all."""
    return "\n".join([*columns(list(rows(model)), (3,), width), total(model)])


def total(model: Any) -> str:
    """How many parameters there are in all."""
    known = sum(math.prod(shape) for shape in model.own_shapes().values())
    unknown = sum(module.printed_count(0) == "?" for _, module in delegation.foreign_parts(model))
    if not unknown:
        return counted(model.num_parameters(), "parameter")
    return f"{counted(known, 'parameter')}, and those of {counted(unknown, 'foreign part')}"


def html(model: Any) -> str:
    """`rows` as a table for notebooks; of a chain that knows its input, with the shape after each part."""
    from typednn.html import shown
    from typednn.html import table as html_table

    after = _shapes_after(model)
    head = ["", "layer", *(["output"] if after else []), "parameters", "count"]
    lines = [
        [name, layer, *([after.get(path, "")] if after else []), shapes, count]
        for (name, layer, shapes, count), (path, _) in zip(rows(model), model.named_modules(), strict=True)
    ]
    return shown(f"{type(model).__name__}, {total(model)}", html_table(head, lines, numbers=("count",)))


def _shapes_after(model: Any) -> dict[str, str]:
    """The shape of one sample after each part of a chain, by the part's name."""
    sample = getattr(model, "sample", None)
    if sample is None:
        return {}
    found, flow = {"": f"from {' × '.join(map(str, sample.sizes))}"}, sample.flow
    try:
        for name, part in model.children():
            flow = part.trace(flow)
            sizes = flow.sizes()
            found[name] = "" if sizes is None else " × ".join(map(str, sizes))
    except TypednnError:  # a part reads rows, where the chain's samples are none
        pass
    return found
