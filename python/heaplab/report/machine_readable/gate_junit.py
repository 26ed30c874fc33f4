"""A gate as JUnit XML: one test case for each comparison, skipped if the machine could not tell."""

from collections.abc import Sequence
from pathlib import Path

from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite

from heaplab.analysis import GateCell
from heaplab.report.terminal.gate_output import HEADS, fields
from heaplab.stats import GateVerdict


def write_junit(cells: Sequence[GateCell], path: Path) -> None:
    """Raises OSError."""
    suite = TestSuite("heaplab gate")
    suite.add_testcases([case_of(one) for one in cells])
    document = JUnitXml("heaplab gate")
    document.add_testsuite(suite)
    document.write(str(path), pretty=True)


def case_of(one: GateCell) -> TestCase:
    row = fields(one)
    case = TestCase(f"{row[0]}: {row[1]}", f"heaplab.gate.{one.experiment}")
    said = ", ".join(f"{head} {text}" for head, text in zip(HEADS[2:], row[2:], strict=True))
    if one.verdict is GateVerdict.WORSE:
        case.result = [Failure(said, "worse")]
    elif one.verdict is GateVerdict.COULD_NOT_TELL:
        case.result = [Skipped(said)]
    else:
        case.system_out = said
    return case
