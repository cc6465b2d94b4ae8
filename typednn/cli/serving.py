"""serve: a run as a web page and a JSON endpoint, until Ctrl-C."""

import sys
from argparse import Namespace

from typednn.cli.output import hint, say
from typednn.cli.use import named_model
from typednn.config.model_config import import_layers
from typednn.recipes import load_run


def serve(options: Namespace) -> int:
    """Listen; prints the address. The signal that ends it gives the exit code."""
    from typednn.serving import MOST_BYTES, MOST_ROWS, create_app
    from typednn.serving import serve as listen

    import_layers(options.modules)
    predictor = load_run(options.run, options.weights, model=named_model(options))
    app = create_app(
        predictor,
        most_bytes=options.max_bytes or MOST_BYTES,
        most_rows=options.max_rows or MOST_ROWS,
        hosts=options.hosts,
    )

    def ready(address: str) -> None:
        say(address)
        sys.stdout.flush()
        hint(f"serving {options.run}; Ctrl-C ends it")
        if options.host not in ("127.0.0.1", "::1", "localhost"):
            hint("whoever reaches this machine may use it: there is no password")

    listen(app, options.host, options.port, ready)
    return 0
