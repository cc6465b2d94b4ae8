"""A stack that forgets Flatten: a wrong rank, which plain mypy sees."""
# pyright: reportOperatorIssue=false, reportUnknownVariableType=false

from typednn import Input
from typednn.layers import Conv2d, Linear

model = Input(28, 28, 1) >> Conv2d(1, 6, 5) >> Linear(3456, 10)  # mypy: operator  # shape: put Flatten() between them
