"""Plan: a recipe with its data. Saved as ``recipe.json`` in the run folder, with all that is needed to repeat or use
the run.

``{"format": 9, "recipe": {settings}, "config": "the model, optimizer and generator as TOML", "data": `Samples.source`,
"checksum": CRC-32 of the training data, "scaling": {"mean", "deviation"}, "shape": one sample's, "names": the classes',
"columns": the inputs' of a table, "encoding": how a
table's columns became these (`typednn.data.Encoding.as_json`), "targets": {"mean", "deviation"} of a regression's}``
"""

import json
import os
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, final

import numpy as np

from typednn.arrays import is_floating
from typednn.config import loads
from typednn.config.model_config import ModelConfig
from typednn.data import Encoding, ImageFiles, image_size
from typednn.data.labels import normalised
from typednn.data.text import TOKENS
from typednn.errors import ArgumentError, ConfigError, DataError, explain, listed
from typednn.files import as_list, opened, parsed
from typednn.recipes.recipe import LossName, Recipe, TaskName, from_json
from typednn.recipes.samples import NAMES, AnyTask, Samples, Scaling, is_image_folder, load_data
from typednn.recipes.tables import chosen_of, layout_of, load_tables
from typednn.recipes.texts import VOCABULARIES, load_text
from typednn.runs.checksums import FILE as CHECKSUMS
from typednn.runs.run_files import read_bytes, read_text
from typednn.runs.settings import read_settings
from typednn.screen import brief
from typednn.tasks import Regression

# Before 3 every task was a classification; 4 has texts, 5 images in files, 6 ``drop_last``, 7 a checksum of the test
# data, 8 encodings of tables, ``stratify``, ``start_from_epoch``, weights of classes, 9 ``freeze``, ``fold``,
# ``shards`` and ``exchange``, 10 ``sync_batchnorm`` and ``precision``, 11 ``compile``. 2 to 11 have ``fuse``, which is
# not read any more.
FORMAT = 12
FILE = "recipe.json"
_KEPT = 1 << 31  # as many outputs: each label of a table is below it, and is kept
_SIDE = 64  # of images for a model that reads any size, where nothing else is said
# By a loss's name what the outputs of a run of fit are: a task, and the loss of a recipe whose outputs are the same.
LOSSES: Mapping[str, tuple[TaskName, LossName]] = {
    "SoftmaxCrossEntropy": ("classification", "softmax_cross_entropy"),
    "NLL": ("classification", "softmax_cross_entropy"),  # softmax leaves logarithms of probabilities as they are
    "CrossEntropy": ("classification", "cross_entropy"),
    "MSE": ("regression", "mse"),
    "L1": ("regression", "l1"),
    "Huber": ("regression", "huber"),
}
VOCABULARY = "vocabulary"  # the folder of a language model's, in the run's


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """See above; `plan_for` makes one, `read_plan` reads one."""

    recipe: Recipe
    config: str
    data: Mapping[str, str]
    checksum: int
    scaling: Scaling
    shape: tuple[int, ...]
    names: tuple[str, ...]
    columns: tuple[str, ...] = ()
    targets: Scaling = field(default_factory=Scaling)
    test_checksum: int | None = None  # where a run of an earlier format has none
    encoding: Encoding | None = None

    def __repr__(self) -> str:
        return brief(self)

    def model_config(self) -> ModelConfig:
        """The config, read and checked."""
        return self.recipe.read(self.config, "config.toml")

    @property
    def of_fit(self) -> bool:
        """Whether a program's `typednn.training.fit` trained it: then data, scaling and names are the program's."""
        return not self.data

    @property
    def is_described(self) -> bool:
        """Whether the config says the model; of a run of `fit` it may be any text."""
        return not self.of_fit or "[[layer]]" in self.config

    @property
    def task(self) -> AnyTask:
        """The recipe's task, with the classes' names."""
        task = self.recipe.made_task(self.names)
        if (
            not isinstance(task, Regression)
            or not isinstance(self.targets.mean, tuple)
            or not isinstance(self.targets.deviation, tuple)
        ):
            return task
        return replace(task, mean=self.targets.mean, deviation=self.targets.deviation)

    def samples(self) -> Samples:
        """The data; `DataError` where they differ from those that the run began with."""
        samples = samples_of(self.recipe, self.data)
        expected = {"training": (self.checksum, checksum_of), "test": (self.test_checksum, test_checksum_of)}
        other = next(
            (part for part, (told, found) in expected.items() if told is not None and found(samples) != told), None
        )
        if other is not None:
            rule, cure = "must be what the run began with", "bring the old files back, or start a new run"
            raise DataError(explain(f"data {samples.name!r}", rule, f"other {other} data", cure))
        return samples

    def to_text(self) -> str:
        """The plan as JSON."""
        table = {
            "format": FORMAT,
            **{each.name: getattr(self, each.name) for each in fields(self)},
            "recipe": self.recipe.as_json(),
            "data": dict(self.data),
            "scaling": asdict(self.scaling),
            "targets": asdict(self.targets),
            "encoding": None if self.encoding is None else self.encoding.as_json(),
        }
        return json.dumps(table, indent=1) + "\n"


