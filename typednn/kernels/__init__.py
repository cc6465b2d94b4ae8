"""The arithmetic of the layers: one op, one folder, one signature.

``reference.py`` is plain array code, the oracle: it runs on NumPy and on CuPy, and every faster engine in the same
folder has to agree with it. Rules for all of them: arguments are read, never written (an optimizer's step writes the
weights and its own state, and nothing else); results have the dtype of the arguments; sizes are (height, width).
"""
