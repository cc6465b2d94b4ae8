"""The data of the fifteen tasks, made here or from what scikit-learn brings with it:

    python -m examples.fifteen_tasks.make_data FOLDER

diabetes.csv            442 patients, ten measurements, and the progression of the disease a year later (Efron et al.
                        2004)
houses.csv, new.csv     600 houses that nobody sold: towns, heating with gaps, area, rooms with gaps, the day of the
                        sale, and the price; and one more, without
flowers.csv             150 irises of three kinds (Fisher 1936)
tumours.csv             400 tumours with 30 measurements, of which 43 are malignant (Street et al. 1993; every malignant
                        one there would be 212)
digits/train, digits/test   1,797 handwritten digits as PNG files of 32x32, in a folder for each class
low, high               the digits up to four, and 20 of each that is larger to train on; also in train and test
shapes                  sixty pictures of 32x32 in colour: discs, squares and triangles, in a folder for each
texts/train, texts/test     short texts that count upwards or downwards, in a folder for each
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import date, timedelta
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris

NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def table(path: Path, names: Sequence[str], *columns: Iterable[object]) -> None:
    """A line of names, and a row for each value of the columns."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(names)
        rows.writerows(zip(*columns, strict=True))


def diabetes(path: Path) -> None:
    """In the units of the study."""
    data = load_diabetes(scaled=False)
    table(path, [*data.feature_names, "progression"], *data.data.T.tolist(), data.target.tolist())


def flowers(path: Path) -> None:
    """Sizes in cm."""
    data = load_iris()
    names = [name.removesuffix(" (cm)") for name in data.feature_names]
    table(path, [*names, "kind"], *data.data.T.tolist(), data.target_names[data.target])


def tumours(path: Path) -> None:
    """All that are benign, and every fifth that is malignant."""
    data = load_breast_cancer()
    malignant = np.flatnonzero(data.target == 0)
    rows = np.sort(np.concatenate([np.flatnonzero(data.target), malignant[::5]]))
    table(path, [*data.feature_names, "kind"], *data.data[rows].T.tolist(), data.target_names[data.target[rows]])


def houses(path: Path, count: int = 600, seed: int = 0) -> None:
    """Prices in thousands: of the ground in a town, the walls, the heating and the rooms, which rise by 6 % a year."""
    rng = np.random.default_rng(seed)
    towns, heating = ["Adamstown", "Bridgend", "Clifton", "Denby"], ["gas", "heat pump", "wood"]
    town, heated = rng.integers(0, 4, count), rng.integers(0, 3, count)
    area, rooms, day = rng.uniform(40, 220, count), rng.integers(1, 8, count), rng.integers(0, 3650, count)
    worth = np.array([1.6, 2.1, 2.9, 4.2])[town] * area + np.array([0, 45, 10])[heated] + 12 * rooms
    price = worth * 1.06 ** (day / 365) * rng.normal(1, 0.05, count)
    gap, missing = rng.random(count) < 0.1, rng.random(count) < 0.1
    table(
        path,
        ["town", "heating", "area", "rooms", "sold", "price"],
        [towns[each] for each in town],
        ["" if none else heating[each] for each, none in zip(heated, gap, strict=True)],
        area.round(1).tolist(),
        ["" if none else each for each, none in zip(rooms.tolist(), missing, strict=True)],
        [str(date(2015, 1, 1) + timedelta(int(each))) for each in day],
        price.round(1).tolist(),
    )


def photos(folder: Path, classes: Collection[int] = range(10), most: int | None = None) -> None:
    """Each digit of some classes as a picture; every fifth is for the test, and at most so many of a class to learn."""
    data = load_digits()
    learned = Counter[int]()
    for number, (image, label) in enumerate(zip(data.images, data.target.tolist(), strict=True)):
        test = number % 5 == 0
        if label not in classes or (not test and learned[label] == most):
            continue
        learned[label] += not test
        home = folder / ("test" if test else "train") / NUMBERS[label]
        home.mkdir(parents=True, exist_ok=True)
        Image.fromarray((image * 15.9).astype(np.uint8)).resize((32, 32)).save(home / f"{number:04}.png")


def shapes(folder: Path, each: int = 20, seed: int = 0) -> None:
    """Discs, squares and triangles of any colour, size and place, with noise."""
    rng = np.random.default_rng(seed)
    for kind in ("disc", "square", "triangle"):
        (folder / kind).mkdir(parents=True)
        for number in range(each):
            ground, colour = (tuple(rng.integers(low, low + 128, 3).tolist()) for low in rng.permutation([0, 128]))
            image = Image.new("RGB", (32, 32), ground)
            (x, y), radius = rng.uniform(12, 20, 2), rng.uniform(7, 11)
            draw = ImageDraw.Draw(image)
            if kind == "disc":
                draw.ellipse((x - radius, y - radius, x + radius, y + radius), colour)
            else:
                draw.regular_polygon((x, y, radius), 4 if kind == "square" else 3, rng.uniform(-15, 15), colour)
            noisy = np.asarray(image) + rng.normal(0, 12, (32, 32, 3))
            Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(folder / kind / f"{number:02}.png")


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
    flowers(folder / "flowers.csv")
    tumours(folder / "tumours.csv")
    houses(folder / "houses.csv")
    table(folder / "new.csv", ["town", "heating", "area", "rooms", "sold"], ["Denby"], [""], [120], [4], ["2024-06-30"])
    photos(folder / "digits")
    photos(folder / "low", range(5))
    photos(folder / "high", range(5, 10), 20)
    shapes(folder / "shapes")
    texts(folder / "texts" / "train", 1000, 0)
    texts(folder / "texts" / "test", 200, 1)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
