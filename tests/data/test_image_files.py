"""Folders of images that stay in their files: found, split, decoded by rows and by any number of threads."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn.data import ImageFiles, Loader, open_image_folder, read_image, split
from typednn.errors import ArgumentError, DataError
from typednn.random import PCG32

Image: Any = pytest.importorskip("PIL.Image")
PARTS = ("train", "val", "test")


def save(path: Path, value: int, size: tuple[int, int] = (9, 12)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.full((*size, 3), value, np.uint8)
    pixels[..., 1] = 7
    Image.fromarray(pixels).save(path, **({"quality": 95} if path.suffix == ".jpg" else {}))
    return path


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Two classes, eight and four photographs."""
    for number in range(8):
        save(tmp_path / "cats" / f"{number}.{'jpg' if number % 2 else 'png'}", 20 * number, (9 + number, 12))
    for number in range(4):
        save(tmp_path / "dogs" / f"{number}.png", 200 + number)
    return tmp_path


def test_one_folder_is_split_by_a_seed(photos: Path) -> None:
    """Of each class a quarter, which the seed decides; every file is in one part, with its class."""
    sets = open_image_folder(photos, size=4, test=0.25, seed=3)
    assert sets.names == ("cats", "dogs")
    assert (sets.validation_images, sets.validation_labels, sets.skipped) == (None, None, ())
    assert np.bincount(sets.train_labels).tolist() == [6, 3]
    assert np.bincount(sets.test_labels).tolist() == [2, 1]
    files = [*sets.train_images.paths, *sets.test_images.paths]
    assert sorted(files) == sorted(path for path in photos.rglob("*") if path.is_file())
    for path, label in zip(files, [*sets.train_labels, *sets.test_labels], strict=True):
        assert path.parent.name == sets.names[label]
    assert open_image_folder(photos, size=4, test=0.25, seed=3).test_images.paths == sets.test_images.paths
    others = {open_image_folder(photos, size=4, test=0.25, seed=seed).test_images.paths for seed in range(9)}
    assert len(others) > 3


@pytest.mark.parametrize("name", ["val", "valid", "validation"])
@pytest.mark.parametrize("tested", [True, False])
def test_parts_as_they_are(tmp_path: Path, name: str, tested: bool) -> None:
    for part in ("train", name, *(["test"] if tested else [])):
        for number in range(2 if part == "train" else 1):
            for kind in ("a", "b"):
                save(tmp_path / part / kind / f"{number}.png", 10)
    sets = open_image_folder(tmp_path)
    assert sets.train_images.shape == (4, 9, 12, 3)
    assert {path.parts[-3] for path in sets.test_images.paths} == ({"test"} if tested else {name})
    held = sets.validation_images
    assert (held is None) is not tested
    if held is not None:
        assert {path.parts[-3] for path in held.paths} == {name}
        assert sets.validation_labels is not None
        assert sets.validation_labels.tolist() == [0, 1]


def test_a_class_may_be_called_train(tmp_path: Path) -> None:
    for kind in ("train", "tram"):
        for number in range(3):
            save(tmp_path / kind / f"{number}.png", number)
    assert open_image_folder(tmp_path).names == ("train", "tram")


def test_indexed_like_an_array(photos: Path) -> None:
    """Whatever the index, what NumPy gives of all images decoded one by one."""
    images = open_image_folder(photos, size=(6, 5)).train_images
    every = np.stack([read_image(path, size=(6, 5), resize="crop", channels=3)[0] for path in images.paths]).astype(
        np.uint8
    )
    np.testing.assert_array_equal(np.asarray(images), every)
    assert (images.shape, images.dtype, images.ndim, len(images)) == (every.shape, np.uint8, 4, len(every))
    for rows in (
        slice(1, 4),
        slice(None, None, -2),
        np.array([3, 0, 3]),
        np.arange(len(every)) % 2 == 0,
        [1, -1],
        np.array([], np.int64),
    ):
        np.testing.assert_array_equal(images[rows], every[rows])
    np.testing.assert_array_equal(images[2], every[2])
    np.testing.assert_array_equal(images[np.int64(-1)], every[-1])
    np.testing.assert_array_equal(images.taken(np.array([4, 1]))[:], every[[4, 1]])
    np.testing.assert_array_equal(images.reshape(len(every), 90)[1:3], every[1:3].reshape(2, 90))
    assert np.asarray(images, np.float32).dtype == np.float32
    with pytest.raises(IndexError):
        images[99]
    with pytest.raises(ArgumentError, match="ImageFiles: images are indexed by rows, got tuple"):
        images[0, 1]
    with pytest.raises(ArgumentError, match=r"ImageFiles\.reshape: there are 9 images of \(6, 5, 3\), got \(9, 91\)"):
        images.reshape(9, 91)


def test_grey_where_the_model_reads_grey(photos: Path) -> None:
    images = open_image_folder(photos, size=6, channels=1).train_images
    assert images[:2].shape == (2, 6, 6, 1)
    last = read_image(images.paths[-1], size=6, resize="crop")
    np.testing.assert_array_equal(images[-1], last[0])


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_batches_of_files_are_those_of_arrays(photos: Path, workers: int) -> None:
    sets = open_image_folder(photos, size=6)

    def batches(x: Any, **settings: Any) -> list[Any]:
        some: Any = Loader(x, sets.train_labels, batch_size=4, rng=PCG32(1), **settings)
        return [(batch.x, batch.y) for _ in range(2) for batch in some.batches()]

    expected = batches(np.asarray(sets.train_images))
    for one, other in zip(batches(sets.train_images, workers=workers), expected, strict=True):
        assert one[0].dtype == np.uint8
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


# --- damage ---------------------------------------------------------------------------------------------------------


