"""A number from the columns of a table."""

import numpy as np

from typednn import Input, data, layers, losses, optim, training

table = data.read_table("diabetes.csv", target="progression")
rng = np.random.default_rng(0)
train, test = np.split(rng.permutation(len(table.x)), [354])
x, y = (table.x - table.x[train].mean(0)) / table.x[train].std(0), table.y[:, None].astype(np.float32)
model = (Input(10) >> layers.Linear(10, 64) >> layers.ReLU() >> layers.Linear(64, 1)).init(rng)
loader = data.Loader(x[train], y[train], batch_size=32, rng=rng)
training.fit(model, losses.MSE(), optim.Adam(0.01).bind(model), loader, epochs=50, progress=False)
print("mean absolute error", abs(model.eval().forward(x[test]) - y[test]).mean())
