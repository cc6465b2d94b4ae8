"""Timings: `benchmarks.lenet5` beside PyTorch, `benchmarks.checks` of the checks alone. Results are compared before a
clock starts.
"""
