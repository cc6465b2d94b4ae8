"""A run as an object: loaded once, it answers what a program has in memory as it answers files."""

import copy
import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trained_runs
from hypothesis import given
from hypothesis import strategies as st

import typednn
from typednn.cli import main
from typednn.data import read_inputs
from typednn.errors import ArgumentError, ConfigError, DataError, TypednnError
from typednn.html import png
from typednn.models import generate
from typednn.recipes import Predictor, evaluate_run, load_run, predict
from typednn.recipes.rows import rows_of

pytestmark = pytest.mark.usefixtures("on_the_reference")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def houses(place: Path, on_the_reference: None) -> Predictor:
    return load_run(trained_runs.table(place))


@pytest.fixture(scope="module")
def kinds(place: Path, on_the_reference: None) -> Predictor:
    return load_run(trained_runs.table(place, "classification"))


@pytest.fixture(scope="module")
def pictures(place: Path, on_the_reference: None) -> Predictor:
    return load_run(trained_runs.images(place))


@pytest.fixture(scope="module")
def texts(place: Path, on_the_reference: None) -> Predictor:
    return load_run(trained_runs.texts(place))


@pytest.fixture(scope="module")
def speaker(place: Path, on_the_reference: None) -> Predictor:
    return load_run(trained_runs.language(place))


def by_hand(predictor: Predictor, rows: Any) -> Any:
    """The outputs of an mlp, by NumPy alone, from its weights and the scaling."""
    first, first_bias, second, second_bias = predictor.model.state_dict().values()
    x = (np.asarray(rows, np.float64) - predictor.scaling.mean) / predictor.scaling.deviation
    return np.maximum(x @ first.T + first_bias, 0) @ second.T + second_bias


def shares(scores: Any) -> Any:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def test_of_a_table(houses: Predictor, kinds: Predictor, tmp_path: Path) -> None:
    """By name in any order, by place, as an array: what NumPy computes from the weights, and what the file gives."""
    rows = [[95.0, 1990], [40.5, 1911], [149.0, 2019]]
    named = [
        {
            "year": year,
            "area": area,
        }
        for area, year in rows
    ]
    scaled = by_hand(houses, rows)
    wanted = scaled * houses.plan.targets.deviation + houses.plan.targets.mean
    (tmp_path / "new.csv").write_text("year,area\n" + "".join(f"{year:g},{area}\n" for area, year in rows))
    from_file = houses.predict_files(tmp_path / "new.csv")
    for data in (rows, named, np.array(rows), [tuple(row) for row in rows], [np.array(row) for row in rows]):
        answers = houses.predict(data)
        np.testing.assert_allclose([answer.values for answer in answers], wanted, rtol=1e-5)
        assert [answer.values for answer in answers] == [answer.values for answer in from_file]
    for one in (named[1], rows[1]):  # alone it is rounded otherwise than among others
        (answer,) = houses.predict(one)
        assert answer.values == pytest.approx(from_file[1].values, rel=1e-5)
    assert houses.predict({"area": "95.0", " year ": True})[0].values == houses.predict([95, 1])[0].values
    answers = kinds.predict(named)
    np.testing.assert_allclose(
        [[*answer.probabilities.values()] for answer in answers], shares(by_hand(kinds, rows)), rtol=1e-4, atol=1e-6
    )
    assert (kinds.names, kinds.columns) == (("large", "small"), ("area", "year"))
    assert answers[0].name in kinds.names


@given(
    rows=st.lists(
        st.lists(st.floats(-1e30, 1e30) | st.integers(-(2**60), 2**60) | st.booleans(), min_size=3, max_size=3),
        min_size=1,
        max_size=5,
    ),
    order=st.permutations(["a", "b", "c"]),
)
def test_rows_are_the_matrix(rows: list[list[Any]], order: list[str]) -> None:
    wanted = np.array(rows, np.float64)
    np.testing.assert_array_equal(rows_of("here", rows, (), 3), wanted)
    named = [{name: row["abc".index(name)] for name in order} for row in rows]
    np.testing.assert_array_equal(rows_of("here", named, ("a", "b", "c"), 3), wanted)
    np.testing.assert_array_equal(rows_of("here", wanted, ("a", "b", "c"), 3), wanted)


