"""Training: a loop that shows what it does, and its mirror image for testing."""

from typednn.training.evaluate import evaluate
from typednn.training.fit import Epoch, History, ValuedLoss, fit

__all__ = ["Epoch", "History", "ValuedLoss", "evaluate", "fit"]
