"""Random trainings of random models, planned and layer by layer: outputs, derivatives, weights, buffers and errors must
be the same to the bit, whatever is done between the steps.

    python -m tests.plans.random_trainings --count 2000
"""

import argparse
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from typing import Any, Final

import numpy as np

from tests.plans.planned_models import Drawn, Rng, drawn, pick
from tests.plans.planned_pair import Pair, assert_bits, outcome
from typednn import checking, observing
from typednn.engines import get_threads, set_threads, using
from typednn.layers import Dropout
from typednn.optim import SGD, Adadelta, Adagrad, Adam, AdamW, CosineLR, Lion, RMSprop, StepLR, accumulate
from typednn.optim import clip_grad_norm as clipped

STEPS: Final = 20
IN_A_PROCESS = 50  # trainings
OPTIMIZERS: tuple[Callable[[], Any], ...] = (
    lambda: SGD(0.05),
    lambda: SGD(CosineLR(0.1, 15, 2), momentum=0.9, nesterov=True),
    lambda: SGD(0.05, weight_decay=0.01, ema=0.9),
    lambda: Adam(StepLR(0.01, 5)),
    lambda: AdamW(0.01, weight_decay=0.1),
    lambda: RMSprop(0.01),
    lambda: Adagrad(0.05),
    Adadelta,
    lambda: Lion(0.001),
)


@dataclass
class Training:
    """One training; ``log`` says what was done."""

    seed: int
    rng: Rng
    about: Drawn
    pair: Pair
    dtype: Any = np.float32
    batch: int = 2
    log: list[str] = field(default_factory=list[str])
    grads: list[Any] = field(default_factory=list[Any])  # pairs, that are added up
    broken: bool = False  # a number is not finite

    # ------------------------------------------------------------------ arrays

    def numbers(self) -> Any:
        """A batch."""
        shape = (self.batch, *self.about.sample)
        if self.about.vocab:
            return self.rng.integers(0, self.about.vocab, shape)
        return self.rng.standard_normal(shape).astype(self.dtype)

    def laid_out(self, x: Any, what: str) -> Any:
        """The same numbers, as callers may have them."""
        way = pick(self.rng, ("own", "own", "own", "slice", "read-only", "strided", "turned", "reversed", "unaligned"))
        if way != "own":
            self.log.append(f"{what} {way}")
        if way == "slice":
            whole = np.zeros((len(x) + 3, *x.shape[1:]), x.dtype)
            whole[2:-1] = x
            return whole[2:-1]
        if way == "read-only":
            x.flags.writeable = False
        if way == "strided":
            whole = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
            whole[..., ::2] = x
            return whole[..., ::2]
        if way == "turned":
            return np.asfortranarray(x)
        if way == "reversed":
            return x[::-1].copy()[::-1]
        if way == "unaligned":
            found = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
            found[...] = x
            return found
        return x

    def next_grad(self, y: Any, x: Any) -> Any:
        """A derivative by the output."""
        way = self.rng.integers(8)
        if way == 0:
            self.log.append("next_grad is y")
            return y
        if way == 1 and x.shape == y.shape and x.dtype == y.dtype:
            self.log.append("next_grad is x")
            return x
        if way == 2:
            self.log.append("next_grad is broadcast")
            return np.broadcast_to(y.dtype.type(0.5), y.shape)
        return self.laid_out(np.sin(3 * y).astype(y.dtype), "next_grad")

    # ------------------------------------------------------------------ one step

    def step(self) -> None:
        """Perhaps a change, then forward, and in training backward and an update."""
        self.log.append("|")
        with ExitStack() as stack:
            if self.rng.integers(3) == 0:
                pick(self.rng, CHANGES)(self)
            if self.rng.integers(12) == 0:
                mode = pick(self.rng, ("full", "off"))
                self.log.append(f"checks {mode}")
                stack.enter_context(checking(mode))
            if self.rng.integers(12) == 0:
                place = _place(self)
                self.log.append(f"part {place} observed")
                for model in self.pair.models:
                    stack.enter_context(observing([*model.named_modules()][place][1], lambda _: None))
            self.run()

    def run(self) -> None:
        pair, rng = self.pair, self.rng
        if rng.integers(4) == 0:
            self.batch = pick(rng, (self.about.least, 2, 3, 5))
            self.log.append(f"batch {self.batch}")
        x = self.laid_out(self.numbers(), "x")
        if rng.integers(15) == 0:
            self.fail()
        if rng.integers(10) == 0:
            self.log.append("forward twice")
            pair.forward(self.numbers())
        y = pair.forward(x)
        assert y is not None, pair.error
        if not pair.model.training:
            return
        if rng.integers(10) == 0:
            self.log.append("no backward")
            return
        grads = pair.backward(self.next_grad(y, x))
        if grads is None:
            self.log.append(f"no gradient: {pair.error[:60]}")
            return
        assert outcome(lambda: pair.compiled.backward(y))[1].startswith("NotForwarded")
        self.learn(grads)

    def fail(self) -> None:
        """A forward with what the model does not take: the same error, if there is one."""
        x = self.numbers()
        way = self.rng.integers(3)
        if self.about.vocab and way:
            x.flat[-1] = self.about.vocab if way == 1 else -1
        else:
            x = pick(self.rng, (x.astype(np.float16), x[..., None], np.concatenate([x, x], axis=-1)))
        y = self.pair.forward(x)
        self.log.append(f"fails: {self.pair.error[:60]}" if y is None else "does not fail")

    def learn(self, grads: tuple[Any, Any]) -> None:
        """An update by this gradient, perhaps with those before it, perhaps made smaller."""
        rng = self.rng
        self.grads.append(grads)
        if rng.integers(5) == 0:
            self.log.append("accumulates")
            return
        several: Any = [*zip(*self.grads, strict=True)]
        try:
            added: Any = [accumulate(each) if len(each) > 1 else each[0] for each in several]
        except Exception as error:  # a model that changed in between
            self.log.append(f"can't accumulate: {error}")
            added = grads
        self.grads.clear()
        if rng.integers(3) == 0:
            self.log.append("clips")
            results = [outcome(partial(clipped, grad, 0.5)) for grad in added]
            assert results[0][1] == results[1][1]
            added = added if results[0][1] else [found for found, _ in results]
        results = [
            outcome(partial(model.update, optimizer, grad))
            for model, optimizer, grad in zip(self.pair.models, self.pair.optimizers, added, strict=True)
        ]
        assert results[0] == results[1]
        if results[0][1]:
            self.log.append(f"update: {results[0][1][:80]}")
        self.pair.same_state()


