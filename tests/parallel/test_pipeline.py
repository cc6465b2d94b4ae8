"""A model in stages: the same bits as on one rank with the same shards, whatever the cut.

Truth is the model in one piece, all cuts there are, and training on one rank.
"""

import subprocess
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.cli.conftest import run_command
from tests.parallel.processes import in_processes, on_ranks, stopped_after
from typednn import Input
from typednn.engines import using
from typednn.errors import ArgumentError
from typednn.layers import BatchNorm1d, Dropout, Linear, ReLU, Tanh
from typednn.models import GPT2, lenet5
from typednn.parallel import DataParallel
from typednn.parallel.cutting import check_pieces, cut, pieces_of
from typednn.parallel.in_flight import put_back
from typednn.parallel.pipeline import Pipeline
from typednn.parallel.stage import Stage
from typednn.random import PCG32


def mlp() -> Any:
    model = (
        Input(6) >> Linear(6, 8) >> BatchNorm1d(8) >> ReLU() >> Dropout(0.3) >> Linear(8, 8) >> Tanh() >> Linear(8, 3)
    )
    return model.init(PCG32(1))


def gpt(**more: Any) -> Any:
    return GPT2(19, 8, 12, 3, 2, **more).init(PCG32(1))


def inputs(model: Any, rows: int) -> Any:
    rng = np.random.default_rng(rows)
    if isinstance(model, GPT2):
        return rng.integers(0, 19, (rows, 8))
    return rng.standard_normal((rows, *model.sample.sizes), dtype=np.float32)


@pytest.mark.parametrize("costs", [[1.0] * 5, [1.0, 5.0, 1.0, 1.0, 2.0], [3.0, 0.0, 0.0, 3.0, 1.0], [7.0, 1.0]])
def test_a_cut_has_the_shortest_longest_stage(costs: list[float]) -> None:
    for stages in range(1, len(costs) + 1):
        _compare_with_all_cuts(costs, stages)


def _compare_with_all_cuts(costs: list[float], stages: int) -> None:
    bounds = cut(costs, stages)
    assert (bounds[0], bounds[-1], len(bounds)) == (0, len(costs), stages + 1)
    assert all(start < stop for start, stop in pairwise(bounds))

    def longest(ends: Any) -> float:
        return max(sum(costs[start:stop]) for start, stop in pairwise(ends))

    ways = combinations(range(1, len(costs)), stages - 1)
    assert longest(bounds) == min(longest((0, *way, len(costs))) for way in ways)


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize(
    "make",
    [mlp, lambda: lenet5(softmax=False, rng=PCG32(1)), gpt, lambda: gpt(tie_word_embeddings=False, dropout=0.1)],
    ids=["mlp", "lenet5", "gpt2", "gpt2-untied"],
)
def test_stages_have_the_names_and_the_gradient_of_the_whole(make: Any, engine: str) -> None:
    """Cut at each place; two forwards are kept at a time."""
    with using(engine):
        _compare_at_each_place(make)


def _compare_at_each_place(make: Any) -> None:
    model, whole = make(), make()
    pieces = pieces_of(model)
    for place in range(1, len(pieces)):
        stages: list[Any] = [Stage(pieces[:place], True), Stage(pieces[place:], False)]
        names = [name for stage in stages for name in stage.state_dict()]
        assert sorted(names) == sorted(whole.state_dict())
        model.load_state_dict(whole.state_dict())
        first, second = inputs(whole, 3), inputs(whole, 2)
        y = [stages[0].forward(first)]
        kept = stages[0].kept()
        stages[0].forward(second)
        stages[0].kept()
        scores = stages[1].forward(y[0])
        expected = whole.forward(first)
        assert scores.tobytes() == expected.tobytes()
        derivative = np.random.default_rng(0).standard_normal(scores.shape, dtype=np.float32)
        later = stages[1].backward(derivative)
        put_back(kept)
        if pieces[0].tied is not None:
            stages[0].steps[0].derivative = stages[1].steps[-1].derivative
        earlier = stages[0].backward(later.input)
        found = stages[0].named_gradients(earlier) | stages[1].named_gradients(later)
        truth = whole.named_gradients(whole.backward(derivative))
        assert [name for name, each in truth.items() if found[name].tobytes() != each.tobytes()] == []
        assert len(found) == len(truth)
        whole.forward(second)  # so that the running statistics are those of both


