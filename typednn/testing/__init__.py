"""Laws that a layer, a loss or an optimizer keeps, checked by one call or by one line of a test file.

    test_scale = layer_test(Scale(4))                 sizes drawn from Scale's own annotations
    test_embedding = layer_test(Embedding(5, 8), vocab=5)     integers below 5
    test_absolute = loss_test(AbsoluteError())
    test_sign_sgd = optimizer_test(SignSGD(0.01))

`check_layer`, `check_loss` and `check_optimizer` do the same at once. A broken law is a `LawBroken`, which says which law,
what came, and how to repeat it. An input is given as an array, as a shape, or as None; where none is given, Hypothesis draws
sizes, which needs the extra ``typednn[testing]``.
"""

from typednn.testing.layers import LAYER_LAWS, check_layer, layer_test
from typednn.testing.losses import LOSS_LAWS, check_loss, loss_test
from typednn.testing.optimizers import OPTIMIZER_LAWS, check_optimizer, optimizer_test
from typednn.testing.subject import LawBroken, Subject

__all__ = ["LAYER_LAWS", "LOSS_LAWS", "OPTIMIZER_LAWS", "LawBroken", "Subject"]
__all__ += ["check_layer", "check_loss", "check_optimizer", "layer_test", "loss_test", "optimizer_test"]
