"""A convolutional network with augmented pictures, a falling learning rate, and an early end."""

from typing import Any

import numpy as np

from typednn import Input, data, losses, optim, training
from typednn.data import RandomRotation, RandomShift
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU


def scaled(pixels: Any) -> Any:
    """Bytes as numbers from 0 to 1."""
    return pixels / np.float32(255)


photos = data.open_image_folder("digits", size=32, channels=1)
rows, apart = data.split(photos.train_labels, 0.2, seed=0)
rng = np.random.default_rng(0)
features = Input(32, 32, 1) >> Conv2d(1, 16, 3) >> ReLU() >> MaxPool2d(2) >> Conv2d(16, 32, 3) >> ReLU() >> MaxPool2d(2)
model = (features >> Flatten() >> Linear(6 * 6 * 32, 10)).init(rng)
x, y, changes = photos.train_images.taken(rows), photos.train_labels[rows], [RandomRotation(10), RandomShift(0.1, 0.1)]
loader = data.Loader(x, y, batch_size=32, rng=rng, transform=scaled, augment=changes)
optimizer = optim.Adam(optim.CosineLR(0.002, 20 * loader.steps_per_epoch)).bind(model)
validation = training.Evaluation(photos.train_images.taken(apart), photos.train_labels[apart], transform=scaled)
stop = training.EarlyStopping(patience=3)
training.fit(model, losses.SoftmaxCrossEntropy(), optimizer, loader, epochs=20, validation=validation, early_stopping=stop, progress=False)
print("test accuracy", (training.evaluate(model, photos.test_images, transform=scaled).argmax(1) == photos.test_labels).mean())
