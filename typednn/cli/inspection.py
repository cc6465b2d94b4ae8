"""The commands that look at a model: summary, gradcheck."""

import ast
import inspect
import math
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from typednn.cli.output import say, say_fitted
from typednn.config import loads
from typednn.config.model_config import import_layers
from typednn.config.registry import LAYERS
from typednn.config.values import key_written, written
from typednn.errors import ArgumentError, ConfigError, explain
from typednn.layer import FirstChain, FirstLayer
from typednn.random import PCG32
from typednn.recipes import Recipe, find
from typednn.recipes.costs import table
from typednn.recipes.plan import holds_run, read_plan
from typednn.runs.run_files import read_text
from typednn.runs.settings import read_settings
from typednn.screen import screen_width
from typednn.testing.gradcheck import gradcheck as check_gradients


def summary(options: Namespace) -> int:
    """The model as a table, and the settings of the recipe or the run."""
    import_layers(options.modules)
    place = Path(options.recipe)
    plan = read_plan(place, of_fit=True) if holds_run(place) else None
    recipe = find(options.recipe) if plan is None else plan.recipe
    if plan is None or plan.is_described:
        config = recipe.checked() if plan is None else plan.model_config()
        model = table(config.built(), screen_width())
    else:  # as the program printed it
        model = (read_text(place, "model.txt") or "").rstrip()
    told = read_settings(place) if plan is not None and plan.of_fit else settings_of(recipe)
    say_fitted(recipe.about)
    say("\n".join(["", model, ""]))
    say_fitted(_lines({name: value for name, value in told.items() if not name.startswith("layer.")}))
    return 0


def gradcheck(options: Namespace) -> int:
    """Compare every derivative with its central difference; `GradcheckError` where one disagrees."""
    rng = PCG32(options.seed)
    call = _call(options.subject)
    if call is None:
        model = find(options.subject, options.modules).checked().built()
    else:
        model = _of_layer(call, [_sizes(options.input)] if options.input else _guessed(call), options)
    batch = _batch(model, rng)
    say(str(check_gradients(model.init(rng), batch, seed=options.seed, most=200)))
    say("every derivative agrees with finite differences")
    return 0


def _of_layer(call: Any, samples: Sequence[tuple[int, ...]], options: Namespace) -> Any:
    """The model of that layer alone, for the first of ``samples`` that fits; else the first error, if possible not of a
    sample's axes.
    """
    errors: list[ConfigError] = []
    for sizes in samples:
        try:
            return loads(_layer_config(call, sizes), f"layer {options.subject}", imports=options.modules).built()
        except ConfigError as error:
            errors.append(error)
    raise next((error for error in errors if " axes (" not in str(error)), errors[0])


def _batch(model: Any, rng: PCG32) -> Any:
    """Two samples: numbers, or the smallest tokens, which every vocabulary has."""
    sizes = model.sample.sizes
    if isinstance(model, FirstChain):
        return np.arange(2 * math.prod(sizes)).reshape(2, *sizes) % 2
    return rng.standard_normal((2, model.in_features))


def _call(text: str) -> Any:
    """``Conv2d(2, 3, 3)`` as Python's syntax tree; None where it is not the call of a name."""
    # a path may hold bytes that are not text, and be long
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        call = ast.parse(text.strip(), mode="eval").body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            return call
    return None


def _value(argument: ast.expr) -> Any:
    got = "one that is nested too deeply"
    with suppress(ValueError, RecursionError):
        return ast.literal_eval(argument)
    with suppress(RecursionError):
        got = ast.unparse(argument)
    raise ArgumentError(
        explain("gradcheck", "a layer's arguments are numbers and words", got, "such as 'Conv2d(2, 3, 3, bias=True)'")
    )


def _sizes(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) for part in parts) or len(parts) > 3:
        raise ArgumentError(
            explain("--input", "expects one to three sizes of one sample", repr(text), "such as --input 28,28,1")
        )
    return tuple(int(part) for part in parts)


def _guessed(call: Any) -> list[tuple[int, ...]]:
    """Samples to try in turn: a row, a sequence, an image, each with as many features as an argument says, or a few."""
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    features = [value for value in map(_value, arguments) if type(value) is int and value > 0] or [5]
    return [(*positions, size) for positions in ((), (7,), (7, 8)) for size in (*dict.fromkeys(features), 6)]


def _layer_config(call: Any, sizes: tuple[int, ...]) -> str:
    """One layer as a config: ``Conv2d(2, 3, 3, bias=True)`` with its positional arguments under their names."""
    kind: str = call.func.id
    parameters = list(inspect.signature(LAYERS[kind].__init__).parameters.values())[1:] if kind in LAYERS else []
    names = [parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    if kind in LAYERS and len(call.args) > len(names):
        raise ArgumentError(explain("gradcheck", f"{kind} takes at most {len(names)} arguments", str(len(call.args))))
    # The config's error about an unknown layer is the clearest.
    arguments = {
        **dict(zip(names, call.args, strict=False)),
        **{keyword.arg: keyword.value for keyword in call.keywords if keyword.arg},
    }
    lines = [f"{key_written(key)} = {written(_value(value))}" for key, value in arguments.items()]
    dtype = ['dtype = "int"'] * (kind in LAYERS and issubclass(LAYERS[kind], FirstLayer))
    return "\n".join(
        ["format = 1", f"input = {written(sizes)}", *dtype, "[[layer]]", f"type = {written(kind)}", *lines, ""]
    )


def settings_of(recipe: Recipe) -> dict[str, Any]:
    """Every setting by the name that ``--set`` takes."""
    settings = {
        name: value for name, value in recipe.as_json().items() if name not in ("name", "about", "optimizer", "imports")
    }
    return settings | {f"optimizer.{key}": value for key, value in recipe.optimizer.items()}


def _lines(settings: Mapping[str, Any]) -> str:
    width = max(map(len, settings), default=0)
    return "\n".join(
        f"{name:<{width}}  {'none' if value is None else written(value)}" for name, value in sorted(settings.items())
    )
