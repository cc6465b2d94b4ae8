"""Data: arrays in, arrays out. Readers, labels and batches; knows no layer."""

from typing import TYPE_CHECKING

from typednn.data.augmentation import (
    AUGMENTATIONS,
    Augmentation,
    ColorJitter,
    GaussianNoise,
    MixUp,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomRotation,
    RandomShift,
    RandomVerticalFlip,
    augmentations,
)
from typednn.data.batches import batches, in_order
from typednn.data.cifar import cifar10, cifar10_pixels
from typednn.data.csv import NotANumber, RowLength, labelled, read_csv, read_optdigits
from typednn.data.dataset import Dataset, Pixels, rescaled
from typednn.data.digits import digits
from typednn.data.encoding import Encoded, Encoding
from typednn.data.idx import read_idx
from typednn.data.image_files import ImageFiles, ImageSets, open_image_folder
from typednn.data.images import ImageFolder, image_size, read_image, read_image_folder
from typednn.data.inputs import read_inputs
from typednn.data.labels import one_hot
from typednn.data.loader import Batch, Loader, Rows
from typednn.data.mnist import mnist, mnist_pixels
from typednn.data.named import (
    DATASETS,
    PIXELS,
    cache_folder,
    class_names,
    find,
    find_mnist,
    load,
    load_pixels,
    source_folder,
)
from typednn.data.npy import read_npy, read_npz
from typednn.data.spiral import spiral
from typednn.data.splitting import folds, split
from typednn.data.table import Table, read_columns, read_table
from typednn.data.text import TextFolder, read_text, read_text_folder
from typednn.data.tiny_stories import read_tiny_stories
from typednn.data.token_files import read_token_table, read_tokens, write_token_table, write_tokens
from typednn.data.token_windows import windows
from typednn.data.tokenizer import Tokenizer, read_tokenizer, train_tokenizer
from typednn.data.vocabulary import Characters, TokenTable, Vocabulary, read_vocabulary
from typednn.errors.public import published
from typednn.random.state import generator_state, restore_generator

__all__ = [
    "AUGMENTATIONS",
    "DATASETS",
    "PIXELS",
    "Augmentation",
    "Batch",
    "Characters",
    "ColorJitter",
    "Dataset",
    "Encoded",
    "Encoding",
    "GaussianNoise",
    "ImageFiles",
    "ImageFolder",
    "ImageSets",
    "Loader",
    "MixUp",
    "NotANumber",
    "Pixels",
    "RandomCrop",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomRotation",
    "RandomShift",
    "RandomVerticalFlip",
    "RowLength",
    "Rows",
    "Table",
    "TextFolder",
    "TokenTable",
    "Tokenizer",
    "Vocabulary",
    "augmentations",
    "batches",
    "cache_folder",
    "cifar10",
    "cifar10_pixels",
    "class_names",
    "digits",
    "find",
    "find_mnist",
    "generator_state",
    "image_size",
    "in_order",
    "labelled",
    "load",
    "load_pixels",
    "mnist",
    "mnist_pixels",
    "one_hot",
    "open_image_folder",
    "read_columns",
    "read_csv",
    "read_idx",
    "read_image",
    "read_image_folder",
    "read_inputs",
    "read_npy",
    "read_npz",
    "read_optdigits",
    "read_table",
    "read_text",
    "read_text_folder",
    "read_tiny_stories",
    "read_token_table",
    "read_tokenizer",
    "read_tokens",
    "read_vocabulary",
    "rescaled",
    "restore_generator",
    "source_folder",
    "spiral",
    "folds",
    "split",
    "train_tokenizer",
    "windows",
    "write_token_table",
    "write_tokens",
]

if not TYPE_CHECKING:  # to type checkers, a name that is not above is a mistake
    __getattr__ = published(globals())
