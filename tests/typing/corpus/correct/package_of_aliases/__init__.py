"""Aliases of annotations from another module."""
