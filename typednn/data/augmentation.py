"""Augmentation: training images changed at random, anew in each epoch, so that a model sees more than there are.

    Loader(x, y, batch_size=32, rng=rng, augment=[RandomHorizontalFlip(), RandomCrop(4), ColorJitter(brightness=0.2)])

Each class is one change, with torchvision's names. A change is a function of an image (height, width, channels) in
floats and of a generator; a list of them is applied in its order. `MixUp` is a function of a whole batch, after the
others. Images come as they are stored, before the loader's ``transform``: pixels from 0 to 255, unless the data are
something else.

The loader makes a generator for each place in an epoch (`numpy.random.SeedSequence`), from numbers that it draws from
its own when the epoch begins. So the changes are the same for any number of workers, and a continued training goes on
with the same bits.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeAlias, cast, final, runtime_checkable

import numpy as np
import numpy.typing as npt

from typednn.arguments import integer, number, pair
from typednn.arrays import Array2, IntArray1, is_floating
from typednn.data.labels import one_hot
from typednn.errors import ArgumentError, explain

Image: TypeAlias = npt.NDArray[np.floating[Any]]
_LUMA = (0.299, 0.587, 0.114)  # ITU-R 601


@runtime_checkable
class Augmentation(Protocol):
    """A change of one image (height, width, channels), drawn from ``rng``: a new array, or the same one unchanged."""

    def __call__(self, image: Image, rng: np.random.Generator, /) -> Image: ...


@final
@dataclass(frozen=True, slots=True)
class RandomHorizontalFlip:
    """Left and right are swapped, with probability ``p``."""

    p: float = 0.5

    def __post_init__(self) -> None:
        number(type(self).__name__, "p", self.p, least=0.0, most=1.0)

    def __call__(self, image: Image, rng: np.random.Generator) -> Image:
        return image[:, ::-1] if rng.random() < self.p else image


@final
@dataclass(frozen=True, slots=True)
class RandomVerticalFlip:
    """Top and bottom are swapped, with probability ``p``."""

    p: float = 0.5

    def __post_init__(self) -> None:
        number(type(self).__name__, "p", self.p, least=0.0, most=1.0)

    def __call__(self, image: Image, rng: np.random.Generator) -> Image:
        return image[::-1] if rng.random() < self.p else image


@final
@dataclass(frozen=True, slots=True)
class RandomCrop:
    """A part of the image at a random place, after ``padding`` pixels of ``fill`` on each side.

    The part has the image's own size, or ``size``: one number or (height, width). ``RandomCrop(0)`` changes nothing.
    """

    padding: int = 4
    size: int | tuple[int, int] | None = None
    fill: float = 0.0

    def __post_init__(self) -> None:
        where = type(self).__name__
        integer(where, "padding", self.padding, 0)
        number(where, "fill", self.fill)
        if self.size is not None:
            pair(where, "size", self.size)

    def __call__(self, image: Image, rng: np.random.Generator) -> Image:
        sides = int(image.shape[0]), int(image.shape[1])
        rows, columns = sides if self.size is None else pair("RandomCrop", "size", self.size)
        spare = [side + 2 * self.padding - part for side, part in zip(sides, (rows, columns), strict=True)]
        if min(spare) < 0:
            got = f"{sides[0]} x {sides[1]} with a padding of {self.padding}"
            raise ArgumentError(
                explain("RandomCrop", f"an image must be at least {rows} x {columns}", got, "raise padding"), "size"
            )
        top, left = (int(rng.integers(most + 1)) for most in spare)
        around = ((self.padding, self.padding), (self.padding, self.padding), (0, 0))
        return np.pad(image, around, constant_values=self.fill)[top : top + rows, left : left + columns]


@final
@dataclass(frozen=True, slots=True)
class RandomShift:
    """The image moved by up to a share of its ``height`` and ``width``, in whole pixels either way; what is freed is
    ``fill``.
    """

    height: float = 0.1
    width: float = 0.1
    fill: float = 0.0

    def __post_init__(self) -> None:
        for name in ("height", "width"):
            number(type(self).__name__, name, getattr(self, name), least=0.0, most=1.0)
        number(type(self).__name__, "fill", self.fill)

    def __call__(self, image: Image, rng: np.random.Generator) -> Image:
        most = [int(share * side) for share, side in zip((self.height, self.width), image.shape, strict=False)]
        down, right = (int(rng.integers(-pixels, pixels + 1)) for pixels in most)
        moved = np.full_like(image, self.fill)
        height, width = image.shape[:2]
        moved[max(down, 0) : height + down, max(right, 0) : width + right] = image[
            max(-down, 0) : height - down, max(-right, 0) : width - right
        ]
        return moved


@final
@dataclass(frozen=True, slots=True)
class RandomRotation:
    """The image turned about its middle by an angle of U[-``degrees``, ``degrees``), bilinear; what is freed is
    ``fill``.

    The size stays. Each pixel is read at its place before the turn, between the four pixels around it; within half a
    pixel of the edge the edge counts, as in Pillow's ``rotate``. Some 30 operations per number.
    """

    degrees: float = 10.0
    fill: float = 0.0

    def __post_init__(self) -> None:
        number(type(self).__name__, "degrees", self.degrees, least=0.0, most=360.0)
        number(type(self).__name__, "fill", self.fill)

    def __call__(self, image: Image, rng: np.random.Generator) -> Image:
        return rotated(image, float(rng.uniform(-self.degrees, self.degrees)), self.fill)


def rotated(image: Image, degrees: float, fill: float = 0.0) -> Image:
    """``image`` (height, width, channels) turned counter-clockwise about its middle, bilinear; see `RandomRotation`."""
    height, width = int(image.shape[0]), int(image.shape[1])
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    middle = (height - 1) / 2, (width - 1) / 2
    down: npt.NDArray[np.float64] = np.arange(height, dtype=np.float64)[:, None] - middle[0]
    across: npt.NDArray[np.float64] = np.arange(width, dtype=np.float64)[None] - middle[1]
    rows, columns = cosine * down + sine * across + middle[0], cosine * across - sine * down + middle[1]
    inside = (rows >= -0.5) & (rows < height - 0.5) & (columns >= -0.5) & (columns < width - 0.5)
    top, left = np.floor(rows).astype(np.int64), np.floor(columns).astype(np.int64)
    below, right = ((places - first)[..., None].astype(image.dtype) for places, first in ((rows, top), (columns, left)))
    (top, bottom), (left, far) = (
        (np.clip(first, 0, side - 1), np.clip(first + 1, 0, side - 1)) for first, side in ((top, height), (left, width))
    )
    upper = image[top, left] * (1 - right) + image[top, far] * right
    lower = image[bottom, left] * (1 - right) + image[bottom, far] * right
    between: Any = upper * (1 - below) + lower * below
    turned: Image = np.where(inside[..., None], between, image.dtype.type(fill))
    return turned


@final
@dataclass(frozen=True, slots=True)
class ColorJitter:
    """Brightness, contrast and saturation changed, in this order, each by a factor of U[max(0, 1 - s), 1 + s) for its
    strength s.

    brightness: f x     contrast: f x + (1 - f) mean(grey(x))     saturation: f x + (1 - f) grey(x)

    grey is the luma of ITU-R 601 of three channels, or the mean of another number, which have no saturation. Afterwards
    pixels are cut to 0 … ``most``.
    """

    brightness: float = 0.0
    contrast: float = 0.0
    saturation: float = 0.0
    most: float = 255.0

    def __post_init__(self) -> None:
        for each in fields(self):
            number(type(self).__name__, each.name, getattr(self, each.name), least=0.0)

    def __call__(self, image: Image, rng: np.random.Generator) -> Image:
        strengths = (self.brightness, self.contrast, self.saturation)
        bright, contrast, saturation = (
            float(rng.uniform(max(0.0, 1.0 - strength), 1.0 + strength)) for strength in strengths
        )
        if self.brightness:
            image = np.clip(image * image.dtype.type(bright), 0.0, self.most)
        if self.contrast:
            image = self._blended(image, _grey(image).mean(), contrast)
        if self.saturation and image.shape[2] == 3:
            image = self._blended(image, _grey(image), saturation)
        return image

    def _blended(self, image: Image, other: Any, factor: float) -> Image:
        share = image.dtype.type(factor)
        blended: Image = np.clip(share * image + (1 - share) * other, 0.0, self.most).astype(image.dtype, copy=False)
        return blended


def _grey(image: Image) -> Image:
    if image.shape[2] != 3:
        mean: Image = image.mean(axis=2, keepdims=True)
        return mean
    luma: Image = (image @ np.array(_LUMA, image.dtype))[..., None]
    return luma


@final
@dataclass(frozen=True, slots=True)
class RandomErasing:
    """A rectangle of the image is set to ``value``, with probability ``p``: cutout.

    Its area is a share of U[``scale``) of the image, its height by its width is between the two of ``ratio``, uniform
    in the logarithm; of ten such rectangles the first that fits is taken, and none where none fits. ``ratio=(1, 1)``
    gives squares. Source: Zhong et al., "Random Erasing Data Augmentation"; torchvision.
    """

    p: float = 0.5
    scale: tuple[float, float] = (0.02, 0.33)
    ratio: tuple[float, float] = (0.3, 3.3)
    value: float = 0.0

    def __post_init__(self) -> None:
        where = type(self).__name__
        number(where, "p", self.p, least=0.0, most=1.0)
        number(where, "value", self.value)
        for name, least, most in (("scale", 0.0, 1.0), ("ratio", 1e-6, 1e6)):
            both: Any = getattr(self, name)
            if type(both) not in (list, tuple) or len(both) != 2:
                raise ArgumentError(explain(where, f"{name} must be a pair (least, most)", repr(both)[:80]), name)
            low, high = (
                number(where, f"{name}[{place}]", getattr(self, name)[place], least=least, most=most)
                for place in (0, 1)
            )
            if low > high:
                raise ArgumentError(
                    explain(where, f"{name} must be a pair (least, most)", repr(both)[:80], "swap them"), name
                )

    def __call__(self, image: Image, rng: np.random.Generator) -> Image:
        if rng.random() >= self.p:
            return image
        height, width = int(image.shape[0]), int(image.shape[1])
        for _ in range(10):
            area = height * width * rng.uniform(*self.scale)
            ratio = math.exp(rng.uniform(math.log(self.ratio[0]), math.log(self.ratio[1])))
            rows, columns = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < rows <= height and 0 < columns <= width:
                top, left = int(rng.integers(height - rows + 1)), int(rng.integers(width - columns + 1))
                erased = image.copy()
                erased[top : top + rows, left : left + columns] = self.value
                return erased
        return image


@final
@dataclass(frozen=True, slots=True)
class GaussianNoise:
    """N(0, ``sigma``²) added to each number, in the units of the image; nothing is cut off."""

    sigma: float = 10.0

    def __post_init__(self) -> None:
        number(type(self).__name__, "sigma", self.sigma, least=0.0)

    def __call__(self, image: Image, rng: np.random.Generator) -> Image:
        noise = rng.normal(0.0, self.sigma, image.shape)
        return (image + noise).astype(image.dtype, copy=False)


@final
@dataclass(frozen=True, slots=True)
class MixUp:
    """Each image of a batch mixed with another of it, and their labels alike: x = λ x + (1 - λ) x′, y = λ y + (1 - λ)
    y′.

    λ ~ Beta(``alpha``, ``alpha``) is one number for the batch, x′ the batch in a random order. Labels (batch) become
    probabilities (batch, ``classes``), which `typednn.losses.SoftmaxCrossEntropy` and ``CrossEntropy`` take; targets in
    floats are mixed as they are. Source: Zhang et al., "mixup: Beyond Empirical Risk Minimization", eq 1.
    """

    alpha: float = 0.2
    classes: int | None = None

    def __post_init__(self) -> None:
        number(type(self).__name__, "alpha", self.alpha, least=1e-6)
        if self.classes is not None:
            integer(type(self).__name__, "classes", self.classes)

    def mixed(self, x: Image, y: npt.NDArray[Any], rng: np.random.Generator) -> tuple[Image, npt.NDArray[Any]]:
        """The mixed batch."""
        share = float(rng.beta(self.alpha, self.alpha))
        order = rng.permutation(len(x))
        targets = y if is_floating(y.dtype) else self._probabilities(y)
        return _mix(x, x[order], share), _mix(targets, targets[order], share)

    def _probabilities(self, y: IntArray1) -> Array2:
        if self.classes is None:
            raise ArgumentError(
                explain("MixUp", "labels become probabilities of classes", "no number of classes", "pass classes=10"),
                "classes",
            )
        return one_hot(y, self.classes)


Changes: TypeAlias = Augmentation | MixUp | Sequence[Augmentation | MixUp] | None


def _mix(first: Any, second: Any, share: float) -> Any:
    kind = first.dtype.type
    return kind(share) * first + kind(1.0 - share) * second


AUGMENTATIONS: Final[Mapping[str, Callable[..., Augmentation | MixUp]]] = MappingProxyType(
    {
        each.__name__: each
        for each in (
            RandomHorizontalFlip,
            RandomVerticalFlip,
            RandomCrop,
            RandomShift,
            RandomRotation,
            ColorJitter,
            RandomErasing,
            GaussianNoise,
            MixUp,
        )
    }
)


def checked_changes(augment: Changes, x: Any) -> tuple[tuple[Augmentation, ...], MixUp | None]:
    """Of a loader's ``augment`` the changes of an image, and that of a batch; an `ArgumentError` for others."""
    given: Any = augment
    several = type(given) in (list, tuple)
    changes: tuple[Any, ...] = () if given is None else tuple(given) if several else (given,)
    for place, change in enumerate(changes):
        if isinstance(change, type) or not (callable(change) or isinstance(change, MixUp)):
            got = f"the class {change.__name__}" if isinstance(change, type) else type(change).__name__
            cure = f"write {change.__name__}()" if isinstance(change, type) else "such as RandomHorizontalFlip()"
            raise ArgumentError(
                explain("Loader", "augment is a change of images, or a list of them", got, cure), "augment"
            )
        if isinstance(change, MixUp) and place < len(changes) - 1:
            raise ArgumentError(
                explain("Loader", "MixUp is of a batch, so it is the last of augment", f"number {place + 1}"), "augment"
            )
    alone = tuple(change for change in changes if not isinstance(change, MixUp))
    if alone and len(x.shape) != 4:
        got = f"shape {tuple(x.shape)}"
        raise ArgumentError(explain("Loader", "augment changes images (n, height, width, channels)", got), "augment")
    mixups = [change for change in changes if isinstance(change, MixUp)]
    return alone, mixups[0] if mixups else None


