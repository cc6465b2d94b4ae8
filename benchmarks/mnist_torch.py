"""One epoch of MNIST in a plain PyTorch loop, as typednn's recipe ``lenet5`` trains it: ``python -m
benchmarks.mnist_torch FOLDER``.

The network, initial distribution, images, validation share, standardisation, batches of 64, Nesterov momentum, weight
decay, and cosine schedule with warm-up are the same. Nothing is shown, logged or saved. At the end it prints the
accuracy on the validation and the test images, as JSON.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

BATCH, RATE, MOMENTUM, DECAY, WARM_UP, VALIDATION = 64, 0.05, 0.9, 5e-4, 100, 0.05


def read(folder: Path, part: str) -> tuple[Any, Any]:
    """Images (rows, 1, 28, 28) and labels."""
    with gzip.open(folder / f"{part}-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 1, 28, 28)
    with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    return torch.tensor(images).float() / 255, torch.tensor(labels).long()


def network() -> Any:
    """LeNet5 with he_normal weights and biases of zero."""
    model = nn.Sequential(
        *(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)),
    )
    for part in model:
        if isinstance(part, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(part.weight)
            nn.init.zeros_(part.bias)
    return model


def accuracy(model: Any, x: Any, y: Any) -> float:
    """The share of correct predictions."""
    model.eval()
    with torch.inference_mode():
        right = sum(
            int((model(some).argmax(1) == labels).sum())
            for some, labels in zip(x.split(600), y.split(600), strict=True)
        )
    model.train()
    return right / len(y)


def main(folder: Path, layout: str) -> None:
    """Train, and print the accuracies."""
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    torch.manual_seed(0)
    x, y = read(folder, "train")
    test_x, test_y = read(folder, "t10k")
    mean, deviation = x.mean(), x.std()
    x, test_x = (x - mean) / deviation, (test_x - mean) / deviation
    if layout == "channels_last":
        x, test_x = (
            x.contiguous(memory_format=torch.channels_last),
            test_x.contiguous(memory_format=torch.channels_last),
        )
    order = torch.randperm(len(x))
    held_out, rows = order[: round(VALIDATION * len(x))], order[round(VALIDATION * len(x)) :]
    model = network().to(memory_format=getattr(torch, layout))
    loss = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(
        model.parameters(), RATE, momentum=MOMENTUM, nesterov=True, weight_decay=DECAY, fused=True
    )
    steps = -(-len(rows) // BATCH)

    def rate(step: int) -> float:
        if step < WARM_UP:
            return (step + 1) / WARM_UP
        return 0.5 * (1 + math.cos(math.pi * (step - WARM_UP) / (steps - WARM_UP)))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    for batch in rows[torch.randperm(len(rows))].split(BATCH):
        optimizer.zero_grad()
        loss(model(x[batch]), y[batch]).backward()
        optimizer.step()
        schedule.step()
    accuracies = {"validation": accuracy(model, x[held_out], y[held_out]), "test": accuracy(model, test_x, test_y)}
    print(json.dumps({**accuracies, "torch": torch.__version__, "threads": torch.get_num_threads()}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
