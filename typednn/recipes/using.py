"""Using a trained run: testing it again, or predictions for new inputs.

answers = predict("runs/lenet5-1", ["seven.png"])
print(answers[0].label, answers[0].probabilities[answers[0].label])
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from typednn.data import read_image_folder, read_npz, read_table
from typednn.data.class_folders import part_folders
from typednn.data.table import ENDINGS as TABLES
from typednn.data.table_files import ARROW
from typednn.errors import ArgumentError, DataError, explain, listed
from typednn.recipes.plan import LOSSES, VOCABULARY, Plan, samples_of
from typednn.recipes.predictor import load_run
from typednn.recipes.running import Report, learned_part, reported, write_results
from typednn.recipes.samples import Samples
from typednn.recipes.tables import chosen_of, targets_of
from typednn.recipes.texts import load_text
from typednn.runs import Run
from typednn.runs.settings import read_settings
from typednn.tasks import Answer, Estimate, Language, Regression


def evaluate_run(
    run: str | Path,
    data: str | None = None,
    weights: Literal["best", "latest"] | None = None,
    *,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: Literal[".", ","] | None = None,
    target: str | None = None,
    model: object = None,
) -> tuple[Report, Samples]:
    """The report on the run's own test set, which is also written into its folder, or on other data; and those samples.

    ``header``, ``delimiter`` and ``decimal`` say how a CSV file of other data is written (`typednn.data.read_table`);
    by default as was said of the training data.

    A run of `typednn.training.fit` needs ``data``, as the program gave them to the model: an NPZ file with ``x`` and
    ``y``, or a table, whose ``target`` is by default its first column; its loss says what is reported. ``model`` is as
    in `typednn.recipes.load_run`.
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
    used = load_run(run, weights, model=model)
    plan, running = used.plan, used.running
    if plan.of_fit:
        _check_of_fit(Path(run), data, target)
    elif target is not None:
        raise ArgumentError(explain("eval", "a run of typednn train knows its target", repr(target), "leave it out"))
    samples = (
        plan.samples()
        if data is None
        else _others(Path(run), data, plan, used.layout(header, delimiter, decimal), target)
    )
    shaped = samples.shaped(*used.sizes)
    used.task.check(f"data {samples.name!r}", samples.test_y, used.outputs)
    if plan.of_fit:
        return used.task.report(used.scores(np.asarray(shaped.test_x)), shaped.test_y), samples
    scores, report = reported(plan, running, shaped.test_x, shaped.test_y)
    if data is None:
        _, learned = reported(plan, running, *learned_part(plan, shaped))
        try:
            write_results(Path(run), plan, used.model, samples, scores, report, learned)
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
    """The predictions of the run's model for all inputs in the files and folders: `Predictor.predict_files`.

    Who predicts again and again loads the run once: `load_run`.
    """
    return load_run(run).predict_files(files, invert=invert, header=header, delimiter=delimiter, decimal=decimal)


def _check_of_fit(run: Path, data: str | None, target: str | None) -> None:
    """An error unless the run's loss is one whose outputs can be reported on, and there are data."""
    loss = read_settings(run).get("loss")
    if loss not in LOSSES:
        got = "a loss that its folder doesn't tell" if loss is None else f"{loss}"
        rule, cure = f"eval reports on the losses {listed([*LOSSES])}", "measure it in the program that trained it"
        raise ArgumentError(explain(str(run), rule, got, cure))
    if data is None:
        rule, cure = (
            "eval needs data, which a run of fit doesn't keep",
            "give --data FILE: NPZ with x and y, or a table",
        )
        raise ArgumentError(explain(str(run), rule, "none", cure))
    suffix = Path(data).suffix.lower()
    if not Path(data).is_file() or suffix not in (".npz", *TABLES):
        rule = f"data of a run of fit are an NPZ file with x and y, or a table ({', '.join(TABLES)})"
        got = "another kind" if Path(data).is_file() else "a folder" if Path(data).is_dir() else "no such file"
        raise DataError(explain(f"--data {data}", rule, got))
    if target is not None and suffix == ".npz":
        raise ArgumentError(explain("--target", "is a column of a table", f"{data}, which has y", "leave it out"))


def _arrays(data: str, plan: Plan) -> Samples:
    """``x`` and ``y`` of an NPZ file."""
    arrays = read_npz(data)
    if not {"x", "y"} <= arrays.keys() or not (arrays["x"].ndim and len(arrays["x"]) and arrays["y"].ndim):
        got = listed([f"{name} of shape {array.shape}" for name, array in arrays.items()]) or "none"
        raise DataError(
            explain(data, "must hold the arrays x and y, a row for each sample", got, "numpy.savez(file, x=x, y=y)")
        )
    x, y = arrays["x"], arrays["y"]
    if len(x) != len(y):
        raise DataError(explain(data, "x and y must have as many rows", f"{len(x)} and {len(y)}"))
    y = y.astype(np.float64 if isinstance(plan.task, Regression) else y.dtype, copy=False)
    return Samples(Path(data).name, data, x, y, x, y)


def _others(run: Path, data: str, plan: Plan, layout: dict[str, Any], target: str | None) -> Samples:
    if Path(data).suffix.lower() == ".npz" and plan.of_fit:
        return _arrays(data, plan)
    if isinstance(plan.task, Language):
        samples = load_text(data, str(run / VOCABULARY), 0.0, kind=plan.recipe.tokens)
        return replace(samples, test_x=samples.x, test_y=samples.y)
    if Path(data).is_file():
        numbered = plan.data.get("numbered") == "true"
        table = read_table(
            data,
            target=target or plan.data.get("target"),
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
