"""A training that goes on on another machine: its folder is all that travels."""

import shutil

import keras

train, test = (
    keras.utils.image_dataset_from_directory(f"digits/{half}", image_size=(32, 32), color_mode="grayscale", seed=0)
    for half in ("train", "test")
)
layers = [
    keras.Input((32, 32, 1)),
    keras.layers.Rescaling(1 / 255),
    keras.layers.Flatten(),
    keras.layers.Dense(64, activation="relu"),
]
model = keras.Sequential([*layers, keras.layers.Dense(10)])
model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
backup = keras.callbacks.BackupAndRestore("here/backup", delete_checkpoint=False)
model.fit(train, epochs=3, callbacks=[backup], verbose=0)
shutil.copytree("here", "there", dirs_exist_ok=True)
again = keras.models.clone_model(model)
again.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
backup = keras.callbacks.BackupAndRestore("there/backup", delete_checkpoint=False)
again.fit(train, epochs=6, callbacks=[backup], verbose=0)
print(again.evaluate(test, verbose=0))
