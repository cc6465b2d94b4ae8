"""The class of a picture, from folders of pictures."""

from typing import Any

import numpy as np

from typednn import Input, data, losses, optim, training
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU


def scaled(pixels: Any) -> Any:
    """Bytes as numbers from 0 to 1."""
    return pixels / np.float32(255)


photos = data.open_image_folder("digits", size=32, channels=1)
rng = np.random.default_rng(0)
features = Input(32, 32, 1) >> Conv2d(1, 16, 3) >> ReLU() >> MaxPool2d(2) >> Conv2d(16, 32, 3) >> ReLU() >> MaxPool2d(2)
model = (features >> Flatten() >> Linear(6 * 6 * 32, 10)).init(rng)
loader = data.Loader(photos.train_images, photos.train_labels, batch_size=32, rng=rng, transform=scaled, workers=2)
test = training.Evaluation(photos.test_images, photos.test_labels, split="test", transform=scaled)
history = training.fit(model, losses.SoftmaxCrossEntropy(), optim.Adam().bind(model), loader, epochs=5, validation=test, progress=False)
print("test accuracy", history.evaluations[-1].accuracy)
print(photos.names[model.eval().forward(scaled(data.read_image("digits/test/zero/0000.png"))).argmax()])
