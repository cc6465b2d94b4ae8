"""What PyTorch calls ``torch.nn``: there is no such module here, and importing it says where its parts are."""

from typednn.errors import MissingImport, explain
from typednn.errors.habits import NAMES

raise MissingImport(explain("typednn", "has no such module", "'nn'", NAMES["nn"]), name="typednn.nn")
