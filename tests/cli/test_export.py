"""typednn export, on a run that `typednn train` made and on files of ``model.save``."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from onnx.reference import ReferenceEvaluator

from typednn import Input, load
from typednn.data import read_token_table, train_tokenizer
from typednn.engines import available, using
from typednn.exchange import load_bin, load_json
from typednn.layers import Linear
from typednn.models import GPT2, lenet5, read_gpt_c, save_gpt2
from typednn.recipes.predictor import load_run

Command = Callable[..., Any]


def _refused(done: Any, *parts: str) -> None:
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    for part in parts:
        assert part in done.stderr


def test_a_run_in_every_format(at_once: Command, trained: tuple[Path, Any], tmp_path: Path) -> None:
    """Named as the run; what is in the file is the run's model, in an ONNX file with what comes before it."""
    run = load_run(trained[0])
    model: Any = run.model
    x = np.random.default_rng(0).standard_normal((3, 4), np.float32)
    expected = model.eval().forward(x)
    names = {
        "onnx": "model-1.onnx",
        "torch": "model-1.torch.safetensors",
        "npz": "model-1.npz",
        "typednn": "model-1.safetensors",
    }
    for to, name in names.items():
        done = at_once("export", trained[0], "--to", to)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"{name}\n"
        assert done.stderr.startswith("the model reads scaled numbers: (x - [") == (to != "onnx")
    unscaled = x * np.array(run.scaling.deviation) + np.array(run.scaling.mean)
    found = ReferenceEvaluator(str(tmp_path / names["onnx"])).run(None, {"x": unscaled})[0]
    assert np.abs(found - expected).max() < 1e-5
    loaded: Any = load(tmp_path / names["typednn"])
    assert np.array_equal(loaded.eval().forward(x), expected)
    with np.load(tmp_path / names["npz"]) as arrays:
        assert np.array_equal(arrays["fc1.weight"], model["fc1"].weight)
    assert np.array_equal(safetensors.numpy.load_file(tmp_path / names["torch"])["fc2.weight"], model["fc2"].weight)


def test_scaled_numbers_are_told(at_once: Command, trained: tuple[Path, Any], tmp_path: Path) -> None:
    """With them the file's model answers as `typednn predict` does."""
    plan = load_run(trained[0]).plan
    done = at_once("export", trained[0], "--to", "npz", "--weights", "best", "--output", tmp_path / "folder" / "w.npz")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "folder" / "w.npz").is_file()
    numbers = re.fullmatch(r"the model reads scaled numbers: \(x - \[(.*)\]\) / \[(.*)\]\n", done.stderr)
    assert numbers is not None
    mean, deviation = ([float(number) for number in group.split(", ")] for group in numbers.groups())
    assert mean == pytest.approx(plan.scaling.mean, rel=1e-5)
    assert deviation == pytest.approx(plan.scaling.deviation, rel=1e-5)


def test_scaled_answers_are_told(at_once: Command, tmp_path: Path) -> None:
    """Of a regression, whose targets are scaled: the told numbers bring the model's answers to the targets' units."""
    x = np.random.default_rng(0).standard_normal((40, 2))
    rows = [f"{1000 + 500 * a:.3f},{a:.4f},{b:.4f}" for a, b in x]
    (tmp_path / "table.csv").write_text("\n".join(["price,a,b", *rows]))
    run = at_once(
        "train", "--data", "table.csv", "--target", "price", "--task", "regression", "--epochs", "2", "--run", "r", "-q"
    )
    assert run.returncode == 0, run.stderr
    done = at_once("export", "r", "--to", "typednn", "--output", "m.safetensors")
    told = re.search(r"the model answers in scaled numbers: y \* (\S+) \+ (\S+) has the targets' units", done.stderr)
    scaled = re.search(r"\(x - \[(.*)\]\) / \[(.*)\]", done.stderr)
    assert told is not None
    assert scaled is not None
    mean, deviation = (np.array(group.split(", "), np.float32) for group in scaled.groups())
    model: Any = load(tmp_path / "m.safetensors")
    y = model.eval().forward(((x[:3] - mean) / deviation).astype(np.float32))[:, 0] * float(told[1]) + float(told[2])
    np.savetxt(tmp_path / "new.csv", x[:3], delimiter=",", header="a,b", comments="")
    answers = [
        json.loads(line)["values"][0] for line in at_once("predict", "r", "new.csv", "--json").stdout.splitlines()
    ]
    np.testing.assert_allclose(y, answers, rtol=1e-4)


