"""Sixty photos in class folders: changed at random, and an end where it gets no better."""

import keras

train, rest = keras.utils.image_dataset_from_directory(
    "shapes", image_size=(32, 32), batch_size=9, validation_split=0.3, subset="both", seed=0
)
validation, test = rest.take(1), rest.skip(1)
layers = [
    keras.Input((32, 32, 3)),
    keras.layers.RandomFlip("horizontal"),
    keras.layers.RandomTranslation(0.2, 0.2),
    keras.layers.RandomRotation(0.04),
    keras.layers.RandomBrightness(0.3),
    keras.layers.RandomContrast(0.3),
    keras.layers.Rescaling(1 / 255),
]
for channels in (16, 32, 64, 128):
    layers += [
        keras.layers.Conv2D(channels, 3, padding="same", use_bias=False),
        keras.layers.BatchNormalization(),
        keras.layers.ReLU(),
        keras.layers.MaxPooling2D(),
    ]
model = keras.Sequential([*layers, keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(3)])
rate = keras.optimizers.schedules.CosineDecay(0.002, 100 * len(train))
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.AdamW(rate, weight_decay=0.01), loss, metrics=["accuracy"])
stop = keras.callbacks.EarlyStopping(patience=50, restore_best_weights=True)
model.fit(train, validation_data=validation, epochs=100, callbacks=[stop], verbose=0)
print(model.evaluate(test, verbose=0))
