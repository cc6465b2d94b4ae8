"""What larger clusters would do, by a model: ``python -m benchmarks.clusters`` prints the tables of docs/clusters.md.

compute(d, s) = 6·P·T / (rate·d·s) · (1 + (s-1)/m)         P parameters, T tokens, d replicas of s stages, m pieces
exact(n, d)   = 2·(d-1)·α + 2·(d-1)/d·n/β + (d-1)/d·n/γ    n bytes; all-to-all, sums, all-gather
plain(n, d)   = 2·log2(d)·α + 2·(d-1)/d·n/β + (d-1)/d·n/γ
stages(m, b)  = 2·m·(α + b/β)                              where s > 1: b bytes between two stages, there and back

Nothing overlaps. α seconds and 1/β seconds per byte are what a message takes, 1/γ what a byte takes to be summed.
``--check`` measures a GPT-2 of 10.7 M parameters on 1, 2 and 4 ranks of this machine beside the model.

Sources: Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH", 2005, for the
costs of collectives; Kaplan et al., "Scaling Laws for Neural Language Models", 2020, for 6·P operations per token;
Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", 2021, for (s-1)/m.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import Literal

from benchmarks.gpt2_works import Size
from benchmarks.parallel_works import GPT2, LENGTH, ROWS

RATE = 3e12  # operations per second of a rank, one thread of an AMD EPYC with AVX-512 does 0.18e12
TOKENS, POSITIONS = 1 << 19, 1024  # of a step, and of a row
BYTES = 16  # of a parameter on its rank: the weight, its gradient, two numbers of AdamW
MODELS = {
    "10.7 M": GPT2,
    "124 M": Size(50257, 1024, 768, 12, 12),
    "355 M": Size(50257, 1024, 1024, 24, 16),
    "774 M": Size(50257, 1024, 1280, 36, 20),
    "1.56 B": Size(50257, 1024, 1600, 48, 25),
}
RANKS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


@dataclass(frozen=True, slots=True)
class Network:
    """``alpha`` seconds for a message, ``beta`` bytes of it per second, ``gamma`` bytes summed per second."""

    name: str
    alpha: float
    beta: float
    gamma: float = 5e9

    def exchange(self, size: float, ranks: int, kind: Literal["exact", "plain"] = "exact") -> float:
        """Seconds of a sum of vectors of ``size`` bytes over the ranks."""
        share, messages = (ranks - 1) / ranks * size, ranks - 1 if kind == "exact" else log2(ranks)
        return 2 * messages * self.alpha + 2 * share / self.beta + share / self.gamma


NETWORKS = (
    Network("10 Gbit/s, 30 µs", 30e-6, 1.25e9),
    Network("100 Gbit/s, 2 µs", 2e-6, 12.5e9),
)
HERE = Network("ranks of one machine", 2e-6, 10e9)


def step(
    size: Size, network: Network, ranks: int, stages: int = 1, *, rate: float = RATE, kind: Literal["exact", "plain"]
) -> float:
    """Seconds of a step; pieces are rows, one by one."""
    replicas = ranks // stages
    pieces = TOKENS // POSITIONS // replicas
    compute = 6 * size.parameters * TOKENS / rate / ranks * (1 + (stages - 1) / pieces)
    between = 2 * pieces * (network.alpha + 4 * size.n_embd * POSITIONS / network.beta) if stages > 1 else 0.0
    return compute + between + network.exchange(4 * size.parameters / stages, replicas, kind)


def check(rounds: int) -> None:
    """The model beside what this machine does, on more ranks than cores too."""
    from benchmarks.machine import cores
    from benchmarks.parallel import compare

    found = compare("gpt2", [("typednn", count) for count in (1, 2, 4)], rounds, "")
    _, alone = found["typednn, 1 rank"]
    operations = 6 * GPT2.parameters * ROWS * LENGTH
    print(f"one rank: {alone:.3f} s, {operations / alone / 1e9:.0f} GFLOP/s, the fastest step")
    print("ranks    median   fastest  the model, in s")
    for count, (seconds, least) in zip((1, 2, 4), found.values(), strict=True):
        modelled = alone / min(count, cores()) + HERE.exchange(4 * GPT2.parameters, count)
        print(f"{count:5}{seconds:10.3f}{least:10.3f}{modelled:11.3f}")


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=RATE, help="operations per second of a rank")
    parser.add_argument("--check", action="store_true", help="measure 1, 2 and 4 ranks here, too")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(argv)
    print(f"{TOKENS:,} tokens a step, {options.rate / 1e12:g} TFLOP/s a rank; efficiency, exact / plain")
    for network in NETWORKS:
        print(f"\n| {network.name} | {' | '.join(map(str, RANKS[1:]))} |\n|---|{'---|' * len(RANKS[1:])}")
        for name, size in MODELS.items():
            alone = 6 * size.parameters * TOKENS / options.rate
            cells: list[str] = []
            for ranks in RANKS[1:]:
                exact, plain = (
                    alone / ranks / step(size, network, ranks, rate=options.rate, kind=kind)
                    for kind in ("exact", "plain")
                )
                cells.append(f"{exact:.2f}" if f"{exact:.2f}" == f"{plain:.2f}" else f"{exact:.2f} / {plain:.2f}")
            print(f"| {name}, {alone:.3g} s on one | {' | '.join(cells)} |")
    size = MODELS["1.56 B"]
    print(f"\n256 ranks, 1.56 B\n\n| stages | bubble | GB a rank | {' | '.join(each.name for each in NETWORKS)} |")
    print("|---|---|---|---|---|")
    for stages in (1, 2, 4, 8, 16):
        pieces = TOKENS // POSITIONS // (256 // stages)
        cells = [f"{step(size, each, 256, stages, rate=options.rate, kind='exact'):.2f} s" for each in NETWORKS]
        memory = BYTES * size.parameters / stages / 1e9
        print(f"| {stages} | {(stages - 1) / pieces:.2f} | {memory:.1f} | {' | '.join(cells)} |")
    if options.check:
        print()
        check(options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