# ------------------------------------------------------------------ what may change between two steps


def mode(training: Training) -> None:
    """Training or eval, of the whole model."""
    is_training = not training.pair.model.training
    training.log.append("train" if is_training else "eval")
    training.pair.change(lambda model: model.train(is_training))


def part_mode(training: Training) -> None:
    """Of one part."""
    place = _place(training)
    training.log.append(f"eval of part {place}, or train")
    part = [*training.pair.other.named_modules()][place][1]
    is_training = not part.training
    training.pair.change(lambda model: [*model.named_modules()][place][1].train(is_training))


def written(training: Training) -> None:
    """Weights, in place."""
    training.log.append("weights written")

    def change(model: Any) -> None:
        for array in model.parameters():
            array *= array.dtype.type(0.75)

    training.pair.change(change)


def assigned(training: Training) -> None:
    """Another array in the place of each weight, in another layout."""
    way = pick(training.rng, ("own", "turned", "reversed", "one array"))
    training.log.append(f"weights assigned, {way}")

    def change(model: Any) -> None:
        whole = np.concatenate([array.ravel() for array in model.parameters()])
        start = 0
        for _, owner, stored, cell in [*model.named_fields("parameter")]:
            array = cell.array
            if way == "one array":
                other = whole[start : start + array.size].reshape(array.shape)
                start += array.size
            else:
                turned = np.asfortranarray(array)
                other = {"own": array.copy(), "turned": turned, "reversed": array[::-1].copy()[::-1]}[way]
            setattr(owner, stored.name, other)

    training.pair.change(change)


def loaded(training: Training) -> None:
    """Another state, buffers included."""
    training.log.append("loaded")
    state = {
        name: np.asarray(array + 1 if array.dtype.kind == "i" else array * array.dtype.type(0.5))
        for name, array in training.pair.other.state_dict().items()
    }
    training.pair.change(lambda model: model.load_state_dict(state))


def converted(training: Training) -> None:
    """Another dtype, and the optimizers are new."""
    training.dtype = np.float64 if training.dtype is np.float32 else np.float32
    training.log.append(f"as {training.dtype.__name__}")
    training.pair.change(lambda model: model.astype(training.dtype))
    training.pair.optimizers = [SGD(0.05).bind(model) for model in training.pair.models]
    training.grads.clear()


