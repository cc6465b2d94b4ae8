"""Laws that every kernel keeps: it reads and never writes, keeps the dtype, and needs no NumPy array.

A new op adds one row to ``CASES``; `test_every_op_has_a_row` says so when it is forgotten.
"""

import importlib
import pkgutil
import warnings

import numpy as np
import pytest
from beartype import beartype
from jaxtyping import jaxtyped
from strict_array import StrictArray, register, to_numpy

import typednn.kernels
from typednn.engines import observing, using
from typednn.kernels.activations import Activation
from typednn.kernels.conv2d import Window
from typednn.kernels.op import OPS

register()

PAIR, ONE = (2, 2), (1, 1)
TANH, RELU = Activation("tanh"), Activation("relu")
POOLED = Window(padding=(1, 0, 2, 1), pooling=(PAIR, PAIR, ONE))
INDEX = np.array([[3, 0], [2, 1]], dtype=np.uint8)[None, :, :, None]
MASK = np.array([[True, False, True], [True, True, False]])
MASK_OF_ITSELF = np.array([[True, False, True, True, False], [True, True, False, False, True]])
LABELS = np.array([1, 0, 2])
TOKENS = np.array([[1, 0, 2], [1, 1, 3]])
HALVES = np.array([[0x3F80, 0xBF80, 0, 0x4049], [0, 1, 0x3F81, 0x4000]], dtype=np.uint16)  # bfloat16, and some bytes