def test_a_damaged_file_is_named_or_left_out(photos: Path) -> None:
    whole = (photos / "cats" / "0.png").read_bytes()
    (photos / "cats" / "2.png").write_bytes(whole[: len(whole) // 2])
    sets = open_image_folder(photos, size=4)
    every = ImageFiles((*sets.train_images.paths, *sets.test_images.paths), (4, 4))
    some: Any = Loader(every, np.zeros(len(every), np.int64), batch_size=1, shuffle=False, workers=2)
    with pytest.raises(DataError, match=r"cats.2\.png: must be a whole image, got .*; save it anew"):
        list(some.batches())
    (photos / "dogs" / "readme.txt").write_text("not an image, but long enough to look")
    with pytest.raises(DataError, match=r"dogs.readme\.txt: must be a PNG, JPEG, GIF, BMP or WebP image"):
        open_image_folder(photos, size=4)
    kept = open_image_folder(photos, size=4, skip_damaged=True)
    assert [path.name for path in kept.skipped] == ["2.png", "readme.txt"]
    assert len(kept.train_images) + len(kept.test_images) == 11
    np.asarray(kept.train_images)


def test_folders_that_are_refused(tmp_path: Path, photos: Path) -> None:
    with pytest.raises(DataError, match="must hold a folder of images for each class, got no folder"):
        open_image_folder(photos / "cats")
    (photos / "cows").mkdir()
    with pytest.raises(DataError, match="each class must have images, got none in 'cows'"):
        open_image_folder(photos)
    (photos / "cows" / "a.png").write_bytes(b"no image, but long enough to be one")
    with pytest.raises(DataError, match="each class must have images, got none that can be read in 'cows'"):
        open_image_folder(photos, size=4, skip_damaged=True)
    for part, kinds in (("train", "ab"), ("test", "ac")):
        for kind in kinds:
            save(tmp_path / "apart" / part / kind / "a.png", 1)
    with pytest.raises(DataError, match="train and test must have folders of the same names, got a, b and a, c"):
        open_image_folder(tmp_path / "apart")
    for settings, message in (
        ({"channels": 4}, "open_image_folder: channels must be 1, grey, or 3, got 4"),
        ({"test": 1.0}, "open_image_folder: test must be"),
        ({"seed": -1}, "open_image_folder: seed must be"),
        ({"size": 0}, "open_image_folder: size must be"),
        ({"skip_damaged": 1}, "open_image_folder: skip_damaged must be True or False"),
    ):
        with pytest.raises(ArgumentError, match=message):
            open_image_folder(photos, **settings)  # type: ignore[arg-type]


def test_no_more_than_a_batch_is_in_memory(photos: Path) -> None:
    """What keeps the pixels is the batch, not the folder."""
    images = open_image_folder(photos, size=512).train_images
    assert isinstance(images, ImageFiles)
    assert sum(sys.getsizeof(getattr(images, name)) for name in images.__slots__) < 2000
    batch = next(iter(Loader(images, np.zeros(9, np.int64), batch_size=2, shuffle=False, prefetch=0).batches()))
    assert batch.x.nbytes == 2 * 512 * 512 * 3


def test_ctrl_c_ends_a_training_that_reads_files(photos: Path) -> None:
    """At once, with no thread left that keeps the process."""
    script = """if True:
        import sys, time
        import numpy as np
        from typednn.data import Loader, open_image_folder

        def slow(x):
            time.sleep(0.05)
            return x

        images = open_image_folder(sys.argv[1], size=8).train_images
        labels, rng = np.zeros(len(images), np.int64), np.random.default_rng(0)
        some = Loader(images, labels, batch_size=1, rng=rng, workers=3, transform=slow)
        while True:
            for batch in some.batches():
                print("batch", flush=True)
    """
    running = subprocess.Popen(
        [sys.executable, "-c", script, str(photos)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "batch\n"
    os.kill(running.pid, signal.SIGINT)
    start = time.monotonic()
    try:
        _, told = running.communicate(timeout=5)
    except subprocess.TimeoutExpired:  # Python drops what is raised while it takes an object apart, and says so
        os.kill(running.pid, signal.SIGINT)
        _, told = running.communicate(timeout=20)
        assert "Exception ignored in" in told
    assert time.monotonic() - start < 10
    assert "KeyboardInterrupt" in told
    assert running.returncode != 0


# --- split ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 2**40])
def test_a_split_is_stratified(seed: int) -> None:
    labels = np.random.default_rng(0).permutation(np.repeat([0, 1, 5, 9], [50, 10, 2, 1]))
    stay, apart = split(labels, 0.2, seed=seed)
    assert sorted([*stay, *apart]) == list(range(63))
    assert (np.diff(stay) > 0).all()
    assert (np.diff(apart) > 0).all()
    assert np.bincount(labels[apart], minlength=10)[[0, 1, 5, 9]].tolist() == [10, 2, 1, 0], (
        "at least one of two, and never the only one"
    )


def test_a_split_of_numbers() -> None:
    stay, apart = split(10, 0.3)
    assert (len(stay), len(apart)) == (7, 3)
    assert len({tuple(split(10, 0.3, seed=seed)[1]) for seed in range(20)}) > 10
    for labels, fraction, message in (
        (1, 0.2, "split: needs a class of at least two rows, got 1 rows; add samples"),
        (np.arange(3), 0.2, "needs a class of at least two rows"),
        (10, 1.0, "split: fraction must be"),
        (np.zeros(3), 0.2, r"labels are integers \(n\), or their number n"),
        ("ab", 0.2, "split: labels must be an integer"),
    ):
        with pytest.raises(ArgumentError, match=message):
            split(labels, fraction)  # type: ignore[arg-type]
