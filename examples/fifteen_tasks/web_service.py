"""A trained model as a web service, asked by names of columns."""

from starlette.testclient import TestClient

import typednn
from typednn.recipes import choose, train
from typednn.serving import create_app

recipe, samples = choose("flowers.csv", target="kind")
train(recipe, samples, run="runs/flowers", progress=False)
client = TestClient(create_app(typednn.load("runs/flowers")), base_url="http://localhost")
flower = {"petal length": 4.5, "petal width": 1.5, "sepal length": 6.4, "sepal width": 3.2}
print(client.post("/predict", json=flower).json()["predictions"][0])
