"""Training: a loop that shows what it does, runs that survive anything, and evaluation."""

from typednn.training.callbacks import Callback, EarlyStopping, Every
from typednn.training.evaluation import Evaluation, evaluate
from typednn.training.loop import Batches, BatchLike, ValuedLoss, fit
from typednn.training.run import Run, RunLocked, RunWarning
from typednn.training.state import Best, Epoch, History, Measured, Step

__all__ = ["Batches", "BatchLike", "Best", "Callback", "EarlyStopping", "Epoch", "Evaluation", "Every", "History", "Measured", "Run"]
__all__ += ["RunLocked", "RunWarning", "Step", "ValuedLoss", "evaluate", "fit"]
