"""SGD: a step against the gradient, with momentum if wanted."""

from typednn.kernels.sgd.reference import step

__all__ = ["step"]
