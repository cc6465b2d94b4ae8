"""The price of a house, from a table with words, gaps and dates."""

from typednn.recipes import choose, predict, train

recipe, samples = choose("houses.csv", target="price")
result = train(recipe, samples, run="runs/houses", progress=False)
print("test", result.test.headline)
print(predict("runs/houses", ["new.csv"])[0])
