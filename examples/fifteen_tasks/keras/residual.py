"""A residual network on pictures."""

import keras


def block(x, channels, stride):
    """Two convolutions beside a shortcut."""
    y = keras.layers.Conv2D(channels, 3, stride, "same", use_bias=False)(x)
    y = keras.layers.ReLU()(keras.layers.BatchNormalization()(y))
    y = keras.layers.BatchNormalization()(keras.layers.Conv2D(channels, 3, padding="same", use_bias=False)(y))
    if stride > 1:
        x = keras.layers.BatchNormalization()(keras.layers.Conv2D(channels, 1, stride, use_bias=False)(x))
    return keras.layers.ReLU()(keras.layers.Add()([x, y]))


train, test = (
    keras.utils.image_dataset_from_directory(f"digits/{half}", image_size=(32, 32), color_mode="grayscale")
    for half in ("train", "test")
)
images = keras.Input((32, 32, 1))
x = keras.layers.Conv2D(16, 3, padding="same", use_bias=False)(keras.layers.Rescaling(1 / 255)(images))
x = keras.layers.ReLU()(keras.layers.BatchNormalization()(x))
x = block(block(block(x, 16, 1), 32, 2), 64, 2)
model = keras.Model(images, keras.layers.Dense(10)(keras.layers.GlobalAveragePooling2D()(x)))
model.compile(
    keras.optimizers.Adam(0.003),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(train, epochs=10, verbose=0)
print(model.evaluate(test, verbose=0))
