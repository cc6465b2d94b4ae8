"""A folder per class, a file per sample: what images and texts are read from."""

from pathlib import Path

from typednn.errors import DataError, explain


def class_folders(where: str, what: str) -> dict[str, list[Path]]:
    """The files of each class below the folder ``where``, in the order of their names; names that begin with a dot are skipped.

    ``what`` names the files in errors, such as "PNG images".
    """
    classes = {place.name: inside(place) for place in inside(Path(where)) if place.is_dir()}
    if not classes:
        raise DataError(explain(where, f"must hold a folder of {what} for each class", "no folder", "make one per class, named after it"))
    for name, files in classes.items():
        if not files:
            raise DataError(explain(where, f"each class must have {what}", f"none in {name!r}"))
    return classes


def inside(folder: Path) -> list[Path]:
    """What a folder holds, without names that begin with a dot."""
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise DataError(explain(str(folder), "must be a readable folder", error.strerror or type(error).__name__)) from None