def test_of_images(pictures: Predictor, tmp_path: Path) -> None:
    """As an array of one or of several, as lists, as rows, as the bytes of a file, as a file, in a folder."""
    pixels = np.random.default_rng(1).integers(0, 256, (3, 28, 28, 1), dtype=np.uint8)
    mean, deviation = pictures.scaling.mean, pictures.scaling.deviation
    wanted = shares(by_hand(pictures, pixels.reshape(3, -1)))
    assert isinstance(mean, float)
    assert isinstance(deviation, float)
    (tmp_path / "deeper" / "still").mkdir(parents=True)
    files = [tmp_path / "a.png", tmp_path / "deeper" / "b.PNG", tmp_path / "deeper" / "still" / "c.png"]
    for path, image in zip(files, pixels, strict=True):
        path.write_bytes(png(image))
    (tmp_path / "deeper" / "notes.txt").write_text("no image")
    (tmp_path / ".hidden.png").write_bytes(b"no image")
    np.save(tmp_path / "all.npy", pixels)
    from_folder = pictures.predict_files(tmp_path)
    assert [answer.file for answer in from_folder] == [str(path) for path in files]
    one_by_one = [answer.probabilities for path in files for answer in predict(pictures.folder, [path])]
    assert [answer.probabilities for answer in from_folder] == one_by_one
    for data in (pixels, pixels[..., 0], pixels.tolist(), pixels.reshape(3, -1).tolist()):
        found = np.array([[*answer.probabilities.values()] for answer in pictures.predict(data)])
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    for image, path in zip(pixels, files, strict=True):
        assert pictures.predict(path.read_bytes())[0].probabilities == pictures.predict_files(path)[0].probabilities
        assert len(pictures.predict(image[..., 0])) == 1
    assert "looks dark on light" in pictures.predict(png(255 - 0 * pixels[0]))[0].remark
    inverted = read_inputs(files[0], resize=True, invert=True)
    assert (
        pictures.predict(files[0].read_bytes(), invert=True)[0].probabilities
        == pictures.predict(inverted)[0].probabilities
    )


