"""A folder per class, a file per sample: what images and texts are read from."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from typednn.data.labels import normalised
from typednn.errors import DataError, explain

PARTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"train": ("train",), "validation": ("validation", "valid", "val"), "test": ("test",)}
)


def class_folders(where: str, what: str) -> dict[str, list[Path]]:
    """The files of each class below the folder ``where``, in the order of their names; names that begin with a dot are
    skipped.

    Names are compared in Unicode's form NFC; two folders of one name are a `DataError`. So is a link that leads out of
    ``where``: otherwise who packed the folder decides what else is read. ``what`` names the files in errors, such as
    "images".
    """
    folders: dict[str, list[Path]] = {}
    for place in inside(Path(where)):
        _refuse_outside(where, place)
        if place.is_dir():
            folders.setdefault(normalised(place.name), []).append(place)
    twice = next((places for places in folders.values() if len(places) > 1), None)
    if twice is not None:
        got = " and ".join(ascii(place.name) for place in twice)
        raise DataError(
            explain(where, "each class must have one folder", f"two spellings of one name, {got}", "put them into one")
        )
    classes = {name: inside(folders[name][0]) for name in sorted(folders)}
    if not classes:
        raise DataError(
            explain(
                where, f"must hold a folder of {what} for each class", "no folder", "make one per class, named after it"
            )
        )
    for name, files in classes.items():
        if not files:
            raise DataError(explain(where, f"each class must have {what}", f"none in {name!r}"))
        for file in files:
            _refuse_outside(where, file)
    return classes


def _refuse_outside(where: str, path: Path) -> None:
    if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(where)):
        raise DataError(
            explain(
                str(path), f"must lie within {where}", f"a link to {os.path.realpath(path)}", "copy what it leads to"
            )
        )


def files_below(folder: Path, endings: Collection[str]) -> list[Path]:
    """The files in ``folder`` and below it whose names end so, in the order of their paths; without those that begin
    with a dot, and what linked folders hold. A link to a file outside is a `DataError`.
    """
    folders, found = [folder], list[Path]()
    while folders:
        for place in inside(folders.pop()):
            if place.is_dir():
                folders += [] if place.is_symlink() else [place]
            elif place.suffix.lower() in endings:
                _refuse_outside(str(folder), place)
                found.append(place)
    return sorted(found)


def part_folders(folder: Path) -> dict[str, Path]:
    """The folders ``train``, ``validation`` (or ``valid``, ``val``) and ``test`` within a folder, those that are there.

    Empty where there is no ``train``, or nothing beside it: then a folder ``train`` may be a class, of railways.
    """
    found = {part: folder / name for part, names in PARTS.items() for name in names if (folder / name).is_dir()}
    for place in found.values():
        _refuse_outside(str(folder), place)
    return found if "train" in found and len(found) > 1 else {}


def inside(folder: Path) -> list[Path]:
    """What a folder holds, without names that begin with a dot."""
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise DataError(
            explain(str(folder), "must be a readable folder", error.strerror or type(error).__name__)
        ) from None
