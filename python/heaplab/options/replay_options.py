"""The options of `heaplab compare` that say how a trace is replayed."""

from collections.abc import Mapping

import click

from heaplab.errors import UsageError
from heaplab.options.measuring_options import Options

NAMES = PACE, FILL = "pace", "fill"
RECORDED = "recorded"  # a value of --pace

REPLAY_OPTIONS: Options = [
    click.option(
        "--pace",
        type=click.Choice(["asap", RECORDED]),
        help="Replay as fast as possible, or no call earlier than in the recording.  [default: asap]",
    ),
    click.option(
        "--fill",
        type=click.Choice(["none", "first", "all"]),
        help="What a replay writes to a new block: nothing, a byte of each page, every byte.  "
        "[default: first]",
    ),
]


def refuse_without_trace(given: Mapping[str, object]) -> None:
    """Raise UsageError for options of a replay where no trace is replayed."""
    if given:
        name = next(iter(given))
        raise UsageError(f"--{name} goes with a trace: heaplab compare PROGRAM.trace --{name} {given[name]}")
