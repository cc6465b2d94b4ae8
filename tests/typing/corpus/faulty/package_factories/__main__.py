"""One forward."""

import numpy as np

import package_factories.models as m
from package_factories import make_mlp

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    small = m.make_mlp(32, 10)
    small.init(rng)
    small.forward(np.zeros((3, 32), np.float32))
    net = make_mlp(784, 10)
    net.init(rng)
    net.forward(np.zeros((3, 785), np.float32))  # shape: expects 784 features, gets 785
