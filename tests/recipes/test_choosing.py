"""choose: a recipe for data of one's own, and what it learns from them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn.errors import ArgumentError, DataError
from typednn.recipes import choose, evaluate_run, load_tables, predict, recipe, recipe_of_config, resume, train
from typednn.recipes.choosing import chosen, is_table
from typednn.recipes.plan import plan_for, read_plan
from typednn.recipes.samples import Scaling
from typednn.tasks import Classification

COLORS = {"blue": (40, 40, 200), "green": (40, 190, 60), "red": (200, 40, 40)}


def write_houses(path: Path, rows: int = 400, seed: int = 0) -> Any:
    """price = 2500·area + 600·(year - 1900) + noise; columns of unlike sizes. Gives price, area, year."""
    rng = np.random.default_rng(seed)
    area, year = rng.uniform(30, 150, rows), rng.integers(1900, 2020, rows)
    price = 2500 * area + 600 * (year - 1900) + rng.normal(0, 5000, rows)
    lines = [f"{a!r},{y},{p!r}" for a, y, p in zip(area.tolist(), year.tolist(), price.tolist(), strict=True)]
    path.write_text("\n".join(["area,year,price", *lines]) + "\n")
    return np.column_stack([price, area, year])


def write_towns(path: Path, rows: int = 300, seed: int = 0) -> None:
    """Three towns, told apart by two numbers."""
    rng = np.random.default_rng(seed)
    towns = rng.choice(["Graz", "Jena", "Ulm"], rows)
    x = {"Graz": (0, 900), "Jena": (4, 900), "Ulm": (0, 1300)}
    lines = [f"{x[t][0] + rng.normal(0, 0.5):.3f},{t},{x[t][1] + rng.normal(0, 50):.1f}" for t in towns]
    path.write_text("\n".join(["east,town,south", *lines]) + "\n")


def write_photos(folder: Path, size: tuple[int, int] = (12, 16), each: int = 10, ending: str = "jpg") -> None:
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    for name, color in COLORS.items():
        (folder / name).mkdir(parents=True)
        for number in range(each):
            pixels = np.clip(np.array(color) + rng.normal(0, 20, (*size, 3)), 0, 255).astype(np.uint8)
            image.fromarray(pixels).save(folder / name / f"{number}.{ending}")


def test_a_regression_from_named_columns(tmp_path: Path) -> None:
    """As good as the noise allows, in the units of the table; a prediction takes the columns by name, in any order."""
    rows = write_houses(tmp_path / "houses.csv")
    one, samples = choose(str(tmp_path / "houses.csv"), target="price")
    assert (one.name, one.task, one.loss, samples.columns) == ("mlp", "regression", "mse", ("area", "year"))
    assert (len(samples.x), len(samples.test_x)) == (320, 80)
    result = train(one.changed({"max_steps": 600}), samples, run=tmp_path / "run", progress=False)
    assert result.test.mae < 7000, "the noise's is 4000"  # type: ignore[union-attr]
    (tmp_path / "new.csv").write_text("year,area\n2000,100\n1910,50\n")
    answers = predict(tmp_path / "run", [tmp_path / "new.csv"])
    wanted = [2500 * 100 + 600 * 100, 2500 * 50 + 600 * 10]
    assert [answer.values[0] for answer in answers] == pytest.approx(wanted, abs=8000)  # type: ignore[union-attr]
    whole, _ = evaluate_run(tmp_path / "run", str(tmp_path / "houses.csv"))
    assert whole.samples == len(rows)  # type: ignore[union-attr]
    plan = read_plan(tmp_path / "run")
    learned = np.column_stack([samples.y, samples.x]).astype(np.float64)
    np.testing.assert_allclose(plan.targets.mean, learned[:, 0].mean(), rtol=1e-6)
    np.testing.assert_allclose(plan.scaling.deviation, learned[:, 1:].std(axis=0), rtol=1e-6)
    again = resume(tmp_path / "run", progress=False)
    assert (again.steps, again.test) == (0, result.test)


def test_settings_stand_above_what_the_data_decide(tmp_path: Path) -> None:
    write_houses(tmp_path / "houses.csv")
    path, settings = str(tmp_path / "houses.csv"), {"epochs": 3, "batch_size": 7, "seed": 5, "optimizer.lr": 0.25}
    one, samples = choose(path, target="price", settings=settings)
    assert (one.epochs, one.least_steps, one.batch_size, one.seed) == (3, 0, 7, 5)
    assert (one.optimizer["lr"]["lr"], one.task) == (0.25, "regression")
    np.testing.assert_array_equal(samples.test_x, choose(path, target="price", seed=5)[1].test_x)
    assert not np.array_equal(samples.test_x, choose(path, target="price")[1].test_x)
    # of two values of the target, which may be labels or numbers
    (tmp_path / "two.csv").write_text("y,a\n" + "".join(f"{place % 2},{place}\n" for place in range(60)))
    two = str(tmp_path / "two.csv")
    assert choose(two)[0].task == "classification"
    assert choose(two, settings={"task": "regression"})[0].task == "regression"
    with pytest.raises(ArgumentError, match="did you mean 'epochs'"):
        choose(str(tmp_path / "missing.csv"), recipe("mlp"), settings={"epoch": 3})  # before anything is read


def test_words_are_classes(tmp_path: Path) -> None:
    write_towns(tmp_path / "towns.csv")
    one, samples = choose(str(tmp_path / "towns.csv"), target="town")
    assert (one.task, samples.names) == ("classification", ("Graz", "Jena", "Ulm"))
    result = train(one.changed({"max_steps": 200}), samples, run=tmp_path / "run", progress=False)
    assert result.test.accuracy > 0.95  # type: ignore[union-attr]
    assert "2 Ulm" in str(result.test)
    (tmp_path / "new.csv").write_text("south,east\n1300,0\n900,4\n")
    assert [answer.name for answer in predict(tmp_path / "run", [tmp_path / "new.csv"])] == ["Ulm", "Jena"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("column", "task"),
    [
        ("0 1 1 0 1 0", "classification"),
        ("1 2 3 1 2 3", "classification"),
        ("0 2 4 0 2 4", "regression"),
        ("0.5 1 0 1 0 1", "regression"),
        ("-1 0 1 0 1 0", "regression"),
        ("5 5 5 5 5 5", "regression"),
        ("a b a b a b", "classification"),
    ],
)
def test_the_task_is_what_the_target_holds(tmp_path: Path, column: str, task: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("t,x\n" + "".join(f"{value},{row}\n" for row, value in enumerate(column.split())))
    assert choose(str(path), target="t")[0].task == task


def test_two_tables_and_a_config(tmp_path: Path) -> None:
    """A config keeps its model and its optimizer; only the task follows the target."""
    write_houses(tmp_path / "train.csv")
    write_houses(tmp_path / "test.csv", 20, seed=1)
    text = 'format = 1\ninput = [2]\n\n[[layer]]\ntype = "Linear"\nin_features = 2\nout_features = 1\n'
    text += '\n[optimizer]\ntype = "Adam"\nlr = 0.05\n'
    (tmp_path / "line.toml").write_text(text)
    mine = recipe_of_config(tmp_path / "line.toml")
    one, samples = choose([str(tmp_path / "train.csv"), str(tmp_path / "test.csv")], mine, target="price")
    assert (one.task, one.optimizer, one.batch_size) == ("regression", mine.optimizer, mine.batch_size)
    assert (len(samples.x), len(samples.test_x)) == (400, 20)
    assert train(one.changed({"max_steps": 200}), samples, progress=False).test.r2 > 0.98  # type: ignore[union-attr]


@pytest.mark.parametrize("size", [(12, 16), (100, 70)])
def test_photos(tmp_path: Path, size: tuple[int, int]) -> None:
    """Classes, colours and size from the folder; large photos become 64 x 64. Few get a small network, or of a deep
    one that is asked for small batches with a smaller rate.
    """
    write_photos(tmp_path / "photos", size, each=5)
    one, samples = choose(str(tmp_path / "photos"))
    assert (one.name, samples.names) == ("cnn", tuple(COLORS))
    assert one.patience, "it ends early"
    assert one.augment, "images are changed at random"
    assert samples.x.shape == (12, *(size if max(size) <= 64 else (64, 64)), 3)
    deep, _ = choose(str(tmp_path / "photos"), recipe("resnet18"))
    assert (deep.batch_size, deep.optimizer["lr"]["lr"]) == (32, 0.1 * 32 / 128)
    plan = plan_for(one, samples, samples.source)
    model: Any = plan.model_config().built()
    assert model.children
    assert plan.recipe.sample == samples.x.shape[1:]
    assert list(model.children())[-1][1].out_features == 3
    assert max(samples.split(one.validation, 0, one.stratify)[1]) < 12


def test_photos_for_a_model_of_its_own_size(tmp_path: Path) -> None:
    """mlp reads 28 x 28 in grey; it learns the colours' brightness, and eval of another folder knows
    classes by name.
    """
    write_photos(tmp_path / "photos")
    one, samples = choose(str(tmp_path / "photos"), recipe("mlp"))
    assert samples.x.shape[1:] == (28, 28, 1)
    result = train(
        one.changed({"max_steps": 150, "batch_size": 4, "validation": 0.0}),
        samples,
        run=tmp_path / "run",
        progress=False,
    )
    assert result.test.accuracy == 1.0  # type: ignore[union-attr]
    write_photos(tmp_path / "others", each=4)
    for part in (tmp_path / "others" / "blue").iterdir():
        part.unlink()
    (tmp_path / "others" / "blue").rmdir()
    report, others = evaluate_run(tmp_path / "run", str(tmp_path / "others"))
    assert (len(others.test_x), report.accuracy) == (8, 1.0), "all of it, not the fifth that training would keep apart"  # type: ignore[union-attr]
    (tmp_path / "others" / "red").rename(tmp_path / "others" / "pink")
    with pytest.raises(DataError, match="the run knows the classes blue, green, red, got pink"):
        evaluate_run(tmp_path / "run", str(tmp_path / "others"))


@pytest.mark.parametrize(
    ("name", "labels"), [("lenet5", (0, 9)), ("lenet5-paper", (3, 4)), ("mlp", (0, 1)), ("mlp", (10115, 90210))]
)
def test_rows_of_pixels(tmp_path: Path, name: str, labels: tuple[int, int]) -> None:
    """MNIST as a table. lenet5 has its ten outputs, of which labels up to 9 are its own; mlp has as many as there are
    classes.
    """
    rows = [[labels[row % 2], *([250 * (row % 2)] * 784)] for row in range(40)]
    np.savetxt(tmp_path / "t.csv", rows, "%d", ",")
    one, samples = choose(str(tmp_path / "t.csv"), recipe(name), task="classification")
    assert samples.x.shape == (32, 784)
    assert set(samples.y.tolist()) == set(labels if name != "mlp" else (0, 1))
    result = train(one.changed({"max_steps": 1, "batch_size": 8}), samples, progress=False)
    assert [*result.model.parameter_shapes().values()][-1] == (2 if name == "mlp" else 10,)


@pytest.mark.parametrize(("data", "name"), [("digits", "lenet5"), ("spiral", "mlp")])
def test_sets_of_a_name(data: str, name: str) -> None:
    pytest.importorskip("sklearn")
    assert choose(data)[0].name == name


def test_what_was_chosen_in_words(tmp_path: Path) -> None:
    write_houses(tmp_path / "houses.csv")
    one, samples = choose(str(tmp_path / "houses.csv"), target="price")
    told = (
        "2 columns to one number; AdamW, lr 0.003 under CosineLR, batches of 32, 223 epochs, 2,007 steps; "
        "inputs and targets standardised"
    )
    assert chosen(one, samples) == told


def test_tables_by_their_endings(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    assert [is_table(name) for name in ("a.csv", "b.PARQUET", "c.toml", "mnist", str(tmp_path / "folder.csv"))] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_what_is_refused(tmp_path: Path) -> None:
    write_houses(tmp_path / "houses.csv", 30)
    write_towns(tmp_path / "towns.csv", 30)
    (tmp_path / "whole.csv").write_text("area,x\n" + "".join(f"{row},1\n" for row in range(300)))
    with pytest.raises(
        DataError,
        match=r"'area' repeats a few labels, got 300 different numbers in 300 rows; learn them with --task regression",
    ):
        choose(str(tmp_path / "whole.csv"), target="area", task="classification")
    with pytest.raises(
        DataError, match="the target 'town' must be numbers, for a regression, got words, such as 'Graz'"
    ):
        choose(str(tmp_path / "towns.csv"), target="town", task="regression")
    with pytest.raises(DataError, match="must have one column 'prize', got 'area', 'year', 'price'"):
        choose(str(tmp_path / "houses.csv"), target="prize")
    with pytest.raises(ArgumentError, match="takes a name, a folder, a table or two tables"):
        choose(["digits", "spiral"])
    with pytest.raises(ArgumentError, match="--target: names a column of a table, got data 'digits'"):
        choose("digits", target="label")


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_scaling_of_columns(rows: int) -> None:
    """Each column by its own mean and deviation; one of equal numbers is only moved."""
    x = np.column_stack([np.arange(rows) * 1e6, np.full(rows, 3.0), np.arange(rows) * 1e-6]).astype(np.float32)
    scaled = Scaling.of_columns(x)(x)
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-6)
    np.testing.assert_allclose(scaled.std(axis=0), [rows > 1, 0, rows > 1], atol=1e-5)
    with pytest.raises(ArgumentError, match="must be finite"):
        Scaling.of_columns(np.array([[1.0], [np.inf]]))


def write_codes(path: Path, codes: tuple[int, ...], rows: int = 60) -> None:
    """Postcodes, told apart by a number; in the order of ``codes``, again and again."""
    rng = np.random.default_rng(0)
    lines = [f"{codes[row % len(codes)]},{4 * (row % len(codes)) + rng.normal(0, 0.3):.3f}" for row in range(rows)]
    path.write_text("\n".join(["code,x", *lines]) + "\n")


@pytest.mark.parametrize("codes", [(0, 3000), (90210, 10115), (2147483647, 7, 0), (1, 2, 3)])
def test_the_classes_that_occur_are_numbered(tmp_path: Path, codes: tuple[int, ...]) -> None:
    """As many outputs as classes; plan, report and predictions have the table's labels, and so have other tables and
    resumed runs.
    """
    write_codes(tmp_path / "codes.csv", codes)
    one, samples = choose(str(tmp_path / "codes.csv"), target="code", task="classification")
    names = tuple(map(str, sorted(codes)))
    assert (samples.names, samples.classes) == (names, len(codes))
    assert sorted(set(samples.y.tolist())) == list(range(len(codes)))
    assert samples.told.endswith(f"the target 'code': whole numbers, {len(codes)} classes: {', '.join(names)}")
    result = train(one.changed({"max_steps": 150}), samples, run=tmp_path / "run", progress=False)
    assert [*result.model.parameter_shapes().values()][-1] == (len(codes),)
    assert result.test.accuracy == 1.0  # type: ignore[union-attr]
    assert all(name in str(result.test) for name in names)
    (tmp_path / "new.csv").write_text("x\n" + "".join(f"{4 * place}\n" for place in range(len(codes))))
    answers: Any = predict(tmp_path / "run", [tmp_path / "new.csv"])
    assert [answer.name for answer in answers] == [str(code) for code in codes]
    assert all(list(answer.probabilities) == list(names) for answer in answers)
    (tmp_path / "some.csv").write_text(f"x;code\n{4 * (len(codes) - 1)},0;{codes[-1]}\n")
    report: Any = evaluate_run(tmp_path / "run", str(tmp_path / "some.csv"))[0]
    assert (report.accuracy, int(report.support.sum())) == (1.0, 1)
    (tmp_path / "some.csv").write_text("x,code\n1,5\n")
    with pytest.raises(DataError, match=r"the target 'code' must be one of the classes .*, got 5 in line 2"):
        evaluate_run(tmp_path / "run", str(tmp_path / "some.csv"))
    assert str(resume(tmp_path / "run", progress=False).test) == str(result.test)


def test_labels_of_a_model_whose_outputs_are_written_down(tmp_path: Path) -> None:
    """Labels below its outputs are its own; as many others are numbered; any more are refused with their line."""
    text = 'format = 1\ninput = [1]\n\n[[layer]]\ntype = "Linear"\nin_features = 1\nout_features = 3\n'
    (tmp_path / "model.toml").write_text(text)
    mine = recipe_of_config(tmp_path / "model.toml").changed({"max_steps": 2})
    for codes, names, labels in (((0, 2), (), [0, 2]), ((5, 70, 9), ("5", "9", "70"), [0, 1, 2])):
        write_codes(tmp_path / "codes.csv", codes)
        _, samples = choose(str(tmp_path / "codes.csv"), mine, target="code", task="classification")
        assert (samples.names, sorted(set(samples.y.tolist()))) == (names, labels)
        result = train(mine, samples, run=tmp_path / f"run-{len(codes)}", progress=False)
        assert str(resume(tmp_path / f"run-{len(codes)}", progress=False).test) == str(result.test)
    write_codes(tmp_path / "codes.csv", (0, 3))
    with pytest.raises(
        DataError,
        match=r"codes\.csv: the target 'code', labels must be 0 to 2, as the model gives 3 numbers, got 3 in line 3",
    ):
        choose(str(tmp_path / "codes.csv"), mine, target="code", task="classification")


def test_a_surplus_output_has_a_name_of_its_own() -> None:
    """Three outputs of two classes whose names are numbers: no probability is lost, and none has a wrong name."""
    answers = Classification(("0", "2")).answers("a", np.array([[0.0, 1.0, 5.0]]), "")
    assert answers[0].name == "output 2"
    assert list(answers[0].probabilities) == ["0", "2", "output 2"]
    assert "output 2" in str(Classification(("0", "2")).report(np.eye(3), np.array([0, 1, 1])))


def test_words_of_which_most_occur_once_are_refused(tmp_path: Path) -> None:
    """200 prices in the way of another country are no 150 classes, unless one says so."""
    path = tmp_path / "prices.csv"
    path.write_text("price,x\n" + "".join(f"EUR {row % 150},{row}\n" for row in range(200)))
    with pytest.raises(
        DataError,
        match="target 'price' repeats a few labels, got 150 different words in 200 rows, such as 'EUR 0'; if they are",
    ):
        choose(str(path), target="price")
    assert len(choose(str(path), target="price", task="classification")[1].names) == 150
    path.write_text("price;x\n" + "".join(f"{row % 150},5;{row}\n" for row in range(200)))
    one, samples = choose(str(path), target="price")
    assert (one.task, samples.y.min(), samples.y.max()) == ("regression", 0.5, 149.5)


@pytest.mark.parametrize("rows", [33, 65])
def test_one_row_more_than_the_batches(tmp_path: Path, rows: int) -> None:
    """A network with batch normalisation trains on it, and with drop_last, whose steps are those of the
    whole batches.
    """
    text = 'format = 1\ninput = [1]\n[[layer]]\ntype = "Linear"\nin_features = 1\nout_features = 3\n'
    text += (
        '[[layer]]\ntype = "BatchNorm1d"\nnum_features = 3\n[[layer]]\ntype = "Linear"\nin_features = '
        "3\nout_features = 2\n"
    )
    (tmp_path / "model.toml").write_text(text)
    for name, count in (("train.csv", rows), ("test.csv", 10)):
        write_codes(tmp_path / name, (0, 1), count)
    mine = recipe_of_config(tmp_path / "model.toml").changed({"batch_size": 32, "epochs": 3})
    samples = load_tables(tmp_path / "train.csv", tmp_path / "test.csv", target="code")
    for settings in ({}, {"drop_last": True}):
        result = train(mine.changed(settings), samples, run=tmp_path / f"run{len(settings)}", progress=False)
        assert result.history.steps == 3 * (rows // 32)
        again = resume(tmp_path / f"run{len(settings)}", progress=False)
        assert read_plan(tmp_path / f"run{len(settings)}").recipe.drop_last == bool(settings)
        assert str(again.test) == str(result.test)
    with pytest.raises(ArgumentError, match="needs rows for one whole batch"):
        train(mine.changed({"drop_last": True, "batch_size": 100}), samples, run=tmp_path / "none", progress=False)
    assert not (tmp_path / "none").exists()
