"""Optimizers, schedules, groups and what is done to gradients before a step."""

import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from typednn import Stack
from typednn.engines import using
from typednn.errors import ArgumentError, StateDictError, StateError
from typednn.layer import Chain, Input
from typednn.layers import Linear, PReLU, ReLU, Tanh
from typednn.losses import MSE
from typednn.optim import (
    EMA,
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    AdamW,
    ConstantLR,
    CosineLR,
    ExponentialLR,
    GradientOptimizer,
    Group,
    LinearLR,
    Lion,
    OneCycleLR,
    PolynomialLR,
    ReduceLROnPlateau,
    RMSprop,
    StepLR,
    accumulate,
    clip_grad_norm,
    l2_penalty,
)
from typednn.testing.subject import bits, values

FACTORIES: dict[str, Any] = {
    "SGD": lambda **more: SGD(0.1, **more),
    "momentum": lambda **more: SGD(0.1, momentum=0.9, dampening=0.1, **more),
    "nesterov": lambda **more: SGD(0.1, momentum=0.9, nesterov=True, **more),
    "Adam": lambda **more: Adam(0.01, **more),
    "AdamW": lambda **more: AdamW(0.01, **more),
    "AMSGrad": lambda **more: Adam(0.01, amsgrad=True, **more),
    "RMSprop": lambda **more: RMSprop(0.01, **more),
    "RMSprop, all arrays": lambda **more: RMSprop(0.003, 0.9, momentum=0.5, centered=True, **more),
    "Adagrad": lambda **more: Adagrad(0.1, lr_decay=1e-3, initial_accumulator_value=0.1, **more),
    "Adadelta": lambda **more: Adadelta(2.0, **more),
    "Lion": lambda **more: Lion(0.01, **more),
    "averaged": lambda **more: Adam(0.01, ema=0.9, **more),
}


def model(seed: int = 0) -> Any:
    return (Input(3) >> Linear(3, 4) >> PReLU() >> Linear(4, 2)).init(np.random.default_rng(seed))


def train(net: Any, optimizer: Any, steps: int, start: int = 0) -> None:
    loss = MSE()
    for step in range(start, start + steps):
        x, t = values((5, 3), step, np.float32), values((5, 2), step + 50, np.float32)
        net.update(optimizer, net.backward(loss.loss_grad(net.forward(x), t)))


# ------------------------------------------------------------------ rules, by hand


def test_sgd_is_eq_44() -> None:
    """P-S4: w - lr·g, in place, the gradient untouched."""
    w, g = np.array([1.0, -2.0]), np.array([0.5, 0.25])
    g.flags.writeable = False
    before = w
    SGD(0.1).step(w, g)
    assert w is before
    np.testing.assert_allclose(w, [0.95, -2.025], rtol=1e-15)


def test_three_meanings_of_weight_decay() -> None:
    """P-S5, Z-O2: eq 46 couples with the learning rate, eq 47 does not; they meet at decay = 2·lr·l2."""
    w, g, lr = np.array([1.5, -2.0]), np.array([0.5, 0.25]), 0.1

    def after(optimizer: Any) -> Any:
        copied = w.copy()
        optimizer.step(copied, g)
        return copied

    np.testing.assert_allclose(after(SGD(lr, l2=0.3)), w - lr * (g + 2 * 0.3 * w), rtol=1e-14)
    np.testing.assert_allclose(after(SGD(lr, decay=1e-3)), w * (1 - 1e-3) - lr * g, rtol=1e-14)
    np.testing.assert_allclose(after(SGD(lr, weight_decay=0.3)), w - lr * (g + 0.3 * w), rtol=1e-14)
    np.testing.assert_allclose(after(SGD(lr, l2=0.3)), after(SGD(lr, decay=2 * lr * 0.3)), rtol=1e-14)
    with pytest.raises(ArgumentError, match="SGD: takes one meaning of weight decay, got l2 and decay; l2 is eq 46"):
        SGD(lr, l2=0.1, decay=0.1)
    # AdamW takes it from the weights themselves: with no gradient nothing else moves them
    w2 = np.array([2.0])
    AdamW(0.1, weight_decay=0.5).step(w2, np.zeros(1))
    np.testing.assert_allclose(w2, [2.0 * (1 - 0.1 * 0.5)], rtol=1e-14)
    assert AdamW().settings.weight_decay == 0.01
    assert AdamW(l2=0.1).settings.weight_decay == 0.0


