"""A model written as a TOML config, so that loading it builds an equal one: ``loads(dumps(model))``."""

import dataclasses
import inspect
from typing import Any

from typednn.config.arguments import constructor, hints_of, layers_expected
from typednn.config.model_config import FORMAT
from typednn.config.registry import (
    AVERAGES,
    INITIALISERS,
    OPTIMIZERS,
    SCHEDULES,
    arguments_of,
    class_of,
    registered_name,
)
from typednn.config.values import key_written, written
from typednn.errors import ArgumentError, explain
from typednn.layer import Chain, FirstChain, Input, Parts
from typednn.module.foreign import adopted
from typednn.module.module import Module
from typednn.module.stack import Stack
from typednn.optim import ConstantLR, GradientOptimizer

_RULES = {kind: name for name, kind in (INITIALISERS | SCHEDULES | AVERAGES).items()}


def dumps(
    model: Chain[Any, Any, str, *tuple[Any, ...]] | FirstChain[Any, Any, str, *tuple[Any, ...]] | Stack,
    optimizer: GradientOptimizer | None = None,
    *,
    input: Input[Any] | None = None,
) -> str:
    """The TOML config of a model of registered layers, with its declared input, and of the optimizer if one is given.
    ``input`` is that of a model that declares none.

    Layers, arguments, names, rules for initial weights and which parameters are shared are written; weights, dtype and
    device are not.
    """
    sample = _declared_input(model, input)
    lines = [f"format = {FORMAT}", f"input = {written(sample.sizes)}", *['dtype = "int"'] * (sample.dtype is int)]
    shared = model.shared_parameters()
    if shared:
        lines += ["shared = [", *(f"    {written(names)}," for names in shared), "]"]
    for name, layer in model.children():
        lines += _layer("layer", name, layer)
    if optimizer is not None:
        lines += _optimizer(optimizer)
    return "\n".join(lines) + "\n"


def _declared_input(model: Module, otherwise: Input[Any] | None = None) -> Input[Any]:
    if not isinstance(model, Chain | FirstChain | Stack):
        raise ArgumentError(
            explain(
                "dumps", "writes a Chain, a Sequential or a Stack", model.label(), "build one with >> or Sequential"
            ),
            "model",
        )
    sample = model.sample or otherwise
    if sample is None:
        raise ArgumentError(
            explain("dumps", "a config declares its input", "a model without one", "build it as Input(...) >> ..."),
            "model",
        )
    return sample


def _layer(header: str, name: str, layer: Module) -> list[str]:
    """One ``[[header]]`` table, the layers inside it after its own keys."""
    lines = ["", f"[[{header}]]", f"type = {written(registered_name(layer))}"]
    if name and not name.isdecimal():
        lines.append(f"name = {written(name)}")
    inside: list[str] = []
    init = constructor(class_of(layer))
    parameters, hints, arguments = inspect.signature(init).parameters, hints_of(init), arguments_of(layer)
    if registered_name(layer) == "Stack":  # the input may have been declared by the chain that the stack was built from
        arguments = {"input": _declared_input(layer).sizes, "layers": arguments["layers"]}
    for key, value in arguments.items():
        expected = layers_expected(hints.get(key))
        many, value = expected == "many", adopted(value) if expected == "one" else value
        # a chain inside a model declares no input of its own
        if _is_default(value, parameters[key].default) or isinstance(value, Input):
            continue
        if many or isinstance(value, Module):
            for part_name, part in _inside(layer, value, many=many):
                inside += _layer(f"{header}.{key_written(key)}", part_name, part)
        else:
            lines.append(f"{key_written(key)} = {_argument(layer, key, value)}")
    return lines + inside


def _inside(layer: Module, value: Any, *, many: bool) -> list[tuple[str, Module]]:
    """The layers of an argument as its tables: those of a collection or of a chain, or the one layer,
    without its name.
    """
    if many:
        return [*layer.children()] if isinstance(layer, Parts) else [("", part) for part in map(adopted, value)]
    if isinstance(value, Chain):
        parts = list(value.children())
        if len(parts) > 1 or not parts[0][0].isdecimal():
            return parts
    return [("", value)]


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (
        type(value) is type(default) and isinstance(value, int | float | str | tuple) and value == default
    )


def _argument(owner: object, key: str, value: Any) -> str:
    """``value`` as TOML; an initialiser or a schedule as the table that describes it."""
    form = value
    if type(value) in _RULES:
        settings = [
            (field.name, getattr(value, field.name), field.default) for field in dataclasses.fields(value) if field.init
        ]
        form = {"type": _RULES[type(value)]} | {
            name: setting for name, setting, default in settings if setting != default
        }
    try:
        return written(form)
    except ArgumentError:
        raise ArgumentError(
            explain(
                f"dumps, {key} of {type(owner).__name__}",
                "an argument must have a form in TOML",
                repr(value),
                "pass a number, a string, a list, or a rule of typednn",
            )
        ) from None


def _optimizer(optimizer: GradientOptimizer) -> list[str]:
    kind = next((name for name, known in OPTIMIZERS.items() if known is type(optimizer)), None)
    if kind is None:
        raise ArgumentError(
            explain(
                "dumps", f"an optimizer is one of {', '.join(OPTIMIZERS)}", type(optimizer).__name__, "leave it out"
            ),
            "optimizer",
        )
    common = optimizer.settings
    lines = ["", "[optimizer]", f"type = {written(kind)}"]
    for key, parameter in list(inspect.signature(type(optimizer).__init__).parameters.items())[1:]:
        if key != "groups":
            value = _rate(getattr(common if hasattr(common, key) else optimizer, key))
            if not _is_default(value, parameter.default):
                lines.append(f"{key} = {_argument(optimizer, key, value)}")
    for names, settings in optimizer.groups:
        lines += ["", "[[optimizer.group]]", f"names = {written(names)}"]
        values = {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}
        own = {key: value for key, value in values.items() if value != getattr(common, key)}
        lines += [f"{key} = {_argument(optimizer, key, _rate(value))}" for key, value in own.items()]
    return lines


def _rate(value: Any) -> Any:
    return value.lr if isinstance(value, ConstantLR) else value
