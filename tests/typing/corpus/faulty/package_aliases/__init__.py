"""Aliases of annotations from another module; the weight is not transposed, and the scores are no images."""
