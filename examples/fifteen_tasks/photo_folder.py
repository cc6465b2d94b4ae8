"""The class of a picture, from folders of pictures."""

import numpy as np

from typednn import Input, data, layers, losses, optim, training

photos = data.open_image_folder("digits", size=32, channels=1)
rng = np.random.default_rng(0)
model = (
    Input(32, 32, 1)
    >> layers.Conv2d(1, 16, 3)
    >> layers.ReLU()
    >> layers.MaxPool2d(2)
    >> layers.Conv2d(16, 32, 3)
    >> layers.ReLU()
    >> layers.MaxPool2d(2)
    >> layers.Flatten()
    >> layers.Linear(6 * 6 * 32, 10)
).init(rng)
loader = data.Loader(
    photos.train_images, photos.train_labels, batch_size=32, rng=rng, transform=data.rescaled, workers=2
)
training.fit(model, losses.SoftmaxCrossEntropy(), optim.Adam().bind(model), loader, epochs=5, progress=False)
print(
    "test accuracy",
    (training.evaluate(model, photos.test_images, transform=data.rescaled).argmax(1) == photos.test_labels).mean(),
)
print(
    photos.names[
        training.evaluate(model, data.read_image("digits/test/zero/0000.png"), transform=data.rescaled).argmax()
    ]
)
