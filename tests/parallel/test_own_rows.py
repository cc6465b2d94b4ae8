"""Each rank reads, augments and transforms the rows of its own shards, and all end with the bits of one process.

Truth is the whole batch, one rank, and a count of the rows that each has read.
"""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.parallel.processes import in_processes, on_ranks
from typednn.data import Loader, MixUp, RandomCrop, RandomHorizontalFlip
from typednn.data.augmentation import GaussianNoise
from typednn.errors import ArgumentError
from typednn.layers import Linear
from typednn.losses import MSE
from typednn.optim import SGD
from typednn.parallel import DataParallel
from typednn.random import PCG32
from typednn.training import fit

pytestmark = pytest.mark.usefixtures("on_the_reference")


def rank_of(rank: int, size: int, shards: int = 8) -> DataParallel:
    """How this rank of so many shares a batch out."""
    parallel = DataParallel(shards)
    vars(parallel)["replicas"] = SimpleNamespace(rank=rank, size=size)
    return parallel


@pytest.mark.parametrize("size", [1, 2, 8])
@pytest.mark.parametrize("rows", [1, 3, 8, 50])
def test_the_ranks_rows_are_those_of_the_batch(rows: int, size: int) -> None:
    """Each once; a rank that has none of its own needs one."""
    every = [rank_of(rank, size).own_rows(rows) for rank in range(size)]
    taken = np.zeros(rows, int)
    for rank, parts in enumerate(every):
        assert parts, rank
        assert all(before.stop == after.start for before, after in pairwise(parts)), "neighbours"
        own = range(rows * rank // size, rows * (rank + 1) // size)
        needed = [row for part in parts for row in range(rows)[part]]
        assert needed == list(own) if own else len(needed) == 1, rank
        taken[own] += 1
    assert taken.tolist() == [1] * rows


class Counted:
    """Rows that are read when they are indexed; ``read`` are their numbers."""

    def __init__(self, rows: Any) -> None:
        self.rows, self.read = rows, list[int]()

    @property
    def shape(self) -> Any:
        return self.rows.shape

    @property
    def dtype(self) -> Any:
        return self.rows.dtype

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Any) -> Any:
        self.read += rows.tolist()
        return self.rows[rows]


def halved(x: Any) -> Any:
    return x / np.float32(2)


def images(**more: Any) -> tuple[Counted, Loader[Any, Any]]:
    """19 images in batches of 8, the last of which has 3."""
    rng = np.random.default_rng(0)
    x, y = Counted(rng.integers(0, 255, (19, 6, 5, 2), dtype=np.uint8)), rng.integers(0, 3, 19)
    changes = [RandomHorizontalFlip(), RandomCrop(2), GaussianNoise(3.0), *more.pop("last", [])]
    return x, Loader(x, y, batch_size=8, rng=PCG32(3), transform=halved, augment=changes, **more)


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize(
    ("more", "alone"),
    [({"sample_weight": np.arange(19.0)}, True), ({"workers": 3}, True), ({"last": [MixUp(0.4, classes=3)]}, False)],
    ids=["weights", "workers", "mixup"],
)
def test_a_share_has_the_bits_of_the_whole_batch(more: dict[str, Any], alone: bool, size: int) -> None:
    """In two epochs; only its rows are read, unless `MixUp` mixes others into them."""
    counted, loader = images(**dict(more))
    whole = [batch for _ in range(2) for batch in loader.batches()]
    assert all(batch.whole is None for batch in whole)
    for rank in range(size):
        counted, loader = images(**dict(more))
        own = rank_of(rank, size)
        needed: list[int] = []
        found = [batch for _ in range(2) for batch in own.batches(loader)]
        for batch, expected in zip(found, whole, strict=True):
            rows = [range(len(expected.x))[part] for part in own.own_rows(len(expected.x))]
            chosen = [row for part in rows for row in part]
            needed += expected.indices[chosen].tolist()
            assert batch.whole == len(expected.x)
            for name in ("x", "y", "indices", "sample_weight"):
                ours, theirs = getattr(batch, name), getattr(expected, name)
                assert ours is theirs is None or ours.tobytes() == theirs[chosen].tobytes(), name
        assert sorted(counted.read) == sorted(needed if alone else [row for b in whole for row in b.indices])


