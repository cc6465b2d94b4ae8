"""Choosing: what to train on data of one's own, where a config does not say it.

    recipe, samples = choose("photos/")                                   # a network for a folder of images
    recipe, samples = choose("houses.csv", target="price")                # a network for its columns, a regression
    result = train(recipe, samples, run="runs/houses")

The data decide classes, channels, the size of images and columns (`Recipe.adapts`); their number decides batches and
steps. `chosen` says in words what was decided.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

from typednn.arrays import is_floating
from typednn.data.table import ENDINGS
from typednn.data.table_files import Missing
from typednn.data.tiny_stories import shards_in
from typednn.errors import ArgumentError, explain, listed
from typednn.recipes.catalogue import RECIPES
from typednn.recipes.plan import fitted, samples_of
from typednn.recipes.recipe import Recipe, TaskName
from typednn.recipes.running import computed, freeze, outputs_of
from typednn.recipes.samples import NAMES, Samples, is_image_folder
from typednn.recipes.tables import load_tables
from typednn.recipes.texts import TINY_SHAKESPEARE

# any other set of a name is of digits, or like them
_NAMED: Final = {"cifar-10": "resnet18", "spiral": "mlp", TINY_SHAKESPEARE: "gpt2"}
# Samples, below which batches are small, and a small network learns more of photographs than a deep one.
FEW: Final = 2000
_SMALL = 32  # samples of a small batch
_READING = ("image", "vocabulary", "validation", "tokens")  # settings that decide how data are read


def choose(
    data: str | Sequence[str],
    model: Recipe | None = None,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    missing: Missing | None = None,
    task: TaskName | None = None,
    seed: int | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: Literal[".", ","] | None = None,
    announce: Callable[[str], object] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> tuple[Recipe, Samples]:
    """A recipe for data, and the data: ``model``, or one for their kind, with sizes, optimizer and schedule that suit
    them.

    ``data`` is a name, a folder, a table, or two tables to train and to test. Of a table ``target`` is the column to
    learn, by default the first, and ``task`` is by default what it holds; ``columns``, ``exclude`` and ``missing`` say
    which inputs are read, and what becomes of gaps (`load_tables`). A ``model`` whose sizes are written down keeps all
    that it says. ``seed`` draws the part to test, where the data have none. ``header``,
    ``delimiter`` and ``decimal`` say how a CSV file is written, as `typednn.data.read_table` has them; how it was read
    is told in ``Samples.told``. ``settings`` are those of `Recipe.changed`, and stand above what the data decide; a
    wrong one is refused before anything is read. A ``task`` or ``seed`` among them is the argument of that name.
    """
    settings = dict(settings or {})
    told = settings.pop("task", None)
    task, seed = task or told, settings.get("seed") if seed is None else seed
    if model is not None:
        named = {} if task is None else {"task": task}
        model.changed({**settings, **named})
        reading = {name: value for name, value in settings.items() if name in _READING}
        model = model.changed({**reading, **named}) if reading else model
    files = [data] if isinstance(data, str) else list(data)
    if not all(is_table(file) for file in files) or len(files) not in (1, 2):
        if len(files) != 1:
            raise ArgumentError(
                explain("choose", "takes a name, a folder, a table or two tables", ", ".join(map(repr, files)))
            )
        of_tables = {"target": target, "columns": columns, "exclude": exclude, "missing": missing}
        _refuse_for(files[0], **of_tables, header=header, delimiter=delimiter, decimal=decimal)
        recipe = model or RECIPES[_model_of(files[0])]
        if task is not None:
            recipe = recipe.changed({"task": task})
        samples = samples_of(recipe if seed is None else replace(recipe, seed=seed), {"name": files[0]}, announce)
        if Path(files[0]).is_dir() and recipe.adapts:
            few = recipe.name == "resnet18" and model is None and len(samples.x) < FEW
            recipe = RECIPES["cnn"] if few else _for_few(recipe, samples)
        return recipe.changed(settings), samples
    recipe = model or RECIPES["mlp"]
    if target is None and not recipe.adapts:
        task = task or recipe.task
    known = None if task is None else recipe.changed({"task": task}).made_task()
    test = files[1] if len(files) == 2 else None
    samples = load_tables(
        files[0],
        test,
        known,
        target=target,
        columns=columns,
        exclude=exclude,
        missing=missing or "fill",
        seed=recipe.seed if seed is None else seed,
        header=header,
        delimiter=delimiter,
        decimal=decimal,
        outputs=None if "classes" in recipe.adapts else outputs_of(recipe.prototype),
    )
    found: TaskName = "regression" if is_floating(samples.y.dtype) else "classification"
    if found != recipe.task:
        recipe = recipe.changed({"task": found})
    recipe = _for_rows(recipe, samples) if "shape" in recipe.adapts else recipe
    return recipe.changed(settings), samples


def _refuse_for(data: str, **of_tables: object) -> None:
    """An `ArgumentError` for an argument that says how a table is read, where the data are none."""
    name = next((name for name, value in of_tables.items() if value is not None), None)
    if name is not None:
        rule = "names a column of a table" if name == "target" else "says how a table is read"
        cure = f"tables end in {', '.join(ENDINGS)}"
        raise ArgumentError(explain(f"--{name}", rule, f"data {data!r}", cure), name)


def is_table(name: str) -> bool:
    """Whether a file's name ends as a table's does."""
    return Path(name).suffix.lower() in ENDINGS and not Path(name).is_dir()


def chosen(recipe: Recipe, samples: Samples) -> str:
    """What was decided for the data, in a line."""
    shape = samples.x.shape[1:]
    reads = (
        f"{shape[0]} columns"
        if len(shape) == 1
        else f"{' x '.join(map(str, shape))} images"
        if len(shape) == 3
        else "texts"
    )
    gives = "to one number" if recipe.task == "regression" else f"to {samples.classes} classes"
    lr: Any = recipe.optimizer.get("lr", "its own")
    rate = f"lr {lr['lr']:g} under {lr['type']}" if isinstance(lr, dict) else f"lr {lr}"
    scaled = (
        ("; inputs and targets standardised" if recipe.task == "regression" else "; inputs standardised")
        if recipe.standardise
        else ""
    )
    rows = len(samples.split(recipe.validation, recipe.seed, recipe.stratify, recipe.fold)[0])
    steps = f"{recipe.epochs_for(rows)} epochs, {recipe.steps_for(rows):,} steps"
    steps += "" if recipe.patience is None else f" or until {recipe.patience} evaluations are no better"
    others = "; or --model resnet18, lenet5, mlp" if recipe.name == "cnn" else ""
    return (
        f"{reads} {gives}; {recipe.optimizer['type']}, {rate}, batches of {recipe.batch_size}, {steps}{scaled}{others}"
    )


def learning(recipe: Recipe, samples: Samples) -> str:
    """Which layers learn where others are frozen, in a line; an `ArgumentError` where the model has no such layers."""
    running: Any = computed(fitted(recipe, samples).checked().built())[0]
    freeze(recipe, running)
    parts = {name: part.num_parameters() for name, part in running.children() if part.takes_update}
    frozen = running.num_parameters() - sum(parts.values())
    return (
        f"{listed(list(parts))}, {sum(parts.values()):,} parameters; frozen: the layers before, {frozen:,} parameters"
    )


def _model_of(name: str) -> str:
    """The recipe for data of this name or path."""
    place = Path(name)
    if name in (*NAMES, TINY_SHAKESPEARE):
        return _NAMED.get(name, "lenet5")
    if place.suffix.lower() in (".txt", ".bin"):
        return "gpt2"
    if not place.is_dir():
        return "lenet5"  # whose reader says what is known
    if next(place.glob("train/*/*.txt"), None) is not None:
        return "lstm"
    if (place / "train.bin").is_file() or next(place.glob("*.txt"), None) is not None or shards_in(place):
        return "gpt2"
    return "resnet18" if is_image_folder(place) or next(place.glob("data_batch*"), None) is not None else "lenet5"


def _for_rows(recipe: Recipe, samples: Samples) -> Recipe:
    """AdamW for rows of unlike columns; some thousands of steps, of few samples where there are few. The weights decay
    fast, as tables are small (benchmarks/first_results.py measures it).
    """
    optimizer = {"type": "AdamW", "lr": {"type": "CosineLR", "lr": 3e-3, "warmup_steps": 100}, "weight_decay": 0.5}
    batch = _SMALL if len(samples.x) < FEW * 10 else 256
    few = len(samples.x) < 50
    every = 100 if len(samples.x) < 100 * batch else None  # short epochs are measured and saved some at a time
    steps: dict[str, Any] = {"epochs": 5, "least_steps": 2000, "evaluate_every": every, "checkpoint_every": every}
    return replace(recipe, optimizer=optimizer, batch_size=batch, validation=0.0 if few else 0.1, **steps)


def _for_few(recipe: Recipe, samples: Samples) -> Recipe:
    """Small batches of few images, and a learning rate that is smaller by as much (Goyal et al. 2017,
    arXiv:1706.02677).
    """
    if len(samples.x) >= FEW or recipe.batch_size <= _SMALL or recipe.optimizer["type"] != "SGD":
        return recipe
    schedule: dict[str, Any] = dict(recipe.optimizer["lr"])
    schedule["lr"] *= _SMALL / recipe.batch_size
    return replace(recipe, optimizer={**recipe.optimizer, "lr": schedule}, batch_size=_SMALL)
