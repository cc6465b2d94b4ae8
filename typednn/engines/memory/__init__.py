"""Memory of arrays: where an array's data lies, and buffers that are used again."""