def plan_for(recipe: Recipe, samples: Samples, data: Mapping[str, str]) -> Plan:
    """The plan of training ``recipe`` on ``samples``, which ``data`` describes how to find again."""
    recipe = fitted(recipe, samples)
    rows = rows_of(recipe, samples)
    settled = recipe.changed({"epochs": recipe.epochs_for(rows), "max_steps": recipe.max_steps})
    if recipe.vocabulary and recipe.vocabulary not in VOCABULARIES:
        settled = replace(settled, vocabulary=str(Path(recipe.vocabulary).resolve()))
    # both read all the data, at the same time, as neither needs the interpreter's lock
    with ThreadPoolExecutor(1) as beside:
        checksum, test_checksum = beside.submit(checksum_of, samples), beside.submit(test_checksum_of, samples)
        scaling = targets = Scaling()
        if recipe.standardise and samples.vocabulary is None and samples.x.dtype != TOKENS:
            rows_read = isinstance(samples.x, np.ndarray) and samples.x.ndim == 2 and len(recipe.sample) == 1
            scaling = Scaling.of_columns(np.asarray(samples.x)) if rows_read else Scaling.of(samples.x)
        if recipe.standardise and recipe.task == "regression":
            targets = Scaling.of_columns(samples.y.reshape(len(samples.y), -1))
    return Plan(
        settled,
        settled.config(settled.steps_for(rows)),
        data,
        checksum.result(),
        scaling,
        samples.x.shape[1:],
        samples.names,
        samples.columns,
        targets,
        test_checksum.result(),
        samples.encoding,
    )


def rows_of(recipe: Recipe, samples: Samples) -> int:
    """How many samples are trained on: less those that are held out; of a text, its windows."""
    if samples.vocabulary is None:
        return len(samples.split(recipe.validation, recipe.seed, recipe.stratify, recipe.fold)[0])
    return len(samples.shaped(*recipe.sample, stride=recipe.stride).x)


def fitted(recipe: Recipe, samples: Samples) -> Recipe:
    """``recipe`` with the sizes of its model that the data decide."""
    return replace(recipe, model=partial(recipe.model, **_decided(recipe, samples))) if recipe.adapts else recipe


def samples_of(recipe: Recipe, data: Mapping[str, str], announce: Callable[[str], object] | None = None) -> Samples:
    """The samples that ``data`` describes, as `Samples.source` has it: at least a name, or a table to train on.

    Images in a folder are brought to the size that the recipe's model reads, in colour where it reads three channels.
    """
    if "train" in data:
        outputs = None if data.get("numbered") == "true" else _KEPT
        return load_tables(
            data["train"],
            data.get("test"),
            recipe.made_task(),
            target=data.get("target"),
            seed=int(data.get("seed", "0")),
            outputs=outputs,
            **layout_of(data),
            **chosen_of(data),
        )
    if recipe.task == "language":
        return load_text(data["name"], recipe.vocabulary, recipe.validation, announce, kind=recipe.tokens)
    folder = Path(data["name"])
    if data["name"] in NAMES or not folder.is_dir() or not is_image_folder(folder):
        return load_data(data["name"], announce)
    height, width, channels = map(int, data["image"].split("x")) if "image" in data else _image_of(recipe, folder)
    return load_data(
        data["name"],
        announce,
        image=(height, width, channels),
        seed=int(data.get("seed", recipe.seed)),
        skip_damaged=data.get("skip_damaged") == "true",
        stream=None if "stream" not in data else data["stream"] == "true",
    )


def _image_of(recipe: Recipe, folder: Path) -> tuple[int, int, int]:
    """Height, width and channels of the images that the recipe's model reads.

    A model that adapts reads colours in any size: the recipe's ``image``, else that of the first image where no side is
    longer than 64, else 64 x 64.
    """
    first = next((path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith(".")), None)
    if "image" not in recipe.adapts and len(recipe.sample) == 3:
        height, width, channels = recipe.sample
        return height, width, channels
    if recipe.image is not None:
        return recipe.image, recipe.image, 3
    height, width = (_SIDE, _SIDE) if first is None else image_size(first)
    return (height, width, 3) if max(height, width) <= _SIDE else (_SIDE, _SIDE, 3)


