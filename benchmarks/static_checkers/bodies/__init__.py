"""The mistakes of ``tests/typing/bodies`` once more, as PyTorch with sizes in Pyrefly's syntax."""