def test_each_part_of_a_chain_is_a_piece() -> None:
    model = lenet5(softmax=False)
    assert [[path for path, *_ in piece.members] for piece in pieces_of(model)] == [[name] for name in model.names]


def test_the_pieces_of_a_gpt2_in_a_chain_have_its_name() -> None:
    chain = Input(8, dtype=int) >> gpt()
    assert [path for piece in pieces_of(chain) for path, *_ in piece.members] == [
        "0.wte", "0.wpe", "0.drop", "0.h.copies.0", "0.h.copies.1", "0.h.copies.2", "0.ln_f",
    ]  # fmt: skip


def shared() -> Any:
    same = Linear(4, 4)
    return (Input(4) >> same >> Tanh() >> same.shared()).init(PCG32(1))


@pytest.mark.parametrize(
    ("make", "stages", "said"),
    [
        (mlp, 9, "fit: 9 stages need as many pieces, got a model of 7; take fewer stages"),
        (lambda: mlp().freeze(1), 2, "fit: all layers of a model in stages learn, got frozen layers; let all learn"),
        (shared, 2, "fit: a parameter is of one piece of a model in stages, got 2.weight, which another shares"),
        (lambda: Linear(2, 3), 2, "fit: stages are parts of a chain or of GPT-2, got Linear; write it as layers >>"),
    ],
    ids=["pieces", "frozen", "shared", "no chain"],
)
def test_models_that_are_not_cut(make: Any, stages: int, said: str) -> None:
    model = make()
    with pytest.raises(ArgumentError) as caught:
        check_pieces(model, pieces_of(model), stages)
    assert str(caught.value).startswith(said)


def test_stages_need_a_rank_each() -> None:
    rule = "DataParallel: each replica has a rank for each stage, got 2 stages on 1 ranks; start 2 ranks, or a multiple"
    with pytest.raises(ArgumentError, match=rule):
        DataParallel(stages=2)


class Middle:
    """The second rank of four, whose neighbours are always there; what it does is noted."""

    size, rank, is_first = 4, 1, False

    def __init__(self) -> None:
        self.done: list[str] = []

    def from_first(self, _: Any) -> list[int]:
        return [0, 1, 2, 3, 5]

    def receive(self, sender: int, kind: int) -> tuple[Any, float]:
        return np.ones((2, 8), np.float32), 2.0

    def send(self, array: Any, to: int, kind: int, number: float | None) -> list[Any]:
        self.done.append({2: "F", 0: "B"}[to])
        return [array]

    def wait(self, sent: Any) -> None:
        self.done.append(str(len(sent)))


@pytest.mark.parametrize(("shards", "order"), [(5, "FFFBFBFBBB10"), (2, "FFBB4"), (1, "FB2")])
def test_a_forward_and_a_backward_in_turns(shards: int, order: str) -> None:
    """Two forwards ahead, so that three shards at most are kept."""
    chain: Any = Middle()
    pipeline = Pipeline(mlp(), chain, chain, None)
    rows = [(shard, slice(0, 2)) for shard in range(shards)]
    found = list(pipeline.shards(lambda x, part: (x, None, 0.0), None, rows, lambda shard: None, list))
    assert "".join(chain.done) == order
    assert [divisor for _, divisor, _, _ in found] == [2.0] * shards


@pytest.mark.parametrize(("transforms", "averages", "got"), [((abs,), False, "a transform"), ((), True, "ema")])
def test_what_a_model_in_stages_does_not_have(transforms: Any, averages: bool, got: str) -> None:
    parallel = DataParallel()
    parallel.check(mlp(), transforms, averages)
    parallel.stages = 2
    with pytest.raises(ArgumentError, match=f"a model in stages has no transform and no average, got {got}; leave"):
        parallel.check(mlp(), transforms, averages)