def test_a_share_goes_on_where_another_number_of_ranks_stopped() -> None:
    _, loader = images()
    whole = list(loader.batches())[1:]
    _, stopped = images()
    next(rank_of(0, 2).batches(stopped))
    _, resumed = images()
    resumed.load_state_dict(stopped.state_dict())
    for batch, expected in zip(rank_of(3, 4).batches(resumed), whole, strict=True):
        (*_, last) = rank_of(3, 4).own_rows(len(expected.x))
        assert batch.x[-1].tobytes() == expected.x[last.stop - 1].tobytes()


def test_a_transform_sees_a_shard_at_a_time() -> None:
    """Whose results must fit together."""
    x, seen = np.arange(64.0, dtype=np.float32).reshape(8, 8), list[int]()

    def told(rows: Any) -> Any:
        seen.append(len(rows))
        return rows[:, : int(rows.max()) // 8]

    def made() -> Loader[Any, Any]:
        return Loader(x, x, batch_size=8, shuffle=False, transform=told, prefetch=0)

    assert next(made().batches()).x.shape == (8, 7)
    assert next(rank_of(1, 2, 2).batches(made())).x.shape == (4, 7)
    assert seen == [8, 4]
    with pytest.raises(ArgumentError) as caught:
        next(rank_of(0, 1).batches(made()))
    cure = "let each row depend on itself alone"
    assert str(caught.value) == f"Loader: transform gives (1, 0) of the next shard, got shape (1, 1); {cure}"


class Whole:
    """A loader of one's own, of whole batches; what it does not have it takes from another."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def batches(self) -> Iterator[Any]:
        for batch in self.loader.batches():
            yield SimpleNamespace(x=batch.x, y=batch.y)


def test_batches_of_ones_own_are_whole() -> None:
    x = np.random.default_rng(0).standard_normal((20, 4), dtype=np.float32)
    ends = list[bytes]()
    for whole in (True, False):
        model, loader = Linear(4, 4).init(PCG32(1)), Loader(x, x, batch_size=7, rng=PCG32(2))
        data: Any = Whole(loader) if whole else loader
        fit(model, MSE(), SGD(0.1), data, epochs=2, progress=False, parallel=DataParallel())
        ends.append(model.weight.tobytes())
    assert ends[0] == ends[1]


# -------------------------------------------------------------- in processes

PROGRAM = """
import sys
from pathlib import Path
import numpy as np
from typednn import Input
from typednn.data import ImageFiles, Loader, RandomCrop, RandomHorizontalFlip, read_tokens, windows
from typednn.layers import Conv2d, Dropout, Flatten, Linear, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.models import GPT2
from typednn.optim import AdamW
from typednn.parallel import DataParallel
from typednn.random import PCG32
from typednn.training import fit

words = sys.argv[1:]
parallel = DataParallel()
size = parallel.ranks.size
read = []

class Files:
    shape = dtype = None

    def __init__(self, rows):
        self.rows, self.shape, self.dtype = rows, rows.shape, rows.dtype

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, rows):
        read.append(len(rows))
        return self.rows[rows]

class Whole:
    def __init__(self, loader):
        self.loader = loader

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def batches(self):
        return self.loader.batches()

def trained(name, model, loader, **more):
    model.init(PCG32(1 + parallel.ranks.rank))
    read.clear()
    history = fit(model, SoftmaxCrossEntropy(), AdamW(1e-2), Whole(loader) if "whole" in words else loader,
                  epochs=2, progress=False, parallel=parallel, **more)
    np.savez(f"{name}-{parallel.ranks.rank}-of-{size}", losses=history.losses, **model.state_dict())
    rows = sum(read) - 16 * (size > 1)  # of 16 rows each rank tells that the data are alike
    Path(f"{name}-{parallel.ranks.rank}-of-{size}.txt").write_text(str(rows))

