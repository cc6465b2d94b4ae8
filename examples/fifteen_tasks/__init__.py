"""Fifteen tasks of a newcomer, each a script, beside one for Keras in `keras/` (written for Keras 3.15). The folder in
which they are run holds the data of `make_data`.
"""
