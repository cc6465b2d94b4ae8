"""Runs every benchmark: ``python -m benchmarks``."""

import sys

import benchmarks.checks
import benchmarks.kernels
import benchmarks.layers
import benchmarks.lenet5

if __name__ == "__main__":
    results = []
    for one in (benchmarks.checks, benchmarks.lenet5, benchmarks.kernels, benchmarks.layers):
        results.append(one.main([]))
        print(flush=True)
    sys.exit(max(results))
