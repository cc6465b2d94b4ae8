"""The class of a picture, from folders of pictures."""

import keras

train, test = (
    keras.utils.image_dataset_from_directory(f"digits/{half}", image_size=(32, 32), color_mode="grayscale")
    for half in ("train", "test")
)
layers = [
    keras.Input((32, 32, 1)),
    keras.layers.Rescaling(1 / 255),
    keras.layers.Conv2D(16, 3, activation="relu"),
    keras.layers.MaxPooling2D(),
    keras.layers.Conv2D(32, 3, activation="relu"),
    keras.layers.MaxPooling2D(),
    keras.layers.Flatten(),
    keras.layers.Dense(10),
]
model = keras.Sequential(layers)
model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(train, epochs=5, verbose=0)
print(model.evaluate(test, verbose=0))
picture = keras.utils.img_to_array(keras.utils.load_img("digits/test/zero/0000.png", color_mode="grayscale"))
print(train.class_names[model.predict(picture[None], verbose=0).argmax()])
