"""A classifier of images of 16 by 16: the convolution leaves 12 by 12."""

import numpy as np

from typednn.layers import Conv2d, Flatten, Linear

classifier = Conv2d(1, 6, 5) >> Flatten() >> Linear(864, 10)
classifier.init(np.random.default_rng(0))