def test_the_penalty_is_eq_45_and_its_derivative_eq_46() -> None:
    """P-S5: the value by hand; by central differences of loss and penalty together, a step with ``l2`` is one along
    their sum.
    """
    model = (Linear(3, 2) >> Tanh() >> Linear(2, 2)).init(np.random.default_rng(0)).astype(np.float64)
    x, target, l2, lr, step = np.random.default_rng(1).standard_normal((4, 3)), np.zeros((4, 2)), 0.3, 0.1, 1e-6
    by_hand = l2 * math.fsum(weight * weight for weights in model.parameters() for weight in weights.ravel().tolist())
    assert l2_penalty(model, l2) == pytest.approx(by_hand, rel=1e-14)
    assert l2_penalty(model, 0.0) == 0.0
    assert l2_penalty(ReLU(), l2) == 0.0

    def minimised() -> float:
        return MSE().loss(model.forward(x), target) + l2_penalty(model, l2)

    slopes = {}
    for name, weights in model.named_parameters().items():
        slopes[name] = np.empty_like(weights)
        for index in np.ndindex(weights.shape):
            kept, values = weights[index], []
            for weights[index] in (kept + step, kept - step):
                values.append(minimised())
            weights[index] = kept
            slopes[name][index] = (values[0] - values[1]) / (2 * step)
    before = {name: weights.copy() for name, weights in model.named_parameters().items()}
    model.update(SGD(lr, l2=l2), model.backward(MSE().loss_grad(model.forward(x), target)))
    for name, weights in model.named_parameters().items():
        np.testing.assert_allclose((before[name] - weights) / lr, slopes[name], rtol=1e-6, atol=1e-9, err_msg=name)


def test_a_penalty_sums_in_double() -> None:
    """P-S5: a million float32 weights keep their digits."""
    model = Linear(1000, 1000, bias=False, rng=np.random.default_rng(0))
    weights = model.weight.astype(np.float64)
    assert l2_penalty(model, 1.0) == pytest.approx(math.fsum((weights * weights).ravel().tolist()), rel=1e-12)
    for wrong in (-1.0, math.nan, math.inf, True):
        with pytest.raises(ArgumentError, match="l2_penalty: l2 must be a finite number"):
            l2_penalty(model, wrong)


def scalar_adam(w: float, gradients: list[float], lr: float, beta1: float, beta2: float, eps: float) -> float:
    m = v = 0.0
    for t, g in enumerate(gradients, 1):
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        w -= lr * (m / (1 - beta1**t)) / (math.sqrt(v / (1 - beta2**t)) + eps)
    return w


@given(st.lists(st.floats(-3, 3).filter(lambda g: abs(g) > 1e-3), min_size=1, max_size=8))
def test_adam_by_hand(gradients: list[float]) -> None:
    w = np.array([0.7])
    optimizer = Adam(0.05, (0.8, 0.95), 1e-6)
    for g in gradients:
        optimizer.step(w, np.array([g]))
    assert w[0] == pytest.approx(scalar_adam(0.7, gradients, 0.05, 0.8, 0.95, 1e-6), rel=1e-12, abs=1e-12)


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=8), st.booleans())
def test_momentum_by_hand(gradients: list[float], nesterov: bool) -> None:
    w, velocity, expected = np.array([0.7]), 0.0, 0.7
    optimizer = SGD(0.1, momentum=0.9, dampening=0.0 if nesterov else 0.25, nesterov=nesterov)
    for step, g in enumerate(gradients):
        optimizer.step(w, np.array([g]))
        velocity = g if step == 0 else 0.9 * velocity + (1.0 if nesterov else 0.75) * g
        expected -= 0.1 * (g + 0.9 * velocity if nesterov else velocity)
    assert w[0] == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", FACTORIES)
def test_an_optimizer_writes_only_the_weights(name: str) -> None:
    """P-T4, P-P6."""
    optimizer = FACTORIES[name]()
    w, g = values((3, 2), 1, np.float32), values((3, 2), 2, np.float32)
    g.flags.writeable = False
    for _ in range(3):
        before = w.copy()
        optimizer.step(w, g)
        assert w.dtype == np.float32
        assert not np.array_equal(w, before)


@pytest.mark.parametrize("name", FACTORIES)
def test_optimizers_on_an_array_that_refuses_what_cupy_refuses(name: str) -> None:
    import strict_array

    strict_array.register()
    results = []
    for device in ("cpu", "strict"):
        net, optimizer = model().to(device), FACTORIES[name](l2=0.01)
        loss = MSE()
        for step in range(3):
            x, t = values((5, 3), step, np.float32), values((5, 2), step, np.float32)
            if device == "strict":
                x, t = strict_array.to_strict(x), strict_array.to_strict(t)
            with using("reference"):  # kernels round differently
                net.update(optimizer, net.backward(loss.loss_grad(net.forward(x), t)))
        results.append(bits(tuple(net.parameters())))
    assert results[0] == results[1]


