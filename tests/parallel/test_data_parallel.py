"""Data parallel training: shards give the batch's gradient, and ranks, processes under mpiexec, end with the same bits.

Truth is the gradient of the whole batch, NumPy, and training on one rank.
"""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import strict_array
from safetensors.numpy import load_file

from tests.cli.conftest import run_command
from tests.parallel.processes import in_processes, on_ranks, stopped_after
from typednn import Input
from typednn.data import Loader
from typednn.errors import ArgumentError
from typednn.layers import BatchNorm1d, Dropout, Linear, Tanh
from typednn.losses import MSE, SoftmaxCrossEntropy
from typednn.losses.sample_weights import SampleWeighted
from typednn.optim import SGD
from typednn.parallel import DataParallel, Ranks
from typednn.parallel.ranks import SIZES, SLURM, started
from typednn.parallel.sums import Flat, Tree, added, tree_sum
from typednn.recipes import load_data, recipe, train
from typednn.training import fit

pytestmark = pytest.mark.usefixtures("on_the_reference")


def small() -> Any:
    return (Input(4) >> Linear(4, 5) >> Tanh() >> Linear(5, 3)).init(np.random.default_rng(1)).astype(np.float64)


def computing(model: Any, loss: Any, seen: Callable[[Any, Any], object] = lambda x, prediction: None) -> Any:
    """What `fit` computes of some rows: gradient, divisor and loss."""

    def compute(x: Any, y: Any, weight: Any) -> Any:
        weighted = loss if weight is None else SampleWeighted(loss, weight)
        prediction = model.forward(x)
        seen(x, prediction)
        grad = model.backward(weighted.loss_grad(prediction, y))
        return grad, weighted.divisor(prediction, y), float(weighted.loss(prediction, y))

    return compute


def drawn(rows: int) -> tuple[Any, Any, Any]:
    """Rows, labels of which a third do not count, and what each row weighs; the first row counts."""
    rng = np.random.default_rng(rows)
    labels = np.where(np.arange(rows) % 3 == 1, -100, rng.integers(0, 3, rows))
    return rng.standard_normal((rows, 4)), labels, np.where(np.arange(rows) % 4 == 2, 0.0, rng.uniform(0.5, 2.0, rows))


@pytest.mark.parametrize("shards", [1, 2, 8, 64])
@pytest.mark.parametrize("rows", [1, 3, 7, 8, 50])
@pytest.mark.parametrize("weighs", [False, True], ids=["alike", "weighted"])
@pytest.mark.parametrize(
    "loss",
    [
        SoftmaxCrossEntropy(),
        SoftmaxCrossEntropy(reduction="sum"),
        SoftmaxCrossEntropy(weight=[1.0, 2.0, 0.5], label_smoothing=0.1),
    ],
    ids=["mean", "sum", "classes"],
)
def test_the_gradient_is_that_of_the_whole_batch(loss: Any, weighs: bool, rows: int, shards: int) -> None:
    model = small()
    x, y, weight = drawn(rows)
    given = weight if weighs else None
    whole, divisor, value = computing(model, loss)(x, y, given)
    sharded, counted, told = DataParallel(shards).computed(model, computing(model, loss), x, y, given)
    assert counted == (None if divisor is None else pytest.approx(divisor, rel=1e-12))
    assert told == pytest.approx(value, rel=1e-12)
    for ours, expected in zip(sharded.leaves().values(), whole.leaves().values(), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-10, atol=1e-13)


def test_the_gradient_of_a_shared_layer_is_the_sum_of_its_uses() -> None:
    same = Linear(4, 4)
    model: Any = (Input(4) >> same >> Tanh() >> same.shared()).init(np.random.default_rng(1)).astype(np.float64)
    x = drawn(11)[0]
    compute = computing(model, MSE())
    whole, *_ = compute(x, x, None)
    sharded, *_ = DataParallel().computed(model, compute, x, x, None)
    ours, expected = model.named_gradients(sharded), model.named_gradients(whole)
    assert ours.keys() == expected.keys() == model.named_parameters().keys()
    for name, derivative in expected.items():
        np.testing.assert_allclose(ours[name], derivative, rtol=1e-10, atol=1e-13)


def test_a_batch_in_which_nothing_counts_has_a_gradient_of_zeros() -> None:
    model, nothing = small(), np.full(7, -100)
    computed = DataParallel().computed(model, computing(model, SoftmaxCrossEntropy()), drawn(7)[0], nothing, None)
    grad, divisor, value = computed
    assert (divisor, value) == (0.0, 0.0)
    assert all(not leaf.any() for leaf in grad.leaves().values())


