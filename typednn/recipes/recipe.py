"""Recipe: everything that decides how a model is trained, as one value. It is saved with the run, so that the run can
be repeated.

A recipe is a model, an optimizer as a config's ``[optimizer]`` table, and settings. `Recipe.config` writes the first
two and the generator as a TOML config, and training uses the config read back. `changed` gives a recipe with other
settings, as ``--set optimizer.lr=0.05`` does, and refuses unknown settings.
"""

from __future__ import annotations

import contextlib
import inspect
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Literal, TypeAlias, cast, final, get_args, get_origin, get_type_hints

from typednn.arguments import choice, flag, integer, number
from typednn.config import dumps, loads
from typednn.config.model_config import ModelConfig
from typednn.config.registry import OPTIMIZERS
from typednn.config.values import key_written, written
from typednn.data import augmentations
from typednn.data.batches import batches_in
from typednn.errors import ArgumentError, ConfigError, explain, suggestion
from typednn.files import path_of
from typednn.losses import L1, MSE, CrossEntropy, Huber, SoftmaxCrossEntropy
from typednn.parallel import ExchangeName
from typednn.recipes.samples import fold_of
from typednn.screen import brief
from typednn.tasks import Classification, Language, Regression
from typednn.training.settings import TrainingSettings

AnyModel: TypeAlias = Any  # a Chain, Sequential or Stack of registered layers: what `typednn.config.dumps` writes
AnyLoss: TypeAlias = CrossEntropy[float] | Huber[float] | L1[float] | MSE[float] | SoftmaxCrossEntropy[float]
LossName: TypeAlias = Literal["softmax_cross_entropy", "cross_entropy", "mse", "l1", "huber"]
_ELSEWHERE = {"learning_rate": "lr", "wd": "weight_decay"}  # names of an optimizer's settings in other tools
GeneratorName: TypeAlias = Literal["numpy", "pcg32"]
TaskName: TypeAlias = Literal["classification", "regression", "language"]
TokensName: TypeAlias = Literal["auto", "int32", "uint16", "uint64"]


