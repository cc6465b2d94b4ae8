"""One forward."""

import numpy as np

from package_constants.model import model
from package_constants.sizes import SIDE

if __name__ == "__main__":
    print(model.init(np.random.default_rng(0)).forward(np.zeros((1, SIDE, SIDE, 1), np.float32)).shape)
