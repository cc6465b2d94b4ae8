"""ONNX files that read a table as it is and images as they are: run by ONNX's own reference and by ONNX Runtime, beside
the run's own answers and beside sums by hand.
"""

import csv
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx
from onnx.reference import ReferenceEvaluator

from typednn.data.encoding import Encoded, Encoding
from typednn.errors import ArgumentError
from typednn.exchange import Preprocessing, export_onnx
from typednn.exchange.onnx import preprocessing
from typednn.layer import Input
from typednn.layers import Conv2d, Linear
from typednn.random import PCG32
from typednn.recipes import choose, load_run, train
from typednn.recipes.predictor import Predictor

honest = preprocessing._one_hot
FIRST = date(1970, 1, 1)


def in_the_reference(path: Path) -> Callable[[dict[str, Any]], Any]:
    return lambda feeds: ReferenceEvaluator(onnx.load(str(path))).run(None, feeds)[0]


def in_onnx_runtime(path: Path) -> Callable[[dict[str, Any]], Any]:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(None, feeds)[0]


def houses(path: Path, count: int = 120) -> list[dict[str, str]]:
    """A table with words, dates, gaps in both kinds, and columns that are called x and id."""
    rng = np.random.default_rng(5)
    rows: list[dict[str, str]] = []
    for number in range(count):
        built = date.fromordinal(FIRST.toordinal() + int(rng.integers(-5000, 15000)))
        area, town = int(rng.integers(30, 200)), ["Graz", "Jena", "Ulm", ""][int(rng.integers(4))]
        price = f"{900 * area + 5000 * len(town)}"
        shown = "" if rng.random() < 0.1 else f"{area}"
        x = f"{rng.random():.3f}"
        rows.append({"id": f"{number}", "area": shown, "town": town, "built": f"{built}", "x": x, "price": price})
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)
    return rows


