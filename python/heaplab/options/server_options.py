"""The options of `heaplab compare` that make PROGRAM a server, or change how a suite's servers are driven."""

import click

from heaplab.options.measuring_options import Options
from heaplab.options.option_types import DURATION, DURATIONS
from heaplab.results.load_generators import READERS

SERVER_OPTIONS: Options = [
    click.option(
        "--ready",
        metavar="CMD|tcp:PORT",
        help="PROGRAM is a server, ready when CMD succeeds or the port answers.",
    ),
    click.option(
        "--ready-within", type=DURATION, help="Give a server up that is not ready then.  [default: 30s]"
    ),
    click.option(
        "--load", metavar="CMD", help="The load generator: one burst of requests, outside the allocator."
    ),
    click.option(
        "--take",
        multiple=True,
        metavar="READER",
        help=f"How to read what --load writes: {', '.join(READERS)}, or NAME[:UNIT]=REGEX; may be repeated.",
    ),
    click.option("--idle", type=DURATIONS, help="When to look at memory after the load.  [default: 1s,10s]"),
    click.option("--bursts", type=click.IntRange(1, 1000), help="How often --load is run.  [default: 1]"),
    click.option("--stop", metavar="SIGNAL|CMD", help="What ends a server.  [default: SIGTERM]"),
]
# The fields of a server in the catalog, by option.
FIELDS = {
    "ready": "ready",
    "ready_within": "ready_within_s",
    "load": "load",
    "take": "take",
    "idle": "idle_s",
    "bursts": "bursts",
    "stop": "stop",
}
