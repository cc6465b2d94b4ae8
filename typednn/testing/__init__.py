"""Laws of layers, losses and optimizers, checked by one call or by one line of a test file.

    test_scale = layer_test(Scale(4))                 sizes drawn from Scale's own annotations
    test_embedding = layer_test(Embedding(5, 8), vocab=5)     integers below 5
    test_absolute = loss_test(AbsoluteError())
    test_sign_sgd = optimizer_test(SignSGD(0.01))

`check_layer`, `check_loss` and `check_optimizer` run the check at once. A broken law raises `LawBroken` with the law,
the actual values, and the call that repeats it. An input is an array, a shape, or None. Without inputs, Hypothesis
draws sizes, which needs the extra ``typednn[testing]``.
"""

from typednn.testing.layers import LAYER_LAWS, check_layer, layer_test
from typednn.testing.losses import LOSS_LAWS, check_loss, loss_test
from typednn.testing.optimizers import OPTIMIZER_LAWS, check_optimizer, optimizer_test
from typednn.testing.subject import LawBroken, Subject

__all__ = ["LAYER_LAWS", "LOSS_LAWS", "OPTIMIZER_LAWS", "LawBroken", "Subject"]
__all__ += ["check_layer", "check_loss", "check_optimizer", "layer_test", "loss_test", "optimizer_test"]