@pytest.mark.parametrize("name", FACTORIES)
def test_training_makes_the_loss_small(name: str) -> None:
    net, optimizer, loss = model(), FACTORIES[name](), MSE()
    x = values((8, 3), 0, np.float32)
    t = x[:, :2] * 2 - 1
    first = loss.loss(net(x), t)
    for _ in range(300):
        y = net(x)
        net.update(optimizer, net.backward(loss.loss_grad(y, t)))
    assert loss.loss(net(x), t) < 0.05 * first


# ------------------------------------------------------------------ groups, names, saving


def test_groups_go_by_name() -> None:
    """A13: no decay on biases, another rate for one layer; the first match counts."""
    net = model()
    optimizer = SGD(0.1, weight_decay=0.5, groups=[Group("*.bias", weight_decay=0.0), Group("2.*", lr=0.01)]).bind(net)
    before = {name: array.copy() for name, array in net.named_parameters().items()}
    x = values((5, 3), 0, np.float32)
    gradient = net.backward(net.forward(x))
    derivatives = net.named_gradients(gradient)
    net.update(optimizer, gradient)
    for name, array in net.named_parameters().items():
        lr = 0.01 if name == "2.weight" else 0.1
        decay = 0.0 if name.endswith("bias") else 0.5
        np.testing.assert_allclose(
            array, before[name] - lr * (derivatives[name] + decay * before[name]), rtol=1e-5, atol=1e-7
        )


def test_groups_and_names_that_do_not_fit_are_told() -> None:
    net = model()
    with pytest.raises(
        ArgumentError, match=r"group 'fc\.\*' must match a parameter, got none that does; there are 0\.weight, 0\.bias"
    ):
        SGD(groups=[Group("fc.*")]).bind(net)
    with pytest.raises(StateError, match=r"groups go by name, .* call bind\(model\) first"):
        train(net, SGD(groups=[Group("*.bias")]), 1)
    with pytest.raises(StateError, match="an array of another"):
        train(model(), SGD().bind(net), 1)
    with pytest.raises(StateError, match=r"state is saved by name"):
        Adam().state_dict()
    with pytest.raises(ArgumentError, match=r"SGD, group '\*': takes one meaning of weight decay"):
        SGD(l2=0.1, groups=[Group("*", decay=0.1)])


@pytest.mark.parametrize("name", FACTORIES)
def test_saved_state_goes_on_bit_for_bit(name: str) -> None:
    """State is kept under parameter names; a run that is stopped, saved and resumed ends like one that was not."""
    straight = model()
    one = FACTORIES[name]().bind(straight)
    train(straight, one, 6)

    stopped = model()
    two = FACTORIES[name]().bind(stopped)
    train(stopped, two, 3)
    weights = {key: array.copy() for key, array in stopped.state_dict().items()}
    state = {key: value if isinstance(value, int) else value.copy() for key, value in two.state_dict().items()}

    resumed = model(seed=9)
    resumed.load_state_dict(weights)
    three = FACTORIES[name]().bind(resumed)
    three.load_state_dict(state)
    train(resumed, three, 3, start=3)
    assert bits(tuple(resumed.parameters())) == bits(tuple(straight.parameters()))
    assert {key for key in state if key.endswith(".step")} == {f"{key}.step" for key in resumed.named_parameters()}


def test_state_that_does_not_fit_changes_nothing() -> None:
    net = model()
    optimizer = Adam().bind(net)
    train(net, optimizer, 2)
    good = optimizer.state_dict()
    before = json.dumps({key: value if isinstance(value, int) else value.tolist() for key, value in good.items()})
    for change, words in (
        ({"9.weight.step": 1}, "unexpected '9.weight.step'"),
        ({"0.weight.velocity": np.zeros((4, 3))}, "unexpected '0.weight.velocity'"),
        ({"0.weight.m": np.zeros(3)}, r"'0.weight.m' has shape \(3,\), the parameter \(4, 3\)"),
    ):
        with pytest.raises(StateDictError, match=words):
            optimizer.load_state_dict(good | change)
    with pytest.raises(StateDictError, match=r"missing '0.bias.step'"):
        optimizer.load_state_dict({key: value for key, value in good.items() if key != "0.bias.step"})
    after = {key: value if isinstance(value, int) else value.tolist() for key, value in optimizer.state_dict().items()}
    assert json.dumps(after) == before


def test_bound_state_follows_a_replaced_array() -> None:
    """After astype the momentum is still the parameter's."""
    net = model()
    optimizer = SGD(0.1, momentum=0.9).bind(net)
    train(net, optimizer, 1)
    velocity = optimizer.state_dict()["0.weight.velocity"].copy()
    net.astype(np.float64)
    x = values((5, 3), 0)
    net.update(optimizer, net.backward(net.forward(x)) * 0.0)
    np.testing.assert_allclose(
        optimizer.state_dict()["0.weight.velocity"], 0.9 * velocity.astype(np.float64), rtol=1e-6
    )
    assert optimizer.state_dict()["0.weight.step"] == 2


