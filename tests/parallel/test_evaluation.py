"""Evaluations that ranks share out: the numbers of one process, to the bit, and each batch computed once."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.parallel.processes import in_processes, on_ranks
from typednn.tasks import Classification, Language
from typednn.tasks.task import CountedTask

pytestmark = pytest.mark.usefixtures("on_the_reference")

PROGRAM = """
import json
import numpy as np
from typednn import Input
from typednn.layers import Linear, Tanh
from typednn.losses import MSE, SoftmaxCrossEntropy
from typednn.parallel import Ranks
from typednn.random import PCG32
from typednn.tasks import Classification, Language, Regression
from typednn.training import Evaluation
from typednn.training.evaluation import evaluated

ranks = Ranks()
rng = np.random.default_rng(0)
x, labels, targets = rng.standard_normal((103, 4)), rng.integers(0, 3, 103), rng.standard_normal((103, 3))
weight = rng.uniform(0.5, 2.0, 103)
model = (Input(4) >> Linear(4, 5) >> Tanh() >> Linear(5, 3)).init(PCG32(1)).astype(np.float64)
seen = []

class Seen:
    # a task of one's own, which counts nothing
    def targets(self, y, prediction):
        seen.append(len(y))
        return y
    def metrics(self, batches):
        return {"largest": max(float(prediction.max()) for prediction, _ in batches)}

class Some(Seen):
    # reads the first batch alone
    def metrics(self, batches):
        return {"first": float(next(iter(batches))[0].sum())}

cases = {
    "classes": (labels, SoftmaxCrossEntropy(), Classification(top_k=2)),
    "none": (targets, MSE(), Classification()),
    "numbers": (targets, MSE(), Regression()),
    "own": (targets, MSE("sum"), Seen()),
    "some": (targets, MSE("sum"), Some()),
}
found = {}
for batch in (10, 60, 200):
    for name, (y, loss, task) in cases.items():
        for weights in (None, weight):
            evaluation = Evaluation(x, y, batch_size=batch, sample_weight=weights)
            value, metrics = evaluation.measure(model, loss, task, ranks)
            numbers = {"loss": value, **metrics}
            found[f"{name} {batch} {weights is None}"] = {key: float(n).hex() for key, n in numbers.items()}
found["outputs"] = evaluated(model, x, 30, ranks=ranks).tobytes().hex()
with open(f"{ranks.size}-{ranks.rank}.json", "w") as file:
    json.dump({"found": found, "rows": sum(seen)}, file)
"""


@in_processes
def test_any_number_of_ranks_measures_the_same_bits(tmp_path: Path) -> None:
    for count in (1, 2, 4):
        done = on_ranks(count, tmp_path, program=PROGRAM)
        assert done.returncode == 0, done.stderr
    told = {path.stem: json.loads(path.read_text()) for path in tmp_path.glob("*.json")}
    assert len(told) == 1 + 2 + 4
    alone = told["1-0"]
    assert len(alone["found"]) == 3 * 5 * 2 + 1
    assert [name for name, each in told.items() if each["found"] != alone["found"]] == []
    for count in (2, 4):
        rows = [each["rows"] for name, each in told.items() if name.startswith(f"{count}-")]
        assert sum(rows) == alone["rows"], "each batch is computed by one rank"
        assert max(rows) < alone["rows"]


@pytest.mark.parametrize("task", [Classification(top_k=2), Classification(ignore_index=1), Language()], ids=str)
def test_metrics_are_what_is_counted_in_each_batch(task: Any) -> None:
    rng = np.random.default_rng(1)
    batches = [(rng.standard_normal((rows, 6, 5)), rng.integers(0, 5, (rows, 6))) for rows in (4, 4, 3)]
    assert isinstance(task, CountedTask)
    whole = tuple(np.concatenate(parts) for parts in zip(*batches, strict=True))
    counted = task.combined(task.counted(*batch) for batch in batches)
    assert counted == task.metrics(batches)
    assert counted == pytest.approx(task.metrics([whole]), rel=1e-12)
    hits, wanted = whole[0].argmax(axis=-1) == whole[1], whole[1] != getattr(task, "ignore_index", None)
    assert counted.get("accuracy", counted.get("token_accuracy")) == (hits & wanted).sum() / wanted.sum()
