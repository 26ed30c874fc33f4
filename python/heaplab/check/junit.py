"""Outcomes as JUnit XML, which CI services read."""

from pathlib import Path

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from heaplab.check.check_outcomes import CheckVerdict, LibraryReport, Outcome


def write(reports: list[LibraryReport], file: Path) -> None:
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