def test_a_file(at_once: Command, tmp_path: Path) -> None:
    model = lenet5(rng=np.random.default_rng(0))
    model.save(tmp_path / "digits.safetensors")
    done = at_once("export", "digits.safetensors", "--to", "onnx", "--channels-first")
    assert (done.returncode, done.stdout, done.stderr) == (0, "digits.onnx\n", "")
    x = np.random.default_rng(0).standard_normal((3, 1, 28, 28), np.float32)
    found = ReferenceEvaluator(str(tmp_path / "digits.onnx")).run(None, {"x": x})[0]
    assert np.abs(found - model.eval().forward(np.moveaxis(x, 1, -1))).max() < 1e-5


def test_mistakes(at_once: Command, tmp_path: Path, trained: tuple[Path, Any]) -> None:
    (Input(4) >> Linear(4, 3)).init(np.random.default_rng(0)).save(tmp_path / "m.safetensors")
    before = (tmp_path / "m.safetensors").read_bytes()
    _refused(
        at_once("export", "none.safetensors", "--to", "npz"),
        "none.safetensors: must be a readable file, got No such file",
    )
    _refused(at_once("export", tmp_path, "--to", "npz"), "typednn export: ")
    _refused(
        at_once("export", "m.safetensors", "--to", "typednn"),
        "--output: must be another file than the model's own, got m.safetensors",
    )
    _refused(
        at_once("export", "m.safetensors", "--to", "npz", "--weights", "best"),
        "--weights: chooses between the weights of a run, got m",
    )
    _refused(
        at_once("export", "m.safetensors", "--to", "npz", "--channels-first"),
        "--channels-first: is the layout of images in ONNX, got --to npz",
    )
    shutil.copytree(trained[0], tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    _refused(at_once("export", "run", "--to", "npz"), "typednn export: ")
    assert at_once("export", "m.safetensors", "--to", "tflite").returncode == 2
    assert at_once("export", "m.safetensors").returncode == 2
    assert (tmp_path / "m.safetensors").read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["m.safetensors", "run"]


@pytest.mark.skipif(not shutil.which("cc") or not available(), reason="needs Halide and a C compiler")
def test_to_c(at_once: Command, trained: tuple[Path, Any], tmp_path: Path) -> None:
    """The library of a run computes the run's model; names of classes, and what it scales, are in its texts."""
    run = load_run(trained[0])
    done = at_once("export", trained[0], "--to", "c", "--batch", "2", "--output", tmp_path / "lib")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{tmp_path / 'lib'}\n"
    told = [line for line in done.stderr.splitlines() if line.startswith("the model reads scaled numbers: (x - [")]
    assert len(told) == 1
    assert f"- {told[0]}\n" in (tmp_path / "lib" / "README.md").read_text()
    subprocess.run(["make", "-s"], cwd=tmp_path / "lib", check=True)
    x = np.random.default_rng(0).standard_normal((2, 4), np.float32)
    printed = subprocess.run([tmp_path / "lib" / "example"], input=x.tobytes(), capture_output=True, check=True).stdout
    model: Any = run.model
    with using("kernels"):
        expected = model.eval().forward(x)
    assert np.array_equal(np.array(printed.split(), np.float32).reshape(expected.shape), expected)
    _refused(
        at_once("export", trained[0], "--to", "npz", "--batch", "2"), "--batch: is for a C library, got --to npz; leave"
    )
    _refused(at_once("export", trained[0], "--to", "onnx", "--target", "avx2"), "--target: is for a C library, got ")


@pytest.mark.parity
def test_to_pytorch(at_once: Command, trained: tuple[Path, Any], tmp_path: Path) -> None:
    import torch

    done = at_once("export", trained[0], "--to", "torch", "--output", "m.pt")
    assert done.returncode == 0, done.stderr
    peer = torch.nn.Sequential()
    for name, layer in (("fc1", torch.nn.Linear(4, 8)), ("relu", torch.nn.ReLU()), ("fc2", torch.nn.Linear(8, 3))):
        peer.add_module(name, layer)
    peer.load_state_dict(torch.load(tmp_path / "m.pt", weights_only=True))
    x = np.random.default_rng(0).standard_normal((3, 4), np.float32)
    assert np.abs(peer(torch.from_numpy(x)).detach().numpy() - load_run(trained[0]).model.forward(x)).max() < 1e-5


def test_a_gpt2_for_gpt_c(at_once: Command, tmp_path: Path) -> None:
    """G-C8, G-C9, G-F3: Hugging Face's folder as gpt.c's files, those as NumPy's, and a file of ``model.save``."""
    tokenizer, model = train_tokenizer(["the the"], 258), GPT2(258, 6, 8, 1, 2, rng=np.random.default_rng(0))
    save_gpt2(model, tmp_path / "hf")
    tokenizer.save(tmp_path / "hf")
    done = at_once("export", "hf", "--to", "gpt.c", "--output", "model.bin")
    assert (done.returncode, done.stdout, done.stderr) == (0, "model.bin\nmodel.tokenizer.bin\n", "")
    read, steps = read_gpt_c(tmp_path / "model.bin")
    assert steps == 0
    assert all(np.array_equal(array, read.named_parameters()[name]) for name, array in model.named_parameters().items())
    table, end = read_token_table(tmp_path / "model.tokenizer.bin")
    assert (table, end) == (tuple(tokenizer.bytes_of(token) for token in range(258)), tokenizer.vocab["<|endoftext|>"])
    assert at_once("export", "model.bin", "--to", "npz").returncode == 0
    with np.load(tmp_path / "model.npz") as arrays:
        assert np.array_equal(arrays["0.h.copies.0.c_fc.weight"], model.h.copies[0].c_fc.weight)  # type: ignore[attr-defined]
    assert at_once("export", "model.bin", "--to", "typednn").returncode == 0
    done = at_once("export", "model.safetensors", "--to", "gpt.c", "--output", "again.bin")
    assert (done.returncode, done.stdout) == (0, "again.bin\n")
    assert (
        done.stderr == "no table of tokens was written: it needs the model's vocabulary, got none beside the weights\n"
    )
    assert (tmp_path / "again.bin").read_bytes() == (tmp_path / "model.bin").read_bytes()
    (Input(2) >> Linear(2, 1)).init(np.random.default_rng(0)).save(tmp_path / "linear.safetensors")
    _refused(
        at_once("export", "linear.safetensors", "--to", "gpt.c"),
        "--to gpt.c: is for a GPT-2, got linear.safetensors, which is another",
    )
    _refused(
        at_once("export", "hf", "--to", "gpt.c", "--weights", "best"),
        "--weights: chooses between the weights of a run, got hf",
    )


def test_a_gpt2_of_the_hub(at_once: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As generate reads it; without --output the file is called as the repository."""
    pytest.importorskip("huggingface_hub")
    model = GPT2(258, 6, 8, 1, 2, rng=np.random.default_rng(0))
    snapshot = tmp_path / "cache" / "0123456789abcdef"
    save_gpt2(model, snapshot)
    train_tokenizer(["the the"], 258).save(snapshot)
    asked: list[tuple[str, str | None]] = []
    monkeypatch.setattr(
        "huggingface_hub.snapshot_download",
        lambda name, *, revision, **_: asked.append((name, revision)) or str(snapshot),
    )
    done = at_once("export", "hf://ann/small@v1.5", "--to", "gpt.c")
    assert (done.returncode, done.stdout, done.stderr) == (0, "small.bin\nsmall.tokenizer.bin\n", "")
    read, _ = read_gpt_c(tmp_path / "small.bin")
    assert all(np.array_equal(array, read.named_parameters()[name]) for name, array in model.named_parameters().items())
    done = at_once("export", "hf://ann/small", "--to", "npz", "--output", "w.npz")
    assert (done.returncode, done.stdout) == (0, "w.npz\n"), done.stderr
    assert asked == [("ann/small", "v1.5"), ("ann/small", None)]


def test_json_and_raw_numbers(at_once: Command, trained: tuple[Path, Any], tmp_path: Path) -> None:
    """Z-Y3: of a run; read back they are its numbers."""
    model: Any = load_run(trained[0]).model
    for to, name, read in (("json", "model-1.json", load_json), ("bin", "model-1.params.bin", load_bin)):
        done = at_once("export", trained[0], "--to", to)
        assert (done.returncode, done.stdout) == (0, f"{name}\n"), done.stderr
        fresh: Any = load_run(trained[0]).model
        fresh.init(np.random.default_rng(5))
        again = read(tmp_path / name, fresh.as_chain())
        assert [array.tobytes() for array in again.state_dict().values()] == [
            array.tobytes() for array in model.state_dict().values()
        ]
    _refused(
        at_once("export", trained[0], "--to", "gpt.c"), "must be the run of a language model, got a classification"
    )
