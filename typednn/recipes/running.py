"""train and resume: a recipe from its data to weights and reports, with everything recorded in a run folder.

    result = train(recipe("mlp"), "digits", run="runs/first")
    print(result.test)

Parameters are filled from the recipe's generator at its start; the order of the batches is drawn from another of the
same seed. The result has the last weights, or with early stopping (``patience``) those that were best on the held-out
share of the training data (``validation``). Without such a share, the test set is measured during training, for the
curves only.
"""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, final

import numpy as np
import numpy.typing as npt

from typednn.arguments import integer
from typednn.config.build import AnyModel
from typednn.config.model_config import ModelConfig
from typednn.data import ImageFiles, Loader, MixUp, augmentations, in_order
from typednn.errors import ArgumentError, ConfigError, explain, listed
from typednn.exchange import load
from typednn.exchange.torch_state import PICKLED, torch_arrays
from typednn.files import write_whole
from typednn.layer import FirstChain
from typednn.losses.weights import balanced
from typednn.metrics import ClassificationReport, LanguageReport, RegressionReport
from typednn.models.gpt2_weights import WHOLE
from typednn.models.hub import local_folder
from typednn.models.resnet import SMALL
from typednn.module.chain import Parts
from typednn.module.foreign import Foreign
from typednn.module.stack import Stack
from typednn.parallel import DataParallel, Ranks
from typednn.parallel.ranks import started
from typednn.random import PCG32
from typednn.recipes.catalogue import find
from typednn.recipes.plan import FILE, VOCABULARY, Plan, holds_run, plan_for, read_plan, rows_of, samples_of
from typednn.recipes.recipe import Recipe
from typednn.recipes.samples import Samples, found_by
from typednn.recipes.weights import weights_at
from typednn.runs import Run
from typednn.runs.checkpoint import checkpoints
from typednn.runs.checksums import OF_A_REPORT, renew_checksums
from typednn.runs.run_files import read_bytes
from typednn.runs.settings import read_settings
from typednn.runs.shown import write_shown
from typednn.screen import brief
from typednn.tasks.language import Language, prompt_of
from typednn.tasks.regression import Regression
from typednn.tensor_files import read_header
from typednn.training import Callback, EarlyStopping, Evaluation, History, fit
from typednn.training.evaluation import each_of, evaluated, evaluating, planned

Report: TypeAlias = ClassificationReport | LanguageReport | RegressionReport


