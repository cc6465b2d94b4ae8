"""Programs to read, run and copy from: ``python -m examples.lenet5_digits``."""
