"""The sums behind the layers: one op, one folder, one signature.

``reference.py`` is plain array code, the oracle: it runs on NumPy and CuPy alike, and any faster engine that stands
beside it has to agree with it. What all of them keep: arguments are read, never written (an optimizer's step writes the weights and
its own state, and nothing else); results have the dtype of the arguments; sizes are (height, width).
"""