def setting(training: Training) -> None:
    """A number that layers have as an attribute."""
    rng = training.rng
    names = ("p", "momentum", "eps", "negative_slope", "causal", "alpha", "beta", "dropout")
    found = [
        (place, name)
        for place, (_, part) in enumerate(training.pair.other.named_modules())
        for name in names
        if name in vars(part)
    ]
    if not found:
        return
    place, name = pick(rng, found)
    value: Any = {"p": 0.6, "momentum": 0.3, "eps": 1e-3, "negative_slope": 0.3, "causal": True, "dropout": 0.5}.get(
        name, 0.5
    )
    training.log.append(f"{name} of part {place} = {value}")
    training.pair.change(lambda model: setattr([*model.named_modules()][place][1], name, value))


def frozen(training: Training) -> None:
    """The first layers of a chain."""
    count = int(training.rng.integers(2))
    errors = [outcome(partial(_freeze, model, count))[1] for model in training.pair.models]
    assert errors[0] == errors[1]
    training.log.append(f"freeze {count} {errors[0][:50]}")
    training.grads.clear()


def threads(training: Training) -> None:
    count = pick(training.rng, (1, 2))
    training.log.append(f"{count} threads")
    set_threads(count)


def dropped(training: Training) -> None:
    """What a call left."""
    training.log.append("free_cache")
    training.pair.change(lambda model: model.free_cache())


def explained(training: Training) -> None:
    """The table, which changes nothing."""
    text, error = outcome(lambda: str(training.pair.compiled.explain(times=1)))
    training.log.append(f"explain: {error or len(text.splitlines())}")
    training.pair.same_state()


def not_finite(training: Training) -> None:
    """A NaN in a weight, once in a while."""
    arrays = training.pair.other.parameters()
    if training.rng.integers(4) or not arrays:
        return
    training.log.append("NaN")
    place = int(training.rng.integers(len(arrays)))
    training.broken = True
    training.pair.change(lambda model: model.parameters()[place].fill(np.nan))


def drawn_again(training: Training) -> None:
    """Seeds of masks."""
    training.log.append("seeds written")

    def change(model: Any) -> None:
        for _, part in model.named_modules():
            if isinstance(part, Dropout):
                part.seed[0] += 1

    training.pair.change(change)


CHANGES: tuple[Callable[[Training], None], ...] = (
    *(mode, mode, part_mode, written, written, assigned, loaded, converted, setting, setting, frozen),
    *(threads, dropped, explained, not_finite, drawn_again),
)


def _freeze(model: Any, count: int) -> None:
    model.freeze(count)


def _place(training: Training) -> int:
    return int(training.rng.integers(sum(1 for _ in training.pair.other.named_modules())))


# ------------------------------------------------------------------ many


def train(seed: int) -> Training:
    """One training; an error names the seed and what was done."""
    rng = np.random.default_rng(seed)
    about = drawn(rng)
    about.model.train()
    keep = pick(rng, ("parameters", "parameters", "inputs"))
    engine = pick(rng, ("fast", "fast", "reference"))
    dtype: Any = pick(rng, (np.float32, np.float32, np.float64))
    model = about.model.astype(dtype)
    training = Training(seed, rng, about, Pair(model, pick(rng, OPTIMIZERS), keep), dtype)
    training.batch = max(training.batch, about.least)
    count = get_threads()
    try:
        with using(engine), np.errstate(all="ignore"):
            for _ in range(STEPS):
                training.step()
    except Exception as error:
        error.add_note(f"training {seed}, {engine}, keep={keep!r}: {model!r}\n{'; '.join(training.log)}")
        raise
    finally:
        set_threads(count)
    for array, numbers in training.pair.held:
        assert_bits(array, numbers, "what a caller kept")
    return training


def told(seeds: range) -> Counter[str]:
    """How often each reason was told; "planned" counts kinds of inputs."""
    found: Counter[str] = Counter()
    for seed in seeds:
        training = train(seed)
        found["trainings"] += 1
        found["planned"] += training.pair.plans
        found["explained"] += sum("explain: " in each for each in training.log)
        found.update(training.pair.told)
    return found


def main() -> None:
    """The long run."""
    parser = argparse.ArgumentParser(description="Compare random trainings, planned and layer by layer.")
    parser.add_argument("--count", type=int, default=200, metavar="N", help="how many")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="the first")
    options = parser.parse_args()
    start, seeds = time.perf_counter(), range(options.first, options.first + options.count)
    portions = [seeds[place : place + IN_A_PROCESS] for place in range(0, options.count, IN_A_PROCESS)]
    found: Counter[str] = Counter()
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as processes:
        for portion in processes.map(told, portions):
            found.update(portion)
    for reason, count in found.most_common():
        print(f"{count:6} {reason}")
    print(f"{options.count} trainings, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