def fitted(model: Any, rows: int, accumulate: int, parallel: DataParallel | None) -> tuple[Any, Any]:
    """The model, trained on so many rows in batches of 11, and the losses."""
    x, _, weight = drawn(rows)
    y = np.random.default_rng(3).standard_normal((rows, 3))
    loader = Loader(x, y, batch_size=11, rng=np.random.default_rng(2), sample_weight=weight)
    more = dict[str, Any](progress=False, accumulate=accumulate, parallel=parallel)
    return model, fit(model, MSE(), SGD(0.1, momentum=0.9), loader, epochs=3, **more).losses


@pytest.mark.parametrize("accumulate", [1, 3])
def test_fit_ends_where_it_ends_without_shards(accumulate: int) -> None:
    """To rounding: batches of other sizes too, and gradients that are added up."""
    (ours, losses), (plain, expected) = (
        fitted(small(), 50, accumulate, parallel) for parallel in (DataParallel(), None)
    )
    assert losses == pytest.approx(expected, rel=1e-10)
    for mine, other in zip(ours.parameters(), plain.parameters(), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-12)


def test_each_shard_draws_a_mask_of_its_own() -> None:
    model: Any = (Input(40) >> Dropout(0.5)).init(np.random.default_rng(0))
    before, masks = model.state_dict()["0.seed"].copy(), list[bytes]()
    compute = computing(model, MSE(), lambda _, prediction: masks.append((prediction > 0).tobytes()))
    x = np.ones((16, 40), np.float32)
    parallel = DataParallel(4)
    for step in (1, 2):
        parallel.computed(model, compute, x, x, None)
        after = model.state_dict()["0.seed"]
        assert (after[0], after[1]) == (before[0], before[1] + step), "the key stays, and a step counts one mask"
    assert len(set(masks)) == len(masks) == 8, "two shards or two steps have drawn the same mask"


def test_running_statistics_move_by_the_mean_over_shards() -> None:
    model: Any = (Input(4) >> BatchNorm1d(4, momentum=0.3)).init(np.random.default_rng(0)).astype(np.float64)
    x = drawn(12)[0]
    DataParallel(2).computed(model, computing(model, MSE()), x, x, None)
    state = model.state_dict()
    halves = x[:6], x[6:]
    mean, var = (np.mean([each(half) for half in halves], axis=0) for each in (_mean, _var))
    np.testing.assert_allclose(state["0.running_mean"], 0.3 * mean, rtol=1e-12)
    np.testing.assert_allclose(state["0.running_var"], 0.7 + 0.3 * var, rtol=1e-12)
    assert state["0.num_batches_tracked"] == 1


def _mean(x: Any) -> Any:
    return x.mean(axis=0)


def _var(x: Any) -> Any:
    return x.var(axis=0, ddof=1)


def test_a_tree_adds_neighbours_first() -> None:
    def joined(first: str, second: str) -> str:
        return f"({first}{second})"

    assert tree_sum("abcdefgh", joined) == "(((ab)(cd))((ef)(gh)))"
    assert tree_sum(["a", None, None, None, "e", "f", None, "h"], joined) == "(a((ef)h))"
    assert tree_sum(["a"], joined) == "a"
    assert tree_sum([None, None], joined) is None


