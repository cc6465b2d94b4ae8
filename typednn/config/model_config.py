"""A config that was read and checked as a whole, and what it builds: the model, its optimizer, the generator that fills
it.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, final

from typednn.config.arguments import shortened
from typednn.config.build import AnyModel, build_model, tie_shared
from typednn.config.json_format import read_json
from typednn.config.paper_format import is_paper_format, read_paper_format
from typednn.config.settings import build_optimizer, build_rng
from typednn.config.source import Item, Place, Source, decoded, read
from typednn.config.toml_format import read_toml
from typednn.errors import ArgumentError, ConfigError, explain, suggestion
from typednn.layer import Input
from typednn.module.stack import Stack
from typednn.optim import GradientOptimizer
from typednn.random import Rng

FORMAT: Final = 1

_KEYS = ("format", "input", "dtype", "shared", "layer", "optimizer", "init")


@final
class ModelConfig:
    """What `load` gives. Each call of `model`, `optimizer` and `rng` gives a new one; nothing is allocated before
    ``init``.

    The model is built when the config is read, which is how it is checked; the first call of `model` gives that one.
    ``model`` is what the config was written from, if that is at hand: it is not built again.

    ``source`` is the config's name, ``input`` the declared sample, ``batch`` the size that the paper's format names, or
    None.
    """

    def __init__(self, source: Source, tables: dict[str, Item], model: AnyModel | None = None) -> None:
        self._source = source
        self._tables = tables
        self.source: str = source.name
        self.batch: int | None = tables["batch"].value if "batch" in tables else None
        self.input: Input[Any] = _input(source, tables.get("input"), tables.get("dtype"))
        self._model: AnyModel | None = model
        self._optimizer(self.checked)
        if "init" in tables:
            self.rng()

    def model(self) -> Stack:
        """The model, its parameters not yet filled: ``config.model().init(config.rng())``. Where the input is integers,
        call `built`.
        """
        model = self.built()
        if not isinstance(model, Stack):
            cure = "call built(), which gives a chain"
            raise ArgumentError(explain(self.source, "the rows of a Stack are floats", f"{self.input!r}", cure))
        return model

    def built(self) -> AnyModel:
        """As `model`, whatever the input: a `FirstChain` where it is integers."""
        model, self._model = self.checked, None
        return model

    @property
    def checked(self) -> AnyModel:
        """The model that the next call of `model` or `built` gives, to look at."""
        if self._model is None:
            self._model = build_model(self._source, _layers(self._source, self._tables.get("layer")), self.input)
            if "shared" in self._tables:
                tie_shared(self._source, self._tables["shared"], self._model)
        return self._model

    def optimizer(self) -> GradientOptimizer | None:
        """The optimizer, bound to no model yet; None if the config names none."""
        return self._optimizer()

    def _optimizer(self, model: AnyModel | None = None) -> GradientOptimizer | None:
        table = self._table("optimizer")
        return None if table is None else build_optimizer(self._source, table, model)

    def rng(self) -> Rng:
        """The generator of ``[init]``, at its start."""
        table = self._table("init")
        if table is None:
            raise ArgumentError(
                explain(
                    f"{self.source}",
                    "a generator needs an [init] table",
                    "none",
                    "add [init] with seed = 0, or hand init a generator",
                )
            )
        return build_rng(self._source, table)

    @property
    def init(self) -> dict[str, Any]:
        """What ``[init]`` says, by key; empty where there is none."""
        table = self._table("init")
        return {} if table is None else {key: item.value for key, item in (table.table or {}).items()}

    def _table(self, key: str) -> Item | None:
        item = self._tables.get(key)
        if item is not None and item.table is None:
            raise self._source.error(item.place, f"{key} is a table, got {shortened(item)}; write it as [{key}]")
        return item

    def __repr__(self) -> str:
        return f"<ModelConfig {self.source}>"


def load(path: str | os.PathLike[str], imports: Sequence[str] = ()) -> ModelConfig:
    """The config in a file, checked whole; ``imports`` are modules that register the layers it uses.

    A file ``*.toml`` is TOML, a file ``*.json`` JSON with the same keys. The format of any other is recognised by its
    first line: one of these, or the paper's own format.
    """
    import_layers(imports)
    return _checked(read(path))


def loads(text: str, name: str = "<config>", imports: Sequence[str] = (), model: AnyModel | None = None) -> ModelConfig:
    """As `load`, from a text; ``name`` stands in error messages, and decides the format as a file's name does.

    ``model`` is what the text was written from, where that is at hand: it is not built again.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        source = Source(name, text.encode(errors="replace").decode())
        raise source.error(
            source.place_of(error.start), f"character {text[error.start]!a} is not Unicode text"
        ) from None
    import_layers(imports)
    return _checked(decoded(name, data), model)


