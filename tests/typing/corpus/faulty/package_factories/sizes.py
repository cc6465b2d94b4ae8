"""Sizes."""

HIDDEN = 32