# -------------------------------------------------------------- in processes

PROGRAM = """
import sys
import numpy as np
from typednn import Input
from typednn.data import Loader
from typednn.layers import BatchNorm1d, Dropout, Linear, ReLU, Tanh
from typednn.losses import SoftmaxCrossEntropy
from typednn.models import GPT2, lenet5
from typednn.optim import SGD, AdamW
from typednn.parallel import DataParallel
from typednn.random import PCG32
from typednn.training import Callback, fit

stages, wrong = int(sys.argv[1]), sys.argv[2:]

class Norms(Callback):
    def __init__(self):
        self.seen = []

    def on_step(self, step):
        self.seen += [] if step.gradient_norms is None else [*step.gradient_norms.values()]

def trained(name, model, x, y, optimizer, **more):
    parallel, norms = DataParallel(stages=stages), Norms()
    optimizer.bind(model.init(PCG32(1 + parallel.ranks.rank)))
    if wrong == ["nan"] and parallel.ranks.is_first:
        model.named_parameters()["0.weight"][0] = np.nan
    rows, held = more.pop("rows"), []

    def looked(batch):  # on each rank, before a step
        kept = optimizer.state_dict()
        held[:] = [each for each in model.named_parameters() if any(hasattr(kept[key], "nbytes")
                   for key in kept if key.rpartition(".")[0] == each)]
        return batch

    for _ in range(2):  # the second one goes on with the optimizer of the first
        loader = Loader(x, y, batch_size=rows, rng=PCG32(3), transform=looked, prefetch=0)
        history = fit(
            model, SoftmaxCrossEntropy(), optimizer, loader, epochs=2,
            parallel=parallel, validation=(x[:20], y[:20]), progress=False, callbacks=[norms], **more,
        )
    told = {"losses": history.losses, "measured": [each.loss for each in history.evaluations]}
    if parallel.ranks.is_first:
        told["norms"] = norms.seen
        told |= {f"optimizer.{key}": value for key, value in optimizer.state_dict().items() if hasattr(value, "nbytes")}
    if stages > 1:
        told["held"] = held
    np.savez(f"{name}-{parallel.ranks.rank}", **told, **model.state_dict())

rng = np.random.default_rng(0)
x, y = rng.standard_normal((116, 6), dtype=np.float32), rng.integers(0, 3, 116)
mlp = Input(6) >> Linear(6, 8) >> BatchNorm1d(8) >> ReLU() >> Dropout(0.3) >> Linear(8, 8) >> Tanh() >> Linear(8, 3)
trained("mlp", mlp, x, y, AdamW(1e-2), rows=50, clip_grad_norm=0.5, accumulate=2)
x, y = rng.standard_normal((53, 28, 28, 1), dtype=np.float32), rng.integers(0, 10, 53)
trained("lenet5", lenet5(softmax=False), x, y, SGD(0.05, momentum=0.9), rows=25)
x, y = rng.integers(0, 19, (61, 8)), rng.integers(0, 19, (61, 8))
trained("gpt2", GPT2(19, 8, 12, 3, 2, dropout=0.1), x, y, AdamW(1e-2), rows=30, clip_grad_norm=0.1)
"""


