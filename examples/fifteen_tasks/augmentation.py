"""A convolutional network with augmented pictures, a falling learning rate, and an early end."""

import numpy as np

from typednn import Input, data, layers, losses, optim, training

photos = data.open_image_folder("digits", size=32, channels=1)
rows, apart = data.split(photos.train_labels, 0.2, seed=0)
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
    photos.train_images.taken(rows),
    photos.train_labels[rows],
    batch_size=32,
    rng=rng,
    augment=[data.RandomRotation(10), data.RandomShift(0.1, 0.1)],
    transform=data.rescaled,
)
validation = training.Evaluation(photos.train_images.taken(apart), photos.train_labels[apart], transform=data.rescaled)
training.fit(
    model,
    losses.SoftmaxCrossEntropy(),
    optim.Adam(optim.CosineLR(0.002, 20 * loader.steps_per_epoch)).bind(model),
    loader,
    epochs=20,
    validation=validation,
    early_stopping=training.EarlyStopping(patience=3),
    progress=False,
)
scores = training.evaluate(model, photos.test_images, transform=data.rescaled)
print("test accuracy", (scores.argmax(1) == photos.test_labels).mean())
