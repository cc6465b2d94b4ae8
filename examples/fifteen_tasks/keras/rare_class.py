"""A class that is rare: it counts as much as the other, and several metrics tell how well it is found."""

import keras
import pandas as pd
from sklearn.model_selection import train_test_split

table = pd.read_csv("tumours.csv")
y = (table.pop("kind") == "malignant").to_numpy(dtype=float)
x, test_x, y, test_y = train_test_split(table.to_numpy(), y, test_size=0.2, stratify=y, random_state=0)
normalise = keras.layers.Normalization()
normalise.adapt(x)
layers = [keras.Input((30,)), normalise, keras.layers.Dense(128, activation="relu")]
model = keras.Sequential([*layers, keras.layers.Dense(1, activation="sigmoid")])
metrics = [
    "accuracy",
    keras.metrics.Precision(name="precision"),
    keras.metrics.Recall(name="recall"),
    keras.metrics.AUC(name="ROC AUC"),
    keras.metrics.AUC(curve="PR", name="average precision"),
]
model.compile("adam", "binary_crossentropy", metrics=metrics)
weights = {0: 0.5 / (1 - y.mean()), 1: 0.5 / y.mean()}
model.fit(x, y, epochs=100, class_weight=weights, verbose=0)
print(model.evaluate(test_x, test_y, return_dict=True, verbose=0))
