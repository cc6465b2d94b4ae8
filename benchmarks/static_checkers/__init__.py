"""Mistakes, and the static checkers that find them."""
