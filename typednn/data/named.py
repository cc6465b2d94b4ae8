"""load and load_pixels: data sets by name, from a local folder or the network, with their checksums checked.

=================  =============================================  ======================================================
name               what                                           files
=================  =============================================  ======================================================
``mnist``          handwritten digits, 28x28                      four IDX files, gzipped or not
``fashion-mnist``  articles of clothing, 28x28                    the same four names
``cifar-10``       photographs, 32x32 in three colours            cifar-10-binary.tar.gz, or its six .bin files
``digits``         scikit-learn's digits, resized to 28x28        none; needs the extra ``typednn[demo]``
``spiral``         points on three arms                           none
=================  =============================================  ======================================================

Not loaded but found or downloaded by `source_folder`: ``tinyshakespeare``, a text (input.txt), and ``gpt2-bpe``,
GPT-2's vocabulary (vocab.json, merges.txt).
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np

from typednn.arguments import choice
from typednn.data.cifar import cifar10_pixels, has_cifar10
from typednn.data.dataset import Dataset, Pixels
from typednn.data.digits import digits
from typednn.data.mnist import has_mnist, mnist_pixels
from typednn.data.spiral import spiral
from typednn.errors import DataError, explain
from typednn.files import path_of


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a set comes from: a public address, its files with their checksums, and how they are read."""

    address: str
    files: Mapping[str, str]
    is_in: Callable[[Path], bool]
    read: Callable[[Path], Pixels] | None = None


def _has(*names: str) -> Callable[[Path], bool]:
    return lambda folder: all((folder / name).is_file() for name in names)


_SOURCES: Final[Mapping[str, _Source]] = MappingProxyType(
    {
        "mnist": _Source(
            "https://storage.googleapis.com/cvdf-datasets/mnist",
            {
                "train-images-idx3-ubyte.gz": "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
                "train-labels-idx1-ubyte.gz": "md5:d53e105ee54ea40749a09fcbcd1e9432",
                "t10k-images-idx3-ubyte.gz": "md5:9fb629c4189551a2d022fa330f9573f3",
                "t10k-labels-idx1-ubyte.gz": "md5:ec29112dd5afa0611ce80d1b7f02629c",
            },
            has_mnist,
            mnist_pixels,
        ),
        "fashion-mnist": _Source(
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
            {
                "train-images-idx3-ubyte.gz": "md5:8d4fb7e6c68d591d4c3dfef9ec88bf0d",
                "train-labels-idx1-ubyte.gz": "md5:25c81989df183df01b3e8a0aad5dffbe",
                "t10k-images-idx3-ubyte.gz": "md5:bef4ecab320f06d8554ea6380940ec79",
                "t10k-labels-idx1-ubyte.gz": "md5:bb300cfdad3c16e7a12a480ee83cd310",
            },
            has_mnist,
            mnist_pixels,
        ),
        "cifar-10": _Source(
            "https://www.cs.toronto.edu/~kriz",
            {"cifar-10-binary.tar.gz": "sha256:c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"},
            has_cifar10,
            cifar10_pixels,
        ),
        "tinyshakespeare": _Source(
            "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare",
            {"input.txt": "sha256:86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"},
            _has("input.txt"),
        ),
        "gpt2-bpe": _Source(
            "https://huggingface.co/openai-community/gpt2/resolve/main",
            {
                "vocab.json": "sha256:196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
                "merges.txt": "sha256:1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
            },
            _has("vocab.json", "merges.txt"),
        ),
    }
)
_CLASSES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "mnist": tuple("0123456789"),
        "fashion-mnist": (
            "T-shirt/top",
            "Trouser",
            "Pullover",
            "Dress",
            "Coat",
            "Sandal",
            "Shirt",
            "Sneaker",
            "Bag",
            "Ankle boot",
        ),
        "cifar-10": ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
        "digits": tuple("0123456789"),
        "spiral": tuple("012"),
    }
)
DATASETS: Final[tuple[str, ...]] = tuple(_CLASSES)
PIXELS: Final[tuple[str, ...]] = tuple(name for name, source in _SOURCES.items() if source.read is not None)