@pytest.mark.parametrize(
    ("shards", "said"),
    [
        (3, "DataParallel: shards is a power of two, at most 32,768, got 3"),
        (0, "DataParallel: shards must be an integer of at least 1, got 0"),
        (-2, "DataParallel: shards must be an integer of at least 1, got -2"),
        (1 << 16, "DataParallel: shards is a power of two, at most 32,768, got 65536"),
        ("8", "DataParallel: shards must be an integer of at least 1, got '8'"),
    ],
)
def test_shards_that_do_not_fit(shards: Any, said: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        DataParallel(shards)
    assert str(caught.value) == said


def test_another_exchange_is_refused() -> None:
    wrong: Any = "quick"
    with pytest.raises(ArgumentError, match="exchange must be one of 'exact', 'fastest', got 'quick'"):
        DataParallel(exchange=wrong)
    said = "exchange='fastest' has a shard for each rank, got shards=8; leave shards out"
    with pytest.raises(ArgumentError, match=said):
        DataParallel(8, exchange="fastest")


def test_the_fastest_exchange_on_one_rank_is_no_exchange() -> None:
    """One shard: the gradient of the batch, to the bit."""
    model, (x, y, weight) = small(), drawn(50)
    compute = computing(model, SoftmaxCrossEntropy())
    whole, divisor, value = compute(x, y, weight)
    parallel = DataParallel(exchange="fastest")
    assert repr(parallel) == "DataParallel(exchange='fastest', rank=0, size=1)"
    ours, counted, told = parallel.computed(model, compute, x, y, weight)
    assert counted == divisor
    assert told == pytest.approx(value, rel=1e-14)
    for mine, expected in zip(ours.leaves().values(), whole.leaves().values(), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-14)


def test_a_training_says_what_the_fastest_exchange_gives_up(capsys: pytest.CaptureFixture[str]) -> None:
    x, y = drawn(20)[0], np.zeros((20, 3))
    for exchange, said in (("exact", 0), ("fastest", 1)):
        parallel = DataParallel(exchange="fastest" if said else "exact")
        loader = Loader(x, y, batch_size=5, rng=np.random.default_rng(2))
        fit(small(), MSE(), SGD(0.1), loader, epochs=2, parallel=parallel, progress=True)
        assert capsys.readouterr().err.count("exchange=fastest: on another number of ranks the bits") == said, exchange


def test_gradients_of_two_types_are_summed_each_in_its_own() -> None:
    """And what is summed stands in one vector for each type."""
    shards = [[np.full((2, 3), k, np.float32), np.full(2, 10.0 * k), np.full(1, k, np.float32)] for k in (1, 2, 4, 8)]
    tree = Tree(added)
    for shard in shards:
        tree.put(shard)
    total = Flat.of(tree.total)
    assert [(each.dtype.name, each.shape, each.flat[0]) for each in total.arrays] == [
        ("float32", (2, 3), 15.0),
        ("float64", (2,), 150.0),
        ("float32", (1,), 15.0),
    ]
    assert {dtype.name: vector.tolist() for dtype, vector in total.vectors.items()} == {
        "float32": [15.0] * 7,
        "float64": [150.0] * 2,
    }
    assert [each.flat[0] for shard in shards for each in shard] == [1, 10, 1, 2, 20, 2, 4, 40, 4, 8, 80, 8]


def test_a_process_alone_is_the_first_of_one() -> None:
    ranks = Ranks()
    assert (ranks.rank, ranks.size, ranks.is_first, repr(ranks)) == (0, 1, True, "Ranks(rank=0, size=1)")
    assert repr(DataParallel(4)) == "DataParallel(shards=4, rank=0, size=1)"
    assert list(DataParallel(4).own) == [0, 1, 2, 3]
    rows = np.ones((2, 3))
    assert ranks.gathered(rows) is rows
    assert (ranks.first_reason("why"), ranks.from_first(5)) == ("why", 5)
    ranks.require_equal("the settings", b"")
    with pytest.raises(ValueError, match="as it was"), ranks.together():
        raise ValueError("as it was")


@pytest.mark.parametrize("rows", [3, 50])
def test_a_model_on_a_device_has_the_gradient_that_it_has_on_the_cpu(rows: int) -> None:
    strict_array.register()
    x, *_ = drawn(rows)
    y = np.ones((rows, 3))
    model, elsewhere = small(), small().to("strict")
    grad, divisor, value = DataParallel().computed(model, computing(model, MSE()), x, y, None)
    there = strict_array.to_strict(x), strict_array.to_strict(y)
    ours, counted, told = DataParallel().computed(elsewhere, computing(elsewhere, MSE()), *there, None)
    assert (counted, told) == (divisor, value)
    for mine, expected in zip(ours.leaves().values(), grad.leaves().values(), strict=True):
        assert strict_array.to_numpy(mine).tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("variable", "count", "several"),
    [("PMI_SIZE", "2", True), ("OMPI_COMM_WORLD_SIZE", "1", True), (SLURM, "2", True), (SLURM, "1", False)],
)
def test_what_started_this_process(monkeypatch: pytest.MonkeyPatch, variable: str, count: str, several: bool) -> None:
    """Slurm says to every program that it runs how many there are."""
    for name in SIZES:
        monkeypatch.delenv(name, raising=False)
    assert not started()
    monkeypatch.setenv(variable, count)
    assert started() == several


# -------------------------------------------------------------- in processes

