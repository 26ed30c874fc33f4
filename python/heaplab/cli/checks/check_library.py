"""`heaplab check`: does a malloc library keep its contract, also where things go wrong?"""

import datetime
import fnmatch
import functools
import json
import os
import sys
from pathlib import Path

import click

from heaplab.catalog import contents as catalogs, locate
from heaplab.catalog.contents import Catalog
from heaplab.check import check_outcomes, check_summary, deviations, parts, run_tests
from heaplab.cli.benchmarks.selection import note
from heaplab.cli.options.option_types import FILE, OUTPUT_FILE
from heaplab.cli.screen.step_display import StepDisplay
from heaplab.console import console
from heaplab.errors import HeaplabError, UsageError
from heaplab.machine import host
from heaplab.results.records import Arm
from heaplab.version import __version__

TABLE = "deviations.toml"


@click.command()
@click.argument("names", nargs=-1, metavar="LIBRARY|NAME...")
@click.option("--all", "everything", is_flag=True, help="Every allocator of the catalog.")
@click.option(
    "--part",
    "asked",
    multiple=True,
    metavar="PART",
    help=f"Only this part; may be repeated. One of: {', '.join(parts.NAMES)}.",
)
@click.option("--test", "pattern", default="*", metavar="GLOB", help="Only tests with such a name.")
@click.option(
    "--long", is_flag=True, help="Ten times as much, every refusal, and a heap that ages for 30 minutes."
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    default=len(os.sched_getaffinity(0)),
    show_default="one for each CPU",
    help="Tests that run at the same time, 1 to 1024.",
)
@click.option("--deviations", "own", type=FILE, help="A TOML file of what is known of your library.")
@click.option("--junit", "xml", type=OUTPUT_FILE, help="Write JUnit XML.")
@click.option("--json", "as_json", type=OUTPUT_FILE, help="Write the outcomes as JSON.")
@click.pass_obj
def check(
    extra: tuple[Path, ...],
    /,
    names: tuple[str, ...],
    everything: bool,
    asked: tuple[str, ...],
    pattern: str,
    long: bool,
    jobs: int,
    own: Path | None,
    xml: Path | None,
    as_json: Path | None,
) -> None:
    """Put a malloc library under conformance tests and torture.

    LIBRARY is a file such as ./libmine.so, NAME an allocator of the catalog. The exit status is 1 if a test
    fails, and every failure comes with the command that repeats it under gdb.

    \b
    Example:
      heaplab check scalloc --part contract
    """
    catalog = catalogs.load(extra)
    libraries = chosen(catalog, names, everything)
    tables = [own] if own else []
    tables += [table for folder in catalogs.folders(extra) if (table := folder / TABLE).is_file()]
    rows = [row for table in reversed(tables) for row in known_rows(table)]
    tests = tests_asked(asked, pattern, long)
    began = datetime.datetime.now(datetime.UTC)
    reports = []
    for library in libraries:
        known = deviations.of_library(rows, library.allocator)
        with StepDisplay(f"check {library.allocator}") as steps:
            steps.tell(f"{len(tests)} tests")
            tick = functools.partial(tell_failure, steps)
            reports.append(run_tests.run_all(library, tests, known, long=long, jobs=jobs, tick=tick))
        check_summary.put_report(console(), reports[-1])
    if len(reports) > 1:
        check_summary.put_all(console(), reports)
    if xml:
        check_summary.write_junit(reports, xml)
    if as_json:
        content = {
            "schema_version": 1,
            "heaplab": __version__,
            "started": began.isoformat(timespec="seconds"),
            "command": sys.argv,
            "host": host.facts(),
            "libraries": [report.model_dump(mode="json") for report in reports],
        }
        as_json.write_text(json.dumps(content, indent=2) + "\n")
    bad = sum(outcome.bad for report in reports for outcome in report.outcomes)
    if bad:
        count = sum(len(report.outcomes) for report in reports)
        raise HeaplabError(
            f"check: {bad} of {count} tests failed; what is to stay so goes into a file for --deviations"
        )


def tell_failure(steps: StepDisplay, outcome: check_outcomes.Outcome) -> None:
    """Say at once that a test failed: others may hang for minutes."""
    if outcome.bad:
        first = next(iter(outcome.message.splitlines()), "")
        steps.note(f"{outcome.verdict} {outcome.test}: {first}")


def chosen(catalog: Catalog, names: tuple[str, ...], everything: bool) -> list[Arm]:
    """The libraries asked for; with --all every allocator of the catalog that is on this machine."""
    if everything == bool(names):
        raise UsageError("check: name libraries or allocators, or give --all")
    if not everything:
        return [library_of(catalog, name) for name in names]
    found = []
    for name in catalog.allocator_names():
        try:
            found.append(locate.locate(catalog, name))
        except locate.NotHereError as error:
            note(f"left out {error}")
    return found


def library_of(catalog: Catalog, name: str) -> Arm:
    """A library file if the name has a slash or `.so`, or else an allocator of the catalog."""
    if "/" not in name and ".so" not in name:
        return locate.locate(catalog, name)
    path = Path(name)
    short = path.name.partition(".so")[0]
    if not short or short in catalog.allocator_names():
        short = str(path)
    return locate.locate(catalog.with_library(short, path), short)


def known_rows(table: Path) -> list[deviations.Deviation]:
    rows = deviations.read(table)
    every = {test.name for part in parts.PARTS for test in parts.tests_of(part, long=True)}
    deviations.check_names(rows, every, table)
    return rows


def tests_asked(asked: tuple[str, ...], pattern: str, long: bool) -> list[parts.Test]:
    if unknown := [name for name in asked if name not in parts.NAMES]:
        raise UsageError(f"--part: no part {unknown[0]!r}; known: {', '.join(parts.NAMES)}")
    tests = [
        test
        for part in parts.PARTS
        if not asked or part.name in asked
        for test in parts.tests_of(part, long)
        if fnmatch.fnmatchcase(test.name, pattern)
    ]
    if not tests:
        raise UsageError(f"--test: no test is named {pattern!r}")
    return tests
