"""The command serve: what it takes, and its help."""

from typing import Final

from typednn.cli.shared_options import COUNT, IMPORT, MODEL, PORT, RUN, Command, argument, weights

SERVE: Final = Command(
    "serving",
    "a page and a JSON endpoint for a run, on this machine",
    (
        RUN,
        argument("--host", default="127.0.0.1", metavar="ADDRESS", help="127.0.0.1 unless given: this machine alone"),
        argument("--port", type=PORT, default=8000, metavar="N", help="8000 unless given; 0 takes a free one"),
        argument(
            "--allow-host",
            action="append",
            default=[],
            metavar="NAME",
            dest="hosts",
            help="a name that requests may call it by, besides localhost and addresses; repeat for more",
        ),
        argument("--max-bytes", type=COUNT, metavar="N", help="of a request; 10 MiB unless given"),
        argument("--max-rows", type=COUNT, metavar="N", help="of a request; 10,000 unless given"),
        argument(
            "--weights",
            type=weights,
            choices=("best", "latest"),
            help="the weights to use, as for `typednn eval`",
        ),
        MODEL,
        IMPORT,
    ),
    """\
examples:
  typednn serve runs/houses                     a form at http://127.0.0.1:8000/, until Ctrl-C
  typednn serve runs/lenet5-1 --port 0          on a free port
  curl -d '{"rooms": 3, "area": 95}' -H 'content-type: application/json' http://127.0.0.1:8000/predict
  curl --data-binary @seven.png -H 'content-type: image/png' http://127.0.0.1:8000/predict

typednn docs serving has the JSON, and a web program of your own in twenty lines.
It needs starlette and uvicorn: pip install 'typednn[serve]'.
""",
)
