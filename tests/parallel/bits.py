"""Trains on several numbers of ranks, and compares the bits of the ends: a table of hashes.

    python -m tests.parallel.bits [--of NAME] [--with OPTIMIZER] [--steps 200]

Each training runs on 1, 2, 4 and 8 ranks, whatever the machine's cores; on 2, 4 and 8 with the optimizer shared out; on
2 and 4 in two stages. Weights and running statistics, the optimizer's state and the losses of all steps must be those
of one rank, and each rank must have the first one's weights. Ends with 1 where one differs.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from typednn import Input
from typednn.data import Loader
from typednn.layers import BatchNorm2d, Conv2d, GlobalAvgPool2d, Linear, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.models import GPT2, lenet5, lstm_classifier
from typednn.models.resnet import BasicBlock
from typednn.optim import SGD, AdamW
from typednn.parallel import DataParallel
from typednn.parallel.job import mpiexec
from typednn.random import PCG32
from typednn.training import Callback, Step, fit

OPTIMIZERS: Final[Mapping[str, Callable[[], Any]]] = {
    "sgd": lambda: SGD(0.02, momentum=0.9),
    "adamw": lambda: AdamW(1e-3),
}
WAYS: Final[Mapping[str, dict[str, Any]]] = {
    "plain": {}, "sharded": {"shard_optimizer": True}, "2 stages": {"stages": 2},
}  # fmt: skip
JOBS: Final = (
    *((count, "plain") for count in (1, 2, 4, 8)),
    *((count, "sharded") for count in (2, 4, 8)),
    *((count, "2 stages") for count in (2, 4)),
)
LONGEST: Final = 300.0  # seconds of a job


def resnet18() -> Any:
    """ResNet-18 for small images with an eighth of its channels."""
    model: Any = Input(16, 16, 3) >> Conv2d(3, 8, 3, 1, 1) >> BatchNorm2d(8) >> ReLU()
    before = 8
    for channels in (8, 16, 32, 64):
        model = model >> BasicBlock(before, channels, channels // before) >> BasicBlock(channels, channels)
        before = channels
    return model >> GlobalAvgPool2d() >> Linear(64, 10)


def training(name: str) -> tuple[Any, Any, Any, int]:
    """A model, all its data, and the rows of a batch; the last batch of an epoch has others."""
    rng = np.random.default_rng(0)
    if name == "lenet5":
        return lenet5(softmax=False), rng.random((610, 28, 28, 1), dtype=np.float32), rng.integers(0, 10, 610), 64
    if name == "resnet18":
        return resnet18(), rng.random((220, 16, 16, 3), dtype=np.float32), rng.integers(0, 10, 220), 32
    if name == "lstm":
        return lstm_classifier(4, length=24), rng.integers(0, 257, (300, 24)), rng.integers(0, 4, 300), 32
    x = rng.integers(0, 65, (150, 33))
    return GPT2(65, 32, 64, 2, 4, dropout=0.1), x[:, :-1], x[:, 1:], 16


NAMES: Final = ("lenet5", "resnet18", "lstm", "gpt2")


def hashed(state: Mapping[str, Any]) -> str:
    """Of names and bytes, in the order of names."""
    found = hashlib.sha256()
    for name, value in sorted(state.items()):
        found.update(name.encode())
        found.update(np.ascontiguousarray(value).tobytes() if hasattr(value, "nbytes") else repr(value).encode())
    return found.hexdigest()[:12]


class Losses(Callback):
    """Those of all steps."""

    def __init__(self) -> None:
        self.seen: dict[str, float] = {}

    def on_step(self, step: Step) -> None:
        self.seen[f"{step.step:06}"] = step.loss


def train(name: str, optimizer: str, way: str, steps: int) -> None:
    """On the ranks that ``mpiexec`` has started; the first one prints the hashes."""
    model, x, y, rows = training(name)
    parallel, losses, stepping = DataParallel(**WAYS[way]), Losses(), OPTIMIZERS[optimizer]()
    loader, loss = Loader(x, y, batch_size=rows, rng=PCG32(2)), SoftmaxCrossEntropy()
    more: dict[str, Any] = {"parallel": parallel, "callbacks": losses, "progress": False}
    stepping.bind(model.init(PCG32(1)))
    fit(model, loss, stepping, loader, epochs=steps, max_steps=steps, **more)
    weights = parallel.ranks.every(hashed(model.state_dict()))
    if parallel.ranks.is_first:
        alike = weights[0] if len(set(weights)) == 1 else "ranks differ"
        print("hashes", alike, hashed(stepping.state_dict()), hashed(losses.seen), sep="\t")


def on_ranks(count: int, *words: str) -> list[str]:
    """The hashes that a job prints; its end where it did not print them."""
    command = [str(mpiexec()), "-n", str(count), sys.executable, "-m", "tests.parallel.bits", "--job", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONGEST)
    told = [line.split("\t")[1:] for line in done.stdout.splitlines() if line.startswith("hashes")]
    return told[0] if told else [f"ended with {done.returncode}: {done.stderr[-1500:]}"]


def main(given: Sequence[str]) -> int:
    """The command line."""
    parser: Any = argparse.ArgumentParser(prog="python -m tests.parallel.bits")
    parser.add_argument("--of", choices=NAMES, action="append", help="which model; may be repeated (default: all)")
    parser.add_argument("--with", dest="optimizers", choices=OPTIMIZERS, action="append", help="by default both")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--job", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(given)
    if options.job is not None:
        name, optimizer, way = options.job
        train(name, optimizer, way, options.steps)
        return 0
    different, jobs = 0, 0
    print(f"{'model':10}{'optimizer':11}{'ranks':>5}  {'way':10}{'weights':14}{'state':14}{'losses':14}{'seconds':>7}")
    for name in options.of or NAMES:
        for optimizer in options.optimizers or OPTIMIZERS:
            alone: list[str] = []
            for count, way in JOBS:
                begun = time.monotonic()
                found = on_ranks(count, name, optimizer, way, "--steps", str(options.steps))
                alone = alone or found
                same, jobs = found == alone and len(found) == 3, jobs + 1
                different += not same
                told = "".join(f"{each:14}" for each in found)
                row = f"{name:10}{optimizer:11}{count:5}  {way:10}{told}{time.monotonic() - begun:7.1f}"
                print(f"{row}{'' if same else '  DIFFERENT'}", flush=True)
    print(f"{'FAIL' if different else 'PASS'}: {different} of {jobs} jobs end otherwise than one rank")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