# (op.function, positional arguments, keywords); a tuple of sizes in a list stands for an array of that shape
CASES = [
    ("linear.forward", ([3, 4], [2, 4], [2]), {}),
    ("linear.forward", ([3, 4], [2, 4], None), {}),
    ("linear.forward", ([3, 4], [2, 4], [2], TANH), {}),
    ("linear.backward", ([3, 2], [3, 4], [2, 4]), {}),
    ("linear.backward", ([3, 2], [3, 4], [2, 4], [3, 2], TANH), {}),
    ("compact_linear.forward", ([3, 4], HALVES, None, [2]), {}),
    ("compact_linear.forward", ([3, 4], HALVES.astype(np.int8), [2]), {}),
    ("conv2d.forward", ([2, 6, 5, 3], [4, 2, 2, 3], [4], Window(PAIR)), {}),
    ("conv2d.forward", ([2, 6, 5, 3], [4, 2, 2, 3], [4], POOLED, TANH), {}),
    ("conv2d.forward", ([2, 6, 5, 3], [4, 2, 2, 3], [4], POOLED, TANH, False), {}),
    ("conv2d.forward", ([2, 6, 5, 3], [4, 2, 2, 3], None, Window(PAIR, pooling=((2, 1), ONE, ONE)), TANH), {}),
    ("conv2d.forward", ([2, 6, 5, 3], [4, 2, 2, 3], [4], Window(), TANH), {}),
    ("conv2d.backward", ([2, 2, 2, 4], [2, 6, 5, 3], [4, 2, 2, 3], Window(PAIR, PAIR)), {}),
    (
        "conv2d.backward",
        ([1, 2, 2, 1], [1, 5, 5, 3], [1, 2, 2, 3], Window(pooling=(PAIR, PAIR, ONE)), TANH, [1, 2, 2, 1], INDEX),
        {},
    ),
    ("conv2d.backward", ([1, 4, 4, 1], [1, 5, 5, 3], [1, 2, 2, 3], Window(), TANH, [1, 4, 4, 1]), {}),
    (
        "conv2d.backward",
        ([1, 3, 4, 1], [1, 5, 5, 3], [1, 2, 2, 3], Window((2, 1), padding=(0, 0, 1, 1)), TANH, [1, 3, 4, 1]),
        {},
    ),
    ("conv2d.forward", ([2, 6, 5, 4], [6, 2, 2, 2], [6], Window(PAIR, padding=(1, 0, 2, 1))), {}),
    ("conv2d.backward", ([2, 3, 2, 6], [2, 6, 5, 4], [6, 2, 2, 2], Window(PAIR)), {}),
    ("conv_transpose2d.forward", ([2, 3, 2, 4], [4, 2, 2, 3], [3], Window(PAIR), (2, 6, 5, 3)), {}),
    ("conv_transpose2d.backward", ([2, 6, 5, 3], [2, 3, 2, 4], [4, 2, 2, 3], Window(PAIR)), {}),
    ("max_pool2d.forward", ([2, 5, 4, 3], PAIR, PAIR, ONE), {}),
    ("max_pool2d.backward", ([1, 2, 2, 1], INDEX, (1, 4, 4, 1), PAIR, PAIR, ONE), {}),
    ("max_pool2d.forward", ([2, 5, 4, 3], PAIR, PAIR, ONE, ONE), {}),
    ("max_pool2d.backward", ([1, 2, 2, 1], INDEX, (1, 3, 3, 1), PAIR, PAIR, ONE, ONE), {}),
    ("avg_pool2d.forward", ([2, 5, 4, 3], PAIR, PAIR, ONE, False), {}),
    ("avg_pool2d.backward", ([2, 3, 3, 3], (2, 5, 4, 3), PAIR, PAIR, ONE, False), {}),
    ("adaptive_avg_pool2d.forward", ([2, 5, 4, 3], PAIR), {}),
    ("adaptive_avg_pool2d.backward", ([2, 2, 2, 3], (2, 5, 4, 3)), {}),
    ("global_avg_pool2d.forward", ([2, 5, 4, 3],), {}),
    ("global_avg_pool2d.backward", ([2, 3], (2, 5, 4, 3)), {}),
    ("upsample.forward", ([2, 5, 4, 3], PAIR, "nearest", False), {}),
    ("upsample.forward", ([2, 5, 4, 3], PAIR, "bilinear", True), {}),
    ("upsample.backward", ([2, 6, 4, 3], PAIR, "nearest", False), {}),
    ("upsample.backward", ([2, 6, 4, 3], PAIR, "bilinear", True), {}),
    ("pad2d.forward", ([2, 3, 3, 1], (1, 2, 0, 1), "constant", 0.1), {}),
    ("pad2d.forward", ([2, 3, 3, 1], (1, 2, 0, 1), "replicate", 0.1), {}),
    ("pad2d.backward", ([2, 4, 6, 1], (1, 2, 0, 1), "constant"), {}),
    ("pad2d.backward", ([2, 4, 6, 1], (1, 2, 0, 1), "replicate"), {}),
    ("embedding.forward", (TOKENS, [5, 2]), {}),
    ("embedding.backward", ([2, 3, 2], TOKENS, 5), {}),
    ("embedding.backward", ([2, 3, 2], TOKENS, 5, 1), {}),
    ("embedding.add_backward", ([5, 2], [2, 3, 2], TOKENS, 1), {}),
    ("recurrent.forward", ([3, 2, 4], [5, 4], [5, 5], [5], [5], None, "tanh"), {}),
    ("recurrent.forward", ([3, 2, 4], [5, 4], [5, 5], [5], [5], LABELS + 1, "relu"), {}),
    ("recurrent.forward", ([3, 3, 4], [15, 4], [15, 5], [15], [15], LABELS + 1, "gru"), {}),
    ("recurrent.forward", ([3, 2, 4], [20, 4], [20, 5], None, None, None, "lstm"), {}),
    ("recurrent.backward", ([3, 3, 5], [3, 3, 4], [5, 4], [5, 5], [4, 3, 5], None, "tanh"), {}),
    ("recurrent.backward", ([3, 3, 5], [3, 3, 4], [5, 4], [5, 5], [4, 3, 5], LABELS + 1, "relu"), {}),
    ("recurrent.backward", ([3, 3, 5], [3, 3, 4], [15, 4], [15, 5], [4, 3, 25], LABELS + 1, "gru"), {}),
    ("recurrent.backward", ([3, 3, 5], [3, 3, 4], [20, 4], [20, 5], [4, 3, 30], None, "lstm"), {}),
    ("recurrent.step", ([3, 4], [5, 4], [5, 5], [5], [5], None, None, "tanh"), {}),
    ("recurrent.step", ([3, 4], [15, 4], [15, 5], None, None, [3, 5], None, "gru"), {}),
    ("recurrent.step", ([3, 4], [20, 4], [20, 5], [20], [20], [3, 5], [3, 5], "lstm"), {}),
    ("last_step.forward", ([3, 4, 2], None), {}),
    ("last_step.forward", ([3, 4, 2], LABELS + 1), {}),
    ("last_step.backward", ([3, 2], 4, None), {}),
    ("last_step.backward", ([3, 2], 4, LABELS + 1), {}),
    ("relu.forward", ([3, 4],), {}),
    ("relu.backward", ([3, 4], [3, 4]), {}),
    ("leaky_relu.forward", ([3, 4], 0.1), {}),
    ("leaky_relu.backward", ([3, 4], [3, 4], 0.1), {}),
    ("squares", ([3, 4],), {}),
    ("prelu.forward", ([3, 4], [1]), {}),
    ("prelu.backward", ([3, 4], [3, 4], [1]), {}),
    ("sigmoid.forward", ([3, 4],), {}),
    ("sigmoid.backward", ([3, 4], [3, 4]), {}),
    ("tanh.forward", ([3, 4],), {}),
    ("tanh.backward", ([3, 4], [3, 4]), {}),
    ("gelu.forward", ([3, 4],), {}),
    ("gelu.backward", ([3, 4], [3, 4]), {}),
    ("gelu_tanh.forward", ([3, 4],), {}),
    ("gelu_tanh.backward", ([3, 4], [3, 4]), {}),
    ("silu.forward", ([3, 4],), {}),
    ("silu.backward", ([3, 4], [3, 4]), {}),
    ("softplus.forward", ([3, 4], 2.0, 1.0), {}),
    ("softplus.backward", ([3, 4], [3, 4], 2.0, 1.0), {}),
    ("elu.forward", ([3, 4], 0.7, 1.1), {}),
    ("elu.backward", ([3, 4], [3, 4], 0.7, 1.1), {}),
    ("hardswish.forward", ([3, 4],), {}),
    ("hardswish.backward", ([3, 4], [3, 4]), {}),
    ("hardsigmoid.forward", ([3, 4],), {}),
    ("hardsigmoid.backward", ([3, 4], [3, 4]), {}),
    ("log_softmax.forward", ([3, 4],), {}),
    ("log_softmax.backward", ([3, 4], [3, 4]), {}),
    ("glu.forward", ([3, 4],), {}),
    ("glu.backward", ([3, 2], [3, 4]), {}),
    ("softmax.forward", ([3, 4],), {}),
    ("softmax.backward", ([3, 4], [3, 4]), {}),
    ("batch_norm.forward", ([2, 3, 5, 4], [4], [4], 1e-5), {}),
    ("batch_norm.forward", ([3, 4], None, None, 1e-5, RELU), {}),
    ("batch_norm.infer", ([3, 4], [4], [4], [4], [4], 1e-5, TANH), {}),
    ("batch_norm.infer", ([3, 4], [4], [4], None, None, 1e-5), {}),
    ("batch_norm.backward", ([3, 4], [3, 4], [4], [4], [4], [4], 1e-5, RELU), {}),
    ("batch_norm.backward", ([2, 3, 4], [2, 3, 4], [4], [4], None, None, 1e-5, TANH), {}),
    ("batch_norm.track", ([4], [4], [4], [4], 0.1, 5), {}),
    ("layer_norm.forward", ([3, 4], [4], [4], 1e-5), {}),
    ("layer_norm.forward", ([2, 3, 4], None, None, 1e-5, False), {}),
    ("layer_norm.backward", ([3, 4], [3, 4], [4], 1e-5), {}),
    ("layer_norm.backward", ([2, 3, 4], [2, 3, 4], None, 1e-5, False), {}),
    ("group_norm.forward", ([2, 3, 2, 4], [4], [4], 2, 1e-5), {}),
    ("group_norm.forward", ([2, 3, 2, 4], None, None, 2, 1e-5), {}),
    ("group_norm.backward", ([2, 3, 2, 4], [2, 3, 2, 4], [4], 2, 1e-5), {}),
    ("dropout", ([3, 40], 0.4, 2**40 + 1, 3), {}),
    ("dropout", ([3, 2, 2, 4], 0.4, 7, 0, True), {}),
    ("dropout", ([3, 4], 1.0, 7, 0), {}),
    ("mse.forward", ([3, 4], [3, 4]), {}),
    ("mse.backward", ([3, 4], [3, 4], 0.1), {}),
    ("mse.forward_and_backward", ([3, 4], [3, 4], 0.1), {}),
    ("cross_entropy.forward", ([3, 4], [3, 4], 1e-7), {}),
    ("cross_entropy.backward", ([3, 4], [3, 4], 1e-7, 0.1), {}),
    ("l1.forward", ([3, 4], [3, 4]), {}),
    ("l1.backward", ([3, 4], [3, 4], 0.1), {}),
    ("l1.forward_and_backward", ([3, 4], [3, 4], 0.1), {}),
    ("huber.forward", ([3, 4], [3, 4], 0.3), {}),
    ("huber.backward", ([3, 4], [3, 4], 0.3, 0.1), {}),
    ("huber.forward_and_backward", ([3, 4], [3, 4], 0.3, 0.1), {}),
    ("bce_with_logits.forward", ([3, 4], [3, 4], 2.0), {}),
    ("bce_with_logits.backward", ([3, 4], [3, 4], 2.0, 0.1), {}),
    ("bce_with_logits.forward_and_backward", ([3, 4], [3, 4], 2.0, 0.1), {}),
    ("kl_div.forward", ([3, 4], [3, 4]), {}),
    ("kl_div.backward", ([3, 4], [3, 4], 0.1), {}),
    ("kl_div.forward_and_backward", ([3, 4], [3, 4], 0.1), {}),
    ("kl_div_of_logs.forward", ([3, 4], [3, 4]), {}),
    ("kl_div_of_logs.backward", ([3, 4], [3, 4], 0.1), {}),
    ("kl_div_of_logs.forward_and_backward", ([3, 4], [3, 4], 0.1), {}),
    ("bce_with_logits.forward", ([3, 4], [3, 4], [4]), {}),
    ("nll.forward", ([3, 4], LABELS, [4], 2), {}),
    ("nll.backward", ([3, 4], LABELS, 0.1, [4], 2), {}),
    ("nll.forward_and_backward", ([3, 4], LABELS, 0.1, [4], 2), {}),
    ("cosine_similarity.forward", ([2, 3, 4], [2, 3, 4], 1e-8), {}),
    ("cosine_similarity.backward", ([2, 3, 4], [2, 3, 4], 1e-8, 0.1), {}),
    ("cosine_similarity.forward_and_backward", ([2, 3, 4], [2, 3, 4], 1e-8, 0.1), {}),
    ("softmax_cross_entropy.forward", ([3, 4], [3, 4]), {}),
    ("softmax_cross_entropy.backward", ([3, 4], [3, 4], 0.1), {}),
    ("softmax_cross_entropy.forward_and_backward", ([3, 4], [3, 4], 0.1), {}),
    ("softmax_cross_entropy.forward", ([3, 4], LABELS, [4], 0.1, 2), {}),
    ("softmax_cross_entropy.backward", ([3, 4], LABELS, 0.1, [4], 0.1, 2), {}),
    ("softmax_cross_entropy.forward_and_backward", ([3, 4], [3, 4], 0.1, [4], 0.1), {}),
    ("softmax_cross_entropy.forward_and_backward", ([3, 4], LABELS, 0.1, None, 0.0, -1, True), {}),
    ("class_targets.counted", (LABELS, [4], 2, 1, "dtype"), {}),
    ("softmax_cross_entropy.one_hot", (LABELS, 3, "dtype", [3, 4]), {}),
    ("identity.forward", ([3, 4],), {}),
    ("identity.backward", ([3, 4], [3, 4]), {}),
    ("add.forward", ([3, 4], [3, 4]), {}),
    ("add_scaled", ([3, 4], [3, 4], 0.5), {}),
    ("shrunk", ([3, 4], 0.5), {}),
    ("scaled", ([3, 4], 0.5), {}),
    ("reduce", ([3, 4], (0,), 3), {}),
    ("weighted_rows", ([3, 4], [3]), {}),
    ("weighted_rows", ([3, 2, 4], [3]), {}),
    ("reshape", ([3, 4], (2, 6)), {}),
    ("split", (0, [5, 4], (2, 3)), {}),
    ("split", (-1, [3, 4], (1, 3)), {}),
    ("join", (-1, [2, 3], [2, 1], [2, 2]), {}),
    ("attention.forward", ([2, 5, 2, 4], [2, 3, 2, 4], [2, 3, 2, 4], MASK, True), {}),
    ("attention.forward", ([2, 5, 2, 4], [2, 3, 2, 4], [2, 3, 2, 4], None, False), {}),
    (
        "attention.backward",
        ([2, 5, 2, 4], [2, 5, 2, 4], [2, 3, 2, 4], [2, 3, 2, 4], MASK, [2, 5, 2, 4], [2, 2, 5], True),
        {},
    ),
    ("attention.forward", ([2, 5, 2, 4], [2, 3, 2, 4], [2, 3, 2, 4], None, True, (0.5, 3, 1)), {}),
    (
        "attention.backward",
        ([2, 5, 2, 4], [2, 5, 2, 4], [2, 3, 2, 4], [2, 3, 2, 4], None, [2, 5, 2, 4], [2, 2, 5], True, (0.5, 3, 1)),
        {},
    ),
    ("self_attention.forward", ([2, 5, 24], 2, MASK_OF_ITSELF, True), {}),
    ("self_attention.forward", ([2, 5, 24], 2, None, False, (0.5, 3, 1)), {}),
    ("self_attention.backward", ([2, 5, 8], [2, 5, 24], MASK_OF_ITSELF, [2, 5, 8], [2, 2, 5], True), {}),
    ("self_attention.backward", ([2, 5, 8], [2, 5, 24], None, [2, 5, 8], [2, 2, 5], False, (0.5, 3, 1)), {}),
    ("add_sines", ([2, 5, 3], 1), {}),
    ("learned_positions.forward", ([2, 5, 3], [7, 3], 1), {}),
    ("learned_positions.backward", ([2, 5, 3], 7), {}),
    ("rotate", ([2, 5, 3, 4], 100.0, 1, True), {}),
    ("sgd.step", ([3, 4], [3, 4], [3, 4], 0.1, 0.9, 0.9, True, False, 0.0, 1.0), {}),
    ("sgd.step", ([3, 4], [3, 4], [3, 4], 0.1, 0.9, 0.9, False, True, 0.1, 1.0), {}),
    ("sgd.step", ([3, 4], [3, 4], None, 0.1, 0.0, 1.0, False, False, 0.0, 0.9), {}),
    ("adam.step", ([3, 4], [3, 4], [3, 4], [3, 4], 0.1, 0.1, 0.99, 0.01, 3.0, 1e-8, 0.0, 1.0), {}),
    ("rmsprop.step", ([3, 4], [3, 4], [3, 4], None, None, 0.1, 0.9, 0.1, 1e-8, 0.0, 0.1, 0.9), {}),
    ("rmsprop.step", ([3, 4], [3, 4], [3, 4], None, [3, 4], 0.1, 0.9, 0.1, 1e-8, 0.9, 0.0, 1.0), {}),
    ("adagrad.step", ([3, 4], [3, 4], [3, 4], 0.1, 1e-10, 0.1, 1.0), {}),
    ("adadelta.step", ([3, 4], [3, 4], [3, 4], [3, 4], 1.0, 0.9, 0.1, 1e-6, 0.0, 1.0), {}),
    ("amsgrad.step", ([3, 4], [3, 4], [3, 4], [3, 4], [3, 4], 0.1, 0.1, 0.99, 0.01, 0.3, 1e-8, 0.0, 0.9), {}),
    ("lion.step", ([3, 4], [3, 4], [3, 4], 0.1, 0.9, 0.1, 0.99, 0.01, 0.0, 1.0), {}),
    ("ema.step", ([3, 4], [3, 4], 0.1), {}),
]
WRITTEN = {
    "shrunk": {0},
    "batch_norm.track": {0, 1},
    "sgd.step": {0, 2},
    "adam.step": {0, 2, 3},
    "rmsprop.step": {0, 2, 4},
    "adagrad.step": {0, 2},
    "adadelta.step": {0, 2, 3},
    "amsgrad.step": {0, 2, 3, 4},
    "lion.step": {0, 2},
    "ema.step": {0},
    "embedding.add_backward": {0},
}
FUNCTIONS = {"softmax_cross_entropy.one_hot"}  # no ops

