"""The command that writes a trained model for other programs: export."""

from argparse import Namespace
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from typednn.cli.output import hint, say
from typednn.data.labels import names_of
from typednn.errors import ArgumentError, StackError, explain, listed
from typednn.exchange import export_npz, export_onnx, export_torch, load, save
from typednn.files import path_of
from typednn.recipes.running import outputs_of
from typednn.recipes.samples import Scaling
from typednn.recipes.using import opened
from typednn.stack import Stack
from typednn.tasks import Regression

# What each format's files are called, and what writes them.
FORMATS: Final[Mapping[str, tuple[str, Callable[[Any, Path], object]]]] = {
    "onnx": (".onnx", export_onnx),
    "torch": (".torch.safetensors", export_torch),
    "npz": (".npz", export_npz),
    "typednn": (".safetensors", save),
}


def export(options: Namespace) -> int:
    """Write the model of a run, or of a file of ``model.save``; print the path."""
    source = path_of("export", options.source)
    suffix, write = FORMATS[options.to]
    output = path_of("export", options.output) if options.output is not None else Path(f"{source.resolve().name.partition('.')[0]}{suffix}")
    if output.exists() and source.exists() and output.samefile(source):
        raise ArgumentError(explain("--output", "must be another file than the model's own", str(output)))
    model, names = _model(source, options)
    if options.to == "onnx":
        export_onnx(model, output, channels_first=options.channels_first, names=names)
    elif options.channels_first:
        cure = "leave it out: torch has its layouts anyway"
        raise ArgumentError(explain("--channels-first", "is the layout of images in ONNX", f"--to {options.to}", cure))
    else:
        write(model, output)
    say(str(output))
    return 0


def _model(source: Path, options: Namespace) -> tuple[Any, tuple[str, ...]]:
    """The model, reading samples where it can: images rather than rows; and the names of its outputs, if they are classes with names."""
    if not source.is_dir():
        if options.weights is not None:
            raise ArgumentError(explain("--weights", "chooses between the weights of a run", f"{source}, which is no run", "leave it out"))
        return load(source), ()
    plan, built = opened(source, options.weights)
    mean, deviation = _numbers(plan.scaling)
    if (mean, deviation) != ("0", "1"):
        hint(f"the model reads scaled numbers: (x - {mean}) / {deviation}")
    mean, deviation = _numbers(plan.task) if isinstance(plan.task, Regression) else ("0", "1")
    if (mean, deviation) != ("0", "1"):
        hint(f"the model answers in scaled numbers: y * {deviation} + {mean} has the targets' units")
    names = names_of(plan.names, outputs_of(built)) if plan.names else ()
    if names:
        hint(f"the model's outputs are the classes {listed([f'{place} {name}' for place, name in enumerate(names)])}")
    return _of_samples(built), names


def _numbers(scaling: Scaling | Regression) -> tuple[str, str]:
    """Mean and deviation, each one number, or one of each column."""

    def text(values: float | tuple[float, ...]) -> str:
        each = [*values] if isinstance(values, tuple) else [values]
        return f"{each[0]:g}" if len(each) == 1 else f"[{', '.join(f'{number:g}' for number in each)}]"

    return text(scaling.mean), text(scaling.deviation)


def _of_samples(model: Any) -> Any:
    if model.__class__ is Stack:
        with suppress(StackError):  # a layer in it reads rows of what are none
            return model.as_chain()
    return model
