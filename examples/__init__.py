"""Example programs: ``python -m examples.lenet5_digits``."""