each_case = pytest.mark.parametrize(
    ("name", "arguments", "keywords"), CASES, ids=[f"{case[0]}-{n}" for n, case in enumerate(CASES)]
)
each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


for _module in pkgutil.walk_packages(typednn.kernels.__path__, "typednn.kernels."):
    importlib.import_module(_module.name)


def function(name):
    if name in OPS:
        return OPS[name].run
    op, attribute = name.split(".")
    return getattr(importlib.import_module(f"typednn.kernels.{op}"), attribute)


def filled(name, arguments, dtype):
    """The arguments with arrays in them: positive, so that they may stand for probabilities too."""
    rng = np.random.default_rng(0)
    result = []
    for place, argument in enumerate(arguments):
        if isinstance(argument, list):
            argument = rng.uniform(0.1, 0.9, argument).astype(dtype)
            argument.setflags(write=place in WRITTEN.get(name, ()))
        elif isinstance(argument, str) and argument == "dtype":
            argument = np.dtype(dtype)
        result.append(argument)
    return result


def results(outcome):
    return tuple(each for each in (outcome if isinstance(outcome, tuple) else (outcome,)) if each is not None)


@each_dtype
@each_case
def test_dtype_is_kept(name, arguments, keywords, dtype):
    """P-L1..P-L17, P-S1..P-S4: float32 in, float32 out; float64 in, float64 out; every result an array. Of rank 0 they
    are float64.
    """
    for place, result in enumerate(results(function(name)(*filled(name, arguments, dtype), **keywords))):
        assert type(result) is np.ndarray
        # The variance of batch normalisation is kept in double precision: the square of a large float32 is beyond its
        # range.
        is_wide = result.dtype == np.float64 and (not result.shape or (name, place) == ("batch_norm.forward", 2))
        assert result.dtype == dtype or result.dtype == np.uint8 or is_wide


