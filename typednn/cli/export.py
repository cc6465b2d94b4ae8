"""The command that writes a trained model for other programs: export."""

import os
from argparse import Namespace
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from typednn.cli.output import hint, say
from typednn.cli.use import named_model
from typednn.config.model_config import import_layers
from typednn.data import read_vocabulary
from typednn.data.labels import names_of
from typednn.data.token_files import packed
from typednn.data.vocabulary import END, token_of
from typednn.errors import ArgumentError, StackError, explain, listed
from typednn.exchange import (
    Preprocessing,
    export_bin,
    export_c,
    export_json,
    export_npz,
    export_onnx,
    export_torch,
    load,
    save,
)
from typednn.files import path_of, write_whole
from typednn.layer import Input
from typednn.models import write_gpt_c
from typednn.models.gpt2_weights import CONFIG
from typednn.models.gpt_c import is_gpt_c
from typednn.models.hub import SCHEME, local_folder
from typednn.module.stack import Stack
from typednn.recipes.plan import VOCABULARY, holds_run
from typednn.recipes.predictor import load_run
from typednn.recipes.running import outputs_of
from typednn.recipes.weights import vocabulary_beside, weights_at
from typednn.tasks.language import speaker_of

# What each format's files are called, and what writes them; gpt.c's are a model and its vocabulary.
FORMATS: Final[Mapping[str, tuple[str, Callable[[Any, Path], object]]]] = {
    "onnx": (".onnx", export_onnx),
    "torch": (".torch.safetensors", export_torch),
    "npz": (".npz", export_npz),
    "typednn": (".safetensors", save),
    "json": (".json", export_json),
    "bin": (".params.bin", export_bin),
    "c": ("-c", export_c),
}


def export(options: Namespace) -> int:
    """Write the model of a run, of a file of ``model.save``, or a GPT-2 that `generate` reads; print the path."""
    import_layers(options.modules)
    source = local_folder("export", options.source)
    of_hub = options.source.startswith(SCHEME)
    name = (Path(options.source.partition("@")[0]) if of_hub else source.resolve()).name
    suffix, write = FORMATS.get(options.to, (".bin", None))
    output = (
        path_of("export", options.output) if options.output is not None else Path(f"{name.partition('.')[0]}{suffix}")
    )
    if os.path.exists(output) and os.path.exists(source) and output.samefile(source):
        raise ArgumentError(explain("--output", "must be another file than the model's own", str(output)))
    if options.channels_first and options.to != "onnx":
        cure = "leave it out: torch has its layouts anyway"
        raise ArgumentError(explain("--channels-first", "is the layout of images in ONNX", f"--to {options.to}", cure))
    for option, value in (("--batch", options.batch), ("--target", options.target)):
        if value is not None and options.to != "c":
            raise ArgumentError(explain(option, "is for a C library", f"--to {options.to}", "leave it out"))
    if options.weights is not None and not holds_run(source):
        raise ArgumentError(
            explain("--weights", "chooses between the weights of a run", f"{source}, which is no run", "leave it out")
        )
    if write is None:
        return _to_gpt_c(source, options, output)
    model, more = _model(source, options)
    if options.to == "onnx":
        export_onnx(model, output, channels_first=options.channels_first, **more)
    elif options.to == "c":
        export_c(
            model,
            output,
            batch=options.batch or 1,
            target=options.target or "host",
            name=name.partition(".")[0],
            names=more.get("names", ()),
            preparing=_preparing(more.get("preprocessing")),
        )
    else:
        write(model, output)
    say(str(output))
    return 0