@final
@dataclass(frozen=True, slots=True)
class Recipe(TrainingSettings):
    """How to train. A recipe is immutable; ``replace`` and `changed` give another.

    The settings that `fit` has too are in `TrainingSettings`: epochs, max_steps, accumulate, clip_grad_norm, precision,
    compile.

    ================  ==================================================================================================
    model             builds it, its parameters not yet filled; of layers that configs know, with its input declared
    adapts            the arguments of ``model`` that the data decide: ``classes``, their number, which for a regression
                      is that of the outputs, and ``image``, the shape of one, or ``shape``, that of any sample
    optimizer         a config's ``[optimizer]`` table; a CosineLR without ``total_steps`` gets the steps of the whole
                      training
    data              a name or a folder, as `typednn.recipes.load_data` takes it
    task              ``classification`` of labels, ``regression`` of numbers, whose loss is ``mse``, ``l1`` or
                      ``huber``, or ``language``
    max_steps         this many steps instead of ``epochs``, the last epoch in part; None for whole epochs
    least_steps       small data get more than ``epochs`` epochs, until there are this many steps; 0 for never
    smoothing         the share of each target that is spread over all classes: 0.1 over ten classes gives 0.91 and 0.01
    standardise       whether inputs get the training data's mean 0 and deviation 1, each column of rows its own; and a
                      regression's targets
    stream            of PCG32; one generator of this seed fills the parameters, another draws the order of the batches
    patience          stop after this many evaluations without improvement, and go back to the best weights; needs
                      ``validation``
    start_from_epoch  the epochs before ``patience`` begins to count
    validation        the share of the training data that is held out for evaluation during training
    stratify          whether of each class that share is held out
    evaluate_every    steps between evaluations, None for each epoch; ``checkpoint_every`` likewise
    augment           changes of training images, by name or as tables: ``["RandomHorizontalFlip", {"type":
                      "RandomCrop", "padding": 2}]``
    balance           whether each class is drawn as often as any other (`typednn.data.Loader`)
    class_weight      ``balanced``: each class counts as much in the loss as any other (`typednn.losses.weights`)
    top_k             of a classification: whether the label is among so many largest scores is measured too
    drop_last         whether the rows of an epoch that fill no batch are left out (`typednn.data.Loader`)
    workers           threads that read and change the next batches
    image             the height and width of images from a folder, for a model that reads any size; None for their own,
                      up to 64
    vocabulary        of a language model: ``characters``, ``gpt2``, ``nina`` or a folder, as `typednn.recipes.texts`
                      has it
    tokens            of a language model: what a file of tokens holds, ``int32``, ``uint16`` or ``uint64``; ``auto``
                      looks at the file
    stride            of a language model: how many tokens a window begins behind the one before; None for its length
    weights           the path of weights to start from, as `typednn.recipes.weights` reads them: a run's, a file's; ""
                      for none
    freeze            how many layers with parameters don't learn, from the first on; -1 is all but the last
    fold              "2/5": the validation is the second fifth of the training samples, of each class; "" for the share
                      that ``validation`` says
    shards            into how many parts each batch is cut, which the ranks of a job share out; it decides the bits. 0
                      is none, where ``mpiexec`` started the training 8 (`typednn.parallel`)
    exchange          how ranks sum: ``exact``, or ``fastest``, without ``shards`` and without equal bits
    sync_batchnorm    whether batch normalisations have the statistics of the whole batch, where ranks share it out
    imports           modules that register the model's layers
    described         the config that ``model`` is read from, if it is: then the model that was checked there is the one
                      that is trained
    ================  ==================================================================================================
    """

    name: str
    model: Callable[..., AnyModel]
    optimizer: Mapping[str, Any]
    about: str = ""
    data: str = "auto"
    task: TaskName = "classification"
    least_steps: int = 0
    batch_size: int = 64
    loss: LossName = "softmax_cross_entropy"
    smoothing: float = 0.0
    standardise: bool = True
    generator: GeneratorName = "pcg32"
    seed: int = 0
    stream: int = 0
    patience: int | None = None
    validation: float = 0.0
    start_from_epoch: int = field(default=0, kw_only=True)
    stratify: bool = field(default=False, kw_only=True)
    evaluate_every: int | None = field(default=None, kw_only=True)
    checkpoint_every: int | None = field(default=None, kw_only=True)
    adapts: tuple[Literal["classes", "image", "shape"], ...] = ()
    augment: Sequence[str | Mapping[str, Any]] = ()
    balance: bool = False
    class_weight: Literal["balanced"] | None = None
    top_k: int | None = None
    drop_last: bool = False
    workers: int = 1
    image: int | None = None
    vocabulary: str = ""
    tokens: TokensName = "auto"
    stride: int | None = None
    weights: str = ""
    freeze: int = field(default=0, kw_only=True)
    fold: str = field(default="", kw_only=True)
    shards: int = field(default=0, kw_only=True)
    exchange: ExchangeName = field(default="exact", kw_only=True)
    sync_batchnorm: bool = field(default=False, kw_only=True)
    imports: tuple[str, ...] = ()
    described: ModelConfig | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        TrainingSettings.__post_init__(self)
        where = self.where
        for name in ("batch_size", "workers"):
            integer(where, name, getattr(self, name))
        for name in ("least_steps", "seed", "stream", "start_from_epoch", "shards"):
            integer(where, name, getattr(self, name), 0)
        for name in ("patience", "stride", "image", "top_k", "evaluate_every", "checkpoint_every"):
            if getattr(self, name) is not None:
                integer(where, name, getattr(self, name))
        named = {"loss": LossName, "generator": GeneratorName, "task": TaskName, "tokens": TokensName}
        for name, choices in {**named, "exchange": ExchangeName}.items():
            choice(where, name, getattr(self, name), get_args(choices))
        if self.task == "regression" and (self.loss not in ("mse", "l1", "huber") or self.smoothing):
            rule = "a regression has the loss mse, l1 or huber, and no smoothing"
            got = f"loss {self.loss}, smoothing {self.smoothing:g}"
            raise ArgumentError(explain(where, rule, got), "loss")
        if self.task == "language" and (self.loss != "softmax_cross_entropy" or self.smoothing or not self.vocabulary):
            rule = "a language model has the loss softmax_cross_entropy, no smoothing, and a vocabulary"
            got = f"loss {self.loss}, smoothing {self.smoothing:g}, vocabulary {self.vocabulary!r}"
            raise ArgumentError(explain(where, rule, got, "such as vocabulary=characters"), "task")
        for name in ("balance", "drop_last", "sync_batchnorm"):
            flag(where, name, getattr(self, name))
        if self.augment and self.task == "language":
            raise ArgumentError(explain(where, "augment changes images", "a language model", "leave it out"), "augment")
        for name, given in (("balance", self.balance), ("top_k", self.top_k is not None)):
            if given and self.task != "classification":
                raise ArgumentError(explain(where, f"{name} is of classes", f"a {self.task}", "leave it out"), name)
        if self.class_weight is not None:
            choice(where, "class_weight", self.class_weight, ("balanced",))
            if self.loss != "softmax_cross_entropy" or self.task != "classification":
                rule = "class_weight is of a classification with the loss softmax_cross_entropy"
                got = f"a {self.task}, loss {self.loss}"
                raise ArgumentError(explain(where, rule, got, "leave it out"), "class_weight")
        augmentations(self.augment)
        if self.fold:
            if self.task == "language":
                raise ArgumentError(explain(where, "fold is of samples", "a text", "leave it out"), "fold")
            object.__setattr__(self, "validation", 1 / fold_of(where, self.fold)[1])
        foreign = {name: getattr(self, name) for name in ("vocabulary", "stride") if self.task != "language"}
        foreign |= {"tokens": "" if self.tokens == "auto" or self.task == "language" else self.tokens}
        for name, value in foreign.items():
            if value:
                raise ArgumentError(
                    explain(
                        where, f"{name} is a language model's", _shortened(value), "leave it out, or set task=language"
                    ),
                    name,
                )
        if self.task == "language":
            for name in ("vocabulary", "weights"):
                if getattr(self, name):
                    path_of(f"{where}, {name}", getattr(self, name))
        for name in ("smoothing", "validation"):
            number(where, name, getattr(self, name), least=0.0, below=1.0)
        if self.patience is not None and not self.validation:
            raise ArgumentError(
                explain(where, "patience watches data kept apart", "validation 0", "set validation, such as 0.1"),
                "patience",
            )
        if self.clip_grad_norm == 0:
            cure = "leave it out to clip nothing"
            raise ArgumentError(explain(where, "clip_grad_norm is more than 0", "0", cure), "clip_grad_norm")

    def __repr__(self) -> str:
        return brief(self)

    @property
    def where(self) -> str:
        """The recipe, in messages."""
        return f"recipe {self.name!r}"

    def epochs_for(self, rows: int) -> int:
        """The number of epochs for ``rows`` training samples."""
        batches = batches_in(rows, self.batch_size, drop_last=self.drop_last)
        if self.max_steps is not None:
            return -(-self.max_steps // -(-batches // self.accumulate))
        return max(self.epochs, -(-self.least_steps // batches))

    def steps_for(self, rows: int) -> int:
        """The number of steps for ``rows`` training samples."""
        batches = batches_in(rows, self.batch_size, drop_last=self.drop_last)
        return replace(self, epochs=self.epochs_for(rows)).steps(batches)

    def config(self, steps: int = 1000) -> str:
        """The model, the optimizer for a training of ``steps`` steps, and the generator, as a TOML config."""
        table = dict(self.optimizer)
        schedule = _table(table.get("lr"))
        if (
            schedule is not None
            and schedule.get("type") in ("CosineLR", "OneCycleLR")
            and "total_steps" not in schedule
        ):
            warmup = schedule.get("warmup_steps", 0)
            if type(warmup) is int and warmup > 0:
                schedule["warmup_steps"] = min(warmup, steps // 2)
            table["lr"] = {**schedule, "total_steps": steps}
        groups: Any = table.pop("group", ())
        if type(groups) not in (list, tuple) or not all(isinstance(group, Mapping) for group in groups):
            raise ArgumentError(
                explain(
                    f"recipe {self.name!r}",
                    "optimizer.group must be a list of tables",
                    _shortened(groups),
                    "such as --set 'optimizer.group=[{ names = \"*.bias\", lr = 0.5 }]'",
                ),
                "optimizer",
            )
        lines = [dumps(self.prototype), "[optimizer]", *_pairs(table)]
        for group in groups:
            lines += ["", "[[optimizer.group]]", *_pairs(group)]
        lines += ["", "[init]", f"seed = {self.seed}", f"generator = {written(self.generator)}"]
        if self.generator == "pcg32":
            lines.append(f"stream = {self.stream}")
        return "\n".join(lines) + "\n"

    def checked(self, steps: int = 1000) -> ModelConfig:
        """The config, read back and checked: model, optimizer and generator."""
        return self.read(self.config(steps), f"recipe {self.name}")

    @property
    def prototype(self) -> AnyModel:
        """The model, its parameters not filled; of a config the one that was checked there, else built anew."""
        return self._described.checked if self._described else self.model()

    @property
    def sample(self) -> tuple[int, ...]:
        """The shape of one sample that the model reads."""
        sizes: tuple[int, ...] = self.prototype.sample.sizes
        return sizes

    @property
    def _described(self) -> ModelConfig | None:
        """The config that the model is read from; None where ``model`` was replaced."""
        return self.described if self.described is not None and self.model == self.described.built else None

    def read(self, config: str, name: str) -> ModelConfig:
        """What `config` has written."""
        return loads(config, name, self.imports, self._described.built() if self._described else None)

    def made_loss(self, weight: tuple[float, ...] | None = None) -> AnyLoss:
        """The loss, with the weights of the classes. Cross entropy of probabilities is averaged over samples and
        classes, as the paper does; of scores, over samples.
        """
        losses: dict[LossName, AnyLoss] = {
            "softmax_cross_entropy": SoftmaxCrossEntropy(weight=weight),
            "cross_entropy": CrossEntropy(),
            "mse": MSE(),
            "l1": L1(),
            "huber": Huber(),
        }
        return losses[self.loss]

    def made_task(self, names: tuple[str, ...] = ()) -> Classification | Language | Regression:
        """The task; ``names`` are the classes'."""
        if self.task == "language":
            return Language()
        if self.task == "regression":
            return Regression()
        scores = self.loss == "softmax_cross_entropy"
        return Classification(names, not scores or bool(self.smoothing), self.smoothing, scores, top_k=self.top_k)

    def changed(self, settings: Mapping[str, Any] | None = None, /, **more: Any) -> Recipe:
        """With other settings, by dotted name: ``{"optimizer.lr": 0.05, "epochs": 3}``, or ``epochs=3``;
        `ArgumentError` for an unknown one.
        """
        unchecked: object = settings
        if not isinstance(unchecked, Mapping | None):
            rule, cure = "settings are a mapping of names to values", 'such as {"optimizer.lr": 0.05}, or epochs=3'
            raise ArgumentError(explain("Recipe.changed", rule, repr(unchecked)[:80], cure), "settings")
        settings = {**(settings or {}), **more}
        plain: dict[str, Any] = {}
        table: dict[str, Any] = dict(self.optimizer)
        sizes: dict[str, Any] = {}
        hints = get_type_hints(Recipe)
        for name, value in sorted(settings.items(), key=lambda setting: setting[0] != "optimizer"):  # before its keys
            head, _, rest = name.partition(".")
            if head == "model" and rest:
                sizes[rest] = value
            elif head == "optimizer" and rest:
                _put(table, rest.split("."), value, name)
            elif name == "optimizer" and isinstance(value, Mapping):
                table = dict(cast("Mapping[str, Any]", value))
            elif name == "optimizer" and isinstance(value, str):
                table = _optimizer(value, table)
            elif name == "optimizer":
                rule = "is an optimizer's name or the table of its settings"
                raise ArgumentError(explain("--set optimizer", rule, repr(value), "such as optimizer=Adam"))
            elif name == "augment":
                several: Any = [value] if isinstance(value, str | Mapping) else value
                plain[name] = tuple(several) if type(several) in (list, tuple) else several
            elif name in CHANGEABLE:
                plain[name] = _converted(self.name, name, value, hints[name])
            else:
                rule, cure = (
                    "expects a setting of the recipe",
                    suggestion(name, (*CHANGEABLE, "optimizer", *(f"optimizer.{key}" for key in table))),
                )
                if _ELSEWHERE.get(name, name) in _parameters_of(table):
                    cure = f"did you mean 'optimizer.{_ELSEWHERE.get(name, name)}'?"
                raise ArgumentError(explain("--set", rule, repr(name), cure))
        if "epochs" in plain:
            plain = {"least_steps": 0, "max_steps": None, **plain}
        if plain.get("task") == "regression" and "loss" not in plain:
            plain["loss"] = "mse"
        if sizes:
            plain["model"] = self._resized(sizes)
        changed = replace(self, optimizer=table, **plain)
        if table != self.optimizer or sizes:
            try:
                changed.checked()
            except ConfigError as error:
                raise ArgumentError(f"--set {error.message}") from None
        return changed

    def _resized(self, sizes: Mapping[str, Any]) -> Callable[..., AnyModel]:
        """The model with other arguments, of those that the recipe names."""
        known: dict[str, Any] = getattr(self.model, "keywords", {})
        unknown = next((name for name in sizes if name not in known), None)
        if unknown is not None:
            rule = (
                f"recipe {self.name!r} has no such size"
                if known
                else "sizes of this model are changed where it is written"
            )
            cure = suggestion(unknown, known) if known else ""
            raise ArgumentError(explain(f"--set model.{unknown}", rule, _shortened(sizes[unknown]), cure))
        return partial(self.model, **sizes)

    def as_json(self) -> dict[str, Any]:
        """The settings as JSON values; the model is written by `config`."""
        return {name: getattr(self, name) for name in ("name", "about", *CHANGEABLE)} | {
            "augment": list(self.augment),
            "optimizer": dict(self.optimizer),
            "imports": list(self.imports),
        }


CHANGEABLE: tuple[str, ...] = tuple(
    each.name
    for each in fields(Recipe)
    if each.name not in ("name", "about", "model", "adapts", "optimizer", "imports", "described")
)


def from_json(saved: Mapping[str, Any], config: str) -> Recipe:
    """The recipe that `Recipe.as_json` and `Recipe.config` wrote; KeyError, TypeError or ValueError where it is none.
    Nothing is imported: what is saved names modules, whose code would run.
    """
    imports = tuple(map(str, saved["imports"]))
    described = loads(config, "config.toml")
    more: dict[str, Any] = {"about": str(saved["about"]), "imports": imports, "described": described}
    recipe = Recipe(str(saved["name"]), described.built, dict(saved["optimizer"]), **more)
    return recipe.changed({name: saved[name] for name in CHANGEABLE})


def parsed_settings(texts: Iterable[str]) -> dict[str, Any]:
    """``["optimizer.lr=0.05", "loss=mse"]`` as a mapping; values are TOML's, a bare word is a string."""
    settings: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise ArgumentError(explain("--set", "expects NAME=VALUE", repr(text), "such as --set optimizer.lr=0.05"))
        settings[name.strip()] = _value(value.strip())
    return settings


def _value(text: str) -> Any:
    if text == "none":
        return None
    try:
        value = tomllib.loads(f"value = {text}")["value"]
        str(value)  # `ValueError` where an integer has more digits than Python writes
        return value
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        return text


def _optimizer(name: str, before: Mapping[str, Any]) -> dict[str, Any]:
    """The table of another optimizer, with its own default learning rate under the schedule of the one before; of SGD
    with momentum.
    """
    kind = next((kind for kind in OPTIMIZERS if kind.lower() == name.lower()), None)
    if kind is None:
        raise ArgumentError(
            explain("optimizer", "expects the name of one", repr(name), suggestion(name, OPTIMIZERS)), "optimizer"
        )
    if kind == before.get("type"):
        return dict(before)
    lr: float = 0.05 if kind == "SGD" else inspect.signature(OPTIMIZERS[kind]).parameters["lr"].default
    schedule = _table(before.get("lr"))
    momentum = {"momentum": 0.9} if kind == "SGD" else {}
    return {"type": kind, "lr": lr if schedule is None else {**schedule, "lr": lr}, **momentum}


def _parameters_of(table: Mapping[str, Any]) -> Iterable[str]:
    """The names that an ``[optimizer]`` table may hold."""
    kind = table.get("type")
    return inspect.signature(OPTIMIZERS[kind]).parameters if isinstance(kind, str) and kind in OPTIMIZERS else ()


def _put(table: dict[str, Any], path: Sequence[str], value: Any, name: str) -> None:
    """Set a value in nested tables, which are copied."""
    for key in path[:-1]:
        nested = _table(table.get(key))
        if nested is None:
            raise ArgumentError(
                explain(
                    "--set",
                    f"{key!r} of {name!r} must be a table",
                    repr(table.get(key)),
                    f"give {key!r} itself a value",
                )
            )
        table[key] = nested
        table = nested
    schedule = _table(table.get(path[-1]))
    # the schedule stays, with another base rate
    if schedule is not None and path[-1] == "lr" and isinstance(value, int | float):
        value = {**schedule, "lr": value}
    table[path[-1]] = value


def _table(value: object) -> dict[str, Any] | None:
    """A copy of ``value`` if it is a table."""
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else None


def _converted(recipe: str, name: str, value: Any, hint: Any) -> Any:
    # a Literal's choices are words, which the recipe checks itself
    kinds = tuple(str if get_origin(kind) is Literal else kind for kind in _members(hint))
    if value is None and type(None) in kinds:
        return None
    if float in kinds and type(value) is int:
        with contextlib.suppress(OverflowError):  # a number beyond the range of floats
            return float(value)
    if type(value) not in kinds:
        words = {int: "an integer", float: "a number", str: "a word", bool: "true or false", type(None): "none"}
        rule = f"{name} must be {' or '.join(words.get(kind, str(kind)) for kind in kinds)}"
        raise ArgumentError(explain(f"recipe {recipe!r}", rule, _shortened(value)), name)
    return value


def _members(hint: Any) -> tuple[Any, ...]:
    return (hint,) if get_origin(hint) is Literal else get_args(hint) or (hint,)


def _shortened(value: object) -> str:
    """A value as shown in a message."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _pairs(table: Mapping[str, Any]) -> list[str]:
    return [f"{key_written(key)} = {written(value)}" for key, value in table.items()]
