"""One forward."""

import numpy as np

from package_lenet.model import model

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.standard_normal((2, 28, 28, 1)).astype(np.float32)).shape)