@each_case
def test_arguments_are_not_written(name, arguments, keywords):
    """P-T4: everything read-only is accepted; an optimizer writes all of its own state, whose identity stays."""
    handed_in = filled(name, arguments, np.float64)
    before = [argument.copy() if isinstance(argument, np.ndarray) else argument for argument in handed_in]
    function(name)(*handed_in, **keywords)
    for place, (now, then) in enumerate(zip(handed_in, before, strict=True)):
        if isinstance(now, np.ndarray):
            assert np.array_equal(now, then) != (place in WRITTEN.get(name, ()))


def on_strict_device(argument):
    return StrictArray(argument) if isinstance(argument, np.ndarray) else argument


@each_dtype
@each_case
def test_runs_on_another_device(name, arguments, keywords, dtype):
    """P-E8: one reference for NumPy and CuPy: bit for bit the same on arrays that behave like a GPU's."""
    ours, theirs = (
        filled(name, arguments, dtype),
        [on_strict_device(argument) for argument in filled(name, arguments, dtype)],
    )
    with using("reference"):
        expected = results(function(name)(*ours, **keywords))
    got = results(function(name)(*theirs, **keywords))
    for here, there in zip((*expected, *ours), (*got, *theirs), strict=True):
        if isinstance(here, np.ndarray):
            assert type(there) is StrictArray
            assert there.dtype == here.dtype
            np.testing.assert_array_equal(to_numpy(there), here)


