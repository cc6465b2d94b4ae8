"""Weights from PyTorch, and the model as an ONNX file."""

import numpy as np
import onnxruntime
import torch

from typednn import Input, exchange, layers

theirs = torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3))
torch.save(theirs.state_dict(), "theirs.pt")
model = exchange.load_torch(
    "theirs.pt", Input(10) >> layers.Linear(10, 32) >> layers.ReLU() >> layers.Linear(32, 3)
).eval()
x = np.random.default_rng(0).standard_normal((5, 10), np.float32)
np.testing.assert_allclose(model.forward(x), theirs(torch.from_numpy(x)).detach(), atol=1e-5)
exchange.export_onnx(model, "model.onnx")
session = onnxruntime.InferenceSession("model.onnx")
(scores,) = session.run(None, {session.get_inputs()[0].name: x})
np.testing.assert_allclose(scores, model.forward(x), atol=1e-5)
print("PyTorch, typednn and ONNX Runtime agree")