paths = tuple(sorted(Path("photos").iterdir()))
y, weight = np.arange(len(paths)) % 3, np.linspace(0.5, 2, len(paths))
photos = Loader(
    Files(ImageFiles(paths, (8, 8))), y, batch_size=16, rng=PCG32(3), sample_weight=weight,
    augment=[RandomHorizontalFlip(), RandomCrop(2)], transform=lambda x: x / np.float32(255),
)
more = {"run": words[1], "max_steps": int(words[2])} if words[:1] == ["run"] else {}
trained("photos", Input(8, 8, 3) >> Conv2d(3, 4, 3) >> ReLU() >> Flatten() >> Dropout(0.2) >> Linear(144, 3),
        photos, **more)
if more:
    sys.exit()
tokens = read_tokens("tokens.bin", "uint16")
x, y = windows(tokens, 8)
trained("tokens", GPT2(19, 8, 12, 3, 2, dropout=0.1), Loader(Files(x), y, batch_size=16, rng=PCG32(3)))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """35 photographs and 35 windows of tokens: two batches of 16, and one of 3 rows."""
    image = pytest.importorskip("PIL.Image")
    where = tmp_path_factory.mktemp("data")
    (where / "photos").mkdir()
    rng = np.random.default_rng(0)
    for number in range(35):
        pixels = rng.integers(0, 255, (9, 11, 3), dtype=np.uint8)
        image.fromarray(pixels).save(where / "photos" / f"{number:02}.png")
    rng.integers(0, 19, 35 * 8 + 1).astype("<u2").tofile(where / "tokens.bin")
    return where


def ended(count: int, folder: Path, *words: str) -> list[tuple[str, dict[str, bytes], int]]:
    """``PROGRAM`` on so many ranks; what each of its trainings ended with on each, and how many rows it has read."""
    done = on_ranks(count, folder, *words, program=PROGRAM)
    assert done.returncode == 0, done.stderr
    found: list[tuple[str, dict[str, bytes], int]] = []
    for name in ("photos", "tokens"):
        for path in sorted(folder.glob(f"{name}-*-of-{count}.npz")):
            with np.load(path) as file:
                arrays = {key: file[key].tobytes() for key in file}
            found.append((name, arrays, int(path.with_suffix(".txt").read_text())))
    return found


@pytest.fixture(scope="module")
def alone(folder: Path) -> dict[str, dict[str, bytes]]:
    """What one rank ends with, which reads all rows in each epoch."""
    found = ended(1, folder)
    assert [read for *_, read in found] == [70, 70]
    return {name: arrays for name, arrays, _ in found}


@in_processes
def test_each_rank_reads_its_rows_and_all_end_with_the_same_bits(folder: Path, alone: dict[str, Any]) -> None:
    """Of three rows in eight shards the first of four ranks has none, and reads one."""
    for count, rows in {2: [34, 36], 4: [18, 18, 18, 18]}.items():
        found = ended(count, folder)
        assert [(name, read) for name, _, read in found] == [(n, each) for n in ("photos", "tokens") for each in rows]
        assert all(arrays == alone[name] for name, arrays, _ in found), count


@in_processes
def test_batches_of_ones_own_are_whole_on_two_ranks(folder: Path, alone: dict[str, Any]) -> None:
    found = ended(2, folder, "whole")
    assert [read for *_, read in found] == [70] * 4
    assert all(arrays == alone[name] for name, arrays, _ in found)


@in_processes
def test_a_run_goes_on_with_another_number_of_ranks(folder: Path, alone: dict[str, Any]) -> None:
    """Stopped after steps 2 and 4 of six, each within an epoch of three, whose rows are those of all ranks."""
    for count, steps, rows in ((2, 2, 32), (4, 4, 16)):
        ended(count, folder, "run", "stopped", str(steps))
        (state,) = (folder / "stopped" / "checkpoints").glob(f"step-*{steps}/state.json")
        assert json.loads(state.read_text(encoding="utf-8"))["rows"] == rows
    _, resumed, read = ended(1, folder, "run", "stopped", "6")[0]
    assert (resumed, read) == (alone["photos"], 16 + 3)
