"""A class that is rare: it counts as much as the other, and several metrics tell how well it is found."""

from typednn.recipes import choose, train

recipe, samples = choose("tumours.csv", target="kind", settings={"class_weight": "balanced"})
result = train(recipe, samples, run="runs/tumours", progress=False)
print(result.test)