def load(
    name: str,
    folder: str | Path | None = None,
    *,
    download: bool = True,
    mirror: str | None = None,
    timeout: float = 30.0,
    on_progress: Callable[[int, int | None], object] | None = None,
) -> Dataset:
    """The data set of that name, from the first of these places that has it, in its subfolder ``name``; of 1 and 2 then
    in itself.

    1. ``folder``; if given, no other         2. the environment's ``TYPEDNN_DATA``       3. ``../shared/data``
    4. `cache_folder`                          5. the network, into `cache_folder`, unless ``download`` is false

    ``mirror``, or the environment's ``TYPEDNN_MIRROR``, is an address whose ``<name>/<file>`` are the files. A
    `DataError` says what is missing or wrong. Images hold 0 to 255; the spiral's points are images of 1x1 pixel with
    two channels.
    """
    choice("load", "name", name, DATASETS)
    if name == "digits":
        return digits()
    if name == "spiral":
        (places, arms), (test_places, test_arms) = (
            spiral(3, 100, np.random.default_rng(seed)) for seed in (1984, 2020)
        )
        return Dataset(places.reshape(-1, 1, 1, 2), arms, test_places.reshape(-1, 1, 1, 2), test_arms, 3)
    return load_pixels(
        name, folder, download=download, mirror=mirror, timeout=timeout, on_progress=on_progress
    ).dataset()


def load_pixels(
    name: str,
    folder: str | Path | None = None,
    *,
    download: bool = True,
    mirror: str | None = None,
    timeout: float = 30.0,
    on_progress: Callable[[int, int | None], object] | None = None,
) -> Pixels:
    """As `load`, of the sets that have files, as the bytes in the files: a quarter of the memory, and no conversion."""
    read = _SOURCES[choice("load_pixels", "name", name, PIXELS)].read
    assert read is not None
    return read(source_folder(name, folder, download=download, mirror=mirror, timeout=timeout, on_progress=on_progress))


def source_folder(
    name: str,
    folder: str | Path | None = None,
    *,
    download: bool = True,
    mirror: str | None = None,
    timeout: float = 30.0,
    on_progress: Callable[[int, int | None], object] | None = None,
) -> Path:
    """The folder that holds the files of a set, of a text or of a vocabulary: as `load` finds or downloads them."""
    source = _SOURCES[choice("source_folder", "name", name, tuple(_SOURCES))]
    place = find(name, folder)
    if place is None and folder is not None:
        raise DataError(
            explain(
                f"load({name!r})",
                f"{folder!s} or its subfolder {name} must hold {', '.join(source.files)}",
                "no such files",
            )
        )
    if place is None and not download:
        raise DataError(
            explain(
                f"load({name!r})",
                "needs a local copy",
                "none",
                "set TYPEDNN_DATA to a folder that has it, or let it be downloaded",
            )
        )
    if place is None:
        from typednn.data.download import fetch  # imports the network modules, which few calls need

        place, mirror = cache_folder() / name, mirror or os.environ.get("TYPEDNN_MIRROR")
        base = f"{mirror.rstrip('/')}/{name}" if mirror else source.address
        for file, checksum in source.files.items():
            if not (place / file).is_file():
                fetch(f"{base}/{file}", place / file, checksum=checksum, timeout=timeout, on_progress=on_progress)
    return place


def find(name: str, folder: str | Path | None = None) -> Path | None:
    """The folder where `load` finds the files of a set; None where it would download them, or needs none."""
    if choice("find", "name", name, tuple(dict.fromkeys((*DATASETS, *_SOURCES)))) not in _SOURCES:
        return None
    source = _SOURCES[name]
    if folder is not None:
        place = path_of("load", folder)
        places = [place / name, place]
    else:
        root = os.environ.get("TYPEDNN_DATA")
        places = [Path(root) / name, *([Path(root)] if _may_be(name, Path(root)) else [])] if root else []
        places += [root.parent / "shared" / "data" / name for root in (Path.cwd(), Path(__file__).resolve().parents[2])]
        # not a folder with an unfinished download
        if all((cache_folder() / name / file).is_file() for file in source.files):
            places.append(cache_folder() / name)
    return next((place for place in places if source.is_in(place)), None)


def find_mnist() -> Path | None:
    """The folder of MNIST, if `load` would find it without a download."""
    return find("mnist")


def cache_folder() -> Path:
    """Where downloads are kept: ``$XDG_CACHE_HOME/typednn``, or ``~/.cache/typednn``."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (cache if cache.is_absolute() else Path(os.path.expanduser("~"), ".cache")) / "typednn"


def class_names(name: str) -> tuple[str, ...]:
    """The names of the labels 0, 1, … of a data set."""
    return _CLASSES[choice("class_names", "name", name, DATASETS)]


def _may_be(name: str, folder: Path) -> bool:
    """MNIST and Fashion-MNIST have the same file names: only the name of the folder distinguishes them."""
    return ("fashion" in folder.resolve().name.lower()) == (name == "fashion-mnist") or name == "cifar-10"
