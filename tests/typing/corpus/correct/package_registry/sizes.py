"""Sizes that are set at start."""
# pyright: reportConstantRedefinition=false

FEATURES = 5
hidden = 9


def configure(features: int) -> None:
    """What the program was started with."""
    global FEATURES
    FEATURES = features
