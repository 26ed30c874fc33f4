"""Outcomes as tables for people, and as JUnit XML, which CI services read."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite
from rich.console import Console
from rich.markup import escape

from heaplab.check.check_outcomes import CheckVerdict, LibraryReport, Outcome
from heaplab.screen.console import Column, put, put_command, put_table

HEADS = {
    "passed": (CheckVerdict.PASSED,),
    "failed": (CheckVerdict.FAILED, CheckVerdict.MENDED),
    "crashed": (CheckVerdict.CRASHED,),
    "hung": (CheckVerdict.HUNG,),
    "deviates": (CheckVerdict.DEVIATES, CheckVerdict.LEFT_OUT),
    "absent": (CheckVerdict.ABSENT,),
    "skipped": (CheckVerdict.SKIPPED,),
}
INDENT = 2


def put_report(out: Console, report: LibraryReport) -> None:
    """Print the counts of a library by part, what failed and how to repeat it, and what was observed."""
    library = report.library
    put(out, f"[bold]{escape(library.allocator)}[/] {escape(library.version)}: {escape(verdict_of(report))}")
    parts = list(dict.fromkeys(outcome.part for outcome in report.outcomes))
    counts = [Counter(outcome.verdict for outcome in report.of_part(part)) for part in parts]
    columns = [Column("part", parts)]
    for head, kinds in HEADS.items():
        numbers = [sum(count[kind] for kind in kinds) for count in counts]
        columns.append(Column(head, [str(number or "") for number in numbers], right=True))
    put_table(out, columns)
    for outcome in report.outcomes:
        if outcome.bad:
            put(out, f"[bold red]{outcome.verdict}[/] {outcome.test}")
            for line in outcome.message.splitlines():
                put(out, escape(line), indent=INDENT)
            put_command(out, escape(outcome.repeat), INDENT)
    absent = [outcome for outcome in report.outcomes if outcome.verdict is CheckVerdict.ABSENT]
    if names := sorted({name for outcome in absent for name in outcome.message.split()}):
        put(out, f"[bold]absent[/], served by other libraries or by none: {escape(', '.join(names))}")
    if observed := [outcome for outcome in report.outcomes if outcome.says]:
        says = [escape(outcome.says) for outcome in observed]
        tests = [outcome.test for outcome in observed]
        put_table(out, [Column("observed", tests), Column("", says, prose=True)])
    out.print()


def put_all(out: Console, reports: Sequence[LibraryReport]) -> None:
    """Print one row for each library: its parts, and the number of faults in each."""
    parts = list(dict.fromkeys(outcome.part for report in reports for outcome in report.outcomes))
    columns = [Column("faults", [escape(report.library.allocator) for report in reports])]
    for part in parts:
        columns.append(Column(part, [faults_of(report.of_part(part)) for report in reports], right=True))
    put_table(out, columns)


def faults_of(outcomes: Sequence[Outcome]) -> str:
    """The number of faults, known ones behind a plus; a dash if nothing was run."""
    apart = (CheckVerdict.SKIPPED, CheckVerdict.ABSENT)
    ran = [outcome for outcome in outcomes if outcome.verdict not in apart]
    bad = sum(outcome.bad for outcome in ran)
    known = sum(outcome.verdict in (CheckVerdict.DEVIATES, CheckVerdict.LEFT_OUT) for outcome in ran)
    if not ran:
        return "-"
    return f"{bad}+{known}" if known else str(bad)


def verdict_of(report: LibraryReport) -> str:
    bad = sum(outcome.bad for outcome in report.outcomes)
    known = sum(outcome.verdict is CheckVerdict.DEVIATES for outcome in report.outcomes)
    if bad:
        return f"{bad} of {len(report.outcomes)} tests failed"
    more = f", {known} of them known deviations" if known else ""
    return f"all {len(report.outcomes)} tests as expected{more}"


def write_junit(reports: list[LibraryReport], file: Path) -> None:
    """Write a test suite for each library. Raises OSError."""
    document = JUnitXml("heaplab check")
    for report in reports:
        suite = TestSuite(report.library.allocator)
        suite.add_testcases([case_of(report.library.allocator, outcome) for outcome in report.outcomes])
        document.add_testsuite(suite)
    document.write(str(file), pretty=True)


def case_of(library: str, outcome: Outcome) -> TestCase:
    case = TestCase(outcome.test, f"{library}.{outcome.part}", round(outcome.time, 3))
    lines = outcome.message.splitlines() or [""]
    if outcome.bad:
        kind = Failure if outcome.verdict in (CheckVerdict.FAILED, CheckVerdict.MENDED) else Error
        result = kind(lines[0], outcome.verdict)
        result.text = f"{outcome.message}\n{outcome.repeat}\n"
        case.result = [result]
    elif outcome.verdict is not CheckVerdict.PASSED:
        case.result = [Skipped(f"{outcome.verdict}: {lines[0]}")]
    if outcome.says:
        case.system_out = outcome.says
    return case
