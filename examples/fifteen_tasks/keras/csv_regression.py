"""A number from the columns of a table."""

import keras
import pandas as pd

table = pd.read_csv("diabetes.csv").sample(frac=1, random_state=0)
x, y = table.drop(columns="progression").to_numpy(), table["progression"].to_numpy()
normalise = keras.layers.Normalization()
normalise.adapt(x[:354])
model = keras.Sequential(
    [keras.Input((10,)), normalise, keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)]
)
model.compile(keras.optimizers.Adam(0.01), loss="mse", metrics=["mae"])
model.fit(x[:354], y[:354], batch_size=32, epochs=50, verbose=0)
print(model.evaluate(x[354:], y[354:], verbose=0))
