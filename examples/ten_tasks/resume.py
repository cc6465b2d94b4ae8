"""A training that goes on on another machine: its folder is all that travels."""


from typednn.recipes import find, train

recipe = find("mlp").changed({"epochs": 6, "max_steps": 100})
train(recipe, "digits", run="here", progress=False)
