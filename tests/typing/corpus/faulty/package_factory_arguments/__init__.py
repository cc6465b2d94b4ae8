"""What only a call's arguments make wrong, in a function of another module, is reported at the call."""
