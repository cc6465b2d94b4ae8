"""One's own photographs and tables: from a folder or a file to a run, predictions and reports with the
classes' names.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn.data import ImageFiles
from typednn.errors import ArgumentError, DataError
from typednn.recipes import (
    Recipe,
    evaluate_run,
    load_data,
    load_tables,
    predict,
    recipe,
    recipe_of_config,
    resume,
    samples,
    train,
)
from typednn.recipes.plan import read_plan, samples_of
from typednn.tasks import Regression

pytestmark = pytest.mark.usefixtures("on_the_reference")

Image: Any = pytest.importorskip("PIL.Image")

MODEL = """\
format = 1
input = SHAPE
LAYERS
[[layer]]
type = "Linear"
in_features = IN
out_features = OUT
"""
FLATTEN = '[[layer]]\ntype = "Flatten"\n'


def model(folder: Path, shape: list[int], outputs: int) -> Recipe:
    text = MODEL.replace("SHAPE", str(shape)).replace("IN", str(int(np.prod(shape)))).replace("OUT", str(outputs))
    path = folder / f"model-{len(shape)}-{shape[-1]}.toml"
    path.write_text(text.replace("LAYERS", FLATTEN if len(shape) == 3 else ""), encoding="utf-8")
    return recipe_of_config(path).changed({"epochs": 6, "batch_size": 8, "optimizer.lr": 0.02})


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Red things and blue things, equally bright, of several sizes and formats."""
    rng = np.random.default_rng(0)
    for kind, channel in (("red", 0), ("blue", 2)):
        (tmp_path / "photos" / kind).mkdir(parents=True)
        for number in range(15):
            pixels = rng.integers(0, 60, (20 + number, 30, 3)).astype(np.uint8)
            pixels[..., channel] += 150
            Image.fromarray(pixels).save(
                tmp_path / "photos" / kind / f"{number:02}.{('jpg', 'png', 'webp', 'bmp')[number % 4]}"
            )
    return tmp_path / "photos"


def test_from_photographs_to_a_prediction(photos: Path, tmp_path: Path) -> None:
    """Brought to the model's size, in colour as it reads colours; the names of the folders are what it answers and
    reports.
    """
    mine = model(tmp_path, [8, 8, 3], 2)
    result = train(mine, str(photos), run=tmp_path / "run", progress=False)
    assert result.plan.shape == (8, 8, 3)
    assert result.plan.names == ("blue", "red")
    assert result.test.accuracy == 1.0
    assert "0 blue" in str(result.test)
    assert json.loads((tmp_path / "run" / "report.json").read_text())["names"] == ["blue", "red"]
    answers = predict(tmp_path / "run", sorted(photos.glob("*/0[0-3].*")))
    assert [getattr(answer, "name", "") for answer in answers] == ["blue"] * 4 + ["red"] * 4
    assert evaluate_run(tmp_path / "run")[0].accuracy == 1.0
    assert evaluate_run(tmp_path / "run", str(photos))[0].accuracy == 1.0
    assert resume(tmp_path / "run", progress=False).test.accuracy == 1.0


def test_the_model_and_the_recipe_decide_the_size(photos: Path, tmp_path: Path) -> None:
    for chosen, shape in (
        (model(tmp_path, [8, 10, 3], 2), (8, 10, 3)),
        (model(tmp_path, [9, 9, 1], 2), (9, 9, 1)),
        (recipe("resnet18").changed({"image": 40}), (40, 40, 3)),
        (recipe("resnet18"), (20, 30, 3)),
    ):
        assert samples_of(chosen, {"name": str(photos)}).x.shape[1:] == shape
    Image.fromarray(np.zeros((65, 10, 3), np.uint8)).save(photos / "blue" / "00.jpg")
    assert samples_of(recipe("resnet18"), {"name": str(photos)}).x.shape[1:] == (64, 64, 3), (
        "a photograph's own size is too large"
    )


