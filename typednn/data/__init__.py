"""Data: arrays in, arrays out. Readers, labels and batches; knows no layer."""

from typednn.data.batches import batches, in_order
from typednn.data.dataset import Dataset
from typednn.data.digits import digits
from typednn.data.idx import read_idx
from typednn.data.labels import one_hot
from typednn.data.mnist import find_mnist, mnist

__all__ = ["Dataset", "batches", "digits", "find_mnist", "in_order", "mnist", "one_hot", "read_idx"]
