"""Using a trained run: testing it again, or predictions for new inputs.

answers = predict("runs/lenet5-1", ["seven.png"])
print(answers[0].label, answers[0].probabilities[answers[0].label])
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from typednn.data import read_image_folder, read_table, read_vocabulary
from typednn.data.class_folders import part_folders
from typednn.data.images import Resize
from typednn.data.table_files import ARROW
from typednn.data.vocabulary import Stored
from typednn.errors import ArgumentError, DataError, explain, listed
from typednn.layer import FirstChain
from typednn.models import GPT2
from typednn.recipes.inputs import inputs_of
from typednn.recipes.plan import VOCABULARY, Plan, read_plan, samples_of
from typednn.recipes.running import Report, computed, learned_part, outputs_of, reported, which, write_results
from typednn.recipes.samples import Samples
from typednn.recipes.tables import chosen_of, layout_of, targets_of
from typednn.recipes.texts import load_text
from typednn.runs import Run
from typednn.tasks import Answer, Estimate, Language
from typednn.tasks.language import speaker_of
from typednn.training import evaluate


def opened(run: str | Path, weights: Literal["best", "latest"] | None = None) -> tuple[Plan, Any]:
    """The plan of a run, and its model with the weights of `typednn.recipes.running.which`, or others.
    Needs no lock.
    """
    plan, model, _ = restored(run, weights)
    return plan, model


def restored(run: str | Path, weights: Literal["best", "latest"] | None = None) -> tuple[Plan, Any, int]:
    """As `opened`, and the step of those weights."""
    plan = read_plan(Path(run))
    model: Any = plan.model_config().built()
    checkpoint = Run.open(run, lock=False).load_weights(model, weights or which(plan.recipe))
    return plan, model, checkpoint.state.step


def evaluate_run(
    run: str | Path,
    data: str | None = None,
    weights: Literal["best", "latest"] | None = None,
    *,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: Literal[".", ","] | None = None,
) -> tuple[Report, Samples]:
    """The report on the run's own test set, which is also written into its folder, or on other data; and those samples.

    ``header``, ``delimiter`` and ``decimal`` say how a CSV file of other data is written (`typednn.data.read_table`);
    by default as was said of the training data.
    """
    if data is None and (header, delimiter, decimal) != (None, None, None):
        raise ArgumentError(
            explain(
                "eval",
                "header, delimiter and decimal say how other data are written",
                "no data",
                "add data=... (--data)",
            )
        )
    plan, model = opened(run, weights)
    samples = (
        plan.samples() if data is None else _others(Path(run), data, plan, _layout(plan, header, delimiter, decimal))
    )
    running, sizes = computed(model, fused=plan.recipe.fuse)
    shaped = samples.shaped(*sizes)
    plan.task.check(f"data {samples.name!r}", samples.test_y, outputs_of(model))
    scores, report = reported(plan, running, shaped.test_x, shaped.test_y)
    if data is None:
        _, learned = reported(plan, running, *learned_part(plan, shaped))
        try:
            write_results(Path(run), plan, model, samples, scores, report, learned)
        except DataError as error:  # a folder that may only be read, or a full disk
            Run.open(run, lock=False).warn(f"the report is not kept: {error}")
    return report, samples


def predict(
    run: str | Path,
    files: Sequence[str | Path],
    *,
    invert: bool = False,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: Literal[".", ","] | None = None,
) -> list[Answer | Estimate]:
    """The predictions of the run's model for all inputs in the files: images, IDX, NPY, CSV, TSV, Parquet and Arrow,
    without labels.

    ``header``, ``delimiter`` and ``decimal`` say how CSV files are written, as in `evaluate_run`.
    """
    plan, model = opened(run)
    if isinstance(plan.task, Language):
        raise ArgumentError(
            explain(str(run), "predict labels inputs", "a language model", "typednn generate RUN --prompt TEXT")
        )
    answers: list[Answer | Estimate] = []
    sample: Any = model.sample
    tokens = isinstance(model, FirstChain)
    shape = sample.sizes if tokens else plan.shape
    resize: Resize = "crop" if "image" in plan.data else True  # as the training images were
    layout = _layout(plan, header, delimiter, decimal)
    for file in files:
        inputs, remark = inputs_of(
            file,
            shape,
            tokens=tokens,
            invert=invert,
            resize=resize,
            encoding=plan.encoding,
            named="target" in plan.data,
            layout=layout,
        )
        answers.extend(
            plan.task.answers(str(file), evaluate(model, plan.scaling(inputs).reshape(len(inputs), -1)), remark)
        )
    return answers


def language_model(run: str | Path, weights: Literal["best", "latest"] | None = None) -> tuple[GPT2, Stored]:
    """The language model of a run, in eval, and its vocabulary; `ArgumentError` where the run trained another kind of
    model.
    """
    plan, model = opened(run, weights)
    speaker = speaker_in(run, plan, model)
    model.eval()
    return speaker, read_vocabulary(Path(run) / VOCABULARY)


def speaker_in(run: str | Path, plan: Plan, model: Any) -> GPT2:
    """The language model in the model of a run; `ArgumentError` where there is none."""
    speaker = speaker_of(model)
    if not isinstance(plan.task, Language) or speaker is None:
        raise ArgumentError(
            explain(str(run), "must be the run of a language model", f"a {plan.recipe.task}", "typednn predict uses it")
        )
    return speaker


def _layout(plan: Plan, header: bool | None, delimiter: str | None, decimal: str | None) -> dict[str, Any]:
    """How CSV files are written, where it is said, or was of the training data."""
    said: dict[str, Any] = {"header": header, "delimiter": delimiter, "decimal": decimal}
    return layout_of(plan.data) | {name: value for name, value in said.items() if value is not None}


def _others(run: Path, data: str, plan: Plan, layout: dict[str, Any]) -> Samples:
    if isinstance(plan.task, Language):
        samples = load_text(data, str(run / VOCABULARY), 0.0, kind=plan.recipe.tokens)
        return replace(samples, test_x=samples.x, test_y=samples.y)
    if Path(data).is_file():
        numbered = plan.data.get("numbered") == "true"
        table = read_table(
            data,
            target=plan.data.get("target"),
            encoding=plan.encoding,
            missing=chosen_of(plan.data).get("missing"),
            dtype="float64",
            names=None if numbered else plan.names or None,
            labels=None if plan.names and not numbered else False,
            **({} if Path(data).suffix.lower() in ARROW else layout),
        )
        y = targets_of(data, table, plan.task, plan.names if numbered else ())
        return Samples(Path(data).name, data, table.x, y, table.x, y, told=table.told)
    place = Path(data)
    # nothing of it was trained on: all of it is measured
    if "image" in plan.data and place.is_dir() and not part_folders(place):
        height, width, channels = plan.shape
        read = read_image_folder(place, size=(height, width), resize="crop", channels=channels)
        images: tuple[Any, Any] = (np.asarray(read.images, np.float32), np.asarray(read.labels, np.int64))
        samples = Samples(place.resolve().name, f"images in {place}", *images, *images, read.names)
    else:
        kept = {key: value for key, value in plan.data.items() if key not in ("train", "test", "target")}
        samples = samples_of(plan.recipe, {**kept, "name": data})
    if samples.names and plan.names and samples.names != plan.names:
        samples = replace(samples, test_y=_labels_of(samples, plan))
    return replace(samples, names=())


def _labels_of(samples: Samples, plan: Plan) -> Any:
    """The test labels, in the numbers of the run's classes; a `DataError` for a class that the run does not know."""
    unknown = [name for name in samples.names if name not in plan.names]
    if unknown:
        raise DataError(
            explain(
                f"data {samples.name!r}",
                f"the run knows the classes {listed(plan.names)}",
                listed(unknown),
                "is it the right data?",
            )
        )
    numbers = np.array([plan.names.index(name) for name in samples.names], np.int64)
    labels: Any = numbers[np.asarray(samples.test_y, np.int64)]
    return labels
