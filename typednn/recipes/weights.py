"""Weights of a GPT-2 by the path of what holds them, and the vocabulary beside them.

a folder    ``config.json`` and ``model.safetensors``, as Hugging Face's `transformers` has them; or ``hf://owner/name``
a file      gpt.c's model; its vocabulary may stand in the same folder, as ``tokenizer.bin`` or ``tokenizer.json``, or
            as ``vocab.json`` and ``merges.txt``
"""

import os
from pathlib import Path

from typednn.data import read_vocabulary
from typednn.data.vocabulary import holds_vocabulary
from typednn.errors import ArgumentError, DataError, explain
from typednn.models import GPT2, load_gpt2, read_gpt_c
from typednn.models.gpt2_weights import CONFIG, sizes_of
from typednn.models.gpt_c import sizes_of_gpt_c

_GPT2 = 50257  # tokens of GPT-2's own vocabulary


def weights_at(place: Path) -> GPT2:
    """The model there; a `DataError` where it is neither."""
    if os.path.isfile(place):
        return read_gpt_c(place)[0]
    if os.path.isfile(place / CONFIG):
        return load_gpt2(place)
    rule = (
        f"must be the run of a language model, a folder with {CONFIG} and model.safetensors, or gpt.c's file of a model"
    )
    raise DataError(
        explain(str(place), rule, "a folder without these" if os.path.isdir(place) else "no such file or folder")
    )


def sizes_at(place: Path) -> dict[str, int]:
    """The constructor's arguments of that model, of which no array is read."""
    return sizes_of_gpt_c(place) if os.path.isfile(place) else sizes_of(place)


def vocabulary_beside(place: Path) -> Path | None:
    """The folder of the vocabulary that stands with the weights, if one does."""
    folder = place.parent if os.path.isfile(place) else place
    return folder if holds_vocabulary(folder) else None


def vocabulary_for(place: Path, size: int) -> str:
    """The vocabulary of a training from these weights: that of the folder; of gpt.c's file the one beside it, else
    GPT-2's own.
    """
    if not os.path.isfile(place):
        return str(place)
    beside = vocabulary_beside(place)
    count = None if beside is None else len(read_vocabulary(beside))
    if beside is not None and count == size:
        return str(beside)
    if size == _GPT2:
        return "gpt2"
    rule, got = (
        f"needs the vocabulary of the model's {size:,} tokens",
        "none beside it" if count is None else f"one of {count:,} beside it",
    )
    raise ArgumentError(explain(str(place), rule, got, "give --set vocabulary=FOLDER, or gpt.c's tokenizer.bin"))
