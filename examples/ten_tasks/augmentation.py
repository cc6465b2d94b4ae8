"""A convolutional network with augmented pictures, a falling learning rate, and an early end."""

import numpy as np

from typednn import Input, data, losses, optim, training
from typednn.data import RandomRotation, RandomShift
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU

photos = data.open_image_folder("digits", size=32, channels=1)
rng = np.random.default_rng(0)
train, apart = data.split(photos.train_labels, 0.2, seed=0)
features = Input(32, 32, 1) >> Conv2d(1, 16, 3) >> ReLU() >> MaxPool2d(2) >> Conv2d(16, 32, 3) >> ReLU() >> MaxPool2d(2)
model = (features >> Flatten() >> Linear(6 * 6 * 32, 10)).init(rng)
