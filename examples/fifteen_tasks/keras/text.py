"""The class of a text, by an LSTM over its letters."""

import keras

train, test = (keras.utils.text_dataset_from_directory(f"texts/{half}", batch_size=50) for half in ("train", "test"))
letters = keras.layers.TextVectorization(split="character", output_sequence_length=32)
letters.adapt(train.map(lambda text, label: text))
layers = [
    letters,
    keras.layers.Embedding(len(letters.get_vocabulary()), 64, mask_zero=True),
    keras.layers.LSTM(128),
    keras.layers.Dense(2),
]
model = keras.Sequential(layers)
model.compile(
    keras.optimizers.Adam(0.005),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(train, epochs=8, verbose=0)
print(model.evaluate(test, verbose=0))