# ------------------------------------------------------------------ schedules


def test_schedules_by_hand() -> None:
    assert [ConstantLR(0.1)(step) for step in (0, 9)] == [0.1, 0.1]
    assert [StepLR(1.0, 3, 0.5)(step) for step in range(7)] == [1, 1, 1, 0.5, 0.5, 0.5, 0.25]
    cosine = CosineLR(1.0, total_steps=12, warmup_steps=2, eta_min=0.1)
    assert cosine(0) == 0.5
    assert cosine(1) == 1.0
    assert cosine(2) == 1.0
    assert cosine(7) == pytest.approx(0.55)
    assert cosine(12) == pytest.approx(0.1)
    assert cosine(1000) == pytest.approx(0.1)


def test_a_schedule_sets_each_step() -> None:
    w = np.zeros(1)
    optimizer = SGD(StepLR(1.0, 2, 0.1))
    seen = []
    for _ in range(4):
        before = w.copy()
        optimizer.step(w, np.ones(1))
        seen.append(float((before - w)[0]))
    np.testing.assert_allclose(seen, [1, 1, 0.1, 0.1], rtol=1e-12)
    own = SGD(lambda step: 1.0 / (step + 1))
    own.step(w, np.ones(1))


@pytest.mark.parametrize(
    "wrong", [math.nan, math.inf, -math.inf, -0.1, np.float32("nan"), "0.1", None, True, 1j, np.ones(2)], ids=repr
)
@pytest.mark.parametrize("of_group", [False, True])
@pytest.mark.parametrize("kind", [SGD, Adam, AdamW])
def test_a_schedule_that_gives_no_rate_is_refused_before_anything_is_written(
    kind: Any, of_group: bool, wrong: Any
) -> None:
    def schedule(step: int) -> Any:
        return wrong if step == 2 else 0.1

    net = model()
    optimizer = (kind(0.1, groups=[Group("2.bias", lr=schedule)]) if of_group else kind(schedule)).bind(net)
    train(net, optimizer, 2)
    before = {name: array.copy() for name, array in [*net.named_parameters().items(), *arrays(optimizer)]}
    for _ in range(2):  # asked again, it refuses again
        with pytest.raises(
            ArgumentError, match=r"step 2: the schedule's learning rate must be a finite number .*, got"
        ) as caught:
            train(net, optimizer, 1)
        assert repr(wrong) in str(caught.value)
    for name, array in [*net.named_parameters().items(), *arrays(optimizer)]:
        assert bits(array) == bits(before[name])


def arrays(optimizer: Any) -> list[tuple[str, Any]]:
    return [
        (f"state of {name}", value) for name, value in optimizer.state_dict().items() if isinstance(value, np.ndarray)
    ]


@pytest.mark.parametrize("rate", [1, np.float32(0.5), np.int64(1), 0, 0.0], ids=repr)
def test_a_schedule_may_give_any_number(rate: Any) -> None:
    w = np.zeros(1)
    SGD(lambda step: rate).step(w, np.ones(1))
    assert w[0] == -float(rate)