def _to_gpt_c(source: Path, options: Namespace, output: Path) -> int:
    """Write gpt.c's file of a model, and beside it what each token writes, where the vocabulary has the token that ends
    a text.
    """
    steps, folder = 0, vocabulary_beside(source)
    if holds_run(source):
        run = load_run(source, options.weights, model=named_model(options))
        model, steps, folder = run.speaker()[0], run.step, source / VOCABULARY
    elif _is_gpt2(source):
        model = weights_at(source)
    else:
        speaker = speaker_of(load(source))
        if speaker is None:
            raise ArgumentError(explain("--to gpt.c", "is for a GPT-2", f"{source}, which is another model"))
        model = speaker
    write_gpt_c(model, output, steps=steps)
    say(str(output))
    vocabulary = None if folder is None else read_vocabulary(folder)
    end = None if vocabulary is None else token_of(vocabulary, END)
    if vocabulary is None or end is None or len(vocabulary) != model.vocab_size:
        got = (
            "none beside the weights"
            if vocabulary is None
            else f"one without {END}"
            if end is None
            else "one of another size"
        )
        hint(f"no table of tokens was written: it needs the model's vocabulary, got {got}")
        return 0
    table = output.with_suffix(".tokenizer.bin")
    write_whole(table, packed("--to gpt.c", "vocabulary", [*map(vocabulary.bytes_of, range(len(vocabulary)))], end))
    say(str(table))
    return 0


def _is_gpt2(source: Path) -> bool:
    """Whether these are Hugging Face's weights of a GPT-2, or gpt.c's."""
    return os.path.isfile(source / CONFIG) or (os.path.isfile(source) and is_gpt_c(source))


def _model(source: Path, options: Namespace) -> tuple[Any, dict[str, Any]]:
    """The model, reading samples where it can: images rather than rows; and what else an ONNX file holds: the names of
    classes, and what becomes of data before the model and after it.
    """
    if not holds_run(source) and _is_gpt2(source):
        speaker: Any = weights_at(source)
        return Input(speaker.n_positions, dtype=int) >> speaker, {}
    if not os.path.isdir(source):
        return load(source), {}
    run = load_run(source, options.weights, model=named_model(options))
    preprocessing = run.preprocessing
    names = names_of(run.names, outputs_of(run.model)) if run.names else ()
    _tell(preprocessing, of_the_file=options.to == "onnx")
    if names:
        hint(f"the model's outputs are the classes {listed([f'{place} {name}' for place, name in enumerate(names)])}")
    return _of_samples(run.model), {"names": names, "preprocessing": preprocessing}


def _tell(preprocessing: Preprocessing | None, of_the_file: bool) -> None:
    """Say what an ONNX file reads; of another, which has the model alone, what is to be done before and after it."""
    if preprocessing is None:
        return
    kinds = {"words": " (words)", "date": " (days since 1970-01-01)"}
    if of_the_file:
        if preprocessing.columns:
            columns = [f"{each.name}{kinds.get(each.kind, '')}" for each in preprocessing.columns]
            hint(f"the file's inputs are the columns {listed(columns)}")
        return
    for line in _preparing(preprocessing):
        hint(line)


def _preparing(preprocessing: Preprocessing | None) -> list[str]:
    """What is to be done before and after the model."""
    lines: list[str] = []
    if preprocessing is None:
        return lines
    if preprocessing.encoding is not None and preprocessing.columns:
        columns = listed(preprocessing.encoding.names)
        lines.append(f"the model's inputs are the columns {columns}, as typednn docs data says")
    mean, deviation = _numbers(preprocessing.mean), _numbers(preprocessing.deviation)
    if (mean, deviation) != ("0", "1"):
        lines.append(f"the model reads scaled numbers: (x - {mean}) / {deviation}")
    mean, deviation = _numbers(preprocessing.target_mean), _numbers(preprocessing.target_deviation)
    if (mean, deviation) != ("0", "1"):
        lines.append(f"the model answers in scaled numbers: y * {deviation} + {mean} has the targets' units")
    return lines


def _numbers(values: float | tuple[float, ...]) -> str:
    """One number, or one of each column."""
    each = [*values] if isinstance(values, tuple) else [values]
    return f"{each[0]:g}" if len(each) == 1 else f"[{', '.join(f'{number:g}' for number in each)}]"


def _of_samples(model: Any) -> Any:
    if model.__class__ is Stack:
        with suppress(StackError):  # a layer in it reads rows of what are none
            return model.as_chain()
    return model
