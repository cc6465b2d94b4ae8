"""Digits in a notebook: look, train, look again."""

# %% [markdown]
# # Digits: look, train, look again

# %%
import keras
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

x, y = load_digits(return_X_y=True)
figure, places = plt.subplots(1, 10)
for place, row in zip(places, x, strict=False):
    place.imshow(row.reshape(8, 8))

# %%
model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(10)])
model.summary()

# %%
model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
history = model.fit(x[:1400], y[:1400], validation_data=(x[1400:], y[1400:]), epochs=10, verbose=0)
plt.figure()
plt.plot(history.history["loss"])
plt.plot(history.history["val_loss"])

# %%
model.predict(x[1400:1410], verbose=0).argmax(axis=1)
