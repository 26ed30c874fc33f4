"""Outcomes as tables for people."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from heaplab.check.check_outcomes import CheckVerdict, LibraryReport, Outcome
from heaplab.console import Column, put, put_command, put_table

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
            put_failure(out, outcome)
    put_absent(out, report)
    put_observations(out, [outcome for outcome in report.outcomes if outcome.says])
    out.print()


def put_failure(out: Console, outcome: Outcome) -> None:
    put(out, f"[bold red]{outcome.verdict}[/] {outcome.test}")
    for line in outcome.message.splitlines():
        put(out, escape(line), indent=INDENT)
    put_command(out, escape(outcome.repeat), INDENT)


def put_absent(out: Console, report: LibraryReport) -> None:
    """Print one line about all optional functions that the library lacks."""
    absent = [outcome for outcome in report.outcomes if outcome.verdict is CheckVerdict.ABSENT]
    names = sorted({name for outcome in absent for name in outcome.message.split()})
    if names:
        put(out, f"[bold]absent[/], served by other libraries or by none: {escape(', '.join(names))}")


def put_observations(out: Console, observed: Sequence[Outcome]) -> None:
    if observed:
        put_table(
            out,
            [
                Column("observed", [outcome.test for outcome in observed]),
                Column("", [escape(outcome.says) for outcome in observed], prose=True),
            ],
        )


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
    words = (
        f"{bad} of {len(report.outcomes)} tests failed"
        if bad
        else f"all {len(report.outcomes)} tests as expected"
    )
    return f"{words}, {known} of them known deviations" if known and not bad else words
