"""What a rank tells the process that started its job with `typednn.parallel.job.run`, in lines that only it reads."""

import json
import os
import sys
from typing import Any, Final

WATCHED: Final = "TYPEDNN_JOB"  # in the environment of ranks whose standard error is read
MARK: Final = "typednn-rank:"  # of a line


def watched() -> bool:
    """Whether this process is a rank that `typednn.parallel.job.run` started."""
    return WATCHED in os.environ


def tell(**facts: Any) -> None:
    """Say something to that process; where there is none, nothing."""
    if watched() and sys.__stderr__ is not None:
        print(f"{MARK}{json.dumps(facts)}", file=sys.__stderr__, flush=True)
