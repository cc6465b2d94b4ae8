"""The paper's own config of its LeNet5."""

LENET5 = """\
600,28,28,1
####################
Pad2D,2,2,0
Conv2D,1,6,5,5,1,1,1,1
ReLU
MaxPool2D,2,2,2,2,1,1
Conv2D,6,16,5,5,1,1,1,1
ReLU
MaxPool2D,2,2,2,2,1,1
Flatten
Linear,400,120
ReLU
Linear,120,84
ReLU
Linear,84,10
Softmax
####################
SGD,1.0
"""
