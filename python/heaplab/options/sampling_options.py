"""The options of a recording that samples."""

from dataclasses import replace

import click

from heaplab.options.option_types import DURATION, MEMORY_MARK, SIZE

DISTANCE = replace(SIZE, least=64, most=1 << 30, bound="")  # between two samples
SAMPLE = click.option(
    "--sample",
    type=DISTANCE,
    metavar="SIZE",
    help="Record no calls: sample a block about every so many bytes, such as 512KiB, with its call stack. "
    "PROGRAM.sample then holds estimates by call site, and may be of a week. SIGUSR1 to this command takes "
    "a snapshot; the last is taken at the end.",
)
PAGES = click.option(
    "--pages",
    is_flag=True,
    help="With --sample: sample pages too, as many, and tell which call sites pin them: what the blocks of a "
    "page leave unused. Every call takes longer then. Not with --pid: older blocks are unknown.",
)
EVERY = click.option("--every", type=DURATION, help="With --sample: a snapshot every so often, such as 10m.")
AT = click.option(
    "--at",
    multiple=True,
    type=MEMORY_MARK,
    metavar="SIZE",
    help="With --sample: a snapshot when the memory of the processes passes this, or, 'memory.high', the "
    "mark of their control group (version 2); may be repeated.",
)
