"""The class of a text, by an LSTM over its letters."""

import numpy as np

from typednn import data, losses, models, optim, training

train, test = (data.read_text_folder(f"texts/{half}", length=32) for half in ("train", "test"))
rng = np.random.default_rng(0)
model = models.lstm_classifier(len(train.names), length=32, rng=rng)
loader = data.Loader(train.tokens, train.labels, batch_size=50, rng=rng)
training.fit(model, losses.SoftmaxCrossEntropy(), optim.Adam(0.005).bind(model), loader, epochs=8, progress=False)
print("test accuracy", (training.evaluate(model, test.tokens).argmax(1) == test.labels).mean())