def ended(count: int, folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """``PROGRAM`` on so many ranks."""
    return on_ranks(count, folder, *words, program=PROGRAM)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one rank without stages ends with."""
    folder = tmp_path_factory.mktemp("alone")
    done = ended(1, folder, "1")
    assert done.returncode == 0, done.stderr
    return folder


@in_processes
@pytest.mark.parametrize(("count", "stages"), [(2, 2), (4, 2), (4, 4)])
def test_stages_end_with_the_bits_of_one_rank(alone: Path, tmp_path: Path, count: int, stages: int) -> None:
    """The weights, statistics, losses, evaluations and norms, on each rank; a batch's end leaves shards empty."""
    done = ended(count, tmp_path, str(stages))
    assert done.returncode == 0, done.stderr
    for name in ("mlp", "lenet5", "gpt2"):
        with np.load(alone / f"{name}-0.npz") as file:
            expected = dict(file)
        held: list[str] = []  # of the optimizer, by the ranks of a replica
        for rank in range(count):
            with np.load(tmp_path / f"{name}-{rank}.npz") as file:
                ours = dict(file)
            held += [] if rank >= stages else ours["held"].tolist()
            del ours["held"]
            others = {each for each in expected if each == "norms" or each.startswith("optimizer.")}
            assert ours.keys() == expected.keys() - (set() if rank == 0 else others), "the first rank has all"
            assert [each for each in ours if ours[each].tobytes() != expected[each].tobytes()] == [], (name, rank)
        learnt = {each for each in expected if each.endswith(("weight", "bias")) and not each.startswith("optimizer.")}
        assert sorted(held) == sorted(learnt), "each parameter's arrays are on one rank of a replica"


@in_processes
def test_a_loss_of_nan_ends_the_job_and_says_where(tmp_path: Path) -> None:
    done = ended(2, tmp_path, "2", "nan")
    assert done.returncode != 0
    assert "the loss must stay finite, got nan in step 1 (epoch 1), first in what an earlier stage gave" in done.stderr
    assert "typednn: rank 1 of 2, on " in done.stderr


@in_processes
def test_a_model_that_is_no_chain_ends_in_one_error(tmp_path: Path) -> None:
    program = (
        "import numpy as np\nfrom typednn.layers import Linear\nfrom typednn.losses import MSE\n"
        "from typednn.data import Loader\nfrom typednn.optim import SGD\nfrom typednn.parallel import DataParallel\n"
        "from typednn.random import PCG32\nfrom typednn.training import fit\n"
        "x = np.ones((8, 2), np.float32)\n"
        "fit(Linear(2, 2).init(PCG32(0)), MSE(), SGD(0.1), Loader(x, x, batch_size=8, rng=PCG32(1)), epochs=1,\n"
        "    parallel=DataParallel(stages=2))\n"
    )
    done = on_ranks(2, tmp_path, "-c", program)
    assert done.returncode != 0
    assert "fit: stages are parts of a chain or of GPT-2, got Linear" in done.stderr


def saved(run: Path) -> dict[str, bytes]:
    """Weights and optimizer of the checkpoint after step 6."""
    folder = run / "checkpoints" / "step-00000006"
    arrays = {
        f"{path.name} {name}": array for path in folder.glob("*.safetensors") for name, array in load_file(path).items()
    }
    return {name: array.tobytes() for name, array in arrays.items()}


@in_processes
def test_a_run_goes_on_with_other_stages(tmp_path: Path) -> None:
    """Its files are those of one rank that was not stopped."""
    pytest.importorskip("sklearn", reason="of which the digits are")
    asked = ["train", "mlp", "--data", "digits", "-q", "--set", "max_steps=6", "--set", "checkpoint_every=2"]
    for command, step in (
        ([*asked, "--ranks", "2", "--stages", "2", "--run", "stopped"], 2),
        (["resume", "stopped", "-q"], 4),
        (["resume", "stopped", "-q", "--ranks", "2", "--stages", "2"], 6),
        ([*asked, "--set", "shards=8", "--run", "whole"], 6),
    ):
        done = run_command(*command, cwd=tmp_path, TYPEDNN_ENGINE="reference")
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) <= 1, "only the first rank speaks"
        stopped_after(tmp_path / "stopped", step)
    ours, expected = saved(tmp_path / "stopped"), saved(tmp_path / "whole")
    assert ours.keys() == expected.keys()
    assert any(name.startswith("optimizer") for name in ours)
    assert [name for name, content in ours.items() if content != expected[name]] == []
