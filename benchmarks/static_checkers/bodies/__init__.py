"""The mistakes of ``tests/typing/bodies`` once more, as PyTorch or NumPy with sizes in Pyrefly's syntax."""