def _decided(recipe: Recipe, samples: Samples) -> dict[str, Any]:
    """The arguments of the recipe's model that the data decide."""
    if samples.x.dtype == TOKENS and "shape" in recipe.adapts:
        raise ArgumentError(
            explain(f"data {samples.name!r}", f"{recipe.name} reads numbers", "texts", "such as typednn train lstm")
        )
    if "image" in recipe.adapts and samples.x.ndim != 4:
        got = "texts" if samples.x.dtype == TOKENS else f"rows of {samples.x.shape[1]} numbers"
        raise ArgumentError(
            explain(f"data {samples.name!r}", f"{recipe.name} reads images", got, "choose other data or another model")
        )
    outputs = samples.classes if recipe.task != "regression" else 1 if samples.y.ndim == 1 else samples.y.shape[1]
    known: dict[str, Any] = {"classes": outputs, "image": samples.x.shape[1:], "shape": samples.x.shape[1:]}
    return {name: known[name] for name in recipe.adapts}


def read_plan(folder: Path, *, of_fit: bool = False) -> Plan:
    """The plan of the run in ``folder``; `ConfigError` where it is missing, damaged or newer.

    ``of_fit``: a run that a program's `typednn.training.fit` wrote is read too, as far as it has one.
    """
    where = str(folder / FILE)
    try:
        content = read_bytes(folder, FILE)
    except DataError as error:
        raise _not_ours(where, str(error)) from None
    if content is None and _is_of_fit(folder):
        if of_fit:
            return _plan_of_fit(folder)
        rule, got = "only its program can go on with a run of fit", "typednn, which has neither its data nor its loader"
        cure = f"call fit there with the same arguments and run={str(folder)!r}: it goes on from the last checkpoint"
        raise ConfigError(explain(str(folder), rule, got, cure), where)
    if content is None:
        got, cure = "no such folder", "`typednn train` makes one"
        if folder.is_file():
            got = "a file"
            cure = next(
                (f"its run is {place}" for place in folder.parents if (place / FILE).is_file()),
                "name the folder of a run",
            )
        elif folder.is_dir():
            runs = sorted(place.parent for place in folder.glob(f"*/{FILE}"))
            got, cure = "no such file", f"did you mean {str(runs[-1])!r}?" if runs else "is it the folder of a run?"
        raise ConfigError(explain(str(folder), f"must be a run folder, with {FILE}", got, cure), where)
    saved = parsed(content)
    if saved is None:
        raise _not_ours(where, "no JSON object")
    version: object = saved.get("format")
    if type(version) is not int or version < 1:
        raise _not_ours(where, f"format {version!r}"[:100])
    if version > FORMAT:
        raise ConfigError(
            explain(where, f"this typednn reads formats up to {FORMAT}", f"format {version}", "update typednn"), where
        )
    try:
        config, scaling = str(saved["config"]), saved["scaling"]
        before: dict[str, Any] = {"task": "classification"} if version < 3 else {}
        before |= {"max_steps": None, "vocabulary": "", "stride": None, "weights": ""} if version < 4 else {}
        before |= {"image": None, "augment": [], "balance": False, "workers": 1} if version < 5 else {}
        before |= {"drop_last": False, "tokens": "auto"} if version < 6 else {}
        before |= {"start_from_epoch": 0, "stratify": False} if version < 8 else {}
        before |= {"class_weight": None, "top_k": None} if version < 8 else {}
        before |= {"freeze": 0, "fold": "", "shards": 0, "exchange": "exact"} if version < 9 else {}
        before |= {"sync_batchnorm": False, "precision": None} if version < 10 else {}
        before |= {"compile": True} if version < 11 else {}
        _refuse_unknown(where, [str(name) for name in saved["recipe"]["imports"]])
        kept = {name: value for name, value in saved["recipe"].items() if version > 11 or name != "fuse"}
        recipe = from_json({**before, **kept}, config)
        if recipe.vocabulary and recipe.vocabulary not in VOCABULARIES:  # a folder, of which the run has a copy
            recipe = replace(recipe, vocabulary=str(folder / VOCABULARY))
        return Plan(
            recipe,
            config,
            {str(key): str(value) for key, value in saved["data"].items()},
            int(saved["checksum"]),
            _scaling(scaling),
            tuple(map(int, saved["shape"])),
            tuple(normalised(str(name)) for name in saved["names"]),
            tuple(normalised(str(name)) for name in (saved["columns"] if version >= 5 else ())),
            _scaling(saved["targets"]) if version >= 5 else Scaling(),
            int(saved["test_checksum"]) if version >= 7 else None,
            _encoding(saved, version),
        )
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ConfigError):
            raise
        raise _not_ours(where, f"no {error}" if isinstance(error, KeyError) else str(error)[:100]) from None


