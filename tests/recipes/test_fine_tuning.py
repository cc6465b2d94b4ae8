"""Only the last layers learn, from weights of a run, of a file in PyTorch's names, or of a folder."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from typednn.errors import ArgumentError
from typednn.models import resnet18, resnet50
from typednn.models.resnet import torchvision_names
from typednn.recipes import Samples, recipe, resume, train
from typednn.recipes.catalogue import starting_from
from typednn.recipes.choosing import learning
from typednn.recipes.plan import read_plan
from typednn.runs import Run

pytestmark = pytest.mark.usefixtures("on_the_reference")


def pictures(side: int = 8, classes: int = 3) -> Samples:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (24, side, side, 3)).astype(np.uint8), np.arange(24) % classes
    x[y == 0] //= 2
    return Samples("pictures", "here", x[:16], y[:16], x[16:], y[16:], tuple("abcde"[:classes]))


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Samples:
    """The data of the runs, where they look for them again."""
    samples = pictures()
    monkeypatch.setattr("typednn.recipes.plan.samples_of", lambda *_: samples)
    return samples


def small(**more: Any) -> Any:
    settings = {"epochs": 2, "batch_size": 8, "augment": [], "patience": None, "validation": 0.0}
    return recipe("cnn").changed({**settings, **more})


def test_only_the_last_layer_learns(found: Samples, tmp_path: Path) -> None:
    """Weights and running statistics of the layers before are those of the run that it starts from, to the bit."""
    first = train(small(), found, run=tmp_path / "first", progress=False)
    begun = small(freeze=-1, weights=str(tmp_path / "first"))
    second = train(begun, pictures(classes=5), run=tmp_path / "second", progress=False)
    before, after = first.model.state_dict(), second.model.state_dict()
    assert {name for name in after if before[name].shape != after[name].shape} == {"fc.weight", "fc.bias"}
    for name in after.keys() - {"fc.weight", "fc.bias"}:
        np.testing.assert_array_equal(after[name], before[name], err_msg=name)
    assert np.abs(after["bn1.running_mean"]).max() > 0
    saved = Run.open(tmp_path / "second", lock=False)
    model = read_plan(tmp_path / "second").model_config().built()
    saved.load_weights(model, "latest")
    np.testing.assert_array_equal(model.state_dict()["bn4.running_var"], before["bn4.running_var"])
    assert starting_from(str(tmp_path / "second")).freeze == 0, "another training says anew what it freezes"


@pytest.mark.parametrize("freeze", [-1, 3])
def test_resumed_to_the_same_bits(found: Samples, tmp_path: Path, freeze: int) -> None:
    one = small(freeze=freeze)
    whole = train(one, found, run=tmp_path / "whole", progress=False)
    train(one, found, run=tmp_path / "run", progress=False, time_limit=1e-9)
    assert json.loads((tmp_path / "run" / "recipe.json").read_text())["recipe"]["freeze"] == freeze
    resumed = resume(tmp_path / "run", progress=False)
    assert resumed.steps > 0
    for name, array in whole.model.state_dict().items():
        np.testing.assert_array_equal(resumed.model.state_dict()[name], array, err_msg=name)


def test_what_learns_is_told(found: Samples) -> None:
    total = recipe("cnn").changed({}).model(classes=3, image=(8, 8, 3)).num_parameters()
    last = 3 * 128 + 3
    told = f"fc, {last:,} parameters; frozen: the layers before, {total - last:,} parameters"
    assert learning(small(freeze=-1), found) == told


@pytest.mark.parametrize("freeze", [9, -9])
def test_nothing_would_learn(found: Samples, tmp_path: Path, freeze: int) -> None:
    """Before a folder is made."""
    with pytest.raises(ArgumentError, match=r"of 9 layers with parameters one learns at least, got -?9"):
        train(small(freeze=freeze), found, run=tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists()
    with pytest.raises(ArgumentError, match="freeze must be an integer, got 'fc'"):
        small(freeze="fc")


# ------------------------------------------------------------------ torchvision's names


def published(place: Path, model: Any) -> dict[str, Any]:
    """A file of random weights of ``model`` as torchvision's users save them; its arrays."""
    rng, names = np.random.default_rng(1), torchvision_names(model)
    arrays: dict[str, Any] = {}
    for own, array in model.init(rng).state_dict().items():
        layer, _, name = own.rpartition(".")
        values = rng.uniform(0.5, 1.5, array.shape).astype(array.dtype) if array.ndim < 2 else array
        values = np.moveaxis(values, -1, 1) if values.ndim == 4 else values
        arrays[f"{names.get(layer, layer)}.{name}"] = np.ascontiguousarray(values)
    safetensors.numpy.save_file(arrays, place, {"format": "pt"})
    return arrays


def test_a_file_in_torchvisions_names(tmp_path: Path) -> None:
    """Names as torchvision writes them; all but the head is read, batch norms' statistics too; also from a folder."""
    arrays = published(tmp_path / "model.safetensors", resnet18(5, image=(64, 64, 3)))
    assert {"conv1.weight", "bn1.running_mean", "layer1.0.conv1.weight", "layer2.0.downsample.1.bias"} <= arrays.keys()
    assert {"layer4.1.bn2.num_batches_tracked", "fc.weight"} <= arrays.keys()
    assert "layer1.0.downsample.0.weight" not in arrays
    samples = pictures(64)
    for place in (tmp_path / "model.safetensors", tmp_path):
        one = recipe("resnet18").changed({"max_steps": 1, "batch_size": 4, "validation": 0.0, "freeze": -1})
        state = train(one.changed({"weights": str(place)}), samples, progress=False).model.state_dict()
        np.testing.assert_array_equal(state["stem.1.running_var"], arrays["bn1.running_var"])
        np.testing.assert_array_equal(state["2.residual.shortcut.1.bias"], arrays["layer2.0.downsample.1.bias"])
        last = np.moveaxis(arrays["layer4.1.conv2.weight"], 1, -1)
        np.testing.assert_array_equal(state["7.residual.inner.3.weight"], last)
        assert state["fc.weight"].shape == (3, 512)


def test_weights_that_do_not_fit(tmp_path: Path) -> None:
    """One error that says which, and what to do; before anything is written."""
    published(tmp_path / "resnet18.safetensors", resnet18(5, image=(64, 64, 3)))
    published(tmp_path / "resnet50.safetensors", resnet50(5, image=(64, 64, 3)))
    (tmp_path / "empty").mkdir()
    for name, side, message in (
        (
            "resnet18.safetensors",
            32,
            r"'conv1.weight' has shape \(64, 3, 7, 7\), .*; a model of images below 64 .*image=224",
        ),
        ("resnet50.safetensors", 64, r"'layer1.0.conv1.weight' has shape .*; and \d+ more; start from weights"),
        ("empty", 64, r"a folder with model.safetensors, got a folder without"),
        ("nowhere", 64, "got no such file or folder"),
    ):
        one = recipe("resnet18").changed({"weights": str(tmp_path / name), "max_steps": 1})
        with pytest.raises(ArgumentError, match=message):
            train(one, pictures(side), run=tmp_path / "run", progress=False)
        assert not (tmp_path / "run").exists()
    with pytest.raises(ArgumentError, match="is for the model that is named, got no model; such as --model resnet18"):
        starting_from(str(tmp_path / "resnet18.safetensors"))
