"""What a pool leaves of an image is fewer numbers."""

from typednn import Input
from typednn.layers import MaxPool2d, Reshape

model = Input(12, 13, 6) >> MaxPool2d(2) >> Reshape(28, 28)  # shape: expects 784 numbers, gets 216 (= 6*6*6, from MaxPool2d on 12x13x6)
