"""Slices, transposes, reshapes, stacks and products between layers."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array3, Array4
from typednn.layers import Conv2d, Flatten, Linear

rng = np.random.default_rng(0)
fc, narrow, conv, flatten = Linear(12, 6, rng=rng), Linear(3, 2, rng=rng), Conv2d(2, 1, 3, rng=rng), Flatten()


def forward(x: Float[Array2, "batch 12"]) -> Float[Array2, "batch 2"]:
    h = fc(x)
    h = h[:, :3]
    left = narrow(h)
    right = narrow(fc(x)[:, 3:])
    both = np.concatenate([left, right], axis=1)
    mixed = both @ np.ones((4, 3), np.float32)
    return narrow(mixed)


def images(x: Float[Array4, "batch 2 8 6"]) -> Float[Array2, "batch 24"]:
    channels_last = x.transpose(0, 2, 3, 1)
    h = conv(channels_last)
    h = np.flip(h, axis=1)
    return flatten(h)


def heads(x: Float[Array3, "batch time 12"]) -> Float[Array3, "batch time 12"]:
    batch, time, features = x.shape
    split = x.reshape(batch, time, 3, 4).swapaxes(1, 2)
    x = split.swapaxes(1, 2).reshape(batch, time, features)
    rows = x.reshape(-1, 12)
    return np.hstack([fc(rows), fc(rows)]).reshape(x.shape)


if __name__ == "__main__":
    print(forward(np.ones((2, 12), np.float32)).shape, images(np.ones((2, 2, 8, 6), np.float32)).shape)
    print(heads(np.ones((2, 5, 12), np.float32)).shape)