def test_a_bound_optimizer_looks_all_parameters_up_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []
    named: Any = Chain.named_parameters
    monkeypatch.setattr(Chain, "named_parameters", lambda self: looked.append(self) or named(self))
    net = model()
    optimizer = Adam(0.01).bind(net)
    train(net, optimizer, 3)
    assert len(looked) == 1
    net.astype(np.float64).astype(np.float32)
    train(net, optimizer, 1)
    assert len(looked) == 2
    with pytest.raises(StateError, match="an array of another"):
        optimizer.step(np.zeros(3, np.float32), np.zeros(3, np.float32))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: SGD(-0.1), "SGD: lr must be a finite number with 0 <= lr"),
        (lambda: SGD(float("nan")), "lr must be a finite number"),
        (lambda: SGD("0.1"), "lr must be a finite number"),
        (lambda: SGD(0.1, nesterov=True), "nesterov needs momentum and no dampening"),
        (lambda: SGD(0.1, weight_decay=-1), "weight_decay must be a finite number"),
        (lambda: Adam(betas=(0.9, 1.0)), "beta2 must be a finite number with 0 <= beta2 < 1"),
        (lambda: Adam(betas=(0.9,)), "betas are two numbers"),
        (lambda: StepLR(0.1, 0), "step_size must be an integer of at least 1, got 0"),
        (lambda: CosineLR(0.1, 5, 5), "total_steps must be an integer of at least 6, got 5"),
        (lambda: ExponentialLR(0.1, -1.0), "gamma must be a finite number with 0 <= gamma"),
        (lambda: LinearLR(0.1, total_iters=0), "total_iters must be an integer of at least 1, got 0"),
        (lambda: PolynomialLR(0.1, power=-1), "power must be a finite number with 0 <= power"),
        (
            lambda: OneCycleLR(0.1, 10, pct_start=1.5),
            "OneCycleLR: pct_start is a share of the steps, at most 1, got 1.5",
        ),
        (lambda: OneCycleLR(0.1, 10, div_factor=0.0), "OneCycleLR: div_factor is a divisor, got 0"),
        (
            lambda: OneCycleLR(0.1, 10, anneal_strategy="steep"),
            "anneal_strategy must be one of 'cos', 'linear', got 'steep'",
        ),
        (lambda: OneCycleLR(0.1, 10, three_phase=1), "three_phase is True or False, got 1"),
        (lambda: ReduceLROnPlateau(0.1, factor=1.0), "factor must be a finite number with 0 <= factor < 1, got 1.0"),
        (lambda: ReduceLROnPlateau(0.1, "least"), "mode must be one of 'min', 'max', got 'least'"),
        (lambda: ReduceLROnPlateau(0.1, patience=-1), "patience must be an integer of at least 0, got -1"),
        (lambda: EMA(1.0), "EMA: decay must be a finite number with 0 <= decay < 1, got 1.0"),
        (lambda: EMA(warmup=3), "EMA: warmup is True or False, got 3"),
        (lambda: SGD(ema=1.5), "SGD: ema must be a finite number with 0 <= ema < 1, got 1.5"),
        (lambda: SGD(maximize="yes"), "SGD: maximize is True or False, got 'yes'"),
        (lambda: Adam(amsgrad=1), "Adam: amsgrad is True or False, got 1"),
        (lambda: RMSprop(alpha=1.0), "RMSprop: alpha must be a finite number with 0 <= alpha < 1, got 1.0"),
        (lambda: RMSprop(centered=0), "RMSprop: centered is True or False, got 0"),
        (lambda: RMSprop(momentum=-0.1), "RMSprop: momentum must be a finite number with 0 <= momentum"),
        (lambda: Adagrad(initial_accumulator_value=-1), "initial_accumulator_value must be a finite number with 0 <="),
        (lambda: Adadelta(rho=-0.1), "Adadelta: rho must be a finite number with 0 <= rho < 1, got -0.1"),
        (lambda: Lion(betas=(0.9,)), "Lion: betas are two numbers, got (0.9,)"),
        (
            lambda: SGD(groups=[Group("*", frozen=1)]),
            "SGD, group '*': frozen is True or False, and a frozen group has no other setting, got",
        ),
        (lambda: SGD(groups=[Group("*", lr=0.1, frozen=True)]), "got frozen=True and lr"),
        (
            lambda: SGD(groups=[Group("*.bias", lr=-0.1)]),
            "SGD, group '*.bias': lr must be a finite number with 0 <= lr < inf, got -0.1",
        ),
        (lambda: SGD(groups=Group("*.bias")), "SGD: groups are a list of Group(names, ...), got Group(names='*.bias'"),
        (lambda: SGD(groups=None), "SGD: groups are a list of Group(names, ...), got None"),
        (lambda: SGD(groups=[Group(3)]), 'SGD: a group\'s names are one pattern, got 3; such as "*.bias"'),
        (
            lambda: SGD(10**5000),
            "SGD: lr must be a finite number with 0 <= lr < inf, got an integer beyond the largest float",
        ),
        (
            lambda: ReduceLROnPlateau(0.1, metric=3),
            'ReduceLROnPlateau: metric is the name of a metric, got 3; such as "loss"',
        ),
        (lambda: SGD(ReduceLROnPlateau(0.1)).observe({}), "ReduceLROnPlateau watches one of no metrics, got 'loss'"),
    ],
)
def test_bad_arguments_are_told(make: Any, words: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        make()
    assert words in str(caught.value)


def test_names_of_a_deep_model_are_not_all_told() -> None:
    deep = Stack([Linear(3, 2), *(Linear(2, 2) for _ in range(19))], input=(3,)).init(np.random.default_rng(0))
    with pytest.raises(ArgumentError, match=r"there are 0\.weight, .*, 5\.bias, and 28 more$"):
        SGD(groups=[Group("none*")]).bind(deep)
    averaged = SGD(ema=0.9).bind(deep)
    train(deep, averaged, 1)
    with pytest.raises(StateDictError, match=r"got (unexpected '\d+\.\w+\.ema'; ){12}and 28 more$"):
        SGD().bind(deep).load_state_dict(averaged.state_dict())


# ------------------------------------------------------------------ before the step


def test_clipping_is_by_the_norm_of_all_parameters() -> None:
    """Z-O2, G-C10."""
    net = model()
    gradient = net.backward(net.forward(values((5, 3), 0, np.float32)))
    norm = math.sqrt(sum(float(np.sum(leaf.astype(np.float64) ** 2)) for leaf in net.gradients(gradient)))
    assert gradient.norm() == pytest.approx(norm, rel=1e-12)
    clipped = clip_grad_norm(gradient, norm / 2)
    assert clipped.norm() == pytest.approx(norm / 2, rel=1e-4)
    assert clipped.norm() <= norm / 2
    assert clip_grad_norm(gradient, norm * 2) is gradient
    with pytest.raises(ArgumentError, match="max_norm"):
        clip_grad_norm(gradient, -1.0)


def test_accumulation_is_one_large_batch() -> None:
    """The mean of two half batches' gradients is the whole batch's."""
    net, loss = model().astype(np.float64), MSE()
    x, t = values((8, 3), 0), values((8, 2), 1)

    def gradient(part: slice) -> Any:
        return net.backward(loss.loss_grad(net.forward(x[part]), t[part]))

    whole = net.named_gradients(gradient(slice(0, 8)))
    summed = net.named_gradients(accumulate([gradient(slice(0, 4)), gradient(slice(4, 8))]))
    for name in whole:
        np.testing.assert_allclose(summed[name], whole[name], rtol=1e-12, atol=1e-15)
    with pytest.raises(ArgumentError, match="at least one gradient"):
        accumulate([])


def test_gradients_of_two_models_do_not_add() -> None:
    one, other = model(), (Linear(3, 5) >> ReLU() >> Linear(5, 2)).init(np.random.default_rng(0))
    x = values((5, 3), 0, np.float32)
    left, right = one.backward(one.forward(x)), other.backward(other.forward(x))
    assert isinstance(one, Chain)
    with pytest.raises(ArgumentError, match="both must come from one model"):
        left + right
    with pytest.raises(TypeError):
        left + left.parts[0]


@pytest.mark.parametrize("decay", ["l2", "decay", "weight_decay"])
def test_an_apply_of_its_own_finds_the_decay_done(decay: str) -> None:
    """An optimizer derived from one that folds the decay into its step need not know of that."""

    class Own(Adam):
        def apply(self, state: Any, grad: Any, lr: float) -> None:
            state.weights -= lr * grad

    given: dict[str, Any] = {decay: 0.25}
    for dtype in (np.float32, np.float64):
        w, g = values((7,), 1, dtype), values((7,), 2, dtype)
        plain, own = w.copy(), w.copy()
        SGD(0.1, **given).step(plain, g)
        Own(0.1, **given).step(own, g)
        np.testing.assert_allclose(own, plain, rtol=1e-6)


# ------------------------------------------------------------------ settings after construction


def test_a_rate_that_is_set_is_used() -> None:
    """A number or a schedule, from the next step on, in place of whatever was there."""
    w, optimizer = np.zeros(1), SGD(StepLR(1.0, 1))
    for rate, moved in (
        (0.5, 0.5),
        (lambda step: 0.25 * step, 0.25),
        (ConstantLR(2.0), 2.0),
        (np.float64(0.125), 0.125),
    ):
        optimizer.lr = rate
        before = float(w[0])
        optimizer.step(w, np.ones(1))
        assert before - float(w[0]) == pytest.approx(moved)
    assert optimizer.lr == 0.125
    assert SGD(0.3).lr == 0.3
    falling = StepLR(1.0, 2)
    assert SGD(falling).lr is falling


@pytest.mark.parametrize("first", [0, 2])
def test_a_rate_that_is_set_leaves_the_groups_theirs(first: int) -> None:
    """A group without a rate of its own follows, before and after the first step."""
    net = model()
    groups = [Group("0.bias", lr=0.25), Group("2.*", weight_decay=0.5)]
    optimizer = SGD(0.1, groups=groups).bind(net)
    train(net, optimizer, first)
    optimizer.lr = 0.01
    before = {name: array.copy() for name, array in net.named_parameters().items()}
    gradient = net.backward(net.forward(values((5, 3), 0, np.float32)))
    derivatives = {name: array.copy() for name, array in net.named_gradients(gradient).items()}
    net.update(optimizer, gradient)
    for name, array in net.named_parameters().items():
        lr, decay = 0.25 if name == "0.bias" else 0.01, 0.5 if name.startswith("2.") else 0.0
        np.testing.assert_allclose(
            array, before[name] - lr * (derivatives[name] + decay * before[name]), rtol=1e-5, atol=1e-7
        )


def test_other_settings_take_effect_too() -> None:
    one, other = model(), model()
    adam, from_the_start = Adam(0.01), Adam(0.01, (0.5, 0.7), 1e-3)
    adam.betas, adam.eps = (0.5, 0.7), 1e-3
    train(one, adam, 3)
    train(other, from_the_start, 3)
    assert bits(tuple(one.parameters())) == bits(tuple(other.parameters()))
    w, sgd = np.zeros(1), SGD(1.0, 0.5)
    sgd.step(w, np.ones(1))  # v = 1
    sgd.momentum, sgd.dampening = 0.25, 0.5
    sgd.step(w, np.ones(1))  # v = 0.25 + 0.5
    np.testing.assert_allclose(w, [-1.75], rtol=1e-15)
    sgd.dampening, sgd.nesterov = 0.0, True
    sgd.step(w, np.ones(1))  # v = 0.25*0.75 + 1
    np.testing.assert_allclose(w, [-1.75 - (1 + 0.25 * 1.1875)], rtol=1e-15)


class Averaging(GradientOptimizer):
    """Has settings of its own, one of them checked."""

    scale = 2.0

    def __init__(self, lr: float, rho: float) -> None:
        super().__init__(lr)
        self.rho = rho
        self.seen: list[Any] = []

    def checked(self, name: str, value: Any) -> Any:
        if name == "rho" and not 0 <= value < 1:
            raise ArgumentError("rho is from 0 to 1")
        return super().checked(name, value)

    def apply(self, state: Any, grad: Any, lr: float) -> None:
        self._last = grad
        self.seen.append(grad)
        state.weights -= lr * self.rho * self.scale * grad


def test_a_users_own_optimizer_has_settings_of_its_own() -> None:
    own, w = Averaging(1.0, 0.5), np.zeros(1)
    own.rho, own.scale = 0.25, 4.0
    own.step(w, np.ones(1))
    np.testing.assert_allclose(w, [-1.0])
    own.seen = []
    with pytest.raises(ArgumentError, match="rho is from 0 to 1"):
        own.rho = 3.0
    with pytest.raises(ArgumentError, match="rho is from 0 to 1"):
        Averaging(1.0, -1.0)
    with pytest.raises(ArgumentError, match="Averaging: what can be set is lr, rho, scale, seen, got 'rate'"):
        own.rate = 3.0
    assert own.rho == 0.25


@pytest.mark.parametrize(
    ("make", "name", "value", "words"),
    [
        (SGD, "learning_rate", 0.1, "SGD: what can be set is dampening, lr, momentum, nesterov, got 'learning_rate'"),
        (Adam, "momentum", 0.1, "Adam: what can be set is betas, eps, lr, got 'momentum'"),
        (AdamW, "param_groups", [], "AdamW: what can be set is betas, eps, lr, got 'param_groups'"),
        (
            Adam,
            "weight_decay",
            0.1,
            "weight_decay is said when the optimizer is built, got a value set later; build another Adam",
        ),
        (SGD, "decay", 0.1, "decay is said when the optimizer is built"),
        (SGD, "l2", 0.1, "l2 is said when the optimizer is built"),
        (SGD, "groups", (), "groups is said when the optimizer is built"),
        (SGD, "settings", None, "settings is said when the optimizer is built"),
        (SGD, "step", 3, "got 'step'"),
        (SGD, "lr", -1.0, "lr must be a finite number with 0 <= lr"),
        (SGD, "lr", math.nan, "lr must be a finite number"),
        (SGD, "lr", "fast", "lr must be a finite number"),
        (SGD, "lr", None, "lr must be a finite number"),
        (SGD, "momentum", 0.9, "momentum is not switched on or off later, got 0.9 after 0.0; build another SGD"),
        (lambda: SGD(0.1, 0.9), "momentum", 0.0, "momentum is not switched on or off later, got 0.0 after 0.9"),
        (lambda: SGD(0.1, 0.9), "momentum", math.inf, "momentum must be a finite number"),
        (
            lambda: SGD(0.1, 0.9, nesterov=True),
            "dampening",
            0.5,
            "nesterov needs momentum and no dampening",
        ),
        (SGD, "nesterov", True, "nesterov needs momentum and no dampening"),
        (SGD, "nesterov", "yes", "nesterov is True or False, got 'yes'"),
        (Adam, "betas", (0.9, 1.0), "beta2 must be a finite number with 0 <= beta2 < 1"),
        (Adam, "betas", 0.9, "betas are two numbers, got 0.9"),
        (AdamW, "eps", -1e-8, "AdamW: eps must be a finite number with 0 <= eps"),
        (
            Adam,
            "amsgrad",
            True,
            "amsgrad is said when the optimizer is built, got a value set later; build another Adam",
        ),
        (SGD, "maximize", True, "maximize is said when the optimizer is built"),
        (SGD, "ema", 0.9, "ema is said when the optimizer is built"),
        (RMSprop, "momentum", 0.9, "momentum is said when the optimizer is built"),
        (RMSprop, "alfa", 0.9, "RMSprop: what can be set is alpha, eps, lr, got 'alfa'"),
        (Lion, "betas", 0.9, "Lion: betas are two numbers, got 0.9"),
        (Adagrad, "lr_decay", math.nan, "Adagrad: lr_decay must be a finite number"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_and_changes_nothing(make: Any, name: str, value: Any, words: str) -> None:
    optimizer = make()
    before = {key: repr(kept) for key, kept in vars(optimizer).items()}
    with pytest.raises(ArgumentError) as caught:
        setattr(optimizer, name, value)
    assert words in str(caught.value)
    assert {key: repr(kept) for key, kept in vars(optimizer).items()} == before


@pytest.mark.parametrize("rate", [math.nan, math.inf, -0.1, None, "0.1", np.ones(2)])
def test_a_schedule_that_gives_no_rate_changes_no_weight(rate: Any) -> None:
    for optimizer in (SGD(lambda step: rate), Adam(lambda step: rate), AdamW(lambda step: rate)):
        w = np.ones(3)
        with pytest.raises(
            ArgumentError, match=r"step 0: the schedule's learning rate must be a finite number with 0 <="
        ):
            optimizer.step(w, np.ones(3))
        assert (w == 1).all()


# ------------------------------------------------------------------ gradients times numbers


FACTORS = [
    2,
    True,
    np.bool_(True),
    0.5,
    np.float16(0.5),
    np.float32(0.5),
    np.float64(0.5),
    np.longdouble(0.5),
    np.int64(2),
    np.uint8(2),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("factor", [*FACTORS, Fraction(1, 2), np.asarray(0.5), np.asarray(2)], ids=repr)
def test_a_number_of_any_kind_keeps_the_dtype(factor: Any, dtype: Any) -> None:
    chain = model().astype(dtype)
    for net in (chain, Stack(chain)):
        gradient = net.backward(net.forward(values((5, 3), 0, dtype)))
        for product in (gradient * factor, factor * gradient):
            for name, leaf in product.leaves().items():
                assert leaf.dtype == dtype
                np.testing.assert_array_equal(leaf, gradient.leaves()[name] * dtype(float(factor)))
            net.update(SGD(0.1), product)


@pytest.mark.parametrize(
    "factor", [None, "2", 2j, np.complex64(2), [2.0], np.ones(1), np.ones(3), np.asarray("a"), Decimal(2)], ids=repr
)
def test_what_is_no_number_is_no_factor(factor: Any) -> None:
    net = model()
    gradient = net.backward(net.forward(values((5, 3), 0, np.float32)))
    with pytest.raises(TypeError):
        gradient * factor
    with pytest.raises(TypeError):
        factor * gradient


@pytest.mark.parametrize(
    "max_norm", [np.float64(0.5), np.float32(0.5), np.float16(0.5), np.int64(1), Fraction(1, 2)], ids=repr
)
def test_a_norm_of_any_kind_clips(max_norm: Any) -> None:
    net = model()
    gradient = net.backward(net.forward(values((5, 3), 0, np.float32))) * 100.0
    clipped = clip_grad_norm(gradient, max_norm)
    assert clipped.norm() == pytest.approx(float(max_norm), rel=1e-4)
    assert {leaf.dtype for leaf in clipped.leaves().values()} == {np.dtype(np.float32)}
    net.update(SGD(0.1), clipped)


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
def test_a_gradient_that_is_not_finite_is_not_clipped(broken: float) -> None:
    net = model()
    gradient = net.backward(net.forward(values((5, 3), 0, np.float32)))
    gradient.parts[2].bias[1] = broken
    for max_norm in (0.1, 1e30):
        with pytest.raises(
            ArgumentError, match=r"a gradient that is clipped is finite, got NaN or infinity in parts\.2\.bias; leave"
        ):
            clip_grad_norm(gradient, max_norm)


def test_a_norm_that_overflows_is_not_clipped() -> None:
    net = model().astype(np.float64)
    gradient = net.backward(net.forward(values((5, 3), 0))).map(lambda leaf: leaf * 1e200)
    with np.errstate(over="ignore"), pytest.raises(ArgumentError, match="a sum of squares beyond float64"):
        clip_grad_norm(gradient, 1.0)
