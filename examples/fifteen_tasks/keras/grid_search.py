"""The best width and learning rate, by cross validation."""

import keras
from keras.wrappers import SKLearnClassifier
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def network(X, y, width, rate):  # noqa: N803
    """A hidden layer of ``width``."""
    layers = [
        keras.Input(X.shape[1:]),
        keras.layers.Dense(width, activation="relu"),
        keras.layers.Dense(10, activation="softmax"),
    ]
    model = keras.Sequential(layers)
    model.compile(keras.optimizers.Adam(rate), loss="categorical_crossentropy")
    return model


x, y = load_digits(return_X_y=True)
fit = {"epochs": 5, "verbose": 0}
classifier = SKLearnClassifier(network, model_kwargs={"width": 16, "rate": 0.01}, fit_kwargs=fit)
grid = {
    "sklearnclassifier__model_kwargs": [{"width": width, "rate": rate} for width in (16, 64) for rate in (0.001, 0.01)]
}
search = GridSearchCV(make_pipeline(StandardScaler(), classifier), grid, cv=3)
search.fit(x, y)
print(search.best_params_, search.best_score_)
