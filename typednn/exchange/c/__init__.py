"""A model as a C library: `export` writes it, of the `recording` of a forward, as the text of `source`."""