PROGRAM = """
import sys
import numpy as np
from typednn import Input
from typednn.data import Loader
from typednn.layers import BatchNorm2d, Conv2d, Dropout, Flatten, Linear, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import AdamW
from typednn.parallel import DataParallel
from typednn.random import PCG32
from typednn.training import Callback, fit

fault = sys.argv[1]
parallel = DataParallel(exchange="fastest" if fault == "fastest" else "exact")
last = parallel.ranks.rank == parallel.ranks.size - 1
if fault == "shards" and last:
    parallel = DataParallel(4)
rng = np.random.default_rng(0)
x, y = rng.standard_normal((103, 6, 6, 2), dtype=np.float32), rng.integers(0, 5, 103)
model = Input(6, 6, 2) >> Conv2d(2, 4, 3) >> BatchNorm2d(4) >> ReLU() >> Flatten() >> Dropout(0.3) >> Linear(64, 5)
model.init(PCG32(1 + parallel.ranks.rank))  # the ranks begin as the first

calls = 0
def transformed(rows):
    global calls
    calls += 1
    if fault == "raise" and last and calls == 9:  # the third batch's first of four shards
        raise MemoryError("no memory for this")
    return rows

class Told(Callback):
    def on_step(self, step):
        print("step", step.step, flush=True)

more = {"accumulate": 1 + (fault == "settings" and last)}
loader = Loader(x, y, batch_size=25, rng=PCG32(3), transform=transformed, prefetch=0)
history = fit(
    model, SoftmaxCrossEntropy(), AdamW(1e-3), loader, epochs=3, progress=False, parallel=parallel,
    callbacks=[Told()], **more,
)
np.savez(f"rank-{parallel.ranks.rank}-of-{parallel.ranks.size}.npz", losses=history.losses, **model.state_dict())
"""


