"""Runs every benchmark: ``python -m benchmarks``."""

import sys

import benchmarks.checks
import benchmarks.lenet5

if __name__ == "__main__":
    results = [benchmarks.checks.main([])]
    print()
    results.append(benchmarks.lenet5.main([]))
    sys.exit(max(results))
