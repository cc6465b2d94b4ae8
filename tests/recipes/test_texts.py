"""A recipe that reads texts: a folder per class, from training to a prediction."""

from pathlib import Path

import numpy as np
import pytest

from typednn.errors import ArgumentError, DataError
from typednn.recipes import load_data, recipe, resume, train
from typednn.recipes.using import evaluate_run, predict

pytestmark = pytest.mark.usefixtures("on_the_reference")


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Digits or letters, of several lengths: one class of each."""
    rng = np.random.default_rng(0)
    for part, count in (("train", 24), ("test", 8)):
        for name, letters in (("digits", "0123456789"), ("letters", "abcdefgh")):
            folder = tmp_path / "data" / part / name
            folder.mkdir(parents=True)
            for number in range(count):
                (folder / f"{number:02}.txt").write_text("".join(rng.choice(list(letters), rng.integers(5, 30))))
    return tmp_path / "data"


def test_from_training_to_a_prediction(texts: Path, tmp_path: Path) -> None:
    """The model gets the data's classes; a new text is told right; evaluation finds the same texts again."""
    short = recipe("lstm").changed({"epochs": 20, "batch_size": 16, "optimizer.lr": 0.02})
    result = train(short, str(texts), run=tmp_path / "run", progress=False)
    assert result.plan.names == ("digits", "letters")
    assert result.test.accuracy > 0.9
    (tmp_path / "new.txt").write_text("31415926535")
    (answer,) = predict(tmp_path / "run", [tmp_path / "new.txt"])
    assert answer.name == "digits"
    report, samples = evaluate_run(tmp_path / "run")
    assert report.accuracy == result.test.accuracy
    assert samples.x.dtype == np.int32
    assert resume(tmp_path / "run", progress=False).test.accuracy == result.test.accuracy


def test_refusals(texts: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ArgumentError, match="data 'data': resnet18 reads images, got texts; choose other data or another model"
    ):
        train(recipe("resnet18"), str(texts), progress=False)
    with pytest.raises(ArgumentError, match="data 'data': mlp reads numbers, got texts; such as typednn train lstm"):
        train(recipe("mlp"), str(texts), progress=False)
    with pytest.raises(ArgumentError, match=r"the model reads 128 numbers per sample, got 1 x 1 x 2"):
        train(recipe("lstm"), "spiral", progress=False)
    with pytest.raises(ArgumentError, match="expects a data set's name or a folder that exists, got 'texts'"):
        train(recipe("lstm"), progress=False)
    (texts / "test" / "letters").rename(texts / "test" / "words")
    with pytest.raises(
        DataError, match="train and test must have folders of the same names, got digits, letters and digits, words"
    ):
        load_data(str(texts))
