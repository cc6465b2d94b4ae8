"""Halide: kernels compiled for their shapes, kept on disk, and called with NumPy arrays."""
