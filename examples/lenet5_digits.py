"""Trains LeNet5 on handwritten digits and prints a report: python -m examples.lenet5_digits --help

It trains on MNIST if it finds it (TYPEDNN_DATA, or ../shared/data), else on scikit-learn's bundled digits. It takes
about a minute on two cores and reaches at least 97 % accuracy on the test images.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from typednn.data import Dataset, Loader, digits, find_mnist, mnist
from typednn.errors import ArgumentError, TypednnError
from typednn.losses import SoftmaxCrossEntropy
from typednn.metrics import ClassificationReport
from typednn.models import LeNet5
from typednn.optim import Adam, CosineLR
from typednn.random import PCG32
from typednn.training import evaluate, fit

BATCH_SIZE = 32
# Passes over the data. MNIST needs fewer: it has forty times as many images.
EPOCHS = {"mnist": 2, "digits": 15}


def whole_number(least: int, text: str) -> int:
    """An argument as an integer of at least ``least``; otherwise argparse's error."""
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"expected a whole number, at least {least}, got {text!r}")
    return number


def positive(text: str) -> int:
    """A count."""
    return whole_number(1, text)


def seed(text: str) -> int:
    """A seed for the generator."""
    return whole_number(0, text)


def arguments(command_line: Sequence[str] | None) -> argparse.Namespace:
    """The parsed command line; argparse exits with code 2 on an error."""
    description = "Train LeNet5 on handwritten digits and print a report."
    auto = "auto, which is the default: MNIST if it is found, else scikit-learn's digits"
    epochs = f"passes over the images (default: {EPOCHS['mnist']} for MNIST, {EPOCHS['digits']} for the digits)"
    parser = argparse.ArgumentParser(prog="python -m examples.lenet5_digits", description=description)
    parser.add_argument("--data", choices=("auto", "mnist", "digits"), default="auto", help=auto)
    parser.add_argument("--epochs", type=positive, metavar="N", help=epochs)
    parser.add_argument("--limit", type=positive, metavar="N", help="train on the first N images only")
    parser.add_argument(
        "--seed", type=seed, default=0, metavar="N", help="another seed gives other initial weights and batches"
    )
    return parser.parse_args(command_line)


def load(name: str) -> tuple[str, Dataset]:
    """Find the data set, print its name, and load it."""
    folder = None if name == "digits" else find_mnist()
    if folder is not None:
        print(f"Data: MNIST from {folder}")
        return "mnist", mnist(folder)
    if name == "mnist":
        raise ArgumentError(
            "MNIST not found: set TYPEDNN_DATA to the folder that holds its four files, or to the one above it"
        )
    if name == "auto":
        print("MNIST not found (TYPEDNN_DATA would say where it is), so the smaller set is taken.")
    print("Data: scikit-learn's bundled digits, 8x8 pixels, resized to 28x28")
    return "digits", digits()


def run(options: argparse.Namespace) -> None:
    """Load the data, train, and print the report."""
    start = time.perf_counter()
    name, data = load(options.data)
    data = data.standardised()
    if options.limit is not None and options.limit < len(data.train_images):
        data = data.limited(options.limit)
    epochs: int = options.epochs or EPOCHS[name]
    times = "once" if epochs == 1 else f"{epochs} times over"
    print(f"{len(data.train_images):,} images to train on, {times}; {len(data.test_images):,} others to test\n")

    rng = PCG32(options.seed)
    model = LeNet5(bias=True, softmax=False, rng=rng)
    print(f"{model}\n", flush=True)

    steps = epochs * -(-len(data.train_images) // BATCH_SIZE)
    optimizer = Adam(CosineLR(2e-3, total_steps=steps, warmup_steps=min(50, steps - 1)))
    loss = SoftmaxCrossEntropy()
    fit(
        model,
        loss,
        optimizer,
        Loader(data.train_images, data.train_labels, batch_size=BATCH_SIZE, rng=rng),
        epochs=epochs,
    )

    scores = evaluate(model, data.test_images)
    print("\nOn the images kept for testing:\n")
    print(ClassificationReport.from_scores(scores, data.test_labels))
    print(f"\n{time.perf_counter() - start:.0f} seconds in all")


def main(command_line: Sequence[str] | None = None) -> int:
    """The exit code: 0, 1 for an error of typednn, 2 for a wrong command line, 130 after Ctrl-C."""
    options = arguments(command_line)
    try:
        run(options)
    except KeyboardInterrupt:
        print("stopped before the end; nothing was saved", file=sys.stderr)
        return 130
    except TypednnError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
