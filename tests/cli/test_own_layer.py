"""A layer of one's own that derives from nothing, named in a config: every command, each a process, in a folder like a
user's.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from tests.cli.conftest import CONFIG
from typednn.config.registry import LAYERS as LAYERS_KNOWN

Command = Callable[..., Any]

LAYERS = """\
from dataclasses import dataclass

import numpy as np
from typednn.config import register


@dataclass
class ScaleGrad:
    input: object
    weight: object


@register("Scale")
class Scale:
    def __init__(self, features: int, start: float = 1.0):
        self.out_features = features
        self.weight = np.full(features, start, np.float32)

    def forward(self, x):
        self.x = x
        return x * self.weight

    def backward(self, next_grad):
        return ScaleGrad(next_grad * self.weight, (next_grad * self.x).sum(axis=0))

    def update(self, optimizer, grad):
        optimizer.step(self.weight, grad.weight)
"""
SCALE = '[[layer]]\ntype = "Scale"\nname = "scale"\nfeatures = 8\nstart = 1.5\n\n'


@pytest.fixture
def folder(tmp_path: Path, files: Path) -> Iterator[Path]:
    """A config, a module with the layer, and two tables; what is registered here is forgotten afterwards."""
    (tmp_path / "my_layers.py").write_text(LAYERS)
    (tmp_path / "model.toml").write_text(
        CONFIG.replace('[[layer]]\ntype = "ReLU"\n\n', SCALE + '[[layer]]\ntype = "ReLU"\n\n')
    )
    for name in ("train.csv", "test.csv"):
        (tmp_path / name).write_text((files / name).read_text())
    before = dict(LAYERS_KNOWN)
    yield tmp_path
    sys.modules.pop("my_layers", None)
    LAYERS_KNOWN.clear()
    LAYERS_KNOWN.update(before)


def _weight(folder: Path) -> Any:
    step = max((folder / "checkpoints").iterdir(), key=lambda each: each.name)
    found = [safetensors.numpy.load_file(path) for path in sorted(step.glob("*.safetensors"))]
    return next(arrays["scale.weight"] for arrays in found if "scale.weight" in arrays)


def test_it_is_trained_resumed_used_and_exported(typednn: Command, folder: Path) -> None:
    """P-D1 P-D6: a class with forward, backward and update alone; the resumed run has the weights of the whole one, bit
    for bit.
    """
    train = ("train", "model.toml", "train.csv", "test.csv", "--import", "my_layers", "--epochs", "4", "-q")
    whole = typednn(*train, "--run", "whole")
    assert whole.returncode == 0, whole.stderr
    stopped = typednn(*train, "--run", "parts", "--time-limit", "0.000001")
    assert stopped.returncode == 0, stopped.stderr
    assert np.abs(_weight(folder / "parts") - _weight(folder / "whole")).max() > 0
    refused = typednn("resume", "parts", "-q")
    assert refused.returncode == 1
    assert (
        "parts/recipe.json: a run imports no code by itself, got layers of my_layers, not imported; if you trust"
        in refused.stderr
    )
    resumed = typednn("resume", "parts", "-q", "--import", "my_layers")
    assert resumed.returncode == 0, resumed.stderr
    assert np.array_equal(_weight(folder / "parts"), _weight(folder / "whole"))
    assert np.abs(_weight(folder / "whole") - 1.5).max() > 1e-3, "it learns"
    assert (
        'type = "Scale"\nname = "scale"\nfeatures = 8\nstart = 1.5\n' in (folder / "whole" / "config.toml").read_text()
    )
    report = json.loads((folder / "parts" / "report.json").read_text())
    assert report["accuracy"] > 0.9

    measured = typednn("eval", "parts", "--import", "my_layers")
    assert measured.returncode == 0, measured.stderr
    (folder / "rows.csv").write_text("2,0,0,1\n0,2,1,0\n-2,0,-1,-1\n")
    predicted = typednn("predict", "parts", "rows.csv", "--import", "my_layers")
    assert predicted.returncode == 0, predicted.stderr
    assert re.findall(r"^rows.csv\[\d\]  (\d)", predicted.stdout, re.MULTILINE) == ["0", "1", "2"]

    exported = typednn("export", "parts", "--to", "npz", "--output", "w.npz", "--import", "my_layers")
    assert exported.returncode == 0, exported.stderr
    with np.load(folder / "w.npz") as arrays:
        assert np.array_equal(arrays["scale.weight"], _weight(folder / "parts"))
    refused = typednn("export", "parts", "--to", "onnx", "--import", "my_layers")
    assert refused.returncode == 1
    assert "Traceback" not in refused.stderr
    assert 'layer "scale": must be made of layers and operations that can be traced, got Scale' in refused.stderr


def test_it_is_checked_and_counted(at_once: Command, folder: Path) -> None:
    """Printed with its arrays, and differentiated."""
    done = at_once("check", "model.toml", "--import", "my_layers")
    assert done.returncode == 0, done.stderr
    assert re.search(r"scale +Scale +weight \(8,\) +8\n", done.stdout)
    done = at_once("gradcheck", "model.toml", "--import", "my_layers")
    assert done.returncode == 0, done.stderr
    assert re.search(r"scale.weight +error .* over 8 coordinates", done.stdout)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            "self.weight",
            "self._weight",
            "Scale: a model counts and saves the arrays in its parts' fields, got an update of an array",
        ),
        (", np.float32)", ")", 'layer "scale": Scale.forward: the result must stay float32, got float64'),
        ("self.out_features = features", "pass", 'layer 1 "scale": Scale: a part of a Stack declares out_features'),
    ],
)
def test_what_is_wrong_with_it_is_one_line(at_once: Command, folder: Path, before: str, after: str, said: str) -> None:
    (folder / "my_layers.py").write_text(LAYERS.replace(before, after))
    done = at_once("train", "model.toml", "train.csv", "test.csv", "--import", "my_layers", "--run", "run", "-q")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert said in done.stderr
