"""typednn on images: a run on digits, and PNG, NPY and IDX files to be named."""

import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sample_run import PICTURES

from typednn.data import digits

Command = Callable[..., Any]


@pytest.fixture(scope="module")
def digit_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of digits, learned in two seconds."""
    pytest.importorskip("sklearn")
    from typednn.recipes import recipe, train

    folder = tmp_path_factory.mktemp("digits") / "run"
    train(recipe("mlp").changed({"epochs": 4}), "digits", run=folder, progress=False)
    return folder


@pytest.fixture(scope="module")
def image() -> tuple[Any, int]:
    """A test digit, light on dark."""
    pytest.importorskip("sklearn")
    data = digits()
    return data.test_images[3, :, :, 0], int(data.test_labels[3])


def test_png_either_way_round(typednn: Command, digit_run: Path, image: tuple[Any, int], tmp_path: Path) -> None:
    """Light on dark as MNIST is; dark on light is remarked upon, and turned over by --invert; any size and colour."""
    pillow = pytest.importorskip("PIL.Image")
    pixels, label = image
    light = pillow.fromarray(pixels.round().astype(np.uint8))
    light.save(tmp_path / "light.png")
    pillow.fromarray((255 - pixels).round().astype(np.uint8)).convert("RGB").resize((112, 112)).save(
        tmp_path / "dark.png"
    )
    done = typednn("predict", digit_run, "light.png")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"light.png[0]  {label}  ")
    assert done.stderr == ""
    assert "dark.png: looks dark on light" in typednn("predict", digit_run, "dark.png").stderr
    inverted = typednn("predict", digit_run, "dark.png", "--invert")
    assert inverted.stdout.startswith(f"dark.png[0]  {label}  ")
    assert inverted.stderr == ""


def test_arrays_and_idx(at_once: Command, digit_run: Path, image: tuple[Any, int], tmp_path: Path) -> None:
    pixels, label = image
    np.save(tmp_path / "two.npy", np.stack([pixels, pixels]))
    bytes_ = pixels.round().astype(np.uint8).tobytes()
    (tmp_path / "one-idx3-ubyte").write_bytes(struct.pack(">HBB3I", 0, 8, 3, 1, 28, 28) + bytes_)
    (tmp_path / "flat.csv").write_text(",".join(map(str, pixels.ravel().tolist())) + "\n", encoding="utf-8")
    done = at_once("predict", digit_run, "two.npy", "one-idx3-ubyte", "flat.csv")
    assert done.returncode == 0, done.stderr
    names = ["two.npy[0]", "two.npy[1]", "one-idx3-ubyte[0]", "flat.csv[0]"]
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [[name, str(label)] for name in names]


def test_a_folder_and_standard_input(at_once: Command, digit_run: Path, image: tuple[Any, int], tmp_path: Path) -> None:
    """Every image in a folder and below it, in order; and an image's bytes."""
    pillow = pytest.importorskip("PIL.Image")
    pixels, label = image
    light = pillow.fromarray(pixels.round().astype(np.uint8))
    (tmp_path / "photos" / "more").mkdir(parents=True)
    for name in ("b.png", "more/c.bmp", "a.png"):
        light.save(tmp_path / "photos" / name)
    done = at_once("predict", digit_run, "photos", "-", stdin=(tmp_path / "photos" / "a.png").read_bytes())
    assert done.returncode == 0, done.stderr
    names = ["photos/a.png[0]", "photos/b.png[0]", "photos/more/c.bmp[0]", "standard input[0]"]
    assert [line.split("  ")[:2] for line in done.stdout.splitlines()] == [[name, str(label)] for name in names]
    cut = at_once("predict", digit_run, "-", stdin=(tmp_path / "photos" / "a.png").read_bytes()[:60])
    assert cut.returncode == 1
    assert "predict: standard input: must be a whole image" in cut.stderr


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("bad.png", b"\x89PNG\r\n\x1a\n rubbish", "bad.png: "),
        ("text.png", b"hello", "text.png: must be a PNG, JPEG, GIF, BMP or WebP image"),
        ("small.csv", b"1,2,3\n", "small.csv: must hold images of 28 x 28 x 1"),
    ],
)
def test_bad_images(at_once: Command, digit_run: Path, tmp_path: Path, name: str, content: bytes, part: str) -> None:
    (tmp_path / name).write_bytes(content)
    done = at_once("predict", digit_run, name)
    assert done.returncode == 1
    assert part in done.stderr
    assert "Traceback" not in done.stderr


def test_folders_of_images(typednn: Command, tmp_path: Path) -> None:
    """A folder per class, below train and test: trained on, resumed, and the classes keep their names."""
    pillow = pytest.importorskip("PIL.Image")
    config = 'format = 1\ninput = [4, 4, 1]\n[[layer]]\ntype = "Flatten"\n'
    config += '[[layer]]\ntype = "Linear"\nin_features = 16\nout_features = 2\n'
    (tmp_path / "model.toml").write_text(config, encoding="utf-8")
    for part in ("train", "test"):
        for level, name in ((20, "dark"), (230, "light")):
            folder = tmp_path / "pictures" / part / name
            folder.mkdir(parents=True)
            for number in range(4):
                pillow.new("L", (4, 4), level + number).save(folder / f"{number}.png")
    done = typednn("train", "model.toml", "--data", "pictures", "--run", "run", "--epochs", "30", "-q")
    assert done.returncode == 0, done.stderr
    assert typednn("predict", "run", "pictures/test/light/0.png").stdout.startswith(
        "pictures/test/light/0.png[0]  light  "
    )
    assert typednn("resume", "run", "-q").returncode == 0


def test_pictures_when_they_are_asked_for(typednn: Command, digit_run: Path, tmp_path: Path) -> None:
    """`report` draws every picture from what the run kept, without its data; `--report` does so at the end of a
    training.
    """
    pytest.importorskip("matplotlib")
    assert not (digit_run / "plots").exists()
    shutil.copytree(digit_run, tmp_path / "kept")
    reported = typednn("report", "kept")
    trained = typednn("train", "mlp", "--data", "digits", "--epochs", "1", "--report", "--run", "drawn", "-q")
    for done, run in ((reported, "kept"), (trained, "drawn")):
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == str(Path(run, "report.html"))
        drawn = {path.name for path in (tmp_path / run / "plots").iterdir()}
        assert drawn == set(PICTURES) - {"filters.png"}, "this model has no filters"
