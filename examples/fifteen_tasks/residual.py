"""A residual network on pictures."""

from typing import Any

import numpy as np

from typednn import Array4, Input, Layer, data, layers, losses, optim, training


def block(channels: int, out: int, stride: int) -> Layer[Array4, Array4, Any]:
    """Two convolutions beside a shortcut."""
    inner = (
        layers.Conv2d(channels, out, 3, stride, 1)
        >> layers.BatchNorm2d(out)
        >> layers.ReLU()
        >> layers.Conv2d(out, out, 3, padding=1)
        >> layers.BatchNorm2d(out)
    )
    return (
        layers.Residual(inner, layers.Conv2d(channels, out, 1, stride) >> layers.BatchNorm2d(out))
        if stride > 1
        else layers.Residual(inner)
    )


photos = data.open_image_folder("digits", size=32, channels=1)
rng = np.random.default_rng(0)
stem = Input(32, 32, 1) >> layers.Conv2d(1, 16, 3, padding=1) >> layers.BatchNorm2d(16) >> layers.ReLU()
model = (
    stem
    >> block(16, 16, 1)
    >> layers.ReLU()
    >> block(16, 32, 2)
    >> layers.ReLU()
    >> block(32, 64, 2)
    >> layers.ReLU()
    >> layers.GlobalAvgPool2d()
    >> layers.Linear(64, 10)
).init(rng)
loader = data.Loader(photos.train_images, photos.train_labels, batch_size=32, rng=rng, transform=data.rescaled)
training.fit(model, losses.SoftmaxCrossEntropy(), optim.Adam(0.003).bind(model), loader, epochs=4, progress=False)
scores = training.evaluate(model, photos.test_images, transform=data.rescaled)
print("test accuracy", (scores.argmax(1) == photos.test_labels).mean())
