"""What annotations and Protocols promise, and the checks that hold calls to it."""
