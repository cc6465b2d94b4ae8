"""A chain for images of open size, imported and given images that are too large."""
