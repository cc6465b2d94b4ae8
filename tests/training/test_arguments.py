"""fit checks its arguments before anything runs, in four parts, and takes the reasonable ones."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn import Input, config
from typednn.data import Loader
from typednn.engines import using
from typednn.errors import ArgumentError, CheckpointError, StateError, TypednnError
from typednn.layers import Linear, LogSoftmax, ReLU, Softmax
from typednn.losses import MSE, NLL, BCEWithLogits, CrossEntropy, SoftmaxCrossEntropy
from typednn.optim import SGD, Adam
from typednn.runs import Run
from typednn.tasks import Classification
from typednn.training import Callback, EarlyStopping, Epoch, Evaluation, History, fit

X = np.random.default_rng(0).standard_normal((20, 4), dtype=np.float32)
Y = (X[:, 0] > X[:, 1]).astype(np.int64)


class Counting(Callback):
    """Counts epochs."""

    def __init__(self) -> None:
        self.epochs = 0

    def on_epoch(self, epoch: Epoch) -> None:
        self.epochs += 1


class Plain:
    """A callback that does not derive, and has not all methods."""

    def on_epoch(self, epoch: Epoch) -> None: ...


class Whole:
    """One that does not derive, and has all methods: for type checkers it is a `Callback`."""

    epochs = 0

    def on_start(self, settings: Any, folder: Any) -> None: ...
    def on_step(self, step: Any) -> None: ...
    def on_evaluation(self, measured: Any) -> None: ...
    def on_epoch(self, epoch: Any) -> None:
        self.epochs += 1

    def on_end(self, history: Any) -> None: ...
    def on_exception(self, exception: BaseException) -> None: ...
    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any], /) -> None: ...


@pytest.fixture(autouse=True)
def _without_kernels() -> Iterator[None]:
    with using("reference"):
        yield


def model(*ends: Any) -> Any:
    chain: Any = Input(4) >> Linear(4, 8) >> ReLU() >> Linear(8, 2)
    for end in ends:
        chain = chain >> end
    return chain.init(np.random.default_rng(0))


def train(**changes: Any) -> History:
    given: dict[str, Any] = {
        "epochs": 2,
        "progress": False,
        "model": model(),
        "loss": SoftmaxCrossEntropy(),
        "optimizer": SGD(0.1),
    }
    given["loader"] = Loader(X, Y, batch_size=8, rng=np.random.default_rng(1))
    return fit(**given | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": Linear}, "forward, backward and update, got the class Linear; call it"),
        ({"model": [Linear(4, 2)]}, "got list, which has no forward and no backward and no update"),
        ({"loss": "mse"}, r"the loss with loss_grad, got 'mse'; pass an object, MSE\(\) of typednn.losses"),
        ({"loss": "sparse_categorical_crossentropy"}, r"SoftmaxCrossEntropy\(\) of typednn.losses"),
        ({"loss": "something"}, r"SoftmaxCrossEntropy\(\) of typednn.losses"),
        ({"loss": MSE}, r"got the class MSE; write MSE\(…\)"),
        ({"loss": SGD(0.1)}, "the loss with loss_grad, got SGD"),
        ({"optimizer": "adam"}, r"the optimizer with step, got 'adam'; pass an object, Adam\(\) of typednn.optim"),
        ({"optimizer": Adam}, r"got the class Adam; write Adam\(…\)"),
        ({"optimizer": 0.1}, "the optimizer with step, got 0.1"),
        ({"loader": (X, Y)}, r"gives the batches, got tuple; pass Loader\(x, y, batch_size=32, rng="),
        ({"loader": X}, "gives the batches, got ndarray"),
        ({"loader": Loader}, "got the class Loader"),
        ({"loader": [(X, Y)]}, "gives the batches, got list"),
        ({"validation": X}, r"a pair of arrays \(x, y\) or an Evaluation\(x, y\), got ndarray"),
        ({"validation": 0.2}, "got 0.2"),
        ({"validation": (X, Y, X)}, "got tuple"),
        ({"validation": (X, Y.tolist())}, "got tuple"),
        ({"validation": Evaluation}, "got the class Evaluation"),
        ({"run": 3}, "run is a Run or the folder of one, got 3"),
        (
            {"callbacks": [Plain()]},
            "callbacks are Callbacks, got Plain; derive its class from typednn.training.Callback",
        ),
        ({"callbacks": [Counting]}, r"got the class Counting; write Counting\(…\)"),
        ({"callbacks": print}, "got builtin_function_or_method"),
        ({"callbacks": "tensorboard"}, "got 'tensorboard'"),
        ({"callbacks": [EarlyStopping(3)]}, "got EarlyStopping; pass early_stopping="),
        ({"early_stopping": 5, "validation": (X, Y)}, r"got 5; pass EarlyStopping\(patience=5\)"),
        ({"early_stopping": True, "validation": (X, Y)}, r"got True; pass EarlyStopping\(patience=3\)"),
        ({"early_stopping": EarlyStopping, "validation": (X, Y)}, "got the class EarlyStopping"),
        ({"early_stopping": EarlyStopping(3)}, "no validation; pass validation="),
        ({"task": "classification"}, r"a task has targets and metrics, got 'classification'; pass Classification\(\)"),
        ({"task": Classification}, "got the class Classification"),
        ({"epochs": 0}, "epochs must be an integer of at least 1, got 0"),
        ({"epochs": 1.5}, "epochs must be an integer of at least 1, got 1.5"),
        ({"epochs": "3"}, "got '3'"),
        ({"keep": 0}, "keep must be an integer of at least 1"),
        ({"progress": "yes"}, "progress is True, False or 'auto', got 'yes'"),
        ({"verbose": 1}, "got verbose=; it is called progress"),
        ({"validation_data": (X, Y)}, "got validation_data=; it is called validation"),
        ({"batch_size": 3}, "got batch_size=; the loader has it"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),  # the text of an object has its address
)
def test_a_wrong_argument_is_told_before_anything_runs(changes: dict[str, Any], message: str) -> None:
    counting = Counting()
    with pytest.raises(ArgumentError, match=message) as raised:
        train(**{"callbacks": [counting]} | changes)
    assert str(raised.value).startswith("fit: ")
    assert raised.value.argument in changes or raised.value.argument == "validation"
    assert counting.epochs == 0


@pytest.mark.parametrize(
    ("ends", "loss", "cure"),
    [
        ([Softmax()], SoftmaxCrossEntropy(), r"got Softmax\(\); leave it out"),
        ([LogSoftmax()], SoftmaxCrossEntropy(), "leave it out"),
        ([Softmax()], BCEWithLogits(), "leave it out"),
        ([], CrossEntropy(), r"CrossEntropy reads probabilities.*got Linear\(8, 2\); end with Softmax\(\)"),
        ([], NLL(), r"end with LogSoftmax\(\)"),
        ([Softmax()], NLL(), r"end with LogSoftmax\(\)"),
    ],
)
def test_the_end_of_the_model_and_the_loss_belong_together(ends: list[Any], loss: Any, cure: str) -> None:
    """A forgotten softmax, or one too many."""
    with pytest.raises(ArgumentError, match=cure):
        train(model=model(*ends), loss=loss)


def test_what_belongs_together_is_taken() -> None:
    assert len(train(model=model(LogSoftmax()), loss=NLL()).epochs) == 2
    assert len(train(model=model(Softmax()), loss=MSE(), task=Classification(rows=True)).epochs) == 2


def test_a_pair_of_arrays_is_an_evaluation() -> None:
    pairs = [train(validation=given).evaluations for given in (Evaluation(X, Y), (X, Y), [X, Y])]
    assert len(pairs[0]) == 2
    assert pairs[0] == pairs[1] == pairs[2]


def test_one_callback_needs_no_list_and_none_needs_to_derive() -> None:
    alone, whole = Counting(), Whole()
    train(callbacks=alone)
    train(callbacks=(whole,))
    assert (alone.epochs, whole.epochs) == (2, 2)


def test_more_than_the_data_is_one_batch() -> None:
    assert train(loader=Loader(X, Y, batch_size=100, rng=np.random.default_rng(1))).steps == 2


@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_is_a_run(tmp_path: Path, kind: type) -> None:
    """A new one with the model as its config; the next call goes on from it, bit for bit, as with a `Run`."""
    folder = kind(tmp_path / "run")
    first = model()
    train(run=folder, model=first)
    read = config.load(Path(folder) / "config.toml").model()
    assert str(read).split()[1:] == str(first).split()[1:]  # it is a Stack
    again = model()
    history = train(run=folder, model=again, epochs=3)
    assert [epoch.number for epoch in history.epochs] == [1, 2, 3]
    whole = model()
    train(model=whole, epochs=3)
    for name, array in whole.state_dict().items():
        np.testing.assert_array_equal(again.state_dict()[name], array)
    with Run.open(folder) as run:  # it was closed: its lock is free
        assert run.latest() is not None


def test_a_run_of_a_model_without_config(tmp_path: Path) -> None:
    """A model that no config describes is trained into a folder too."""

    class Own:
        def __init__(self) -> None:
            self.inner = model()

        def __getattr__(self, name: str) -> Any:
            return getattr(self.inner, name)

    train(model=Own(), run=tmp_path / "run")
    assert (tmp_path / "run" / "config.toml").read_text("utf-8").startswith("# ")


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "photo.png").write_bytes(b"mine")
    with pytest.raises((StateError, CheckpointError), match="a new run needs an empty folder"):
        train(run=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["photo.png"]


def test_a_wrong_argument_leaves_no_run(tmp_path: Path) -> None:
    with pytest.raises(TypednnError):
        train(run=tmp_path / "run", epochs=0)
    assert not (tmp_path / "run").exists()
