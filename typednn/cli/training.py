"""The commands that train: train, resume."""

import os
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from typednn.cli.output import hint, say, say_fitted
from typednn.cli.ranks import begins, on_ranks, one_of_ranks, starts_ranks
from typednn.config.model_config import import_layers
from typednn.errors import ArgumentError, explain
from typednn.layer import FirstChain
from typednn.metrics import ClassificationReport
from typednn.parallel import Ranks
from typednn.recipes import beside_published, find, parsed_settings
from typednn.recipes import resume as resume_run
from typednn.recipes import train as train_recipe
from typednn.recipes.catalogue import preset, starting_from
from typednn.recipes.choosing import FEW, choose, chosen, is_table, learning
from typednn.recipes.cross_validation import across, folds_of
from typednn.recipes.plan import FILE, fitted, read_plan, samples_of
from typednn.recipes.recipe import Recipe
from typednn.recipes.running import Trained
from typednn.recipes.samples import Samples, found_by
from typednn.recipes.tables import LAYOUT
from typednn.training import Callback, MLflow, WandB

_OF_A_TABLE = ("target", "columns", "exclude", "missing", "task")  # options, and arguments of `choose`


def train(options: Namespace) -> int:
    """From data to report, in a new run folder."""
    if starts_ranks(options):
        return on_ranks(options)
    with one_of_ranks(options):
        return _train(options)


def _train(options: Namespace) -> int:
    trackers = _trackers(options)
    settings: dict[str, Any] = parsed_settings(options.settings)
    model, data = _asked(options)
    short = {
        "epochs": options.epochs,
        "batch_size": options.batch_size,
        "seed": options.seed,
        "optimizer.lr": options.lr,
        "freeze": options.freeze,
    }
    settings |= {name: value for name, value in {"optimizer": options.optimizer, **short}.items() if value is not None}
    recipe = None if model is None else find(model, options.modules)
    if options.preset is not None:
        recipe = preset(options.preset, recipe or find("gpt2"))
    if options.start is not None:
        recipe = starting_from(options.start, recipe, settings.get("vocabulary"))
    if data is None and options.start is not None and os.path.isfile(Path(options.start) / FILE):
        assert recipe is not None, "a run has a recipe"
        source = read_plan(Path(options.start)).data
        recipe = recipe.changed(settings)
        samples = samples_of(recipe, source, hint)
    else:
        assert data is not None or recipe is not None, "there are data where there is no model"
        data = data or (recipe.data if recipe is not None else "auto")
        about: dict[str, Any] = {name: getattr(options, name) for name in (*LAYOUT, *_OF_A_TABLE)}
        recipe, samples = choose(data, recipe, announce=hint, settings=settings, **about)
        source = samples.source or found_by(data if isinstance(data, str) else data[0], samples)
    folder = begins(Path(options.run) if options.run is not None else new_folder(recipe.name))
    recipes = [recipe] if options.folds is None else folds_of(recipe, samples, options.folds)
    learn = learning(recipe, samples) if recipe.freeze else ""
    if not options.quiet:
        unit = "" if samples.vocabulary is None else f" tokens of {len(samples.vocabulary):,} kinds"
        counts = f"{samples.where}; {len(samples.x):,}{unit} to train on, {len(samples.test_x):,} to test"
        number = fitted(recipe, samples).prototype.num_parameters()
        hint(f"{recipe.name}: {recipe.about}\nmodel: {number:,} parameters\ndata: {counts}")
        if samples.told:
            hint(f"read: {samples.told}")
        if samples.vocabulary is None and (model is None or recipe.adapts):
            hint(f"chosen: {chosen(recipe, samples)}")
        if recipe.weights:
            hint(f"starts from: {recipe.weights}")
        if learn:
            hint(f"learns: {learn}")
        if options.folds is not None:
            hint(f"folds: {options.folds} trainings, each validated on another part of the samples to train on")
        elif options.dry_run and _can_fold(recipe, samples):
            hint("few samples: --folds 5 trains five times, each validated on another fifth, and says how they differ")
        hint(f"run folder: {folder}")
    if options.dry_run:
        return 0
    work = partial(train_recipe, data=samples, source=source, shard_optimizer=options.shard_optimizer)
    if options.folds is None:
        return _finished(folder, options, partial(work, recipe, run=folder), trackers)
    return _each_fold(folder, options, [partial(work, each) for each in recipes])


def _can_fold(recipe: Recipe, samples: Samples) -> bool:
    """Whether there are few samples, which can be shared out."""
    return len(samples.x) < FEW and samples.vocabulary is None and not samples.validation and not recipe.fold


def _each_fold(folder: Path, options: Namespace, works: Sequence[Callable[..., Trained]]) -> int:
    """One training after another, a line for each, and what they say together."""
    results: list[Trained] = []
    for number, work in enumerate(works, 1):
        place = folder / f"fold-{number}"
        result = _worked(place, options, partial(work, run=place), _trackers(options))
        if isinstance(result, int):
            if number < len(works):
                more = f"--set fold={number + 1}/{len(works)} --run {folder / f'fold-{number + 1}'}"
                hint(f"and the next fold with the same command, --folds left out: {more}")
            return result
        say(f"fold {number} of {len(works)}: train {result.train.headline}, test {result.test.headline}, in {place}")
        results.append(result)
        if options.report and result.folder is not None:
            _write_page(place)
    say_fitted(across(results))
    if not options.quiet:
        hint(f"everything is in {folder}; next: typednn runs {folder}, or typednn report {folder}")
    return 0


