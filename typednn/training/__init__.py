"""Training: a loop that shows what it does, and its mirror image for testing."""

from typednn.training.evaluation import evaluate
from typednn.training.loop import Epoch, History, ValuedLoss, fit

__all__ = ["Epoch", "History", "ValuedLoss", "evaluate", "fit"]