def test_of_texts(texts: Predictor, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_bytes("3141ö".encode())
    (from_file,) = texts.predict_files(tmp_path / "new.txt")
    assert texts.predict("3141ö")[0].probabilities == from_file.probabilities
    assert texts.predict(["3141ö", "abc"])[0].name == from_file.name
    for wrong in ("", [], [b"a"], 7, None, ["a", ""]):
        with pytest.raises(DataError, match="predict: data are a text, or a list of texts, got"):
            texts.predict(wrong)
    with pytest.raises(DataError, match="a folder holds images, got a model of text; name its files"):
        texts.predict_files(tmp_path)


def test_of_a_language(speaker: Predictor, capsys: pytest.CaptureFixture[str], place: Path) -> None:
    """What `typednn.models.generate` draws, and what the command prints."""
    model, vocabulary = speaker.speaker()
    tokens = generate(model, vocabulary.encode("12: ")[None], 20, rng=np.random.default_rng(3))
    assert speaker.generate("12: ", 20, seed=3) == vocabulary.decode(tokens[0])
    assert (
        main(["generate", str(place / "language"), "--prompt", "12: ", "--max-tokens", "20", "--seed", "3", "-q"]) == 0
    )
    assert capsys.readouterr().out == speaker.generate("12: ", 20, seed=3) + "\n"
    greedy = generate(model, vocabulary.encode("1")[None], 5, temperature=0)
    assert speaker.generate("1", 5, temperature=0) == vocabulary.decode(greedy[0])
    for call in (lambda: speaker.predict("12"), lambda: speaker.predict_files("x.txt")):
        with pytest.raises(ArgumentError, match="predict labels inputs, got a language model; typednn generate RUN"):
            call()
    with pytest.raises(ArgumentError, match="prompt: a text begins with a prompt"):
        speaker.generate()


def test_it_is_loaded_once(houses: Predictor, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is read again: the folder may be gone."""
    run = shutil.copytree(houses.folder, tmp_path / "run")
    predictor = typednn.load(run)
    assert isinstance(predictor, Predictor)
    assert not predictor.model.training
    shutil.rmtree(run)
    assert predictor.predict([95, 1990])[0].values == houses.predict([95, 1990])[0].values
    with pytest.raises(FrozenInstanceError):
        predictor.step = 3  # type: ignore[misc]


def test_load_is_of_runs_and_of_files(houses: Predictor, tmp_path: Path) -> None:
    houses.model.save(tmp_path / "model.safetensors")
    model: Any = typednn.load(str(tmp_path / "model.safetensors"))
    x = np.ones((1, 2), np.float32)
    np.testing.assert_array_equal(model.eval().forward(x), houses.model.forward(x))
    assert typednn.load(tmp_path / "model.safetensors", model) is model
    with pytest.raises(ConfigError, match=r"must be a run folder, with recipe\.json"):
        typednn.load(tmp_path)
    with pytest.raises(DataError, match="must be a readable file, got No such file"):
        typednn.load(tmp_path / "nothing")
    with pytest.raises(ArgumentError, match="path must be the name of a file or folder, got None"):
        typednn.load(None)  # type: ignore[call-overload]


def test_what_it_computes_with_is_what_eval_measures(kinds: Predictor) -> None:
    """The report on the test part is that of the predictions for it."""
    report, samples = evaluate_run(kinds.folder)
    labels = [answer.label for answer in kinds.predict(samples.test_x)]
    assert report.accuracy == np.mean(np.array(labels) == samples.test_y)


def test_several_threads(pictures: Predictor) -> None:
    pixels = np.random.default_rng(2).integers(0, 256, (40, 28, 28, 1))
    alone = [pictures.predict(image)[0].probabilities for image in pixels]
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(lambda image: pictures.predict(image)[0].probabilities, pixels))
    assert alone == together


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"area": 95}, r"row 1, column 'year' must be a finite number, got nothing; give each column a number"),
        ([{"area": 95, "year": None}], "row 1, column 'year' must be a finite number, got nothing"),
        ([[1, 2], {"area": 1, "yaer": 2}], "row 2 must have the columns area, year, got 'yaer'; did you mean 'year'"),
        ([[1, 2], [3]], "row 2 must hold 2 numbers: area, year, got 1; leave the target out"),
        ([[1, 2], 3], "row 2 must be a list of 2 numbers, or a dict by the columns' names, got int"),
        ([[1, "x"]], "row 1, column 'year' must be a finite number, got 'x'"),
        ([1, "nan"], "row 1, column 'year' must be a finite number, got 'nan'"),
        ([1, float("nan")], "row 1, column 'year' must be a finite number, got nan"),
        ([1, 10**400], "row 1, column 'year' must be a finite number, got 1000"),
        ([1, 1e39], r"row 1, column 'year' must be a finite number, got 1e\+39"),
        ([1, [2]], r"row 1, column 'year' must be a finite number, got \[2\]"),
        ([1, 2j], "row 1, column 'year' must be a finite number, got 2j"),
        ([[1, 2], np.array([1.0, np.inf])], "row 2, column 'year' must be a finite number, got"),
        (np.array([[1, 2], [3, np.inf]]), "row 2, column 2 must be a finite number, got inf"),
        (np.zeros((2, 3)), r"rows of 2 numbers, got float64 of shape \(2, 3\); leave the target out"),
        (np.zeros((0, 2)), r"rows of 2 numbers, got float64 of shape \(0, 2\)"),
        (np.array(["a", "b"]), "rows of 2 numbers, got <U1"),
        (np.array(7.0), "rows of 2 numbers, got float64"),
        ([], "data are rows of 2 numbers: .*, got none"),
        ({}, "row 1, column 'area' must be a finite number, got nothing"),
        (None, "data are rows of 2 numbers: .*, got NoneType"),
        ("houses.csv", r"got str; predict_files\(path\) reads a file"),
        (b"1,2", "data are rows of 2 numbers: .*, got bytes"),
        ([[[1, 2]]], r"row 1 must hold 2 numbers: area, year, got 1"),
    ],
)
def test_rows_that_are_none(houses: Predictor, data: object, message: str) -> None:
    before = copy.deepcopy(data)
    with pytest.raises(DataError, match=message):
        houses.predict(data)
    assert str(before) == str(data)


def test_a_data_frame(houses: Predictor) -> None:
    """Its columns may stand in another order than the model's: they are named, or it is refused."""

    class Frame:
        columns = ("year", "area")

    with pytest.raises(DataError, match=r"got Frame; of a data frame df\.to_dict\('records'\)"):
        houses.predict(Frame())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("seven.png", r"got a str; predict_files\(path\) reads files"),
        (b"", "0 bytes: must be a PNG, JPEG, GIF, BMP or WebP image, got a file that begins with nothing"),
        (b"GIF89a" + bytes(30), "36 bytes: "),
        (np.zeros((27, 28)), r"must hold images of 28 x 28 x 1, or rows of 784 numbers, got shape \(27, 28\)"),
        (np.full((28, 28), np.nan), "data must hold finite numbers, got NaN or infinity"),
        (np.full((28, 28), 1e39), "data must hold finite numbers, got NaN or infinity"),
        ([[1, 2], [3]], "or the bytes of a file, got setting an array element with a sequence"),
        ({"a": 1}, "or the bytes of a file, got float"),
        ([10**400], "or the bytes of a file, got int too large"),
        (None, "data must hold finite numbers, got NaN or infinity"),
    ],
)
def test_images_that_are_none(pictures: Predictor, data: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        pictures.predict(data)


def test_folders_that_are_refused(pictures: Predictor, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"must hold images \(\.png, .*\), got none"):
        pictures.predict_files(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "out.png").write_bytes(png(np.zeros((28, 28, 1), np.uint8)))
    (tmp_path / "in" / "loop").symlink_to(tmp_path / "in")
    (tmp_path / "in" / "a.png").write_bytes(png(np.zeros((28, 28, 1), np.uint8)))
    assert [Path(answer.file).name for answer in pictures.predict_files(tmp_path / "in")] == ["a.png"]
    (tmp_path / "in" / "b.png").symlink_to(tmp_path / "out.png")
    with pytest.raises(DataError, match=r"b\.png: must lie within .*, got a link to"):
        pictures.predict_files(tmp_path / "in")


def test_how_it_is_shown(houses: Predictor, pictures: Predictor, texts: Predictor, speaker: Predictor) -> None:
    expected: list[tuple[Predictor, str]] = [
        (houses, "mlp, regression, reads rows of 2 numbers: area, year"),
        (pictures, "mlp, classification, reads images of 28 x 28 x 1"),
        (texts, "lstm, classification, reads texts of up to 128 bytes"),
        (speaker, "gpt2, language, reads texts of up to 8 tokens"),
    ]
    for predictor, words in expected:
        assert repr(predictor) == f"<Predictor {predictor.folder}: {words}>"
        html = predictor._repr_html_()
        assert html.startswith("<div")
        assert words.partition("reads ")[2] in html
    assert json.loads(json.dumps(houses.predict([1, 2])[0].as_json())) == {
        "values": list(houses.predict([1, 2])[0].values)
    }


@pytest.mark.parametrize("name", ["texts", "houses", "kinds", "pictures"])
def test_only_a_language_model_writes(name: str, request: pytest.FixtureRequest) -> None:
    predictor: Any = request.getfixturevalue(name)
    calls: list[Callable[[], object]] = [predictor.generate, predictor.speaker]
    for call in calls:
        with pytest.raises(TypednnError, match="must be the run of a language model, got a"):
            call()
