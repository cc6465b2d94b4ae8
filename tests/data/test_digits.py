"""Scikit-learn's digits at MNIST's size."""

import sys

import numpy as np
import pytest

from typednn.data import digits
from typednn.data.digits import resized
from typednn.errors import ArgumentError, MissingExtra


def test_what_they_are() -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    data = digits()
    assert data.train_images.shape == (1438, 28, 28, 1)
    assert data.test_images.shape == (359, 28, 28, 1)
    assert data.train_images.dtype == np.float32
    assert (data.train_images.min(), data.train_images.max()) == (0.0, 255.0)
    # A fifth of every class, nothing twice, nothing lost.
    original = datasets.load_digits()
    counts = np.bincount(original.target)
    np.testing.assert_array_equal(np.bincount(data.test_labels), np.round(counts / 5))
    np.testing.assert_array_equal(np.bincount(data.train_labels) + np.bincount(data.test_labels), counts)
    assert len(np.unique(np.concatenate([data.train_images, data.test_images]).reshape(1797, -1), axis=0)) == len(
        np.unique(original.images.reshape(1797, -1), axis=0)
    )


def test_images_keep_their_labels_and_the_split_is_fixed() -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    original = datasets.load_digits()
    enlarged = (resized(original.images[..., np.newaxis], 28, 28) * (255 / 16)).astype(np.float32)
    labels = {image.tobytes(): label for image, label in zip(enlarged, original.target, strict=True)}
    first, second = digits(), digits()
    for images, shown in ((first.train_images, first.train_labels), (first.test_images, first.test_labels)):
        assert [labels[image.tobytes()] for image in images] == shown.tolist()
    np.testing.assert_array_equal(first.test_images, second.test_images)


def test_bilinear_by_hand() -> None:
    """Pixel centres: 2 -> 4 puts the new ones at -1/4, 1/4, 3/4, 5/4 of the old ones' distance; outside it goes on as
    it ends.
    """
    image = np.array([[0.0, 4.0], [8.0, 12.0]]).reshape(1, 2, 2, 1)
    line = np.array([0.0, 1.0, 3.0, 4.0])
    np.testing.assert_allclose(resized(image, 4, 4)[0, :, :, 0], 2 * line[:, np.newaxis] + line)
    np.testing.assert_allclose(resized(image, 2, 4)[0, :, :, 0], [line, 8 + line])
    np.testing.assert_array_equal(resized(image, 2, 2), image)


def test_bilinear_keeps_a_ramp_and_shrinks() -> None:
    ramp = np.arange(8.0).reshape(1, 1, 8, 1)
    inner = resized(ramp, 1, 28)[0, 0, 2:-2, 0]
    np.testing.assert_allclose(np.diff(inner), 8 / 28)
    np.testing.assert_allclose(resized(ramp, 1, 4)[0, 0, :, 0], [0.5, 2.5, 4.5, 6.5])
    with pytest.raises(ArgumentError, match="height must be an integer of at least 1, got 0"):
        resized(ramp, 0, 4)


def test_without_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "sklearn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtra, match=r"pip install 'typednn\[demo\]'") as caught:
        digits()
    assert caught.value.name == "sklearn"
