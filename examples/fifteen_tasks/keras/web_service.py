"""A trained model as a web service, asked by names of columns."""

import json
from pathlib import Path

import keras
import numpy as np
import pandas as pd
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient

table = pd.read_csv("flowers.csv")
kinds, names = pd.factorize(table.pop("kind"))
normalise = keras.layers.Normalization()
normalise.adapt(table.to_numpy())
layers = [
    keras.Input((4,)),
    normalise,
    keras.layers.Dense(128, activation="relu"),
    keras.layers.Dense(3, activation="softmax"),
]
model = keras.Sequential(layers)
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(table.to_numpy(), kinds, epochs=100, verbose=0)
model.save("flowers.keras")
Path("flowers.json").write_text(json.dumps({"columns": list(table), "names": list(names)}))

served, about = keras.models.load_model("flowers.keras"), json.loads(Path("flowers.json").read_text())


async def predict(request):
    """The most probable name, and the probability of each."""
    row = await request.json()
    x = np.array([[row[name] for name in about["columns"]]], dtype=float)
    (shares,) = served.predict(x, verbose=0).tolist()
    found = dict(zip(about["names"], shares, strict=True))
    return JSONResponse({"name": max(found, key=found.get), "probabilities": found})


client = TestClient(Starlette(routes=[Route("/predict", predict, methods=["POST"])]))
flower = {"petal length": 4.5, "petal width": 1.5, "sepal length": 6.4, "sepal width": 3.2}
print(client.post("/predict", json=flower).json())
