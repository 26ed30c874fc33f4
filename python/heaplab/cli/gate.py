"""`heaplab gate`: fails if, and only if, something got worse than it may."""

import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from heaplab import analysis, report
from heaplab.catalog import contents as catalogs
from heaplab.catalog.contents import Catalog
from heaplab.cli import command_arms, selection
from heaplab.cli.carry_out import carry_out, opened_for
from heaplab.cli.given_arms import GivenAllocator, GivenCommand, allocator_of, command_of, words_of
from heaplab.cli.measuring_options import HOW, taking
from heaplab.cli.option_types import FILE, PLACE, SHARE
from heaplab.cli.results import load, without_figure
from heaplab.cli.subject import request_of, subject_of, subject_of_commands
from heaplab.console import console
from heaplab.errors import HeaplabError, UsageError
from heaplab.records import Library
from heaplab.stats import GateVerdict

WORSE = 3  # exit status
OLD, NEW = "old", "new"


@click.command(cls=selection.ProgramCommand)
@click.argument("old")
@click.argument("new")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[-- PROGRAM [ARGS]...]")
@click.option(
    "--max-slower", type=SHARE, default="5%", help="Time NEW may take beyond OLD's.", show_default=True
)
@click.option(
    "--max-memory",
    type=SHARE,
    default="3%",
    help="Peak memory NEW may need beyond OLD's.",
    show_default=True,
)
@click.option(
    "--max-instructions",
    type=SHARE,
    default="5%",
    help="Instructions NEW may execute beyond OLD's, where the processor counts them.",
    show_default=True,
)
@click.option("--suite", help="Experiments to compare with.  [default: quick]")
@click.option(
    "--input", "source", type=PLACE, metavar="FILE", help="File that each run reads as its standard input."
)
@click.option("--markdown", type=FILE, help="Write a table for a pull request's comment.")
@click.option("--junit", type=FILE, help="Write JUnit XML.")
@click.option("--bencher", type=FILE, help="Write JSON for bencher.dev.")
@taking(HOW)
@click.pass_obj
def gate(
    extra: tuple[Path, ...],
    /,
    old: str,
    new: str,
    program: tuple[str, ...],
    suite: str | None,
    source: Path | None,
    **options: Any,
) -> int:
    """Fail if NEW is worse than OLD beyond a limit; for continuous integration.

    OLD and NEW are libraries, allocators with settings, or commands. Exit status 3 if the whole interval of a
    ratio, in any cell, lies beyond its limit; 0 otherwise, also where figures decide nothing, which is said.

    \b
    Examples:
      heaplab gate ./libold.so ./libnew.so --budget 10s -- ls -l
      heaplab gate glibc 'glibc MALLOC_ARENA_MAX=1' --max-memory 10% --suite quick
      heaplab gate 'sleep 0.1' 'sleep 0.1' --markdown gate.md --budget 10s
    """
    if program and suite is not None:
        raise UsageError("--suite and a program exclude each other")
    catalog = catalogs.load(extra)
    given = [arm_given(catalog, name, text) for name, text in ((OLD, old), (NEW, new))]
    commands = [one for one in given if isinstance(one, GivenCommand)]
    if commands:
        if len(commands) < len(given) or program or suite is not None:
            raise UsageError(
                f"gate: {shlex.join(commands[0].words)!r} is a command, compared with commands alone; "
                "a library has .so in its name, `heaplab list allocators` names the others"
            )
        arms = command_arms.arms_of(commands)
        subject = subject_of_commands(arms, source, options["quiet"])
    else:
        arms = allocator_arms(catalog, [one for one in given if isinstance(one, GivenAllocator)])
        subject = subject_of(catalog, arms, program, suite, source, options["quiet"])
    request = request_of(subject, arms, options)
    campaign, needed = opened_for(request, Path("out") / "gate", options)
    stopped = carry_out(campaign, needed, options)
    limits = analysis.GateLimits(options["max_slower"], options["max_memory"], options["max_instructions"])
    return tell(campaign.store.path, limits, options) or int(bool(stopped))


def arm_given(catalog: Catalog, name: str, text: str) -> GivenAllocator | GivenCommand:
    """What OLD or NEW stands for: a library, an allocator with settings, or else a command."""
    try:
        words = words_of(text)
        if words and (words[0] in catalog.allocator_names() or ".so" in Path(words[0]).name):
            return allocator_of(name, words)
        return command_of(name, words)
    except ValueError as error:
        raise UsageError(f"gate: {text!r}: {error}") from None


def allocator_arms(catalog: Catalog, given: Sequence[GivenAllocator]) -> list[Library]:
    catalog = selection.with_own(catalog, given)
    arms = [selection.arm_of(catalog, one.name) for one in given]
    for arm in arms:
        if arm.void:
            raise UsageError(f"{arm.allocator}: {arm.void}; there is nothing to judge")
    return arms


def tell(path: Path, limits: analysis.GateLimits, options: dict[str, Any]) -> int:
    """Print the verdicts and write what was asked for; return 3 if something is worse than it may be."""
    results = load(path)
    cells = analysis.gate_cells(analysis.Analysis(results), limits)
    command = shlex.join(results.campaign.command)
    outputs: dict[str, Callable[[Path], object]] = {
        "markdown": lambda file: file.write_text(report.as_markdown(cells, command), encoding="utf-8"),
        "junit": lambda file: report.write_junit(cells, file),
        "bencher": lambda file: file.write_text(json.dumps(report.as_bencher(cells), indent=2)),
    }
    for name, write in outputs.items():
        if options[name]:
            write(options[name])
    if options["as_json"]:
        click.echo(json.dumps(report.plain_gate(cells)))
    else:
        report.print_gate(cells, console())
    if any(one.verdict is GateVerdict.WORSE for one in cells):
        return WORSE
    lost = without_figure(results.runs)
    if lost:
        raise HeaplabError(f"{len(lost)} runs gave no figure: {lost[0].allocator}: {lost[0].reason}")
    return 0