@final
@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """The result of a training: the model with its last or best weights, history and reports; ``folder`` is the run's,
    or None.

    ``steps`` are those of this call: none where a run is resumed that had ended.
    """

    plan: Plan
    model: Any
    history: History
    train: Report
    test: Report
    folder: Path | None
    steps: int

    def __repr__(self) -> str:
        return brief(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: where the run is, how it went, and the report on the test set."""
        from typednn.html import Html, facts, shown

        told = {
            "train": self.train.headline,
            "test": self.test.headline,
            "run": "none" if self.folder is None else self.folder,
        }
        parts: tuple[Any, ...] = self.history, self.test
        return shown(self.plan.recipe.name, facts(told), *(Html(part._repr_html_()) for part in parts))


def train(
    recipe: Recipe | str,
    data: str | Samples | None = None,
    *,
    run: str | Path | None = None,
    overwrite: bool = False,
    source: Mapping[str, str] | None = None,
    progress: bool | Literal["auto"] = "auto",
    time_limit: float | None = None,
    callbacks: Sequence[Callback] = (),
    shard_optimizer: bool = False,
    stages: int = 1,
) -> Trained:
    """Train from the start. ``recipe`` may be the name of one, as `find` takes it. ``data`` is a name, a folder or
    `Samples`, by default the recipe's own; ``run`` a new folder, or None.

    ``overwrite``: a run that is in that folder is removed first, as `Run.create` says. ``shard_optimizer``: where
    several processes train, as `typednn.parallel.DataParallel` says.

    ``stages``: into how many parts the ranks of the job cut the model, as `DataParallel` says.

    ``source`` says how `Samples` are found again when the run is resumed, where they don't say so themselves
    (`Samples.source`): ``{"name": …}`` for `load_data`, ``{"train": …, "test": …, "target": …}`` for `load_tables`.
    """
    ranks = Ranks()
    with ranks.together():
        if isinstance(recipe, str):
            recipe = find(recipe)
        if data is None or isinstance(data, str):
            name = recipe.data if data is None else data
            samples = samples_of(recipe, {"name": name})
            source = found_by(name, samples)
        else:
            samples = data
        recipe, parallel = _shared_out(recipe, shard_optimizer, stages)
        plan = plan_for(recipe, samples, source or samples.source or {"name": samples.name})
        config = plan.model_config()
        model = config.built()
        start = _check(plan, samples, model)
        if run is None or not ranks.is_first:
            return _trained(plan, config, model, start, samples, None, progress, time_limit, callbacks, parallel)

        def prepare(folder: Path) -> None:
            if samples.vocabulary is not None:
                samples.vocabulary.save(folder / VOCABULARY)

        with Run.create(run, plan.to_text(), model, config=FILE, overwrite=overwrite, prepare=prepare) as opened:
            write_whole(opened.folder / "config.toml", plan.config.encode())
            return _trained(plan, config, model, start, samples, opened, progress, time_limit, callbacks, parallel)


def _shared_out(recipe: Recipe, shard_optimizer: bool, stages: int) -> tuple[Recipe, DataParallel | None]:
    """The recipe as it is kept, and how its batches are shared out; None where they are not cut."""
    if not recipe.shards and recipe.exchange == "exact" and not started() and stages == 1:
        return recipe, None
    how = _how(recipe, shard_optimizer, stages)
    parallel = DataParallel(recipe.shards or None, **how)
    return recipe if recipe.exchange == "fastest" else replace(recipe, shards=parallel.shards), parallel


def _how(recipe: Recipe, shard_optimizer: bool, stages: int) -> dict[str, Any]:
    """The arguments of `DataParallel`, besides ``shards``."""
    how = {"exchange": recipe.exchange, "sync_batchnorm": recipe.sync_batchnorm}
    return {**how, "shard_optimizer": shard_optimizer, "stages": stages}


def resume(
    run: str | Path,
    *,
    epochs: int | None = None,
    progress: bool | Literal["auto"] = "auto",
    time_limit: float | None = None,
    callbacks: Sequence[Callback] = (),
    shard_optimizer: bool = False,
    stages: int = 1,
) -> Trained:
    """Continue the run in a folder from its last checkpoint or from the start, to the same bits as without the
    interruption.

    ``epochs``: train so many more, from the last checkpoint on, also where the run had ended or stopped early; a
    schedule of the learning rate then spans the whole run. ``stages`` as for `train`; those before don't count.
    """
    plan = read_plan(Path(run))
    ranks = Ranks()
    shards = plan.recipe.shards
    how = _how(plan.recipe, shard_optimizer, stages)
    parallel = DataParallel(shards or None, **how) if shards or how["exchange"] == "fastest" else None
    if parallel is None and max(ranks.size, stages) > 1:
        rule, cure = "a run is resumed on several ranks that began with shards", "train --from it, or resume it on one"
        raise ArgumentError(explain("resume", rule, "shards=0", cure), "run")
    with ExitStack() as stack:
        stack.enter_context(ranks.together())
        opened = stack.enter_context(Run.open(run)) if ranks.is_first else None
        samples = plan.samples()
        if epochs is not None:
            plan = _extended(opened, ranks, plan, samples, integer("resume", "epochs", epochs))
        if opened is not None:
            _restore_config(opened, plan)
        config = plan.model_config()
        model = config.built()
        start = {} if opened is None or checkpoints(opened.checkpoint_folder) else _start(plan, model)
        return _trained(plan, config, model, start, samples, opened, progress, time_limit, callbacks, parallel)


def _extended(run: Run | None, ranks: Ranks, plan: Plan, samples: Samples, epochs: int) -> Plan:
    """The plan of a run with ``epochs`` more, which is written into its folder."""
    latest = None if run is None else run.latest()
    done: int = ranks.from_first(0 if latest is None else len(latest.state.epochs))
    recipe = replace(plan.recipe, epochs=done + epochs, least_steps=0, max_steps=None, start_from_epoch=done)
    plan = replace(plan, recipe=recipe, config=recipe.config(recipe.steps_for(rows_of(recipe, samples))))
    if run is not None:
        run.replace_configs({FILE: plan.to_text(), "config.toml": plan.config})
    return plan


def _trained(
    plan: Plan,
    config: ModelConfig,
    model: AnyModel,
    start: Mapping[str, Any],
    samples: Samples,
    run: Run | None,
    progress: bool | Literal["auto"],
    time_limit: float | None,
    callbacks: Sequence[Callback],
    parallel: DataParallel | None,
) -> Trained:
    recipe, scaling, task = plan.recipe, plan.scaling, plan.task
    patience, first = recipe.patience, recipe.start_from_epoch
    early = None if patience is None else EarlyStopping(patience, start_from_epoch=first)
    model.init(config.rng())
    if start:
        model.load_state_dict({**model.state_dict(), **start})
    running, sizes = computed(model)
    freeze(recipe, running)
    optimizer: Any = config.optimizer()
    data = samples.shaped(*sizes, stride=recipe.stride)
    text: Any = samples.test_x
    rows, held_back = data.split(recipe.validation, recipe.seed, recipe.stratify, recipe.fold)
    spoken = isinstance(task, Language)
    if isinstance(task, Language):
        task = replace(task, per_sample=sizes[0], vocabulary=samples.vocabulary, prompt=prompt_of(text))
        x, y, split = data.test_x, data.test_y, "validation"
    elif recipe.validation:
        x, y, split = chosen(data.x, held_back), data.y[held_back], "validation"
    else:
        x, y, split = data.test_x, data.test_y, "test"
    targets = data.y
    if isinstance(task, Regression):
        targets, y = task.learned(targets), task.learned(y)
    batches: Any = Loader(
        Part(samples.x if recipe.augment else data.x, rows),
        targets if spoken else targets[rows],  # a text's windows overlap: copies would take many times its memory
        batch_size=recipe.batch_size,
        rng=config.rng(),
        transform=(lambda x: scaling(x).reshape(len(x), *sizes)) if recipe.augment else scaling,
        workers=recipe.workers,
        balance=recipe.balance,
        drop_last=recipe.drop_last,
        augment=[
            replace(change, classes=outputs_of(model)) if isinstance(change, MixUp) else change
            for change in augmentations(recipe.augment)
        ],
    )
    loss: Any = recipe.made_loss(None if recipe.class_weight is None else balanced(targets[rows], outputs_of(model)))
    saved = [] if run is None else checkpoints(run.checkpoint_folder)
    before = int(saved[-1].name.removeprefix("step-")) if saved else 0
    history = fit(
        running,
        loss,
        optimizer.bind(running),
        batches,
        **recipe.training_arguments(),
        task=task,
        run=run,
        callbacks=callbacks,
        validation=Evaluation(x, y, batch_size=recipe.batch_size if spoken else 500, split=split, transform=scaling),
        time_limit=time_limit,
        early_stopping=early,
        progress=progress,
        parallel=parallel,
    )
    ranks = None if parallel is None else parallel.ranks
    with nullcontext() if parallel is None else parallel.together():
        scores, tested = reported(plan, running, data.test_x, data.test_y, ranks)
        _, learned = reported(plan, running, *learned_part(plan, data), ranks)
    if run is not None:
        write_results(run.folder, plan, model, samples, scores, tested, learned)
    return Trained(plan, model, history, learned, tested, None if run is None else run.folder, history.steps - before)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some rows of an array or of images in files, read when they are asked for."""

    x: Any
    rows: npt.NDArray[np.int64]

    def __repr__(self) -> str:
        return brief(self)

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self.rows), *self.x.shape[1:]

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.x.dtype
        return dtype

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Any) -> Any:
        return self.x[self.rows[rows]]


