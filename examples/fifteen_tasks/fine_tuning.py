"""From a network for some classes to one for others, of which there are few pictures."""

from typednn.recipes import recipe, train

cnn = recipe("cnn").changed({"augment": [], "epochs": 4, "least_steps": 0})
train(cnn, "low", run="runs/low", progress=False)
result = train(cnn.changed({"weights": "runs/low", "epochs": 10}), "high", run="runs/high", progress=False)
print("test", result.test.headline)
