"""A layer of one's own, kept in a config: y = x * scale, one scale for each feature."""

from pathlib import Path

import keras
import numpy as np


@keras.saving.register_keras_serializable()
class Scale(keras.layers.Layer):
    """Multiplies each feature by a number that is learnt."""

    def __init__(self, features, **kwargs):
        super().__init__(**kwargs)
        self.features = features
        self.scale = self.add_weight(shape=(features,), initializer="ones")

    def call(self, x):
        return x * self.scale

    def get_config(self):
        return {**super().get_config(), "features": self.features}


model = keras.Sequential([keras.Input((4,)), Scale(4), keras.layers.Dense(3)])
Path("model.json").write_text(model.to_json())
again = keras.models.model_from_json(Path("model.json").read_text())
again.compile(
    keras.optimizers.SGD(0.1), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"]
)
rng = np.random.default_rng(0)
x = rng.standard_normal((300, 4))
y = x[:, :3].argmax(1)
again.fit(x, y, batch_size=20, epochs=20, verbose=0)
print(again.evaluate(x, y, verbose=0))
