"""Tokens, read by an LSTM: its input is as wide as the embedding, what follows its last step as its state."""

from typednn import Input
from typednn.layers import LSTM, Embedding, LastStep, Linear

tokens = Input(20, dtype=int) >> Embedding(257, 64, padding_idx=0)
scores = tokens >> LSTM(64, 128) >> LastStep() >> Linear(64, 2)  # shape: expects 64 features, gets 128
narrow = tokens >> LSTM(32, 128)  # shape: expects input_size to be 32, gets 64
