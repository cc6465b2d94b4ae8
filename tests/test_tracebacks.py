"""A mistake's traceback ends where the user's code called typednn."""

import copy
import traceback
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from jaxtyping import Float

import typednn
from typednn import Array2, Input, Layer, S, layers
from typednn.data import Loader
from typednn.engines import using
from typednn.errors import TypednnError
from typednn.errors.debugging import Debug, debug
from typednn.errors.tracebacks import fold
from typednn.layers import Linear, LinearGrad, ReLU
from typednn.losses import MSE, SoftmaxCrossEntropy
from typednn.optim import SGD
from typednn.runs import Run
from typednn.training import Callback, Step, fit

X = np.zeros((4, 4), np.float32)


class Wrong(Layer[Array2, Array2, LinearGrad, S]):
    """A hand-written model that feeds its layer what it does not read."""

    def __init__(self) -> None:
        self.fc = Linear(3, 3, rng=np.random.default_rng(0))

    def forward(self, x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 3"]:
        return self.fc.forward(x)

    def backward(self, next_grad: Float[Array2, "batch 3"]) -> LinearGrad:
        return self.fc.backward(next_grad)


@pytest.fixture(autouse=True)
def _without_kernels() -> Iterator[None]:
    with using("reference"):
        yield


def model() -> Layer[Array2, Array2, object]:
    chain = Input(4) >> Linear(4, 8) >> ReLU() >> Linear(8, 3)
    return chain.init(np.random.default_rng(0))  # type: ignore[return-value]  # pyright: ignore[reportReturnType]


def loader() -> Loader[Array2, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    return Loader(X, np.zeros(4, np.int64), batch_size=2, shuffle=False)


def frames(act: Callable[[], object]) -> list[str]:
    """The functions in the traceback of the error of ``act``, with the module, below this one."""
    try:
        act()
    except (TypednnError, AttributeError) as error:
        return [
            f"{frame.f_globals['__name__']}.{frame.f_code.co_name}"
            for frame, _ in traceback.walk_tb(error.__traceback__)
        ][1:]
    raise AssertionError


HERE = [f"{__name__}.<lambda>"]
MISTAKES = {
    "a constructor": lambda: Linear(0, 3),
    "an argument": lambda: Linear(2, 3, 4, 5, 6),  # type: ignore[call-overload, misc]  # pyright: ignore[reportCallIssue]
    "a stack": lambda: Input(4) >> Linear(5, 3),
    "a grown stack": lambda: model() >> Linear(5, 3),  # type: ignore[operator]
    "a call": lambda: model()(X[:, :3]),
    "a forward": lambda: model().forward(X[:, :3]),
    "a backward": lambda: model().backward(X[:, :3]),
    "an update": lambda: model().update(SGD(0.1), 3),
    "an init": lambda: model().init(3),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    "a state": lambda: model().load_state_dict({}),
    "a dtype": lambda: model().astype("int8"),
    "a loss": lambda: MSE().loss(X, X[:1]),
    "an optimizer": lambda: SGD(-1.0),
    "a step": lambda: SGD(0.1).step(X, X[:1]),
    "a loader": lambda: Loader(X, X[:1], batch_size=3, shuffle=False),
    "fit": lambda: fit(model(), "mse", SGD(0.1), loader(), epochs=1),  # type: ignore[arg-type, misc]  # pyright: ignore[reportArgumentType]
    "fit, deeper": lambda: fit(model(), MSE(), SGD(0.1), loader(), epochs=1, progress=False),  # type: ignore[arg-type, misc]  # pyright: ignore[reportArgumentType]
    "an attribute": lambda: model().predict,  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    "no attribute": lambda: model().quxquux,  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    "a name": lambda: layers.Dense,  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    "a name of the package": lambda: typednn.fit,  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_it_ends_in_the_line_of_the_user(mistake: str) -> None:
    assert frames(MISTAKES[mistake]) == HERE


@pytest.mark.parametrize("mistake", ["a forward", "a stack", "fit", "an attribute"])
def test_a_bit_shows_all_lines(mistake: str) -> None:
    with debug(Debug.FRAMES):
        shown = frames(MISTAKES[mistake])
    assert shown[:1] == HERE
    assert any(name.startswith("typednn.") for name in shown[1:])


def test_lines_of_the_user_below_stay() -> None:
    """The forward that a user wrote is where the mistake is."""
    assert frames(lambda: Wrong().forward(X)) == [*HERE, f"{__name__}.forward"]


def test_a_callback_of_the_user_stays() -> None:
    class Broken(Callback):
        def on_step(self, step: Step) -> None:
            Linear(0, step.step)

    callbacks: Any = [Broken()]
    names = frames(
        lambda: fit(model(), SoftmaxCrossEntropy(), SGD(0.1), loader(), epochs=1, callbacks=callbacks, progress=False)
    )
    assert names == [*HERE, f"{__name__}.on_step"]


def test_other_errors_keep_all_lines() -> None:
    """They are no mistake that typednn knows: its lines are what a report needs."""

    class Broken(Callback):
        def on_step(self, step: Step) -> None:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised:
        fit(model(), SoftmaxCrossEntropy(), SGD(0.1), loader(), epochs=1, callbacks=[Broken()], progress=False)  # type: ignore[arg-type]
    assert any(
        frame.f_globals["__name__"] == "typednn.training.session"
        for frame, _ in traceback.walk_tb(raised.value.__traceback__)
    )


def test_what_an_error_came_from_is_folded_too() -> None:
    def inner() -> None:
        try:
            Linear(0, 1)
        except TypednnError as error:
            raise RuntimeError from error

    with pytest.raises(RuntimeError) as raised:
        inner()
    cause = raised.value.__cause__
    assert cause is not None
    fold(raised.value)
    assert [frame.f_code.co_name for frame, _ in traceback.walk_tb(cause.__traceback__)] == ["inner"]


def test_errors_in_a_circle_end() -> None:
    first, second = ValueError(), ValueError()
    first.__cause__, second.__cause__ = second, first
    fold(first)
    assert first.__traceback__ is None


def test_a_copied_model_is_copied() -> None:
    """Copying asks for attributes of an object that has none yet."""
    again = copy.deepcopy(model())
    np.testing.assert_array_equal(again.forward(X), model().forward(X))


def test_warnings_of_a_run_name_the_line_that_called(tmp_path: object) -> None:
    run = Run(str(tmp_path))
    with pytest.warns(UserWarning, match="text") as seen:
        run.warn("text")
    assert seen[0].filename == __file__
