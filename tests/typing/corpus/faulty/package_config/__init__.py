"""Sizes that a frozen dataclass of another module computes, by a property and after it was made."""
