"""The real layers, losses and optimizers, as a user's type checker sees them. P-P1, P-P2, P-P6, P-P7, P-P10, P-P11.

Read by mypy --strict and by pyright --strict, never run.
"""

from typing import Any, assert_type

import numpy as np
from jaxtyping import Float

from typednn import (
    AnyArray,
    Array1,
    Array2,
    Array3,
    Array4,
    Backward,
    Chain,
    ElementwiseGrad,
    Forward,
    Incremental,
    Input,
    IntArray1,
    IntArray2,
    Loss,
    Optimizer,
    Sequential,
    Update,
    gradcheck,
)
from typednn.contracts.operands import Last
from typednn.layers import (
    GRU,
    LSTM,
    RNN,
    BatchNorm1d,
    BatchNorm1dGrad,
    BatchNorm2d,
    BatchNorm2dGrad,
    Concat,
    ConcatGrad,
    Conv2d,
    Conv2dGrad,
    Dropout,
    Embedding,
    Flatten,
    FlattenGrad,
    GlobalAvgPool2d,
    Identity,
    LastStep,
    LayerNorm,
    Linear,
    LinearGrad,
    LSTMGrad,
    MaxPool2d,
    MaxPool2dGrad,
    Pad2d,
    Pad2dGrad,
    PerPosition,
    PReLU,
    ReLU,
    Repeat,
    Residual,
    ResidualGrad,
    SequenceLinear,
    Softmax,
    SoftmaxGrad,
)
from typednn.losses import MSE, CrossEntropy, SoftmaxCrossEntropy
from typednn.optim import SGD, Adam, AdamW, CosineLR, Group, StepLR, clip_grad_norm
from typednn.random import PCG32

lenet = (
    Input(28, 28, 1)
    >> Pad2d(2)
    >> Conv2d(1, 6, 5)
    >> ReLU()
    >> MaxPool2d(2)
    >> Flatten()
    >> Linear(1176, 10)
    >> Softmax()
)
assert_type(
    lenet,
    Chain[
        Array4,
        Array2,
        Last[Softmax],
        Pad2dGrad,
        Conv2dGrad,
        ElementwiseGrad[Array4, None],
        MaxPool2dGrad,
        FlattenGrad,
        LinearGrad,
        SoftmaxGrad,
    ],
)