def test_in_memory_or_from_files_to_the_same_bits(photos: Path, tmp_path: Path) -> None:
    """Also with changes of the images, several workers and a stop in between; and the run says which of
    the two it is.
    """
    settings = {
        "augment": ["RandomHorizontalFlip", {"type": "RandomCrop", "padding": 1}, {"type": "MixUp", "alpha": 0.3}],
        "balance": True,
        "validation": 0.2,
    }
    mine = model(tmp_path, [8, 8, 3], 2).changed(settings)
    whole = train(mine, load_data(str(photos), image=(8, 8, 3), stream=False), progress=False)
    files = load_data(str(photos), image=(8, 8, 3), stream=True)
    assert isinstance(files.x, ImageFiles)
    started = mine.changed({"workers": 3})
    train(started, files, run=tmp_path / "run", progress=False, time_limit=1e-9)
    plan = read_plan(tmp_path / "run")
    assert plan.data["stream"] == "true"
    assert [*plan.recipe.augment] == settings["augment"]
    assert isinstance(plan.samples().x, ImageFiles)
    resumed = resume(tmp_path / "run", progress=False)
    assert resumed.history.steps == whole.history.steps > 6
    for name, weights in whole.model.named_parameters().items():
        np.testing.assert_array_equal(resumed.model.named_parameters()[name], weights, err_msg=name)
    (photos / "red" / "01.png").write_bytes((photos / "red" / "05.png").read_bytes())
    with pytest.raises(DataError, match="must be what the run began with, got other training data"):
        resume(tmp_path / "run", progress=False)


@pytest.mark.parametrize("setting", [{"augment": "RandomVerticalFlip"}, {"augment": ["MixUp"]}, {"balance": True}])
def test_each_setting_is_used(photos: Path, tmp_path: Path, setting: dict[str, Any]) -> None:
    loaded = load_data(str(photos), image=(8, 8, 3))
    mine = model(tmp_path, [8, 8, 3], 2)
    plain, changed = (
        train(each, loaded, progress=False).model.named_parameters() for each in (mine, mine.changed(setting))
    )
    assert any(not np.array_equal(plain[name], changed[name]) for name in plain)