def feeds(rows: list[dict[str, str]]) -> dict[str, Any]:
    """As a program without typednn makes them."""

    def number(text: str) -> float:
        return float(text) if text else np.nan

    return {
        "area": np.array([[number(row["area"])] for row in rows]),
        "town": np.array([[row["town"]] for row in rows], object),
        "built": np.array([[float((date.fromisoformat(row["built"]) - FIRST).days)] for row in rows]),
        "x": np.array([[number(row["x"])] for row in rows]),
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    folder = tmp_path_factory.mktemp("houses")
    houses(folder / "houses.csv")
    recipe, samples = choose(str(folder / "houses.csv"), target="price")
    train(recipe.changed({"max_steps": 200}), samples, run=folder / "run", progress=False)
    return load_run(folder / "run")


def answered(run: Predictor, rows: list[dict[str, str]]) -> Any:
    asked = [{name: value for name, value in row.items() if name not in ("id", "price")} for row in rows]
    return np.array([answer.values for answer in run.predict(asked)])  # type: ignore[union-attr]


def agree(run: Predictor, path: Path, running: Callable[[Path], Callable[[dict[str, Any]], Any]]) -> None:
    """What a file answers, in the targets' units, is what the run answers; of one row as well."""
    rows = houses(path / "houses.csv")
    rows += [rows[0] | {"town": "Wien"}, rows[1] | {"area": "1000000"}]
    run_it = running(export_onnx(run.model, path / "run.onnx", preprocessing=run.preprocessing))
    expected = answered(run, rows)
    assert expected.std() > 1000  # the columns count
    for part in (slice(None), slice(1)):
        found = run_it(feeds(rows[part]))
        assert found.dtype == np.float64
        assert np.allclose(found, expected[part], rtol=0, atol=1e-5 * np.abs(expected).max())


def test_a_table_as_it_is(run: Predictor, tmp_path: Path) -> None:
    agree(run, tmp_path, in_the_reference)


@pytest.mark.parity
def test_a_table_as_it_is_in_onnx_runtime(run: Predictor, tmp_path: Path) -> None:
    agree(run, tmp_path, in_onnx_runtime)


def test_inputs_are_the_columns_that_are_used(run: Predictor, tmp_path: Path) -> None:
    """Under their names, each (batch, 1), with what they hold."""
    graph = onnx.load(str(export_onnx(run.model, tmp_path / "run.onnx", preprocessing=run.preprocessing))).graph
    heads = {each.name: (each.type.tensor_type.elem_type, each.doc_string) for each in graph.input}
    words, number = onnx.TensorProto.STRING, onnx.TensorProto.DOUBLE
    assert {name: kind for name, (kind, _) in heads.items()} == {
        "area": number, "town": words, "built": number, "x": number
    }  # fmt: skip
    assert "days since 1970-01-01" in heads["built"][1]
    assert [[size.dim_param or size.dim_value for size in each.type.tensor_type.shape.dim] for each in graph.input] == [
        ["batch", 1]
    ] * 4


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("other", [False, True])
def test_words_by_hand(gaps: bool, other: bool, tmp_path: Path) -> None:
    """A model of one weight for each column that a word becomes answers which column it was."""
    how = Encoded("town", "words", gaps=gaps, words=("Jena", "Ulm"), other=other)
    width = 2 + other + gaps
    model = Input(width) >> Linear(width, 1, rng=PCG32(0))
    model.load_state_dict({"0.weight": np.float32(2.0 ** np.arange(width)[None]), "0.bias": np.zeros(1, np.float32)})
    path = export_onnx(model, tmp_path / "m.onnx", preprocessing=Preprocessing(Encoding((how,))))
    words = np.array([["Jena"], ["Ulm"], ["Wien"], [""]], object)
    expected = [1, 2, 4 if other else 0, 2 ** (width - 1) if gaps else 0]
    assert in_the_reference(path)({"town": words}).ravel().tolist() == expected


def test_scaled_columns_and_targets_by_hand(tmp_path: Path) -> None:
    """Numbers of which float32 would lose the differences."""
    model = Input(2) >> Linear(2, 1, rng=PCG32(0))
    model.load_state_dict({"0.weight": np.float32([[1, 10]]), "0.bias": np.zeros(1, np.float32)})
    scaled = Preprocessing(None, (1e9, 5.0), (1.0, 2.0), (1e9,), (0.5,))
    path = export_onnx(model, tmp_path / "m.onnx", preprocessing=scaled)
    x = np.array([[1e9 + 3, 5.0], [1e9, 9.0]])
    assert in_the_reference(path)({"x": x}).tolist() == [[1e9 + 1.5], [1e9 + 10.0]]


@pytest.mark.parametrize("channels_first", [False, True])
def test_scaled_images(channels_first: bool, tmp_path: Path) -> None:
    model = Input(4, 3, 2) >> Conv2d(2, 3, 2, rng=PCG32(0))
    scaled = Preprocessing(None, 100.0, 50.0)
    path = export_onnx(model, tmp_path / "m.onnx", channels_first=channels_first, preprocessing=scaled)
    x = np.random.default_rng(0).uniform(0, 255, (5, 4, 3, 2)).astype(np.float32)
    expected = model.forward((x - 100) / 50)
    given = np.moveaxis(x, -1, 1) if channels_first else x
    found = in_the_reference(path)({"x": np.ascontiguousarray(given)})
    assert np.allclose(np.moveaxis(found, 1, -1) if channels_first else found, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["y", "0.weight"])
def test_a_column_with_a_name_that_is_taken(name: str, tmp_path: Path) -> None:
    how = Encoding((Encoded(name, "words", words=("a", "b")),))
    model = Input(2) >> Linear(2, 1, rng=PCG32(0))
    with pytest.raises(ArgumentError, match=f"a column's name differs from those of .*, got {name!r}; rename it"):
        export_onnx(model, tmp_path / "m.onnx", preprocessing=Preprocessing(how))
    assert not (tmp_path / "m.onnx").exists()


def test_a_file_that_encodes_otherwise_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is run before it has its name, with every word and with gaps."""
    how = Encoding((Encoded("town", "words", gaps=True, words=("Jena", "Ulm")),))
    model = Input(3) >> Linear(3, 1, rng=PCG32(0))
    monkeypatch.setattr(preprocessing, "_one_hot", lambda file, how: honest(file, replace(how, words=how.words[::-1])))
    with pytest.raises(ArgumentError, match="must give the model's own numbers"):
        export_onnx(model, tmp_path / "m.onnx", preprocessing=Preprocessing(how))
    assert not (tmp_path / "m.onnx").exists()