def _refuse_unknown(where: str, imports: Sequence[str]) -> None:
    """A `ConfigError` where a run names modules that nobody has imported: who made the run chose them, and their code
    would run.
    """
    unknown = [name for name in imports if name not in sys.modules]
    if unknown:
        options = " ".join(f"--import {name}" for name in unknown)
        rule, cure = (
            "a run imports no code by itself",
            f"if you trust that code, add {options}; in Python, import it before",
        )
        raise ConfigError(explain(where, rule, f"layers of {listed(unknown)}, not imported", cure), where)


def _encoding(saved: Any, version: int) -> Encoding | None:
    """That of a table; before format 8 all columns were numbers."""
    if version >= 8:
        return None if saved["encoding"] is None else Encoding.from_json(saved["encoding"])
    if "train" not in saved["data"]:
        return None
    names = map(str, saved["columns"] if version >= 5 else ())
    return Encoding.of_numbers([*names] or [f"column {place}" for place in range(2, 2 + int(saved["shape"][0]))])


def holds_run(folder: Path) -> bool:
    """Whether a folder is a run's, of `typednn train` or of `typednn.training.fit`."""
    return os.path.isfile(folder / FILE) or _is_of_fit(folder)  # False for a path too long for a file system


def _is_of_fit(folder: Path) -> bool:
    """Whether a run never had a recipe; one that lost it is damaged."""
    if not all(os.path.isfile(folder / name) for name in ("config.toml", "environment.json")):
        return False
    return f'"{FILE}"'.encode() not in (read_bytes(folder, CHECKSUMS) or b"")


def _plan_of_fit(folder: Path) -> Plan:
    """What the folder of a run of `typednn.training.fit` says; its data are the program's, and their scaling."""
    config, settings = read_text(folder, "config.toml") or "", read_settings(folder)
    name = ((read_text(folder, "model.txt") or "").replace("(", " ").split() or ["model"])[0]
    task, loss = LOSSES.get(str(settings.get("loss")), ("regression", "mse"))
    recipe = Recipe(
        name,
        lambda: loads(config, str(folder / "config.toml")).built(),
        {},
        f"{name}, trained by typednn.training.fit",
        task=task,
        loss=loss,
        standardise=False,
    )
    sizes = as_list(settings.get("input")) or []
    shape = tuple(size for size in sizes if type(size) is int and size > 0)
    return Plan(recipe, config, {}, 0, Scaling(), shape, ())


def _scaling(saved: Any) -> Scaling:
    def numbers(part: Any) -> float | tuple[float, ...]:
        return tuple(map(float, part)) if hasattr(part, "__iter__") else float(part)

    return Scaling(numbers(saved["mean"]), numbers(saved["deviation"]))


def checksum_of(samples: Samples) -> int:
    """CRC-32 of the training inputs as float32 and of the labels as int64 or targets as float32, or of a text's tokens;
    piece by piece.

    Of images in files, that of the files' contents.
    """
    return _checksum(samples.x, samples.y, samples.vocabulary is not None)


def test_checksum_of(samples: Samples) -> int:
    """As `checksum_of`, of the test data."""
    return _checksum(samples.test_x, samples.test_y, samples.vocabulary is not None)


def _checksum(x: Any, y: Any, a_text: bool) -> int:
    checksum = 0
    if isinstance(x, ImageFiles):
        for path in x.paths:
            with opened("checksum", path) as file:
                while content := file.stream.read(1 << 20):
                    checksum = zlib.crc32(content, checksum)
        return zlib.crc32(np.ascontiguousarray(y, np.int64).data, checksum)
    parts: list[tuple[Any, Any]] = [(x, np.float32), (y, np.float32 if is_floating(y.dtype) else np.int64)]
    for array, dtype in [(x, x.dtype)] if a_text else parts:
        piece = 1000 if array.ndim > 1 else 1 << 20
        for start in range(0, len(array), piece):
            checksum = zlib.crc32(np.ascontiguousarray(array[start : start + piece], dtype).data, checksum)
    return checksum


def _not_ours(where: str, got: str) -> ConfigError:
    return ConfigError(
        explain(where, "must be what typednn wrote", got, "it was changed or damaged; start a new run"), where
    )
