"""Builders of another module: by name in a dict, with arguments that they have already, methods that return layers."""