def import_layers(modules: Sequence[str]) -> None:
    """Import modules that register layers; a `ConfigError` names one that cannot be."""
    for module in modules:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            missing = error.name is not None and f"{module}.".startswith(f"{error.name}.")
            cure = "; start in the folder that holds it, or name that folder in PYTHONPATH" if missing else ""
            raise ConfigError(f"import {module}: {error}{cure}") from error
        except Exception as error:  # a user's module may raise anything
            raise ConfigError(f"import {module}: {type(error).__name__}: {error}") from error


def imported(text: str) -> Any:
    """What ``module:name`` names, such as a model or what makes one; the module is imported, which runs it."""
    module, _, name = text.partition(":")
    if not module or not name or "/" in module or module.endswith(".py"):
        rule, cure = "is module:name, the module without its folder and ending", "such as --model my_model:build"
        raise ArgumentError(explain("--model", rule, repr(text), cure))
    import_layers([module])
    found = vars(sys.modules[module])
    if name not in found:
        names = [known for known in found if not known.startswith("_")]
        raise ArgumentError(explain("--model", f"must name what is in {module}", repr(name), suggestion(name, names)))
    return found[name]


def _checked(source: Source, model: AnyModel | None = None) -> ModelConfig:
    ending = Path(source.name).suffix.lower()
    if ending not in (".toml", ".json") and is_paper_format(source.text):
        return ModelConfig(source, read_paper_format(source), model)
    is_json = ending == ".json" or (ending != ".toml" and source.text.lstrip().startswith("{"))
    tables = read_json(source) if is_json else read_toml(source)
    version = tables.get("format")
    if version is None:
        first = f'"format": {FORMAT}' if is_json else f"format = {FORMAT}"
        raise source.error(Place(1, 1), f"format is missing; write {first} first")
    if type(version.value) is not int or version.value < 1:
        raise source.error(version.place, f"format must be an integer of at least 1, got {shortened(version)}")
    if version.value > FORMAT:
        raise source.error(
            version.place,
            f"format {version.value} is newer than this typednn, which reads up to {FORMAT}; update typednn",
        )
    for key, item in tables.items():
        if key not in _KEYS:
            raise source.error(item.key, f"unknown key {key!r}; {suggestion(key, _KEYS)}")
    return ModelConfig(source, tables, model)


def _input(source: Source, item: Item | None, kind: Item | None) -> Input[Any]:
    if kind is not None and kind.value not in ("float", "int"):
        raise source.error(
            kind.place, f'dtype of the input is "float" or "int", got {shortened(kind)}; "int" is for tokens'
        )
    if item is None:
        raise source.error(Place(1, 1), "input is missing; declare one sample's shape, such as input = [28, 28, 1]")
    sizes = item.parts or []
    if not 1 <= len(sizes) <= 3:
        raise source.error(
            item.place,
            f"input must be a list of one to three sizes of one sample, got {shortened(item)}; leave the batch out",
        )
    for size in sizes:
        if type(size.value) is not int or size.value < 1:
            raise source.error(
                size.place, f"input: every size must be a positive integer, got {shortened(size)}; leave the batch out"
            )
    if kind is not None and kind.value == "int":
        if len(sizes) > 1:
            raise source.error(
                item.place, f"input of integers is one size, the number of tokens of one sample, got {shortened(item)}"
            )
        return Input(sizes[0].value, dtype=int)
    return Input(*(size.value for size in sizes))


def _layers(source: Source, item: Item | None) -> list[Item]:
    if item is None:
        raise source.error(Place(1, 1), 'a model needs layers; add one as a table [[layer]] with type = "Linear"')
    if not item.parts:
        raise source.error(item.place, f"layer is a list of tables, got {shortened(item)}; write each as [[layer]]")
    return item.parts