def train(
    images: Array4, labels: IntArray1, rows: Array2, sequence: Array3, soft: Array2, vector: Array1, tokens: IntArray2
) -> None:
    scores = lenet.forward(images)
    assert_type(scores, Array2)
    loss = SoftmaxCrossEntropy()
    assert_type(loss.loss(scores, labels), float)
    assert_type(loss.loss_grad(scores, labels), Array2)
    assert_type(SoftmaxCrossEntropy("none").loss(scores, soft), AnyArray)
    assert_type(loss.loss_and_grad(sequence, sequence), tuple[float, Array3])
    assert_type(MSE().loss(images, images), float)
    assert_type(MSE("mean_batch").loss(images, images), AnyArray)
    assert_type(MSE().loss_grad(images, images), Array4)
    assert_type(CrossEntropy("sum").loss(scores, soft), float)

    gradient = lenet.backward(loss.loss_grad(scores, labels))
    assert_type(gradient.parts[1].weight, Array4)
    assert_type(gradient.parts[5].bias, Array1 | None)
    assert_type(clip_grad_norm(gradient, 1.0).parts[5], LinearGrad)
    lenet.update(SGD(0.1, momentum=0.9), gradient)
    lenet.update(AdamW(CosineLR(1e-3, 100)), gradient)

    assert_type(PerPosition(Linear(3, 4) >> ReLU()).forward(sequence), Array3)
    assert_type(Residual(Linear(3, 3)).forward(rows), Array2)
    assert_type(Residual(Linear(3, 3)).backward(rows), ResidualGrad[Array2, LinearGrad, None])
    down = Residual(Conv2d(3, 4, 3, 2) >> ReLU(), shortcut=Conv2d(3, 4, 3, 2))
    assert_type(down.forward(images), Array4)
    assert_type(down.backward(images).shortcut, Conv2dGrad)
    assert_type(Residual(Conv2d(3, 3, 1), shortcut=Identity()).backward(images).shortcut, ElementwiseGrad[Array4, None])
    skip = Concat(Identity(), Conv2d(3, 4, 1), Conv2d(3, 4, 1) >> ReLU())
    assert_type((Input(8, 8, 3) >> skip >> GlobalAvgPool2d()).forward(images), Array2)
    two = Concat(Identity(), Conv2d(3, 4, 1)).backward(images)
    assert_type(two, ConcatGrad[Array4, ElementwiseGrad[Array4, None], Conv2dGrad])
    assert_type(two.branches[1].weight, Array4)
    assert_type(
        Concat(Linear(3, 3), Linear(3, 2), Linear(3, 1)).backward(rows).branches,
        tuple[LinearGrad, LinearGrad, LinearGrad],
    )
    assert_type(Repeat(Linear(3, 3), 2).backward(rows).copies, tuple[LinearGrad, ...])
    assert_type((Input(7, 4) >> SequenceLinear(4, 8)).forward(sequence), Array3)
    assert_type((Linear(3, 4) >> SequenceLinear(4, 8)).backward(rows).parts[1].parameters.bias, Array1 | None)
    assert_type(Sequential([Linear(3, 3), ReLU()]).backward(rows).parts, tuple[Any, ...])
    assert_type((PReLU() >> ReLU()).backward(images).input, Array4)
    assert_type((Conv2d(3, 6, 3) >> BatchNorm2d(6) >> ReLU()).backward(images).parts[1], BatchNorm2dGrad)
    assert_type((Linear(3, 4) >> BatchNorm1d(4)).backward(rows).parts[1].parameters, BatchNorm1dGrad)
    assert_type((LayerNorm(4) >> Dropout(0.1)).forward(sequence), Array3)
    assert_type(Linear(3, 4, rng=PCG32(42, 6)).weight, Array2)
    assert_type(Linear(3, 4).init(np.random.default_rng(0)).train().eval().forward(rows), Array2)
    gradcheck(Linear(3, 4), rows)

    # ------------------------------------------------------------------ tokens and recurrence
    words = Input(7, dtype=int) >> Embedding(9, 4) >> LSTM(4, 6) >> LastStep() >> Linear(6, 2)
    assert_type(words.forward(tokens), Array2)
    assert_type(words.backward(rows).parts[1], LSTMGrad)
    assert_type(LSTM(4, 6).forward(sequence, labels), Array3)
    assert_type(LSTM(4, 6).step(rows), tuple[Array2, tuple[Array2, Array2]])
    recurrent: list[Incremental[Array2]] = [GRU(4, 6), RNN(4, 6, nonlinearity="relu")]
    assert_type(recurrent[0].step(rows, None), tuple[Array2, Array2])
    recurrent = [LSTM(4, 6)]  # type: ignore[list-item]  # pyright: ignore[reportAssignmentType]
    LSTM(4, 6) >> Linear(6, 2)  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
    RNN(4, 6, nonlinearity="gelu")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    # ------------------------------------------------------------------ Protocols, where they are consumed
    forward: Forward[Array4, Array2] = lenet
    backward: Backward[Array2, Array4] = lenet
    update: Update[LinearGrad] = Linear(3, 4)
    optimizer: Optimizer = Adam(groups=[Group("*.bias", lr=StepLR(0.1, 10))])
    target: Loss[Array2, IntArray1] = loss
    assert_type(backward.backward(rows).input, Array4)
    assert_type(forward.forward(images), Array2)
    assert_type(target.loss_grad(rows, labels), Array2)
    update.update(optimizer, Linear(3, 4).backward(rows))

    # ------------------------------------------------------------------ refused
    forward = Linear(3, 4)  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    backward = Linear(3, 4)  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    update = Conv2d(1, 6, 5)  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    target = MSE()  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    optimizer = loss  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    loss.loss(images, labels)  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
    loss.loss(scores, images)  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
    loss.loss_grad(sequence, labels)  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
    SoftmaxCrossEntropy("average")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    lenet.update(SGD(0.1), gradient.parts[1])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    lenet.update(gradient, gradient)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Linear("784", 10)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Linear(784)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Flatten(0)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    Linear(3, 4).forward(vector)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Residual(Flatten())  # type: ignore[misc]  # pyright: ignore[reportCallIssue, reportArgumentType]
    Residual(Linear(3, 3), shortcut=Flatten())  # type: ignore[misc]  # pyright: ignore[reportCallIssue, reportArgumentType]
    Concat(Conv2d(3, 3, 1), Flatten())  # type: ignore[misc]  # pyright: ignore[reportCallIssue, reportArgumentType]
    Repeat(Flatten(), 2)  # type: ignore[misc]  # pyright: ignore[reportArgumentType]
    Conv2d(1, 6, 5) >> SequenceLinear(6, 5)  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
    Conv2d(1, 6, 5) >> Linear(400, 10)  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
    lenet >> Conv2d(1, 6, 5)  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]


# ------------------------------------------------------------- a user's own optimizer and loss need derive from nothing


class SignSGD:
    def step(self, weights: Float[AnyArray, "*weights"], grad: Float[AnyArray, "*weights"]) -> None:
        weights -= 0.01 * np.sign(grad)


class Hinge:
    def loss_grad(self, prediction: Array2, target: Array2) -> Array2:
        return prediction


own_optimizer: Optimizer = SignSGD()
own_loss: Loss[Array2, Array2] = Hinge()
