"""The options that commands which measure share."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

from heaplab.errors import UsageError
from heaplab.options.arm_options import GIVEN_ALLOCATOR, GIVEN_FACTORIAL
from heaplab.options.option_types import (
    AUTO,
    DURATION_OR_AUTO,
    LONGEST_AUTO_S,
    MEMORY_LIMIT,
    NAMES,
    OUTPUT_FOLDER,
    PLACE,
    SEED,
    SHARE,
    SIZE,
    TIME_LIMIT,
)

Command = TypeVar("Command", bound=Callable[..., Any])
Options = Sequence[Callable[[Any], Any]]

# The values of --instructions: what counts instructions.
COUNTERS, CALLGRIND, ONLY_CALLGRIND = "counters", "callgrind", "only-callgrind"

ALLOCATORS = click.option(
    "--allocators", metavar="A,B,...", help="Names, or 'all' found here. The first is the baseline."
)
SUITE = click.option(
    "--suite", help="A suite, or names of experiments such as larson,mstress.  [default: quick]"
)
EXPERIMENT = click.option(
    "--experiment",
    "experiments",
    multiple=True,
    type=NAMES,
    metavar="ID,...",
    help="Experiments by id, group, glob of ids, or file NAME.toml; may be repeated.",
)
INPUT = click.option(
    "--input", "source", type=PLACE, metavar="FILE", help="File that each run reads as its standard input."
)
# Shell commands around each run of a program.
HOOKS: Options = [
    click.option(
        f"--{name}",
        default="",
        show_default=False,
        metavar="COMMAND",
        help=f"Shell command {when} each run of PROGRAM, not measured.",
    )
    for name, when in (("prepare", "before"), ("cleanup", "after"))
]
QUIET = click.option("-q", "--quiet", is_flag=True, help="Print results only, no progress.")
NO_DEEP_BINDING = click.option(
    "--no-deep-binding",
    is_flag=True,
    help="Have PROGRAM open libraries without RTLD_DEEPBIND, which no preloaded malloc can serve (php).",
)
OWN_ALLOCATOR = click.option(
    "--allocator",
    "own",
    multiple=True,
    type=GIVEN_ALLOCATOR,
    help="A library of your own: NAME=LIBRARY; or settings: NAME='ALLOCATOR SETTING=VALUE ...'.",
)
# Which arms are compared.
ARMS: Options = [
    ALLOCATORS,
    OWN_ALLOCATOR,
    click.option(
        "--factorial",
        type=GIVEN_FACTORIAL,
        metavar="'ALLOCATOR SETTING=LOW|HIGH ...'",
        help="Every combination of two or three settings.",
    ),
    click.option(
        "--show-command",
        is_flag=True,
        help="Print the command of each cell, for gdb or perf; measure nothing.",
    ),
    click.option("--resume", type=PLACE, metavar="DIR", help="Go on with what lies in DIR."),
]


BUDGET = click.option(
    "--budget",
    type=DURATION_OR_AUTO,
    help="Stop after this time, which has to have room for two blocks: 90s, 5m; auto: as long as it takes to "
    "tell 5 % on this machine, at most half an hour; with --resume after so much more.",
)
# How arms are measured, beside the budget.
HOW_ELSE: Options = [
    click.option("-o", "--output", type=OUTPUT_FOLDER, help="Folder for results and report."),
    click.option("--precision", type=SHARE, default="2%", help="Repeat until ratios are this precise."),
    click.option("--seed", type=SEED, default=1, help="Seed of every random choice."),
    click.option(
        "--slices/--no-slices", default=True, help="Run arms at the same time, in turns, where that is valid."
    ),
    click.option("--pin", "pinned", is_flag=True, help="Run on one CPU of each core only."),
    click.option(
        "--warm", type=SIZE, help="Memory to touch before each run.  [default: its last peak and 25 %]"
    ),
    click.option("--memory-limit", type=MEMORY_LIMIT, help="Kill a run that uses more: 2GiB."),
    click.option(
        "--time-limit",
        type=TIME_LIMIT,
        help="Kill a run that takes longer: 90s.  [default: by workload or budget]",
    ),
    QUIET,
    click.option("--json", "as_json", is_flag=True, help="Print results as JSON."),
]
HOW: Options = [BUDGET, *HOW_ELSE]


def begin(options: dict[str, Any]) -> None:
    """Begin the budget with the command, whose imports take seconds on a busy machine."""
    options["began"] = time.monotonic()
    options["automatic"] = options["budget"] == AUTO
    if options["automatic"]:
        options["budget"] = LONGEST_AUTO_S


def taking(*groups: Options) -> Callable[[Command], Command]:
    """Decorate a command with groups of options, in this order."""

    def decorated(command: Command) -> Command:
        for option in reversed([option for group in groups for option in group]):
            command = option(command)
        return command

    return decorated


def given_among(options: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Remove the named options from `options`; return those that the user gave."""
    given = {name: options.pop(name) for name in names}
    return {name: value for name, value in given.items() if value not in (None, ())}


def refuse_program_beside_suite(program: tuple[str, ...], suite: str | None) -> None:
    """Raise UsageError if both are given: a word that follows no option is a program."""
    if program and suite is not None:
        raise UsageError(f"--suite and a program exclude each other: {program[0]}")
