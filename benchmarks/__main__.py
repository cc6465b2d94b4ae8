"""Runs every benchmark, or the one that is named: ``python -m benchmarks``, ``python -m benchmarks gpt2 --eager``."""

import sys

import benchmarks.checks
import benchmarks.clusters
import benchmarks.first_results
import benchmarks.from_c
import benchmarks.gpt2
import benchmarks.graph
import benchmarks.kernels
import benchmarks.layers
import benchmarks.lenet5
import benchmarks.mixed
import benchmarks.parallel
import benchmarks.serving
import benchmarks.shakespeare

ALL = {
    each.__name__.rpartition(".")[2]: each
    for each in (
        benchmarks.checks,
        benchmarks.lenet5,
        benchmarks.kernels,
        benchmarks.layers,
        benchmarks.graph,
        benchmarks.gpt2,
        benchmarks.mixed,
        benchmarks.shakespeare,
        benchmarks.from_c,
        benchmarks.serving,
        benchmarks.parallel,
        benchmarks.clusters,
        benchmarks.first_results,
    )
}

if __name__ == "__main__":
    name, options = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("", [])
    if name and name not in ALL:
        sys.exit(f"no benchmark {name!r}; there are {', '.join(ALL)}")
    results = []
    for one in [name] if name else ALL:
        results.append(ALL[one].main(options))
        print(flush=True)
    sys.exit(max(results))
