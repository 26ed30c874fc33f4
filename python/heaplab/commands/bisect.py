"""`heaplab bisect`: the first worse commit."""

from pathlib import Path
from typing import Any

import click

from heaplab.bisect.work import Work
from heaplab.options.gate_options import LIMITS
from heaplab.options.given_options import GateOptions
from heaplab.options.measuring_options import HOW_ELSE, taking
from heaplab.options.option_types import DURATION, FOLDER
from heaplab.options.program_command import ProgramCommand


@click.command(cls=ProgramCommand)
@click.argument("commits", metavar="OLD..NEW")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[-- PROGRAM [ARGS]...]")
@click.option(
    "--build", required=True, metavar="COMMAND", help="Shell command that builds a commit in its tree."
)
@click.option(
    "--library",
    metavar="FILE",
    help="The malloc library that a build leaves, within the tree.  [default: PROGRAM is what is built]",
)
@click.option("--all", "every", is_flag=True, help="Find every commit whose own step is above the limit.")
@click.option("--repository", type=FOLDER, default=".", metavar="DIR", help="Repository of the commits.")
@taking(LIMITS)
@click.option(
    "--budget",
    type=DURATION,
    default="1m",
    help="Stop measuring a commit after this time; one that could not be told goes on, up to four times as "
    "long.",
)
@taking(HOW_ELSE)
@click.pass_obj
def bisect(
    extra: tuple[Path, ...],
    /,
    commits: str,
    program: tuple[str, ...],
    build: str,
    library: str | None,
    repository: Path,
    every: bool,
    **options: Any,
) -> int:
    """Find the first commit of OLD..NEW that is worse than OLD beyond a limit.

    Worse is what `heaplab gate` calls so; a commit comes with its share of what NEW is worse by. Each
    commit is built once, in a working tree of its own. PROGRAM is a path within that tree, and {tree} in
    its words stands for the tree; with --library PROGRAM, or else the suite, runs under the library of
    each commit. Commits that do not build are passed over. With --all each half that ends worse than it
    begins is halved. The same command goes on where it was interrupted. Exit status 0: the commit is
    named, or NEW is not worse; 4: this machine could not tell, or only between which commits it is; 1:
    OLD or NEW cannot be judged; 2: wrong usage.

    \b
    Examples:
      heaplab bisect v1..HEAD --build 'cc -o tool tool.c' --instructions only-callgrind -- ./tool
      heaplab bisect v1..HEAD --build make --library libmine.so --budget 10s -- ls -l
    """
    from heaplab.bisect import run_bisect

    asked = GateOptions(**options)
    work = Work(program, library, asked.suite, asked.source, asked.instructions)
    return run_bisect.bisect(extra, repository, commits, build, work, asked, every=every)