def chosen(x: Any, rows: Any) -> Any:
    """The rows of an array, or of images in files, which are not read."""
    return x.taken(rows) if isinstance(x, ImageFiles) else x[rows]


def reported(plan: Plan, running: Any, x: Any, y: Any, ranks: Ranks | None = None) -> tuple[Any, Report]:
    """The outputs for ``x``, and the report on them; ``ranks`` share out the batches. A language model's outputs are as
    many as a batch's at a time, and are not kept.
    """
    task = plan.task
    if not isinstance(task, Language):
        scores = evaluated(running, x, transform=plan.scaling, ranks=ranks)
        return scores, task.report(scores, y)

    batches = [*in_order(len(x), plan.recipe.batch_size)]
    learner = planned(running, len(batches))

    def counted(rows: slice) -> Any:
        return task.counted(learner.forward(x[rows]), y[rows])

    with evaluating(running):
        return None, task.reported(each_of(batches, counted, ranks))


def learned_part(plan: Plan, data: Samples) -> tuple[Any, Any]:
    """The training data that the report is on: all, or of a text about as many windows as are held out."""
    every = max(1, len(data.x) // len(data.test_x)) if isinstance(plan.task, Language) else 1
    return data.x if every == 1 else data.x[::every], data.y[::every]


def _start(plan: Plan, model: AnyModel) -> dict[str, Any]:
    """The weights to start from, by their names in ``model``; none where it starts from its generator."""
    path, names = plan.recipe.weights, model.parameter_shapes()
    if not path:
        return {}
    if not isinstance(plan.task, Language) or holds_run(Path(path)):
        return _fitting(Path(path), model)
    weights = weights_at(local_folder("weights", path))
    own = {f"0.{name}": array for name, array in weights.named_parameters().items()}
    if {name: array.shape for name, array in own.items()} != names:
        got = (
            f"{weights.vocab_size:,} tokens of {weights.n_embd} features at {weights.n_positions} positions, in "
            f"{weights.n_layer} blocks"
        )
        cure = (
            "typednn train gpt2 --from PATH takes the sizes from there; the vocabulary must be the one of the weights"
        )
        raise ArgumentError(explain("weights", f"{path} must have the sizes of the model", got, cure))
    return own


def _fitting(place: Path, model: AnyModel) -> dict[str, Any]:
    """The weights of a run, of a file, or of a folder with model.safetensors, under their names in ``model``; a last
    layer of other classes stays as it is filled. An `ArgumentError` where another parameter does not fit.
    """
    model.init(PCG32(0))  # to know the shapes of its arrays; it is filled anew when training begins
    wanted = model.state_dict()
    source = place / WHOLE if os.path.isdir(place) and not holds_run(place) else place
    if not os.path.exists(source):
        rule = f"must be a run, a file of weights, or a folder with {WHOLE}"
        got = "a folder without" if os.path.isdir(place) else "no such file or folder"
        raise ArgumentError(explain(str(place), rule, got))
    if source.suffix in PICKLED or (os.path.isfile(source) and "config" not in read_header("weights", source).metadata):
        fitting, problems = torch_arrays(source, model)
    else:
        other: Any = load(source) if os.path.isfile(source) else _ended(source)
        found = other.state_dict()
        fitting = {name: array for name, array in found.items() if name in wanted and array.shape == wanted[name].shape}
        problems = {
            name: f"{name!r} has shape {found[name].shape}, and must have {array.shape}"
            if name in found
            else f"missing {name!r}"
            for name, array in wanted.items()
            if name not in fitting
        }
    parameters = list(model.parameter_shapes())
    last = parameters[-1].rpartition(".")[0]
    wrong = [name for name in parameters if name in problems and name.rpartition(".")[0] != last]
    if wrong:
        rule = "weights to start from must fit all layers but the last, by name and shape"
        cure = "start from weights of the same model"
        if wrong[0].startswith("stem."):
            cure = f"a model of images below {SMALL} pixels begins otherwise than one of larger ones: --set image=224"
        raise ArgumentError(explain(str(place), rule, listed([problems[name] for name in wrong], "; ", 3), cure))
    return fitting


def _ended(folder: Path) -> AnyModel:
    """The model of a run, with the weights that training ended with."""
    plan = read_plan(folder, of_fit=True)
    if not plan.is_described:
        rule, got = "weights to start from are of a model that the run's config says", plan.recipe.name
        raise ArgumentError(explain(str(folder), rule, got, "give a safetensors file of them, by the model's names"))
    model = plan.model_config().built()
    fill(folder, plan, model, None)
    return model


def described(place: Path, plan: Plan) -> AnyModel:
    """The model of the run's config."""
    if not plan.is_described:
        rule, got = "the run's config must say the model", f"{plan.recipe.name}, which a config can't say"
        cure = "name it: --model module:name; in Python load_run(run, model=...)"
        raise ConfigError(explain(str(place), rule, got, cure))
    return plan.model_config().built()


def fill(place: Path, plan: Plan, model: Any, weights: Literal["best", "latest"] | None) -> int:
    """Fill the model, by default with the weights that training ended with; the step that they are of."""
    if weights is None and plan.of_fit:
        settings = read_settings(place)
        weights = "best" if "patience" in settings and settings.get("restore_best_weights", True) else "latest"
    return Run.open(place, lock=False).load_weights(model, weights or which(plan.recipe)).state.step


def computed(model: AnyModel) -> tuple[Any, tuple[int, ...]]:
    """The model that is run for ``model``, and the shape of its samples: the layers as a chain, or the stack itself and
    a row, where a stack within it reshapes its rows, which a chain can't.
    """
    if isinstance(model, FirstChain):
        sample: Any = model.sample
        return model, sample.sizes
    if any(isinstance(layer, Stack | Foreign) for layer in model.parts):
        return model, (model.in_features,)
    return model.as_chain(), model.sample_shape


def freeze(recipe: Recipe, running: Any) -> None:
    """What the recipe says of the layers that don't learn; an `ArgumentError` where the model has no such layers."""
    if not recipe.freeze:
        return
    if not isinstance(running, Parts):
        rule, got = "is of a model of layers one after another", "stacks of rows within a stack"
        cure = """a group of the optimizer can be frozen: --set 'optimizer.group=[{ names = "0.*", frozen = true }]'"""
        raise ArgumentError(explain("freeze", rule, got, cure), "freeze")
    running.freeze(recipe.freeze)


def outputs_of(model: AnyModel) -> int:
    """How many numbers the model gives for a sample, or for each position of one."""
    sample: Any = model.sample
    return model.out_features if isinstance(model, Stack) else (model.trace(sample.flow).sizes() or (1,))[-1]


def _restore_config(run: Run, plan: Plan) -> None:
    """Write ``config.toml`` anew where it differs from ``recipe.json``, as after a full disk."""
    content, present = plan.config.encode(), read_bytes(run.folder, "config.toml")
    if present not in (None, content):
        run.warn(f"config.toml must say what {FILE} does: it was changed or damaged, and is written anew")
    if present != content:
        write_whole(run.folder / "config.toml", content)


def write_results(
    folder: Path, plan: Plan, model: Any, samples: Samples, scores: Any, test: Report, train: Any
) -> None:
    """``report.json``, and the data of pictures (`typednn.runs.shown`); ``train`` is a report like ``test``."""
    write_whole(folder / "report.json", (json.dumps(test.as_json(train), indent=1) + "\n").encode())
    inputs: Any = samples.test_x
    write_shown(
        folder,
        plan.task.shown(inputs, samples.test_y, scores),
        next((weight for weight in model.named_parameters().values() if weight.ndim == 4), None),
    )
    renew_checksums(folder, OF_A_REPORT)


def which(recipe: Recipe) -> Literal["best", "latest"]:
    """Which weights to use: the best with early stopping on held-out data, else the last."""
    return "best" if recipe.validation and recipe.patience is not None else "latest"


def _check(plan: Plan, samples: Samples, model: AnyModel) -> dict[str, Any]:
    """Refuse data and weights that don't fit the model, before a folder is made; give the weights to start from."""
    sample: Any = model.sample
    samples.shaped(*sample.sizes, stride=plan.recipe.stride)
    for y in (samples.y, samples.test_y):
        plan.task.check(f"data {samples.name!r}", y, outputs_of(model))
    if plan.recipe.validation and len(samples.x) < 2:
        raise ArgumentError(explain("validation", "needs two training samples at least", str(len(samples.x))))
    if plan.recipe.freeze:
        freeze(plan.recipe, computed(model)[0])
    return _start(plan, model)
