"""The options of gates: the limits, which `heaplab bisect` takes too, and the files that a gate writes."""

import click

from heaplab.options.measuring_options import CALLGRIND, COUNTERS, INPUT, ONLY_CALLGRIND, SUITE, Options
from heaplab.options.option_types import OUTPUT_FILE, SHARE
from heaplab.options.program_command import ProgramCommand

# What may be worse by how much, and what is measured.
LIMITS: Options = [
    click.option(
        "--max-slower",
        type=SHARE,
        default="5%",
        help="Time NEW may take beyond OLD's, and instructions that it may execute, if that has no limit of "
        "its own; --precision is then half of it at most, if not given.",
    ),
    click.option(
        "--max-memory",
        type=SHARE,
        default="3%",
        help="Memory NEW may need beyond OLD's: at its peak, in the mean and at the end.",
    ),
    click.option(
        "--max-instructions",
        type=SHARE,
        help="Instructions NEW may execute beyond OLD's, where they are counted; alone it is the limit of "
        "time too.  [default: that of --max-slower]",
    ),
    click.option(
        "--instructions",
        type=click.Choice([COUNTERS, CALLGRIND, ONLY_CALLGRIND]),
        default=COUNTERS,
        help="What counts instructions: the processor, where it can; also valgrind's callgrind, for what has "
        "one thread; or callgrind and nothing else, which decides small changes in seconds.",
    ),
    SUITE,
    INPUT,
]
BASELINE: Options = [
    click.option(
        "--baseline",
        type=OUTPUT_FILE,
        metavar="FILE",
        help="Compare with what --update kept, in place of OLD: counts and memory, never times.",
    ),
    click.option(
        "--update", is_flag=True, help="Keep what is measured now in the FILE of --baseline; judge nothing."
    ),
]
OUTPUTS: Options = [
    click.option("--markdown", type=OUTPUT_FILE, help="Write a table for a pull request's comment."),
    click.option("--junit", type=OUTPUT_FILE, help="Write JUnit XML."),
    click.option("--bencher", type=OUTPUT_FILE, help="Write JSON for bencher.dev."),
]


class GateCommand(ProgramCommand):
    """A command about OLD, NEW and a program. With --baseline there is no OLD, and there need be no NEW."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        head, program = args[:at], args[at:]
        typed, _, _ = self.make_parser(ctx).parse_args(list(head))
        if typed.get("baseline"):
            given = [word for word in (typed.get("old"), typed.get("new")) if isinstance(word, str)]
            head += [""] * (2 - len(given))
        return super().parse_args(ctx, [*head, *program])
