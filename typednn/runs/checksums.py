"""checksums.json: the size and the SHA-256 of every file of a run but its checkpoints, which have their own.

It is written behind each checkpoint, and behind each report, with new checksums of what was written there and of no
other file: damage is not covered up. Of files that grow what was there then is covered, and no event file begun since.
``typednn check RUN`` compares. A checksum tells damage, and a file that was exchanged by mistake; it is no signature.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from typednn.errors import DataError, TypednnError
from typednn.files import as_object, replace_file, writing
from typednn.runs.checkpoint import checkpoints, read_checkpoint
from typednn.runs.run_files import read_bytes, read_json

FILE: Final = "checksums.json"
CONFIGS: Final = ("config.toml", "recipe.json")
EARLIER: Final = "earlier-configs.json"  # SHA-256 of the configs that the run had before it was extended
# Of files that grow, how many bytes were read, and their SHA-256 so far: a checkpoint reads what came since the one
# before.
Begun: TypeAlias = dict[str, tuple[int, Any]]
# What a run's folder holds: see docs/runs.md.
OWN: Final = frozenset(
    {
        *(
            "checkpoints",
            "environment.json",
            "events",
            "lock",
            "metrics.jsonl",
            "model.txt",
            "pictures.safetensors",
            "plots",
        ),
        *("report.html", "report.json", "starts.jsonl", "vocabulary", FILE, EARLIER, *CONFIGS),
    }
)
_GROWING: Final = ("metrics.jsonl", "starts.jsonl", "events/")
AT_A_CHECKPOINT: Final = (*_GROWING, "checkpoints/best.json")
OF_A_REPORT: Final = ("report.json", "pictures.safetensors")
OF_PICTURES: Final = ("plots/",)
OF_A_PAGE: Final = ("report.html",)


def is_run(folder: str | Path) -> bool:
    """Whether a folder is that of a run which has been trained."""
    place = Path(folder)
    return (place / "checkpoints").is_dir() and any((place / name).is_file() for name in CONFIGS)


def write_checksums(folder: Path, written: tuple[str, ...], begun: Begun | None = None) -> None:
    """Write the checksums of the files whose names begin with one of ``written``, and of those that have none yet;
    others keep theirs.

    An `OSError` where one cannot be read, or they cannot be written. ``begun`` is kept between calls by the one who
    makes files grow.
    """
    try:
        before = as_object((read_json(folder, FILE) or {}).get("files")) or {}
    except DataError:  # no JSON any more
        before = {}
    table: dict[str, Any] = {name: told for name, told in before.items() if not name.startswith(written)}
    for name in _covered(folder):
        if name not in table:
            size = (folder / name).stat().st_size
            kept = begun if name.startswith(_GROWING) else None
            table[name] = {"bytes": size, "sha256": _digest(folder, name, size, kept)}
    replace_file(folder / FILE, (json.dumps({"files": table, "sha256": _of_table(table)}, indent=1) + "\n").encode())


def renew_checksums(folder: Path, written: tuple[str, ...]) -> None:
    """As `write_checksums`, where there are any; a `DataError` for the `OSError`."""
    if (folder / FILE).is_file():
        with writing(folder / FILE):
            write_checksums(folder, written)


def configs_of(folder: Path) -> dict[str, str]:
    """SHA-256 of the configs that the run has, by name."""
    contents = ((name, read_bytes(folder, name)) for name in CONFIGS)
    return {name: hashlib.sha256(content).hexdigest() for name, content in contents if content is not None}


def earlier_configs(folder: Path) -> list[object]:
    """The SHA-256 of the configs that the run had before those of now."""
    saved = read_json(folder, EARLIER) or {}
    found = saved.get("earlier", [])
    return [*cast("list[object]", found)] if isinstance(found, list) and saved.get("now") == configs_of(folder) else []


def replace_configs(folder: Path, texts: Mapping[str, str]) -> None:
    """Write other configs, by name, and before them which the run had; where that is cut off, the earlier ones hold.

    An `OSError` where they cannot be written.
    """
    before = configs_of(folder)
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
    told = {"earlier": [*earlier_configs(folder), before], "now": {**before, **digests}}
    replace_file(folder / EARLIER, (json.dumps(told, indent=1) + "\n").encode())
    for name, text in texts.items():
        replace_file(folder / name, text.encode())
    if (folder / FILE).is_file():
        write_checksums(folder, (EARLIER, *CONFIGS))


def problems(folder: Path) -> tuple[int, list[str]]:
    """How many files the run has that have a checksum, and a line for each that is missing, differs, or has none."""
    files, found = [*_covered(folder)], list[str]()
    try:
        saved = read_json(folder, FILE)
    except DataError as error:
        return len(files), [str(error)]
    told = as_object((saved or {}).get("files")) or {}
    if saved is None:
        found.append(f"{FILE}: missing: the run was written by an earlier typednn, or has no checkpoint yet")
    elif saved.get("sha256") != _of_table(told):
        found.append(f"{FILE}: does not have the checksum that it states")
    else:
        found += [said for name, expected in told.items() if (said := _compared(folder, name, expected))]
        # a process begins event files of its own
        new = [name for name in files if name not in told and not name.startswith("events/")]
        found += [f"{name}: has no checksum: it was not there when they were written" for name in new]
    places = checkpoints(folder / "checkpoints")
    for place in places:
        try:
            read_checkpoint(place)
        except TypednnError as error:
            found.append(str(error).removeprefix(f"{folder}{os.sep}"))
    return len(files) + 3 * len(places), found


def _covered(folder: Path) -> Iterator[str]:
    """The files of a run by their paths in it: what is typednn's, without checkpoints, temporary files and links."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        top, _, below = name.partition("/")
        own = top in OWN and name not in ("lock", FILE) and not path.name.startswith(".new-")
        if own and path.is_file() and not path.is_symlink() and (top != "checkpoints" or below == "best.json"):
            yield name


def _compared(folder: Path, name: str, expected: Any) -> str:
    """What is wrong with a file; nothing where it is what was written."""
    table = as_object(expected) or {}
    size, digest = table.get("bytes"), table.get("sha256")
    path = folder / name
    if type(size) is not int or not isinstance(digest, str) or ".." in Path(name).parts or Path(name).is_absolute():
        return f"{name[:80]!r}: is no entry of {FILE}"
    if not path.is_file() or path.is_symlink():
        return f"{name}: is missing"
    now = path.stat().st_size
    if now < size or (now > size and not name.startswith(_GROWING)):
        return f"{name}: has {now:,} bytes, had {size:,}"
    return "" if _digest(folder, name, size) == digest else f"{name}: differs from what was written"


def _digest(folder: Path, name: str, size: int, begun: Begun | None = None) -> str:
    """The SHA-256 of the first ``size`` bytes of a file."""
    done, digest = (begun or {}).get(name, (0, None))
    if digest is None or done > size:
        done, digest = 0, hashlib.sha256()
    with (folder / name).open("rb") as file:
        file.seek(done)
        while done < size and (piece := file.read(min(1 << 20, size - done))):
            digest.update(piece)
            done += len(piece)
    if begun is not None:
        begun[name] = done, digest
    found: str = digest.hexdigest()
    return found


def _of_table(table: Any) -> str:
    return hashlib.sha256(json.dumps(table, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
