"""Functions of another module keep their strings, whatever mypy joins in them. It runs all the same: nothing checks a plain function."""