def _asked(options: Namespace) -> tuple[str | None, str | list[str] | None]:
    """The model, if one is named, and the data: a name or path, or tables."""
    words: list[str] = [word for word in (options.recipe, *options.files) if word is not None]
    model: str | None = options.model
    if words and model is None and not is_table(words[0]):
        model, *words = words
    if words and options.data is not None:
        raise ArgumentError(explain("train", "takes --data or CSV files", "both", "leave one out"))
    if len(words) > 2 or not all(map(is_table, words)):
        got = ", ".join(repr(word) for word in words)
        raise ArgumentError(
            explain("train", "takes a table, or two CSV files, train.csv and test.csv", got, "or --data NAME_OR_PATH")
        )
    return model, words or options.data


def resume(options: Namespace) -> int:
    """Continue from the last checkpoint."""
    if starts_ranks(options):
        return on_ranks(options)
    with one_of_ranks(options):
        trackers = _trackers(options)
        import_layers(options.modules)
        folder = begins(Path(options.run))
        work = partial(resume_run, options.run, epochs=options.epochs, shard_optimizer=options.shard_optimizer)
        return _finished(folder, options, work, trackers)


def _trackers(options: Namespace) -> list[Callback]:
    """The tracker that was asked for; made before anything else, as its package may be missing."""
    return [] if options.track is None else [{"mlflow": MLflow, "wandb": WandB}[options.track]()]


def new_folder(name: str) -> Path:
    """``runs/NAME-1``, or the first number that is free."""
    return next(folder for number in count(1) if not (folder := Path("runs", f"{name}-{number}")).exists())


def _finished(folder: Path, options: Namespace, work: Callable[..., Trained], trackers: list[Callback]) -> int:
    """Train and print the results, or what to do next after a stop. Returns 130 after Ctrl-C, 143 after SIGTERM."""
    start = time.perf_counter()
    result = _worked(folder, options, work, trackers)
    if isinstance(result, int):
        return result
    _report(result, options, time.perf_counter() - start)
    return 0


def _worked(folder: Path, options: Namespace, work: Callable[..., Trained], trackers: list[Callback]) -> Trained | int:
    """The result of a training; after a stop the exit code, having said what to do next."""
    try:
        progress = False if options.quiet else "auto"
        return work(progress=progress, time_limit=options.time_limit, callbacks=trackers, stages=options.stages)
    except (KeyboardInterrupt, SystemExit) as stop:
        then = f"go on with: typednn resume {folder}{_imports(options)}"
        if Ranks().is_first:
            hint(then if (folder / FILE).is_file() else "stopped before training began; nothing is lost")
        return stop.code if isinstance(stop, SystemExit) and isinstance(stop.code, int) else 130


def _imports(options: Namespace) -> str:
    """What a command needs that uses a run of the user's own layers."""
    return "".join(f" --import {module}" for module in options.modules)


def _report(result: Trained, options: Namespace, seconds: float) -> None:
    imports = _imports(options)
    if not options.quiet:
        published = beside_published(result.plan.recipe.name, result.train, result.test)
        test = "validation text" if result.plan.recipe.task == "language" else "test set"
        say((published or f"On the training set:\n\n{result.train}") + "\n")
        say(f"On the {test}:\n\n{result.test}\n")
        if isinstance(result.test, ClassificationReport) and result.test.left_out:
            hint(f"left out: {result.test.left_out}")
    place = f", in {result.folder}" if options.quiet and result.folder is not None else ""
    say(f"train {result.train.headline}, test {result.test.headline}, {seconds:.0f} s{place}")
    if result.folder is not None and not options.quiet and not result.steps:
        hint(
            f"the run had ended after {result.history.steps:,} steps: nothing was trained; for more: typednn resume "
            f"{result.folder} --epochs N"
        )
    if result.folder is not None and not options.quiet:
        if result.history.stopped and result.steps:
            more = " --epochs N" if result.history.stopped == "early stopping" else ""
            hint(f"ended early: {result.history.stopped}; go on with: typednn resume {result.folder}{more}{imports}")
        file = (
            "text.txt"
            if isinstance(result.model, FirstChain)
            else "image.png"
            if len(result.plan.shape) == 3
            else "rows.csv"
        )
        writes = result.plan.recipe.task == "language"
        use = f"generate {result.folder} --prompt TEXT" if writes else f"predict {result.folder} {file}"
        hint(f"everything is in {result.folder}; next: typednn {use}{imports}, or typednn report {result.folder}")
    if result.folder is not None and options.report:
        _write_page(result.folder)


def _write_page(folder: Path) -> None:
    from typednn.cli.report import write_page  # imports all that draws, which most trainings don't need

    write_page(folder)
