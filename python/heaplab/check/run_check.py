"""What `heaplab check` does: the tests on each library, and their outcomes in files."""

import datetime
import fnmatch
import functools
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from heaplab import __version__
from heaplab.catalog import contents as catalogs, locate
from heaplab.catalog.contents import Catalog
from heaplab.check import check_outcomes, check_summary, deviations, parts, run_tests
from heaplab.errors import HeaplabError, UsageError
from heaplab.machine import host, interposition
from heaplab.results.records import Arm
from heaplab.screen.console import console
from heaplab.screen.notes import note
from heaplab.screen.step_display import StepDisplay

TABLE = "deviations.toml"


@dataclass(frozen=True)
class CheckOptions:
    """Which libraries are tested, by which tests, and what is written."""

    names: tuple[str, ...]
    everything: bool
    asked: tuple[str, ...]  # parts
    pattern: str  # of the names of tests
    long: bool
    jobs: int
    own: Path | None  # what is known of the user's library
    xml: Path | None
    as_json: Path | None


def check(extra: tuple[Path, ...], options: CheckOptions) -> None:
    """Test the libraries. Raises HeaplabError if a test fails."""
    catalog = catalogs.load(extra)
    libraries = chosen(catalog, options.names, options.everything)
    tables = [options.own] if options.own else []
    tables += [table for folder in catalogs.folders(extra) if (table := folder / TABLE).is_file()]
    rows = [row for table in reversed(tables) for row in known_rows(table)]
    tests = tests_asked(options.asked, options.pattern, options.long)
    began = datetime.datetime.now(datetime.UTC)
    reports = []
    for library in libraries:
        known = deviations.of_library(rows, library.allocator)
        with StepDisplay(f"check {library.allocator}") as steps:
            steps.tell(f"{len(tests)} tests")
            tick = functools.partial(tell_failure, steps)
            reports.append(
                run_tests.run_all(library, tests, known, long=options.long, jobs=options.jobs, tick=tick)
            )
        check_summary.put_report(console(), reports[-1])
    if len(reports) > 1:
        check_summary.put_all(console(), reports)
    if options.xml:
        check_summary.write_junit(reports, options.xml)
    if options.as_json:
        content = {
            "schema_version": 1,
            "heaplab": __version__,
            "started": began.isoformat(timespec="seconds"),
            "command": sys.argv,
            "host": host.facts(),
            "libraries": [report.model_dump(mode="json") for report in reports],
        }
        options.as_json.write_text(json.dumps(content, indent=2) + "\n")
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
    arms = []
    for name in catalog.allocator_names():
        try:
            arms += [arm for arm in [locate.locate(catalog, name)] if not arm.runtime]
        except locate.NotHereError as error:
            note(f"left out {error}")
    return arms


def library_of(catalog: Catalog, name: str) -> Arm:
    """A library file if the name has a slash or `.so`, or else an allocator of the catalog."""
    if "/" not in name and ".so" not in name:
        return interposition.preloaded(locate.locate(catalog, name))
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
