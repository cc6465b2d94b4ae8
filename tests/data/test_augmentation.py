"""Augmentation: changes of images, beside Pillow's and NumPy's."""

import itertools
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from typednn.data import (
    AUGMENTATIONS,
    Augmentation,
    ColorJitter,
    GaussianNoise,
    Loader,
    MixUp,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomRotation,
    RandomShift,
    RandomVerticalFlip,
    augmentations,
)
from typednn.data.augmentation import rotated
from typednn.errors import ArgumentError, StateDictError
from typednn.losses import SoftmaxCrossEntropy
from typednn.random import PCG32

SIZES = st.tuples(st.integers(1, 9), st.integers(1, 9), st.sampled_from([1, 2, 3]))
STRONG: Mapping[str, Augmentation] = {
    "RandomHorizontalFlip": RandomHorizontalFlip(),
    "RandomVerticalFlip": RandomVerticalFlip(),
    "RandomCrop": RandomCrop(3, fill=7.0),
    "RandomShift": RandomShift(0.6, 0.6),
    "RandomRotation": RandomRotation(180.0),
    "ColorJitter": ColorJitter(0.9, 0.9, 0.9),
    "RandomErasing": RandomErasing(),
    "GaussianNoise": GaussianNoise(20.0),
}


def image(size: tuple[int, int, int], seed: int = 0, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(seed).uniform(0, 255, size).astype(dtype)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_every_change_is_tested() -> None:
    assert set(STRONG) | {"MixUp"} == set(AUGMENTATIONS)


# --- laws of all of them --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(STRONG))
@given(size=SIZES, seed=st.integers(0, 1000), dtype=st.sampled_from([np.float32, np.float64]))
def test_shape_and_dtype_stay_and_the_image_is_not_written(
    name: str, size: tuple[int, int, int], seed: int, dtype: Any
) -> None:
    before = image(size, seed, dtype)
    kept = before.copy()
    before.flags.writeable = False
    after = STRONG[name](before, rng(seed))
    assert (after.shape, after.dtype) == (size, np.dtype(dtype))
    np.testing.assert_array_equal(before, kept)
    np.testing.assert_array_equal(after, STRONG[name](before, rng(seed)), err_msg="the same draw, the same image")
    assert np.isfinite(after).all()


@pytest.mark.parametrize("name", sorted(STRONG))
def test_it_changes_something(name: str) -> None:
    before = image((8, 9, 3))
    assert any(not np.array_equal(STRONG[name](before, rng(seed)), before) for seed in range(5))


@pytest.mark.parametrize(
    "none",
    [
        RandomHorizontalFlip(0.0),
        RandomVerticalFlip(0.0),
        RandomCrop(0),
        RandomShift(0.0, 0.0),
        RandomRotation(0.0),
        ColorJitter(),
        RandomErasing(0.0),
        GaussianNoise(0.0),
    ],
    ids=lambda none: type(none).__name__,
)
@given(size=SIZES, seed=st.integers(0, 1000))
def test_of_strength_zero_it_changes_nothing(none: Augmentation, size: tuple[int, int, int], seed: int) -> None:
    np.testing.assert_array_equal(none(image(size, seed), rng(seed)), image(size, seed))


# --- one by one -----------------------------------------------------------------------------------------------------


@given(size=SIZES, seed=st.integers(0, 1000))
def test_flips(size: tuple[int, int, int], seed: int) -> None:
    before = image(size, seed)
    for flip, reference in ((RandomHorizontalFlip(1.0), np.fliplr), (RandomVerticalFlip(1.0), np.flipud)):
        once = flip(before, rng(seed))
        np.testing.assert_array_equal(once, reference(before))
        np.testing.assert_array_equal(flip(once, rng(seed)), before, err_msg="twice is not at all")


def test_flips_happen_as_often_as_said() -> None:
    before, source = image((2, 2, 1)), rng()
    flipped = sum(not np.array_equal(RandomHorizontalFlip(0.2)(before, source), before) for _ in range(2000))
    assert 340 < flipped < 460  # 400, within 3.4 standard deviations


@given(size=SIZES, padding=st.integers(0, 3), seed=st.integers(0, 100))
def test_a_crop_is_one_of_those_that_there_are(size: tuple[int, int, int], padding: int, seed: int) -> None:
    before = image(size, seed)
    padded = np.pad(before, ((padding, padding), (padding, padding), (0, 0)), constant_values=9.0)
    height, width = size[:2]
    after = RandomCrop(padding, fill=9.0)(before, rng(seed))
    places = itertools.product(range(2 * padding + 1), repeat=2)
    assert any(np.array_equal(after, padded[top : top + height, left : left + width]) for top, left in places)


def test_crops_come_from_everywhere_and_in_their_size() -> None:
    before = np.arange(20.0, dtype=np.float32).reshape(4, 5, 1)
    source, corners = rng(), set()
    for _ in range(300):
        after = RandomCrop(0, size=(2, 3))(before, source)
        assert after.shape == (2, 3, 1)
        corners.add(float(after[0, 0, 0]))
    assert corners == {0.0, 1.0, 2.0, 5.0, 6.0, 7.0, 10.0, 11.0, 12.0}
    with pytest.raises(
        ArgumentError, match="RandomCrop: an image must be at least 9 x 9, got 4 x 5 with a padding of 2; raise padding"
    ):
        RandomCrop(2, size=9)(before, source)


@given(size=SIZES, seed=st.integers(0, 100))
def test_a_shift_is_a_roll_without_what_comes_round(size: tuple[int, int, int], seed: int) -> None:
    before = image(size, seed)
    after = RandomShift(1.0, 0.5, fill=-1.0)(before, rng(seed))
    drawn = rng(seed)
    down, right = int(drawn.integers(-size[0], size[0] + 1)), int(drawn.integers(-(size[1] // 2), size[1] // 2 + 1))
    rows, columns = np.arange(size[0])[:, None, None] - down, np.arange(size[1])[None, :, None] - right
    inside = (rows >= 0) & (rows < size[0]) & (columns >= 0) & (columns < size[1])
    np.testing.assert_array_equal(after, np.where(inside, np.roll(before, (down, right), (0, 1)), np.float32(-1.0)))


@given(side=st.integers(1, 9), seed=st.integers(0, 100), turns=st.integers(-4, 4))
def test_quarter_turns(side: int, seed: int, turns: int) -> None:
    before = image((side, side, 2), seed)
    np.testing.assert_allclose(rotated(before, 90.0 * turns), np.rot90(before, turns), atol=2e-4)


@given(size=SIZES, seed=st.integers(0, 100), degrees=st.floats(-180, 180))
def test_turns_as_pillow_does(size: tuple[int, int, int], seed: int, degrees: float) -> None:
    """In its float mode. A pixel whose place before is on the edge of the image may be inside for one and outside for
    the other.
    """
    pillow: Any = pytest.importorskip("PIL.Image")
    before = image(size, seed)
    planes = [pillow.fromarray(np.ascontiguousarray(before[..., place])) for place in range(size[2])]
    turned = np.stack(
        [np.asarray(plane.rotate(degrees, pillow.Resampling.BILINEAR, fillcolor=-500.0)) for plane in planes], axis=2
    )
    ours = rotated(before, degrees, -500.0)
    apart = (np.abs(ours - turned) > 0.05).any(axis=2)
    angle = math.radians(degrees)
    down, across = np.arange(size[0])[:, None] - (size[0] - 1) / 2, np.arange(size[1])[None] - (size[1] - 1) / 2
    rows, columns = math.cos(angle) * down + math.sin(angle) * across, math.cos(angle) * across - math.sin(angle) * down
    edge = np.minimum(np.abs(np.abs(rows) - size[0] / 2), np.abs(np.abs(columns) - size[1] / 2)) < 1e-3
    assert not (apart & ~edge).any()


@given(seed=st.integers(0, 1000), which=st.sampled_from(["brightness", "contrast", "saturation"]))
def test_colours_as_pillow_does(seed: int, which: str) -> None:
    """Pillow computes in whole numbers, and its grey too."""
    enhance: Any = pytest.importorskip("PIL.ImageEnhance")
    pillow: Any = pytest.importorskip("PIL.Image")
    before = np.rint(image((6, 5, 3), seed))
    drawn = rng(seed)
    factor = [
        float(drawn.uniform(0.5, 1.5) if name == which else drawn.uniform(1.0, 1.0))
        for name in ("brightness", "contrast", "saturation")
    ]
    kind = {"brightness": enhance.Brightness, "contrast": enhance.Contrast, "saturation": enhance.Color}[which]
    expected = kind(pillow.fromarray(before.astype(np.uint8))).enhance(
        factor[["brightness", "contrast", "saturation"].index(which)]
    )
    after = ColorJitter(**{which: 0.5})(before, rng(seed))
    np.testing.assert_allclose(after, np.asarray(expected, np.float32), atol=2.0)


def test_colours_of_other_images() -> None:
    grey = image((4, 4, 1))
    np.testing.assert_array_equal(ColorJitter(saturation=0.9)(grey, rng()), grey)
    assert ColorJitter(brightness=0.9, most=1.0)(grey, rng(1)).max() <= 1.0


@given(size=SIZES, seed=st.integers(0, 1000))
def test_what_is_erased_is_a_rectangle(size: tuple[int, int, int], seed: int) -> None:
    before = image(size, seed)
    after = RandomErasing(1.0, scale=(0.1, 0.5), ratio=(0.5, 2.0), value=-3.0)(before, rng(seed))
    gone = (after == -3.0).all(axis=2)
    rows, columns = np.flatnonzero(gone.any(axis=1)), np.flatnonzero(gone.any(axis=0))
    if len(rows):
        assert gone[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].all()
        assert gone.sum() == (rows[-1] - rows[0] + 1) * (columns[-1] - columns[0] + 1)
    np.testing.assert_array_equal(after[~gone], before[~gone])


def test_as_much_is_erased_as_said() -> None:
    before, source, flat = image((100, 100, 1)), rng(), 0
    for _ in range(300):
        gone = RandomErasing(1.0, scale=(0.1, 0.2), ratio=(0.5, 2.0), value=-1.0)(before, source)[..., 0] == -1.0
        rows, columns = gone.any(axis=1).sum(), gone.any(axis=0).sum()
        assert 0.09 < gone.mean() < 0.21
        assert 0.45 < rows / columns < 2.2
        flat += rows < columns
    assert 120 < flat < 180, "as many are flat as are high: three standard deviations"


def test_noise_is_normal() -> None:
    noise = GaussianNoise(12.0)(np.full((200, 200, 1), 100.0, np.float32), rng())
    assert noise.mean() == pytest.approx(100.0, abs=0.3)
    assert noise.std() == pytest.approx(12.0, rel=0.02)


@given(rows=st.integers(1, 6), seed=st.integers(0, 100))
def test_mixed_images_and_labels(rows: int, seed: int) -> None:
    x, y = np.random.default_rng(seed).normal(size=(rows, 2, 3, 1)).astype(np.float32), np.arange(rows) % 3
    mixed, targets = MixUp(1.0, classes=4).mixed(x, y, rng(seed))
    drawn = rng(seed)
    share, order = drawn.beta(1.0, 1.0), drawn.permutation(rows)
    np.testing.assert_allclose(mixed, share * x + (1 - share) * x[order], atol=1e-6)
    rows_of = np.eye(4)[y]
    np.testing.assert_allclose(targets, share * rows_of + (1 - share) * rows_of[order], atol=1e-6)
    np.testing.assert_allclose(targets.sum(axis=1), 1.0, atol=1e-6)
    scores = np.random.default_rng(seed).normal(size=(rows, 4)).astype(np.float32)
    each = [SoftmaxCrossEntropy().loss(scores, labels) for labels in (y, y[order])]
    assert SoftmaxCrossEntropy().loss(scores, targets) == pytest.approx(
        share * each[0] + (1 - share) * each[1], rel=1e-4
    ), "eq 1 of mixup"
    numbers = np.random.default_rng(seed).normal(size=rows).astype(np.float32)
    np.testing.assert_allclose(
        MixUp(1.0).mixed(x, numbers, rng(seed))[1], share * numbers + (1 - share) * numbers[order], atol=1e-6
    )


def test_labels_cannot_be_mixed_without_their_number() -> None:
    with pytest.raises(
        ArgumentError, match=r"MixUp: labels become probabilities of classes, got no number of classes; pass classes=10"
    ):
        MixUp().mixed(image((2, 2, 1))[None], np.array([1]), rng())


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: RandomHorizontalFlip(1.5), r"RandomHorizontalFlip: p must be a finite number with 0 <= p <= 1, got 1\.5"),
    (lambda: RandomVerticalFlip(-0.1), r"RandomVerticalFlip: p must be"),
    (lambda: RandomCrop(-1), "RandomCrop: padding must be an integer of at least 0, got -1"),
    (lambda: RandomCrop(0, size=0), "RandomCrop: size must be"),
    (lambda: RandomShift(2.0), "RandomShift: height must be"),
    (lambda: RandomRotation(math.nan), "RandomRotation: degrees must be"),
    (lambda: ColorJitter(contrast=-1.0), "ColorJitter: contrast must be"),
    (
        lambda: RandomErasing(scale=(0.5, 0.1)),
        r"RandomErasing: scale must be a pair \(least, most\), got \(0\.5, 0\.1\); swap them",
    ),
    (lambda: RandomErasing(ratio=3.0), r"RandomErasing: ratio must be a pair \(least, most\), got 3\.0"),  # type: ignore[arg-type]
    (lambda: GaussianNoise(-1.0), "GaussianNoise: sigma must be"),
    (lambda: MixUp(0.0), "MixUp: alpha must be"),
    (lambda: MixUp(0.2, classes=0), "MixUp: classes must be"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_what_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_by_name() -> None:
    tables = [
        "RandomHorizontalFlip",
        {"type": "RandomCrop", "padding": 2},
        {"type": "RandomErasing", "scale": [0.1, 0.2]},
        "MixUp",
    ]
    assert augmentations(tables) == (RandomHorizontalFlip(), RandomCrop(2), RandomErasing(scale=(0.1, 0.2)), MixUp())
    for wrong, message in (
        (
            ["RandomFlip"],
            "augment: must be one of RandomHorizontalFlip, .*, or a table with such a type, got 'RandomFlip'",
        ),
        ([{"padding": 2}], "must be one of"),
        ([{"type": []}], "must be one of"),
        ([7], "must be one of"),
        ("RandomCrop", "augment: must be a list of names and tables, got 'RandomCrop'"),
        (
            [{"type": "RandomCrop", "pading": 2}],
            "augment, RandomCrop: has the settings fill, padding, size, got pading",
        ),
        ([{"type": "RandomCrop", "padding": "2"}], "RandomCrop: padding must be an integer of at least 0, got '2'"),
    ):
        with pytest.raises(ArgumentError, match=message):
            augmentations(wrong)  # type: ignore[arg-type]


# --- in a loader ----------------------------------------------------------------------------------------------------

ALL = [*STRONG.values(), MixUp(0.4, classes=3)]


def loader(seed: int = 0, rows: int = 11, **settings: Any) -> Loader[Any, Any]:
    x = np.random.default_rng(5).integers(0, 256, (rows, 6, 5, 3), np.uint8)
    return Loader(x, np.arange(rows) % 3, **{"batch_size": 4, "rng": PCG32(seed), "augment": ALL, **settings})


def batches(some: Loader[Any, Any], epochs: int = 1) -> list[tuple[Any, Any]]:
    return [(batch.x, batch.y) for _ in range(epochs) for batch in some.batches()]


def same(first: list[tuple[Any, Any]], second: list[tuple[Any, Any]]) -> bool:
    return len(first) == len(second) and all(
        np.array_equal(one, other) for pair in zip(first, second, strict=True) for one, other in zip(*pair, strict=True)
    )


@pytest.mark.parametrize("workers", [2, 3, 8])
def test_any_number_of_workers_gives_the_same_bits(workers: int) -> None:
    assert same(batches(loader(), 3), batches(loader(workers=workers), 3))
    assert same(batches(loader(prefetch=0), 3), batches(loader(workers=workers), 3))


def test_each_epoch_and_each_place_has_changes_of_its_own() -> None:
    """Also the same image twice in one epoch, as weights may draw it."""
    some = loader(rows=1, augment=GaussianNoise(5.0), batch_size=1)
    first, second = batches(some, 2)
    assert not np.array_equal(first[0], second[0])
    weights = loader(rows=2, augment=GaussianNoise(5.0), weights=[1.0, 0.0], batch_size=2)
    (both,) = weights.batches()
    assert both.indices.tolist() == [0, 0]
    assert not np.array_equal(both.x[0], both.x[1])


@given(
    stop=st.integers(0, 9),
    workers=st.integers(1, 3),
    shuffle=st.booleans(),
    generator=st.sampled_from(["PCG32", "NumPy"]),
)
def test_continues_to_the_bit(stop: int, workers: int, shuffle: bool, generator: str) -> None:
    def fresh(seed: int) -> Loader[Any, Any]:
        return loader(rng=PCG32(seed) if generator == "PCG32" else rng(seed), workers=workers, shuffle=shuffle)

    whole = batches(fresh(1), 3)
    first, seen = fresh(1), 0
    while seen < stop:
        for _ in first.batches():
            seen += 1
            if seen == stop:
                break
    second = fresh(2)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    rest: list[tuple[Any, Any]] = []
    while second.epoch < 3:
        rest += batches(second)
    assert same(rest, whole[stop:])


def test_other_changes_are_another_loader() -> None:
    saved = loader().state_dict()
    with pytest.raises(
        StateDictError, match=r"augment must be \['RandomCrop\(padding=4, size=None, fill=0\.0\)'\], got"
    ):
        loader(augment=RandomCrop()).load_state_dict(saved)
    with pytest.raises(StateDictError, match="needs the keys"):
        loader(augment=None).load_state_dict(saved)


def test_without_changes_nothing_more_is_drawn_and_bytes_stay_bytes() -> None:
    source = PCG32(0)
    plain = loader(rng=source, augment=[])
    assert next(plain.batches()).x.dtype == np.uint8
    other = PCG32(0)
    other.permutation(11)
    assert source == other


def test_a_transform_comes_after_the_changes() -> None:
    some = loader(augment=RandomVerticalFlip(0.0), transform=lambda x: (x.dtype, x.max()))
    assert next(some.batches()).x[0] == np.float32


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"augment": RandomCrop},
            r"augment is a change of images, or a list of them, got the class RandomCrop; write RandomCrop\(\)",
        ),
        (
            {"augment": ["flip"]},
            "augment is a change of images, or a list of them, got str; such as RandomHorizontalFlip",
        ),
        ({"augment": [MixUp(), RandomCrop()]}, "MixUp is of a batch, so it is the last of augment, got number 1"),
        (
            {"rng": None, "shuffle": False},
            r"Loader: augmenting draws from a generator, got none; pass rng=numpy\.random\.default_rng\(0\)$",
        ),
    ],
)
def test_loaders_that_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        loader(**settings)


def test_only_images_are_changed() -> None:
    with pytest.raises(
        ArgumentError, match=r"augment changes images \(n, height, width, channels\), got shape \(3, 2\)"
    ):
        Loader(np.zeros((3, 2)), np.zeros(3), batch_size=1, rng=PCG32(0), augment=RandomCrop())
