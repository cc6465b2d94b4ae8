"""Predictor: the trained model of a run, loaded once, with all that makes answers of new inputs.

    houses = typednn.load("runs/houses")
    houses.predict([{"rooms": 3, "area": 95}])[0].values
    houses.predict_files("new.csv")

`Predictor.predict` takes what a program has in memory, `Predictor.predict_files` names of files. They are two, so that
what comes over a network is never taken for the name of a file.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, final, overload

import numpy as np
import numpy.typing as npt

from typednn.arguments import integer
from typednn.arrays import is_integer
from typednn.config.build import AnyModel
from typednn.data import read_vocabulary
from typednn.data.class_folders import files_below
from typednn.data.images import ENDINGS, Resize, decode_image
from typednn.data.inputs import shaped
from typednn.data.labels import whole_numbers
from typednn.data.text import TOKENS, text_tokens
from typednn.data.vocabulary import END, Stored, prompt_tokens, token_of
from typednn.errors import ArgumentError, ConfigError, DataError, counted, explain, listed, printable
from typednn.exchange import Preprocessing
from typednn.exchange import load as load_file
from typednn.files import path_of
from typednn.layer import FirstChain, FirstLayer
from typednn.models import GPT2, stream
from typednn.module.module import Module
from typednn.module.stack import Stack
from typednn.plans import Compiled
from typednn.recipes.inputs import dark_on_light, inputs_of
from typednn.recipes.plan import VOCABULARY, Plan, read_plan
from typednn.recipes.rows import rows_encoded, rows_of
from typednn.recipes.running import computed, described, fill, outputs_of
from typednn.recipes.samples import AnyTask, Scaling
from typednn.recipes.tables import layout_of
from typednn.tasks import Answer, Estimate, Language, Regression
from typednn.tasks.language import speaker_of
from typednn.training import evaluate
from typednn.training.arguments import model_of

M = TypeVar("M", bound=Module)
_MOST = float(np.finfo(np.float32).max)
_PIXELS = (
    "its pixels are read as 0 to 255: the run of fit doesn't say how its program scaled them; NPY is read as it is"
)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Predictor:
    """The trained model of the run in ``folder``; `load_run` makes one.

    ``plan`` is what was trained on what, and ``step`` the training step of the weights. ``model`` is in eval, so it may
    be asked by several threads at once. ``vocabulary`` is a language model's.
    """

    folder: Path
    plan: Plan
    model: AnyModel
    step: int
    vocabulary: Stored | None = None
    task: AnyTask = field(init=False)
    running: Any = field(init=False)
    """The model's layers, which compute."""
    compiled: Compiled[Any, Any, Any] = field(init=False)
    """Their plans, one for each number of inputs."""
    sizes: tuple[int, ...] = field(init=False)
    """The shape of one sample that it reads."""

    def __post_init__(self) -> None:
        self.model.eval()
        if self.plan.is_described:
            running, sizes = computed(self.model)
            if self.plan.of_fit and isinstance(self.model, Stack):
                running, sizes = self.model, (self.model.in_features,)
        else:  # one that the program named: it need not be a stack
            running, sizes = self.model, self.plan.shape
        compiled = Compiled(running.eval(), told=lambda why: None)
        for name, value in (
            ("task", self.plan.task),
            ("running", running),
            ("compiled", compiled),
            ("sizes", sizes),
        ):
            object.__setattr__(self, name, value)

    @property
    def reads(self) -> Literal["image", "text", "rows", "prompt"]:
        """What an input is: an image, a text to be labelled, a row of numbers, or a text to go on with."""
        if isinstance(self.task, Language):
            return "prompt"
        if isinstance(self.model, FirstChain) and not self.plan.of_fit:
            return "text"
        return "image" if len(self.plan.shape) == 3 else "rows"

    @property
    def scaling(self) -> Scaling:
        """How inputs are scaled: as the training data were."""
        return self.plan.scaling

    @property
    def names(self) -> tuple[str, ...]:
        """The classes' names; empty where they are numbers."""
        return self.plan.names

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of a table's inputs, in their order; empty where the training data had none."""
        encoding = self.plan.encoding
        return encoding.used_names if encoding is not None and self.plan.columns else self.plan.columns

    @property
    def preprocessing(self) -> Preprocessing | None:
        """What is done to data before the model reads them, and to its answers, for `export_onnx`; None for tokens,
        which are read as they are.
        """
        if self.reads in ("text", "prompt"):
            return None
        units = (self.task.mean, self.task.deviation) if isinstance(self.task, Regression) else ()
        return Preprocessing(self.plan.encoding, self.scaling.mean, self.scaling.deviation, *units)

    def predict(self, data: object, *, invert: bool = False) -> list[Answer | Estimate]:
        """The answer to each input in ``data``, one or several:

        ==========================  ==============================================================================
        a model of                  ``data``
        ==========================  ==============================================================================
        rows, such as of a table    a dict by the columns' names, or a list of values in their order, words and dates
                                    as the training data had them, None for a gap; a list of these; of numbers alone
                                    an array (columns) or (n, columns)
        images                      an array (height, width, channels) or (n, height, width, channels) in the range of
                                    the training data, 0 to 255; or the bytes of one file: PNG, JPEG, GIF, BMP, WebP
        texts                       a str, or a list of them
        ==========================  ==============================================================================

        ``invert`` is for the bytes of an image that is dark on light, as MNIST is not. A `DataError` says what does not
        fit. Nothing is read from the disk; `predict_files` does that.
        """
        inputs, remark = self.inputs(data, invert=invert)
        return self.answers(inputs, remark=remark)

    def predict_files(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        invert: bool = False,
        header: bool | None = None,
        delimiter: str | None = None,
        decimal: Literal[".", ","] | None = None,
    ) -> list[Answer | Estimate]:
        """The answer to each input in the files: images, IDX, NPY, CSV, TSV, Parquet and Arrow, without labels; of a
        folder all images in it and below it, in the order of their paths.

        ``header``, ``delimiter`` and ``decimal`` say how CSV files are written (`typednn.data.read_table`), by default
        as was said of the training data.
        """
        self._refuse_language()
        tokens = self.reads == "text"
        layout = self.layout(header, delimiter, decimal)
        answers: list[Answer | Estimate] = []
        for path in [paths] if isinstance(paths, str | Path) else paths:
            for file in self._files(path):
                inputs, remark = inputs_of(
                    file,
                    self.sizes if tokens else self.plan.shape,
                    tokens=tokens,
                    invert=invert,
                    resize=self._resize,
                    encoding=self.plan.encoding,
                    named="target" in self.plan.data,
                    layout=layout,
                )
                if self.plan.of_fit and Path(file).suffix.lower() in ENDINGS:
                    remark = remark or _PIXELS
                answers.extend(self.answers(inputs, str(file), remark))
        return answers

    def inputs(self, data: object, *, invert: bool = False) -> tuple[npt.NDArray[Any], str]:
        """Inputs (n, …) of what `predict` takes, not yet scaled; and a remark, where an image looks unlike the training
        data.
        """
        self._refuse_language()
        if self.reads == "text":
            return self._texts(data), ""
        if self.reads == "rows":
            encoding = self.plan.encoding
            if encoding is None or encoding.is_plain:
                return rows_of("predict", data, self.columns, math.prod(self.plan.shape)), ""
            return rows_encoded("predict", data, encoding)
        height, width, channels = self.plan.shape
        if isinstance(data, bytes):
            image = decode_image(data, size=(height, width), resize=self._resize, channels=channels, invert=invert)
            remark = dark_on_light(image) if channels == 1 and not invert else ""
            return image, remark or (_PIXELS if self.plan.of_fit else "")
        try:
            if isinstance(data, str):
                raise TypeError("a str")
            numbers = np.asarray(data, np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            rule, cure = f"data are images of {height} x {width} x {channels} numbers, or the bytes of a file", ""
            if isinstance(data, str | Path):
                cure = "predict_files(path) reads files"
            raise DataError(explain("predict", rule, str(error).partition(". ")[0], cure)) from None
        if not (np.abs(numbers) <= _MOST).all():
            raise DataError(explain("predict", "data must hold finite numbers", "NaN or infinity"))
        return shaped("predict", numbers, height, width, channels), ""

    def answers(self, inputs: npt.NDArray[Any], file: str = "data", remark: str = "") -> list[Answer | Estimate]:
        """The answers to ``inputs``, as `inputs` gives them, which are named after ``file``."""
        scores = self.scores(inputs)
        if scores.ndim != 2:
            rule, got = "predict answers with a row of numbers for each input", f"outputs of shape {scores.shape[1:]}"
            cure = "in Python typednn.load(run).model.forward(x) gives them"
            raise ArgumentError(explain(str(self.folder), rule, got, cure))
        return [*self.task.answers(file, scores, remark)]

    @property
    def outputs(self) -> int:
        """How many numbers the model gives for a sample, or for each position of one."""
        if self.plan.is_described:
            return outputs_of(self.model)
        scores = self.scores(np.zeros((1, *self.sizes), np.float32))
        return int(scores.shape[-1])

    def scores(self, inputs: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """What the model gives for ``inputs``, as `inputs` gives them: a row for each."""
        scaling, sizes = self.scaling, self.sizes
        reads_tokens = isinstance(self.model, FirstChain | FirstLayer)
        if reads_tokens and inputs.dtype != TOKENS:
            rule, cure = "the model reads tokens, whole numbers from 0", "encode texts first"
            numbers = np.asarray(inputs, np.float64).reshape(-1)
            inputs = (
                whole_numbers("predict", rule, numbers, cure, "number {}".format).astype(TOKENS).reshape(inputs.shape)
            )
        elif self.plan.of_fit and not reads_tokens and is_integer(inputs.dtype):
            inputs = inputs.astype(np.float64)
        scores: npt.NDArray[Any] = evaluate(
            self.compiled, inputs, transform=lambda x: scaling(x).reshape(len(x), *sizes)
        )
        return scores

    def warm_up(self) -> None:
        """Compile the kernels of one input, for which a first answer would wait."""
        if self.reads == "text":
            self.answers(np.zeros((1, *self.sizes), TOKENS))
        elif self.reads != "prompt":
            self.answers(np.zeros((1, *self.plan.shape), np.float32))

    def generate(
        self,
        prompt: str = "",
        max_new_tokens: int = 256,
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int = 0,
    ) -> str:
        """``prompt``, and what the language model writes behind it: up to ``max_new_tokens`` tokens, or to the
        vocabulary's ``<|endoftext|>``, which an empty prompt stands for. The arguments are those of
        `typednn.models.generate`.
        """
        speaker, vocabulary = self.speaker()
        end = token_of(vocabulary, END)
        start = prompt_tokens("prompt", vocabulary, prompt, end)
        drawn = stream(
            speaker,
            start[None],
            max_new_tokens,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            stop=[] if end is None else [end],
            rng=np.random.default_rng(integer("generate", "seed", seed, 0)),
        )
        tokens = [int(token) for (token,) in drawn]
        return prompt + vocabulary.decode(token for token in tokens if token != end)

    def speaker(self) -> tuple[GPT2, Stored]:
        """The language model and its vocabulary; an `ArgumentError` where the run trained another kind of model."""
        speaker = speaker_of(self.model)
        if self.vocabulary is None or speaker is None:
            got = f"a {self.plan.recipe.task}"
            cure = "typednn predict uses it"
            raise ArgumentError(explain(str(self.folder), "must be the run of a language model", got, cure))
        return speaker, self.vocabulary

    def layout(self, header: bool | None, delimiter: str | None, decimal: str | None) -> dict[str, Any]:
        """How CSV files are written, where it is said, or was of the training data."""
        said: dict[str, Any] = {"header": header, "delimiter": delimiter, "decimal": decimal}
        return layout_of(self.plan.data) | {name: value for name, value in said.items() if value is not None}

    @property
    def _resize(self) -> Resize:
        return "crop" if "image" in self.plan.data else True  # as the training images were

    def _refuse_language(self) -> None:
        if self.reads == "prompt":
            rule, cure = "predict labels inputs", "typednn generate RUN --prompt TEXT; in Python generate(prompt)"
            raise ArgumentError(explain(str(self.folder), rule, "a language model", cure))

    def _files(self, path: str | Path) -> Sequence[str | Path]:
        """The file, or the images below a folder."""
        place = path_of("predict", path)
        if not place.is_dir():
            return [path]
        if self.reads != "image":
            raise DataError(explain(str(path), "a folder holds images", f"a model of {self.reads}", "name its files"))
        images = files_below(place, ENDINGS)
        if not images:
            raise DataError(explain(str(path), f"must hold images ({', '.join(ENDINGS)})", "none"))
        return images

    def _texts(self, data: object) -> npt.NDArray[Any]:
        texts: list[object] = [*cast("Sequence[object]", data)] if isinstance(data, list | tuple) else [data]
        wrong = [
            "an empty one" if text == "" else type(text).__name__ for text in texts if type(text) is not str or not text
        ]
        if wrong or not texts:
            raise DataError(explain("predict", "data are a text, or a list of texts", [*wrong, "none"][0]))
        content = [str(text).encode("utf-8", "surrogatepass") for text in texts]
        return np.concatenate([text_tokens(each, self.sizes[0]) for each in content])

    def facts(self) -> dict[str, str]:
        """What it is, reads and answers, in words."""
        shape = " x ".join(map(str, self.plan.shape))
        reads = {
            "image": f"images of {shape}",
            "text": f"texts of up to {self.sizes[0]:,} bytes",
            "rows": f"rows of {self._values()}{': ' if self.columns else ''}{listed(self.columns)}",
            "prompt": f"texts of up to {counted(self.sizes[0], 'token')}",
        }[self.reads]
        task = self.plan.recipe.task
        return {
            "model": self.plan.recipe.name,
            "task": "numbers" if self.plan.of_fit and task == "regression" else task,
            "reads": reads,
            "outputs": listed(self.names) or f"{self.outputs:,}",
            "weights of step": f"{self.step:,}",
        }

    def _values(self) -> str:
        """How many values a row has."""
        encoding = self.plan.encoding
        plain = encoding is None or encoding.is_plain
        return (
            counted(math.prod(self.sizes), "number")
            if encoding is None or plain
            else counted(len(encoding.used), "value")
        )

    def __repr__(self) -> str:
        about = self.facts()
        return printable(f"<Predictor {self.folder}: {about['model']}, {about['task']}, reads {about['reads']}>")

    def _repr_html_(self) -> str:
        """What a notebook shows: the run, what it reads and what it answers."""
        from typednn.html import facts, shown

        return shown(f"Predictor {self.folder}", facts(self.facts()))


def load_run(
    folder: str | Path, weights: Literal["best", "latest"] | None = None, *, model: object = None
) -> Predictor:
    """The trained model of a run, with the weights of `typednn.recipes.running.which`, or others. Needs no lock.

    A run of `typednn.training.fit` is one too: its inputs and outputs are numbers as the program had them. Where its
    config can't say the model, ``model`` is that, or what makes it, such as its class; its weights are filled.

    A `ConfigError` where there is no run, or no model, a `CheckpointError` where its weights are damaged or another
    model's.
    """
    place = path_of("load", folder)
    plan = read_plan(place, of_fit=True)
    filled = described(place, plan) if model is None else _given(place, plan, model)
    step = fill(place, plan, filled, weights)
    if not plan.shape:
        plan = replace(plan, shape=_sample_of(place, filled))
    vocabulary = read_vocabulary(place / VOCABULARY) if plan.recipe.task == "language" else None
    return Predictor(place, plan, filled, step, vocabulary)


def _given(place: Path, plan: Plan, model: Any) -> AnyModel:
    """A model that is handed in, or what makes it, called."""
    if plan.is_described:
        raise ArgumentError(explain(str(place), "the run's config says its model", "another", "leave it out"), "model")
    if isinstance(model, type) or not hasattr(model, "forward"):
        try:
            model = model()
        except Exception as error:  # a user's function may raise anything
            rule, got = "model is a model, or makes one without arguments", f"{type(error).__name__}: {error}"
            raise ArgumentError(explain("load_run", rule, got, "name a function that does"), "model") from error
    made: AnyModel = model_of(model)
    return made


def _sample_of(place: Path, model: Any) -> tuple[int, ...]:
    """The shape of one sample, of a model whose run doesn't say it."""
    if getattr(model, "sample", None) is None:
        rule, cure = "needs one sample's shape", "build the model as Input(...) >> ...; or typednn.load(run, model)"
        raise ConfigError(explain(str(place), rule, f"{type(model).__name__}, which declares none", cure))
    sizes: tuple[int, ...] = model.sample.sizes
    return sizes


@overload
def load(path: str | Path) -> Any: ...
@overload
def load(path: str | Path, model: M) -> M: ...
def load(path: str | Path, model: Module | None = None) -> Any:
    """What was trained: of a run's folder its `Predictor` (`load_run`), of a file that ``model.save(path)`` wrote the
    model (`typednn.exchange.load`). With ``model``, that is filled with the weights of either, and given back.
    """
    place = path_of("load", path)
    if place.is_dir():
        if model is None:
            return load_run(place)
        fill(place, read_plan(place, of_fit=True), model_of(model), None)
        return model
    return load_file(path) if model is None else load_file(path, model)
