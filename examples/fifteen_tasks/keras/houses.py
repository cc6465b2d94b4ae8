"""The price of a house, from a table with words, gaps and dates."""

import keras
import pandas as pd


def columns(table):
    """Numbers: days of dates, a column for each word and for its absence; gaps stay."""
    return pd.get_dummies(table.assign(sold=(table["sold"] - START).dt.days), dummy_na=True, dtype=float)


START = pd.Timestamp("2000-01-01")
table = pd.read_csv("houses.csv", parse_dates=["sold"]).sample(frac=1, random_state=0)
price = table.pop("price").to_numpy()
x = columns(table)
typical = x[:480].median()
x = x.fillna(typical)
normalise = keras.layers.Normalization()
normalise.adapt(x[:480].to_numpy())
layers = [keras.Input((x.shape[1],)), normalise, keras.layers.Dense(128, activation="relu"), keras.layers.Dense(1)]
model = keras.Sequential(layers)
mean, deviation = price[:480].mean(), price[:480].std()
model.compile("adam", loss="mse", metrics=["r2_score"])
model.fit(x[:480].to_numpy(), (price[:480] - mean) / deviation, epochs=130, verbose=0)
print(model.evaluate(x[480:].to_numpy(), (price[480:] - mean) / deviation, verbose=0))
new = columns(pd.read_csv("new.csv", parse_dates=["sold"])).reindex(columns=x.columns).fillna(typical)
print(model.predict(new.to_numpy(), verbose=0) * deviation + mean)
