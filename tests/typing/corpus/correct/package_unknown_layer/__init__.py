"""A stack of another module, in which one layer says nothing that can be read before the program runs."""
