"""The data of the ten tasks, from what scikit-learn brings with it: python -m examples.ten_tasks.make_data FOLDER

diabetes.csv            442 patients, ten measurements, and the progression of the disease a year later (Efron et al.
                        2004)
digits/train, digits/test   1,797 handwritten digits as PNG files of 32x32, in a folder for each class
texts/train, texts/test     short texts that count upwards or downwards, in a folder for each
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_diabetes, load_digits

NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def diabetes(path: Path) -> None:
    """A table with a line of names; numbers in the units of the study."""
    data = load_diabetes(scaled=False)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([*data.feature_names, "progression"])
        rows.writerows(zip(*data.data.T.tolist(), data.target.tolist(), strict=True))


def photos(folder: Path) -> None:
    """Each digit as a picture; every fifth is for the test."""
    data = load_digits()
    for number, (image, label) in enumerate(zip(data.images, data.target, strict=True)):
        home = folder / ("test" if number % 5 == 0 else "train") / NUMBERS[label]
        home.mkdir(parents=True, exist_ok=True)
        Image.fromarray((image * 15.9).astype(np.uint8)).resize((32, 32)).save(home / f"{number:04}.png")


def texts(folder: Path, count: int, seed: int) -> None:
    """Four numbers that follow each other, in words, upwards or downwards."""
    rng = np.random.default_rng(seed)
    for number, up in enumerate(rng.integers(0, 2, count)):
        first = int(rng.integers(0, len(NUMBERS) - 3))
        words = NUMBERS[first : first + 4]
        home = folder / ("up" if up else "down")
        home.mkdir(parents=True, exist_ok=True)
        (home / f"{number:04}.txt").write_text(" ".join(words if up else reversed(words)))


def make(folder: Path) -> None:
    """Everything, into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    diabetes(folder / "diabetes.csv")
    photos(folder / "digits")
    texts(folder / "texts" / "train", 1000, 0)
    texts(folder / "texts" / "test", 200, 1)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
