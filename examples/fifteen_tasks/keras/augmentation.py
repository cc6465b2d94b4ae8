"""A convolutional network with augmented pictures, a falling learning rate, and an early end."""

import keras

train, validation = keras.utils.image_dataset_from_directory(
    "digits/train", image_size=(32, 32), color_mode="grayscale", validation_split=0.2, subset="both", seed=0
)
layers = [
    keras.Input((32, 32, 1)),
    keras.layers.RandomRotation(0.03),
    keras.layers.RandomTranslation(0.1, 0.1),
    keras.layers.Rescaling(1 / 255),
    keras.layers.Conv2D(16, 3, activation="relu"),
    keras.layers.MaxPooling2D(),
    keras.layers.Conv2D(32, 3, activation="relu"),
    keras.layers.MaxPooling2D(),
    keras.layers.Flatten(),
    keras.layers.Dense(10),
]
model = keras.Sequential(layers)
rate = keras.optimizers.schedules.CosineDecay(0.002, 20 * len(train))
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.Adam(rate), loss, metrics=["accuracy"])
stop = keras.callbacks.EarlyStopping(patience=3, restore_best_weights=True)
model.fit(train, validation_data=validation, epochs=20, callbacks=[stop], verbose=0)
test = keras.utils.image_dataset_from_directory("digits/test", image_size=(32, 32), color_mode="grayscale")
print(model.evaluate(test, verbose=0))
