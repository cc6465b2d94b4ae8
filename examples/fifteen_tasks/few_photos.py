"""Sixty photos in class folders: changed at random, and an end where it gets no better."""

from typednn.recipes import train

result = train("cnn", "shapes", run="runs/shapes", progress=False)
print("test", result.test.headline)
