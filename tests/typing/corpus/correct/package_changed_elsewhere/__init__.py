"""What other modules define and something changes: constants, entries, methods, functions of other names."""