def augmentations(tables: Sequence[str | Mapping[str, Any]]) -> tuple[Augmentation | MixUp, ...]:
    """The changes that a config names: ``["RandomHorizontalFlip", {"type": "RandomCrop", "padding": 2}]``;
    `ArgumentError` for others.
    """
    made: list[Augmentation | MixUp] = []
    given = cast("object", tables)
    if not isinstance(given, list | tuple):
        raise ArgumentError(explain("augment", "must be a list of names and tables", repr(given)[:80]), "augment")
    for table in tables:
        unchecked = cast("object", table)
        settings = {"type": unchecked} if isinstance(unchecked, str) else unchecked
        name: object = cast("Mapping[str, Any]", settings).get("type") if isinstance(settings, Mapping) else None
        if not isinstance(name, str) or name not in AUGMENTATIONS:
            rule = f"must be one of {', '.join(AUGMENTATIONS)}, or a table with such a type"
            raise ArgumentError(explain("augment", rule, repr(unchecked)[:80]), "augment")
        chosen: dict[str, Any] = dict(cast("Mapping[str, Any]", settings))
        kind: Any = AUGMENTATIONS[name]
        del chosen["type"]
        known = {each.name for each in fields(kind)}
        if not set(chosen) <= known:
            got = ", ".join(sorted(set(chosen) - known))
            raise ArgumentError(
                explain(f"augment, {kind.__name__}", f"has the settings {', '.join(sorted(known))}", got), "augment"
            )
        made.append(kind(**{key: tuple(value) if value.__class__ is list else value for key, value in chosen.items()}))
    return tuple(made)