def test_large_folders_stay_in_their_files(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not isinstance(load_data(str(photos), image=(8, 8, 3)).x, ImageFiles)
    assert load_data(str(photos)).x.shape == (24, 20, 30, 1), "the size of the first, in grey, where nothing is said"
    monkeypatch.setattr(samples, "IN_MEMORY", 30 * 192 - 1)
    assert isinstance(load_data(str(photos), image=(8, 8, 3)).x, ImageFiles)


def test_a_validation_part_is_used_as_it_is(photos: Path, tmp_path: Path) -> None:
    root = tmp_path / "parts"
    for part, numbers in (("train", range(9)), ("valid", range(9, 12)), ("test", range(12, 15))):
        for kind in ("red", "blue"):
            (root / part / kind).mkdir(parents=True)
            for path in sorted((photos / kind).iterdir())[numbers.start : numbers.stop]:
                (root / part / kind / path.name).write_bytes(path.read_bytes())
    loaded = samples_of(model(tmp_path, [8, 8, 3], 2), {"name": str(root)})
    assert (len(loaded.x), len(loaded.test_x), loaded.validation) == (24, 6, 6)
    rows, held = loaded.split(0.1, seed=0)
    assert (rows.tolist(), held.tolist()) == (list(range(18)), list(range(18, 24)))
    assert [part.tolist() for part in loaded.split(0.0, seed=0)] == [list(range(24)), []], (
        "without an evaluation all is learned"
    )


def test_damaged_photographs(photos: Path, tmp_path: Path) -> None:
    (photos / "red" / "01.png").write_bytes((photos / "red" / "01.png").read_bytes()[:100])
    with pytest.raises(DataError, match=r"red.01\.png: must be a whole image"):
        train(model(tmp_path, [8, 8, 3], 2), str(photos), progress=False)
    loaded = load_data(str(photos), image=(8, 8, 3), skip_damaged=True)
    assert loaded.where.endswith("in colour, 1 damaged files left out")
    result = train(model(tmp_path, [8, 8, 3], 2), loaded, run=tmp_path / "run", progress=False)
    assert resume(tmp_path / "run", progress=False).test.accuracy == result.test.accuracy


# --- tables ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def flowers(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    lines = ["width,kind,height"]
    for kind, width in (("tulip", 2.0), ("rose", 6.0)):
        lines += [f"{width + rng.normal():.3f},{kind},{rng.normal():.3f}" for _ in range(30)]
    path = tmp_path / "flowers.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_from_a_table_to_a_prediction(flowers: Path, tmp_path: Path) -> None:
    loaded = load_tables(flowers, target="kind")
    assert (loaded.names, loaded.columns) == (("rose", "tulip"), ("width", "height"))
    assert (len(loaded.x), np.bincount(loaded.test_y).tolist()) == (48, [6, 6])
    result = train(model(tmp_path, [2], 2), loaded, run=tmp_path / "run", progress=False)
    assert result.test.accuracy > 0.9
    (tmp_path / "new.csv").write_text("height,note,width\n0.1,a,6.5\n0.1,b,1.5\n")
    answers = predict(tmp_path / "run", [tmp_path / "new.csv"])
    assert [getattr(answer, "name", "") for answer in answers] == ["rose", "tulip"], "columns are found by their names"
    (tmp_path / "some.csv").write_text("kind,height,width\ntulip,0.1,1.5\n")
    report, _ = evaluate_run(tmp_path / "run", str(tmp_path / "some.csv"))
    assert (report.accuracy, report.support.tolist()) == (1.0, [0, 1])  # type: ignore[union-attr]
    assert resume(tmp_path / "run", progress=False).test.accuracy == result.test.accuracy


def test_a_table_of_its_own_to_test(flowers: Path, tmp_path: Path) -> None:
    """Its columns may stand elsewhere, and it may have some of the classes only."""
    (tmp_path / "test.csv").write_text("height;kind;width\n0.1;tulip;1.5\n")
    loaded = load_tables(flowers, tmp_path / "test.csv", target="kind")
    assert (loaded.test_x.tolist(), loaded.test_y.tolist(), len(loaded.x)) == ([[1.5, pytest.approx(0.1)]], [1], 60)
    (tmp_path / "test.csv").write_text("height;kind;width\n0.1;lily;1.5\n")
    with pytest.raises(
        DataError, match="line 2, the target 'kind', must be one of the classes rose, tulip, got 'lily'"
    ):
        load_tables(flowers, tmp_path / "test.csv", target="kind")


def test_numbers_to_learn(flowers: Path, tmp_path: Path) -> None:
    with pytest.raises(
        DataError,
        match=r"the target 'kind' must be numbers, for a regression, got words, such as 'rose'; choose another",
    ):
        load_tables(flowers, task=Regression(), target="kind")
    numbers = tmp_path / "numbers.csv"
    numbers.write_text("x,y\n" + "\n".join(f"{x},{3 * x + 1}" for x in range(20)))
    mine = model(tmp_path, [1], 1).changed({"task": "regression", "epochs": 40})
    loaded = load_tables(numbers, task=Regression(), target="y")
    assert (loaded.x.dtype, loaded.y.dtype) == (np.float64, np.float64), "before they are scaled"
    result = train(mine, loaded, run=tmp_path / "run", progress=False)
    assert result.test.r2 > 0.9  # type: ignore[union-attr]
    assert (
        train(mine, loaded, source={"train": str(numbers), "target": "y"}, progress=False).test.headline
        == result.test.headline
    )


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow"])
def test_every_table_that_is_learned_is_read_for_predictions(ending: str, tmp_path: Path) -> None:
    """Without a target's name too: the first column is it, the others are the inputs."""
    x = np.arange(20.0)
    write_columns(tmp_path / f"t.{ending}", {"y": 3 * x + 1, "x": x})
    write_columns(tmp_path / f"new.{ending}", {"x": np.array([2.0, 7.0])})
    mine = model(tmp_path, [1], 1).changed({"task": "regression", "epochs": 12, "checkpoint_every": 99})
    mine = mine.changed({"optimizer": {"type": "SGD", "lr": 0.3}})
    train(mine, load_tables(tmp_path / f"t.{ending}", task=Regression()), run=tmp_path / "run", progress=False)
    answers: Any = predict(tmp_path / "run", [tmp_path / f"new.{ending}"])
    assert [answer.values[0] for answer in answers] == pytest.approx([7.0, 22.0], abs=0.1)


def write_columns(path: Path, columns: dict[str, Any]) -> None:
    if path.suffix in (".csv", ".tsv"):
        mark = "," if path.suffix == ".csv" else "\t"
        np.savetxt(path, np.column_stack([*columns.values()]), "%g", mark, header=mark.join(columns), comments="")
        return
    arrow: Any = pytest.importorskip("pyarrow")
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow.parquet").write_table(arrow.table(columns), path)
    else:
        pytest.importorskip("pyarrow.feather").write_feather(arrow.table(columns), path)


def test_settings_that_are_refused() -> None:
    for settings, message in (
        ({"augment": "Flip"}, "augment: must be one of RandomHorizontalFlip, "),
        ({"augment": 3}, "augment: must be a list of names and tables, got 3"),
        ({"balance": 1}, "balance must be true or false, got 1"),
        ({"balance": True, "task": "regression"}, "balance is of classes, got a regression"),
        ({"workers": 0}, "workers must be an integer of at least 1, got 0"),
        ({"image": 0}, "image must be an integer of at least 1, got 0"),
    ):
        with pytest.raises(ArgumentError, match=message):
            recipe("mlp").changed(settings)
    with pytest.raises(ArgumentError, match="augment changes images, got a language model"):
        recipe("gpt2").changed({"augment": "RandomCrop"})
