"""P-E1: MNIST, from the real files where they are and from small ones everywhere."""

import hashlib
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from small_data import write_small_mnist as write_small

from typednn.data import Pixels, find_mnist, mnist, mnist_pixels
from typednn.data.dataset import moments
from typednn.errors import ArgumentError, DataError


def test_real_mnist(data_dir: Path) -> None:
    """P-E1: 60,000 and 10,000 images; mean 33.318 and deviation 78.567 in float64; the training pixels are the original
    ones.
    """
    folder = data_dir / "mnist" if (data_dir / "mnist").is_dir() else data_dir
    data = mnist(folder)
    assert data.train_images.shape == (60000, 28, 28, 1)
    assert data.test_images.shape == (10000, 28, 28, 1)
    assert data.train_images.dtype == np.float32
    np.testing.assert_allclose(moments(data.train_images), (33.318, 78.567), atol=1e-3)
    np.testing.assert_array_equal(
        np.bincount(data.test_labels), [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    )
    original = struct.pack(">HBB3I", 0, 8, 3, 60000, 28, 28) + data.train_images.astype(np.uint8).tobytes()
    assert hashlib.md5(original, usedforsecurity=False).hexdigest() == "6bbc9ace898e44ae57da46a324031adb"
    standard = data.limited(1000).standardised()
    np.testing.assert_allclose(moments(standard.train_images), (0.0, 1.0), atol=1e-5)


@pytest.mark.parametrize("packed", [False, True])
def test_images_and_labels(tmp_path: Path, packed: bool) -> None:
    """Z-S1: packed or not, pixels and labels as the files say."""
    data = mnist(str(write_small(tmp_path, packed)))
    assert data.train_images.shape == (6, 28, 28, 1)
    np.testing.assert_array_equal(data.train_images.reshape(-1), np.arange(6 * 784) % 10)
    np.testing.assert_array_equal(data.test_labels, [0, 1, 2])
    assert data.test_labels.dtype == np.int64
    assert data.classes == 10


def test_pixels_as_the_files_hold_them(tmp_path: Path) -> None:
    """A quarter of the memory; the same numbers, and the same complaints."""
    folder = write_small(tmp_path)
    data, pixels = mnist(folder), mnist_pixels(folder)
    assert pixels.train_images.dtype == pixels.test_images.dtype == np.uint8
    np.testing.assert_array_equal(pixels.train_images, data.train_images)
    np.testing.assert_array_equal(pixels.test_images, data.test_images)
    np.testing.assert_array_equal(pixels.dataset().train_labels, data.train_labels)
    with pytest.raises(
        ArgumentError, match=r"Pixels: train_images must be uint8 of shape \(n, height, width, channels\), got float32"
    ):
        Pixels(data.train_images, data.train_labels, data.test_images, data.test_labels)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="Pixels: test has a label for each image, got 3 images and 2 labels"):
        Pixels(pixels.train_images, data.train_labels, pixels.test_images, data.test_labels[:2])


def test_incomplete_folder(tmp_path: Path) -> None:
    (write_small(tmp_path) / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(
        DataError, match=r"the folder must hold t10k-labels-idx1-ubyte\.gz, got no such file; set TYPEDNN_DATA"
    ):
        mnist(tmp_path)


def test_swapped_files(tmp_path: Path) -> None:
    folder = write_small(tmp_path)
    (folder / "train-labels-idx1-ubyte.gz").replace(folder / "train-images-idx3-ubyte.gz")
    write_small(tmp_path / "other")
    (tmp_path / "other" / "train-labels-idx1-ubyte.gz").replace(folder / "train-labels-idx1-ubyte.gz")
    with pytest.raises(DataError, match=r"images have 3 axes, got shape \(6,\); were files swapped\?"):
        mnist(folder)


def test_other_image_sizes_and_counts(tmp_path: Path) -> None:
    """Z-S1: 28 by 28 only, and a label for each image."""
    folder = write_small(tmp_path)
    (folder / "t10k-images-idx3-ubyte.gz").write_bytes(struct.pack(">HBB3I", 0, 8, 3, 3, 8, 8) + bytes(192))
    with pytest.raises(DataError, match="images must be 28 x 28, got 8 x 8"):
        mnist(folder)
    write_small(tmp_path)
    (folder / "t10k-labels-idx1-ubyte.gz").write_bytes(struct.pack(">HBBI", 0, 8, 1, 2) + bytes(2))
    with pytest.raises(ArgumentError, match="test has a label for each image, got 3 images and 2 labels"):
        mnist(folder)


def test_numbers_of_another_type(tmp_path: Path) -> None:
    folder = write_small(tmp_path)
    (folder / "t10k-labels-idx1-ubyte.gz").write_bytes(struct.pack(">HBBI", 0, 13, 1, 3) + bytes(12))
    with pytest.raises(DataError, match=r"labels of MNIST are unsigned bytes, got float32"):
        mnist(folder)


def test_found_by_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_small(tmp_path / "mnist", packed=False)
    for told in (folder, tmp_path):
        monkeypatch.setenv("TYPEDNN_DATA", str(told))
        assert find_mnist() == folder


def test_found_beside_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TYPEDNN_DATA", raising=False)
    folder = write_small(tmp_path / "shared" / "data" / "mnist")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert find_mnist() == folder


def test_the_environment_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_small(tmp_path / "shared" / "data" / "mnist")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    told = write_small(tmp_path / "told")
    monkeypatch.setenv("TYPEDNN_DATA", str(told))
    assert find_mnist() == told


def test_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TYPEDNN_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "mnist").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.modules["typednn.data.named"], "__file__", str(tmp_path / "a" / "b" / "c.py"))
    assert find_mnist() is None
