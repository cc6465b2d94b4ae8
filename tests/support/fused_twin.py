"""Two ways to run one chain: part by part, and fused."""

from typing import TypeVar

from typednn.layer import Parts

C = TypeVar("C", bound=Parts)


def fused_twin(model: C) -> C:
    """A chain on the parameters of ``model`` that runs fused; ``model`` itself runs part by part from now on."""
    return model.fuse(False).shared().fuse()


__all__ = ["fused_twin"]
