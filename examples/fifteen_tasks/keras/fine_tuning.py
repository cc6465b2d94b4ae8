"""From a network for some classes to one for others, of which there are few pictures."""

import keras


def read(folder):
    """The part to train on, and the one to test."""
    parts = (f"{folder}/train", f"{folder}/test")
    return [keras.utils.image_dataset_from_directory(part, image_size=(32, 32), batch_size=16) for part in parts]


def trained(body, train, epochs):
    """The layers, and a last one for five classes."""
    model = keras.Sequential([*body, keras.layers.Dense(5)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.AdamW(0.002), loss, metrics=["accuracy"])
    model.fit(train, epochs=epochs, verbose=0)
    return model


body = [keras.Input((32, 32, 3)), keras.layers.Rescaling(1 / 255)]
for channels in (16, 32, 64, 128):
    body += [
        keras.layers.Conv2D(channels, 3, padding="same", use_bias=False),
        keras.layers.BatchNormalization(),
        keras.layers.ReLU(),
        keras.layers.MaxPooling2D(),
    ]
body.append(keras.layers.GlobalAveragePooling2D())
trained(body, read("low")[0], 4).save("low.keras")
again = keras.models.load_model("low.keras")
few, test = read("high")
print(trained(again.layers[:-1], few, 10).evaluate(test, verbose=0))
