"""Names that other libraries have are refused: what answers for them at run time (`typednn.errors.habits`) is hidden
from type checkers.
"""

from __future__ import annotations

import typednn
from typednn import Dense  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]
from typednn.layers import Linear
from typednn.losses import MSE
from typednn.optim import SGD

typednn.layers.Conv2D(1, 6, 5)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
typednn.no_grad()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
Linear(4, 8).predict()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
SGD(0.1).zero_grad()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
MSE()(1, 2)  # type: ignore[operator]  # pyright: ignore[reportCallIssue]
print(Dense)  # pyright: ignore[reportUnknownArgumentType]
