"""P-E1 in small: standardising by the training half."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from typednn.data import Dataset
from typednn.data.dataset import moments
from typednn.errors import ArgumentError


def _dataset(**changes: Any) -> Dataset:
    rng = np.random.default_rng(0)
    fields: dict[str, Any] = {
        "train_images": (rng.random((30, 4, 5, 1)) * 255).astype(np.float32),
        "train_labels": np.arange(30) % 10,
        "test_images": (rng.random((7, 4, 5, 1)) * 100).astype(np.float32),
        "test_labels": np.arange(7),
    }
    return Dataset(**(fields | changes))


def test_both_halves_by_the_training_numbers() -> None:
    """P-E1: the test images must not be standardised by themselves."""
    raw = _dataset()
    data = raw.standardised()
    mean, deviation = raw.train_images.mean(dtype=np.float64), raw.train_images.std(dtype=np.float64)
    np.testing.assert_allclose(moments(raw.train_images), (mean, deviation))
    np.testing.assert_allclose(moments(data.train_images), (0.0, 1.0), atol=1e-6)
    np.testing.assert_allclose(data.test_images, (raw.test_images - mean) / deviation, rtol=1e-5)
    assert abs(float(data.test_images.mean())) > 0.5
    assert data.train_images.dtype == data.test_images.dtype == np.float32


def test_moments_do_not_lose_digits() -> None:
    """P-E1: far from zero, a float32 sum of 6 million numbers misses the mean by more than the deviation."""
    images = np.full((2500, 49, 49, 1), 60000.0, np.float32)
    images[::2] += 0.5
    data = _dataset(train_images=images, train_labels=np.zeros(2500, np.int64), test_images=images[:7])
    np.testing.assert_allclose(moments(data.train_images), (60000.25, 0.25), rtol=1e-12)


def test_nothing_is_written() -> None:
    data = _dataset()
    before = data.train_images.copy()
    data.train_images.flags.writeable = False
    data.standardised()
    np.testing.assert_array_equal(data.train_images, before)


def test_limited() -> None:
    data = _dataset().limited(4)
    assert len(data.train_images) == len(data.train_labels) == 4
    assert len(data.test_images) == 7
    with pytest.raises(ArgumentError, match="train must be an integer of at least 1, got 0"):
        data.limited(0)


def test_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        _dataset().classes = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_labels": np.arange(29) % 10}, "train has a label for each image, got 30 images and 29 labels"),
        (
            {"test_labels": np.array([0, 1, 2, 10, 0, 0, 0])},
            "test_labels must be 0 to 9, as there are 10 classes, got 10 in row 3",
        ),
        (
            {"train_images": np.zeros((30, 4, 5), np.float32)},
            r"train_images must be float32 of .*, got float32 of shape \(30, 4, 5\)",
        ),
        ({"test_images": np.zeros((7, 4, 5, 1))}, r"got float64 of shape \(7, 4, 5, 1\)"),
        ({"test_images": [[0.0]]}, "got list"),
        (
            {"test_images": np.zeros((7, 5, 4, 1), np.float32)},
            r"one shape, got \(4, 5, 1\) to train and \(5, 4, 1\) to test",
        ),
        (
            {"test_images": np.zeros((0, 4, 5, 1), np.float32), "test_labels": np.zeros(0, np.int64)},
            "at least one image",
        ),
        ({"classes": 0}, "classes must be an integer of at least 1"),
    ],
)
def test_what_is_no_dataset(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        _dataset(**changes)


def test_constant_images_cannot_be_standardised() -> None:
    with pytest.raises(ArgumentError, match="training images must differ somewhere, got 0 in every pixel"):
        _dataset(train_images=np.zeros((30, 4, 5, 1), np.float32)).standardised()
