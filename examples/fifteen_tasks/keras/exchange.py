"""Weights from PyTorch, and the model as an ONNX file."""

import keras
import numpy as np
import onnxruntime
import torch

theirs = torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3))
torch.save(theirs.state_dict(), "theirs.pt")
state = torch.load("theirs.pt", weights_only=True)
model = keras.Sequential([keras.Input((10,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(3)])
for layer, name in zip(model.layers, ("0", "2"), strict=True):
    layer.set_weights([state[f"{name}.weight"].numpy().T, state[f"{name}.bias"].numpy()])
x = np.random.default_rng(0).standard_normal((5, 10)).astype(np.float32)
np.testing.assert_allclose(model.predict(x, verbose=0), theirs(torch.from_numpy(x)).detach(), atol=1e-5)
model.export("model.onnx", format="onnx", verbose=False)
session = onnxruntime.InferenceSession("model.onnx")
(scores,) = session.run(None, {session.get_inputs()[0].name: x})
np.testing.assert_allclose(scores, model.predict(x, verbose=0), atol=1e-5)
print("PyTorch, Keras and ONNX Runtime agree")
