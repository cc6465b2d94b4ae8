"""A training that goes on on another machine: its folder is all that travels."""

import shutil

import numpy as np

from typednn import Input, data, layers, losses, optim, training


def train(folder: str, epochs: int) -> float:
    """Begin in a new folder, or go on in one; the accuracy on the test images."""
    photos = data.open_image_folder("digits", size=32, channels=1)
    rng = np.random.default_rng(0)
    model = (
        Input(32, 32, 1) >> layers.Flatten() >> layers.Linear(1024, 64) >> layers.ReLU() >> layers.Linear(64, 10)
    ).init(rng)
    loader = data.Loader(photos.train_images, photos.train_labels, batch_size=32, rng=rng, transform=data.rescaled)
    training.fit(
        model, losses.SoftmaxCrossEntropy(), optim.Adam().bind(model), loader, epochs=epochs, run=folder, progress=False
    )
    return float(
        (training.evaluate(model, photos.test_images, transform=data.rescaled).argmax(1) == photos.test_labels).mean()
    )


train("here", 3)
shutil.copytree("here", "there")
print("test accuracy", train("there", 6))