def ended(count: int, fault: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """``PROGRAM`` on so many ranks."""
    return on_ranks(count, folder, fault, program=PROGRAM)


@in_processes
def test_any_number_of_ranks_ends_with_the_same_bits(tmp_path: Path) -> None:
    for count in (1, 2, 4):
        done = ended(count, "none", tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == [f"step {step}" for step in range(1, 16)], "the first rank has the callbacks"
    with np.load(tmp_path / "rank-0-of-1.npz") as file:
        alone = dict(file)
    assert len(alone["losses"]) == 3
    kept = [*tmp_path.glob("rank-*.npz")]
    assert len(kept) == 1 + 2 + 4, "each rank has the model and the losses"
    for path in kept:
        with np.load(path) as file:
            assert file.keys() == alone.keys()
            assert [name for name in file if file[name].tobytes() != alone[name].tobytes()] == [], path.name


@in_processes
def test_the_fastest_exchange_gives_all_ranks_the_same_weights(tmp_path: Path) -> None:
    """Those of the batch's gradient to rounding, but for what a layer draws, or measures, of each rank's rows."""
    done = ended(2, "fastest", tmp_path)
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "rank-0-of-2.npz") as first, np.load(tmp_path / "rank-1-of-2.npz") as second:
        assert [name for name in first if first[name].tobytes() != second[name].tobytes()] == []


@in_processes
def test_a_vector_is_summed_over_ranks(tmp_path: Path) -> None:
    """Of any length, also with fewer numbers than ranks; ranks that are not present are left out."""
    program = """
import numpy as np
from typednn.parallel import Ranks
ranks = Ranks()
for dtype in (np.float32, np.float64, np.int64):
    for length in (0, 1, 2, 3, 1000, 40_001):
        every = np.random.default_rng(length).uniform(-99, 99, (ranks.size, length)).astype(dtype)
        mine = every[ranks.rank].copy()
        ranks.add_up(mine, [True] * ranks.size)
        assert np.array_equal(mine, (every[0] + every[1]) + (every[2] + every[3])), (dtype, length)
        mine = every[ranks.rank].copy()
        ranks.add_up(mine, [False, True, True, False])
        assert np.array_equal(mine, every[1] + every[2]), (dtype, length)
        mine = every[ranks.rank].copy()
        ranks.all_reduce(mine)
        assert np.allclose(mine, every.sum(axis=0), rtol=1e-4, atol=1e-3), (dtype, length)
"""
    done = on_ranks(4, tmp_path, "-c", program)
    assert done.returncode == 0, done.stderr


@in_processes
def test_a_rank_that_raises_ends_the_job(tmp_path: Path) -> None:
    """The other would wait for it for ever."""
    done = ended(2, "raise", tmp_path)
    assert done.returncode != 0
    assert done.stdout == "step 1\nstep 2\n"
    assert "MemoryError: no memory for this" in done.stderr
    assert "typednn: rank 1 of 2, on " in done.stderr
    assert [*tmp_path.glob("*.npz")] == []


@in_processes
def test_ranks_with_other_settings_are_refused_before_the_first_step(tmp_path: Path) -> None:
    done = ended(2, "settings", tmp_path)
    assert done.returncode != 0
    assert "all ranks begin alike, got the settings of rank 1 differ from those of rank 0" in done.stderr
    assert "step" not in done.stdout


def on_two(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return on_ranks(2, folder, *words)


@in_processes
def test_a_rank_that_fails_before_the_training_ends_the_job(tmp_path: Path) -> None:
    """Only the second rank does not find the data; the first waits for it."""
    pytest.importorskip("sklearn", reason="of which the digits are")
    program = "from typednn.parallel import Ranks\nfrom typednn.recipes import train\n"
    program += "train('mlp', ['digits', 'nowhere'][Ranks().rank], run='run', progress=False)"
    done = on_two(tmp_path, "-c", program)
    assert done.returncode != 0
    assert "nowhere" in done.stderr
    assert "typednn: rank 1 of 2, on " in done.stderr


@in_processes
def test_another_number_of_ranks_than_was_started(tmp_path: Path) -> None:
    done = on_two(tmp_path, "-m", "typednn", "train", "mlp", "--data", "digits", "--ranks", "4")
    assert done.returncode != 0
    said = "typednn train: --ranks: starts ranks, or says how many there are, got 4, where 2 were started; leave it out"
    assert done.stderr.count(said) == 1


def weights(run: Path) -> dict[str, Any]:
    """The arrays of the checkpoint after step 6."""
    return load_file(run / "checkpoints" / "step-00000006" / "weights.safetensors")


@in_processes
def test_a_run_of_two_ranks_goes_on_with_one(tmp_path: Path) -> None:
    """As one rank that was not stopped."""
    pytest.importorskip("sklearn", reason="of which the digits are")
    asked = ["train", "mlp", "--data", "digits", "-q", "--set", "max_steps=6", "--set", "checkpoint_every=3"]
    for command in (
        [*asked, "--rank", "2", "--run", "stopped"],
        ["resume", "stopped", "-q"],
        [*asked, "--set", "shards=8", "--run", "whole"],
    ):
        done = run_command(*command, cwd=tmp_path, TYPEDNN_ENGINE="reference")
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) <= 1, "only the first rank speaks"
        if "--rank" in command:
            stopped_after(tmp_path / "stopped", 3)
    ours, expected = weights(tmp_path / "stopped"), weights(tmp_path / "whole")
    assert ours.keys() == expected.keys()
    assert [name for name, array in ours.items() if array.tobytes() != expected[name].tobytes()] == []


@in_processes
def test_a_run_without_shards_is_not_resumed_on_several_ranks(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="of which the digits are")
    train(recipe("mlp").changed({"max_steps": 1}), load_data("digits"), run=tmp_path / "run", progress=False)
    done = run_command("resume", "run", "--ranks", "2", cwd=tmp_path, TYPEDNN_ENGINE="reference")
    assert done.returncode != 0
    assert "a run is resumed on several ranks that began with shards, got shards=0" in done.stderr
    assert "Traceback" not in done.stderr


@in_processes
def test_a_run_with_the_fastest_exchange_goes_on_with_one(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="of which the digits are")
    asked = ["train", "mlp", "--data", "digits", "--set", "max_steps=6", "--set", "exchange=fastest", "--run", "run"]
    said = "exchange=fastest: on another number of ranks the bits are others"
    for command in ([*asked, "--ranks", "2", "--time-limit", "1e-9"], ["resume", "run"]):
        done = run_command(*command, cwd=tmp_path, TYPEDNN_ENGINE="reference")
        assert done.returncode == 0, done.stderr
        assert (done.stdout + done.stderr).count(said) == 1, "the first rank says it"
    assert len([*(tmp_path / "run" / "checkpoints").glob("step-*")]) == 2, "it was stopped, and went on"
    done = run_command(*asked[:-1], "other", "--set", "shards=4", cwd=tmp_path, TYPEDNN_ENGINE="reference")
    assert done.returncode != 0
    assert "exchange='fastest' has a shard for each rank, got shards=4; leave shards out" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "other").exists()


@in_processes
def test_ranks_that_sum_otherwise_are_refused(tmp_path: Path) -> None:
    done = ended(2, "shards", tmp_path)
    assert done.returncode != 0
    assert "all ranks begin alike, got the settings of rank 1 differ from those of rank 0" in done.stderr