@each_case
def test_annotations_are_true(name, arguments, keywords):
    """The sizes that a reference's annotations state: mypy proves layers by them."""
    reference = OPS[name].reference if name in OPS else function(name)
    jaxtyped(reference, typechecker=beartype)(*filled(name, arguments, np.float32), **keywords)


@each_case
def test_no_warnings(name, arguments, keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(name)(*filled(name, arguments, np.float32), **keywords)


def test_every_op_has_a_row():
    declared = {name for name in OPS if not name.startswith("softsign.")}  # which other tests declare
    assert declared == {name for name, *_ in CASES} - FUNCTIONS, "add a row to CASES for each op"


@pytest.mark.parametrize("name", sorted(name for name, op in OPS.items() if op.backward is not None))
def test_an_op_keeps_what_its_derivative_reads(name):
    """The arrays that backward's engines read, but ``next_grad``; of a row of the pointwise table, as many."""
    op = OPS[name]
    assert op.backward is OPS[name.replace("forward", "backward")]
    arrays = {array for engine in op.backward.engines for array in (*engine.arrays, *engine.others)}
    if op.backward.names[0] == "array0":
        losses = op.reference.__self__.__module__ == "typednn.kernels.pointwise_losses"
        assert len(arrays) - len(op.keeps) == (0 if losses else 1)  # the losses read no next_grad
    elif arrays:
        assert arrays - {"next_grad"} == set(op.keeps)
    else:
        assert set(op.keeps) <= set(op.backward.names)


@pytest.mark.parametrize("name", sorted(OPS))
def test_an_engine_names_arguments(name):
    op = OPS[name]
    for engine in op.engines:
        assert {*engine.arrays, *engine.others} <= set(op.names)


@each_case
def test_an_op_is_told_and_counted(name, arguments, keywords):
    if name not in OPS:
        return
    ran = []
    with observing(ran.append):
        function(name)(*filled(name, arguments, np.float32), **keywords)
    (one,) = ran
    assert one.op is OPS[name]
    assert one.op.flops(*one.arguments) >= 0


# By hand: products and sums of the matrix products, and what is done for each number.
FLOPS = {
    "linear.forward": (([3, 4], [2, 4], [2]), 2 * 3 * 4 * 2),
    "linear.backward": (([3, 2], [3, 4], [2, 4]), 2 * 2 * 3 * 4 * 2),
    "conv2d.forward": (([2, 6, 5, 3], [4, 2, 2, 3], [4], Window()), 2 * 2 * 5 * 4 * 4 * 2 * 2 * 3),
    "conv2d.backward": (([2, 5, 4, 4], [2, 6, 5, 3], [4, 2, 2, 3], Window()), 2 * 2 * 2 * 5 * 4 * 4 * 2 * 2 * 3),
    "recurrent.forward": (([3, 2, 4], [20, 4], [20, 5], [20], [20], None, "lstm"), 2 * 3 * 2 * 20 * (4 + 5)),
    "recurrent.backward": (
        ([3, 2, 5], [3, 2, 4], [20, 4], [20, 5], [3, 3, 30], None, "lstm"),
        4 * 3 * 2 * 20 * (4 + 5),
    ),
    "recurrent.step": (([3, 4], [20, 4], [20, 5], None, None, None, None, "lstm"), 2 * 3 * 20 * (4 + 5)),
    "embedding.backward": (([2, 3, 2], TOKENS, 5), 12),
    "embedding.add_backward": (([5, 2], [2, 3, 2], TOKENS), 12),
    "leaky_relu.backward": (([3, 4], [3, 4], 0.1), 2 * 12),
    "hardswish.forward": (([3, 4],), 3 * 12),
    "glu.forward": (([3, 4],), 5 * 6),
    "add.forward": (([3, 4], [3, 4]), 12),
    "reduce": (([3, 4], (0,), 3), 12),
    "reshape": (([3, 4], (2, 6)), 0),
    "attention.forward": (([2, 5, 2, 4], [2, 3, 2, 4], [2, 3, 2, 4], None, True), 2 * 2 * 2 * 2 * 4 * (1 + 2 + 3 * 3)),
    "attention.backward": (
        ([2, 5, 2, 4], [2, 5, 2, 4], [2, 3, 2, 4], [2, 3, 2, 4], None, [2, 5, 2, 4], [2, 2, 5], False),
        5 * 2 * 2 * 2 * 4 * 5 * 3,
    ),
    "self_attention.forward": (([2, 5, 24], 2, None, True), 2 * 2 * 2 * 2 * 4 * (1 + 2 + 3 + 4 + 5)),
    "self_attention.backward": (
        ([2, 5, 8], [2, 5, 24], None, [2, 5, 8], [2, 2, 5], False),
        5 * 2 * 2 * 2 * 4 * 5 * 5,
    ),
    "rotate": (([2, 5, 3, 4],), 3 * 120),
}


@pytest.mark.parametrize("name", FLOPS)
def test_operations_by_hand(name):
    arguments, expected = FLOPS[name]
    ran = []
    with observing(ran.append):
        function(name)(*filled(name, arguments, np.float32))
    assert ran[0].op.flops(*ran[0].arguments) == expected
