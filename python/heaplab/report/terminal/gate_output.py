"""The output of a gate: a table for a terminal or a pull request, JUnit XML, the JSON that bencher.dev reads.

The format of bencher.dev ("Bencher Metric Format"): for each benchmark and measure a value, with bounds if
known.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite
from rich.console import Console
from rich.markup import escape

from heaplab.analysis import Gate, GateCell, GateOutcome
from heaplab.report.tables.metric_tables import cell_name
from heaplab.report.words import beyond_malloc
from heaplab.screen.console import Column, put, put_table
from heaplab.stats import LEVEL, GateVerdict, finite
from heaplab.text import markdown, units

ORDER = (GateVerdict.WORSE, GateVerdict.COULD_NOT_TELL, GateVerdict.NOT_WORSE, GateVerdict.NOT_JUDGED)
TONES = {
    GateOutcome.WORSE: "red",
    GateOutcome.FAILED: "red",
    GateOutcome.COULD_NOT_TELL: "yellow",
    GateOutcome.NOT_WORSE: "green",
}
NANOSECONDS = 1e9
HEADS = ("cell", "metric", "new to old", LEVEL, "old to old", "may be", "verdict")


def headline(gate: Gate) -> str:
    """The outcome of the gate, and why it is not sure if malloc explains too little of the memory."""
    return " ".join(filter(None, (outcome_line(gate), beyond_malloc.not_sure(gate.coverage))))


def outcome_line(gate: Gate) -> str:
    """The outcome of the gate, and how many comparisons lead to it."""
    cells, asked = gate.cells, units.counted(len(gate.cells), "comparison")
    if gate.outcome is GateOutcome.FAILED:
        return f"FAILED: {gate.why_failed}."
    if worse := sum(cell.verdict is GateVerdict.WORSE for cell in cells):
        return f"WORSE: {worse} of {asked} {'is' if worse == 1 else 'are'} beyond the limit."
    if silent := sum(cell.is_silent for cell in cells):
        which = "any" if silent == len(cells) else f"{silent}"
        return f"COULD NOT TELL {which} of {asked}: this machine shows too little for the limit."
    return f"NOT WORSE: all of {asked} are within the limit."


def ordered_cells(cells: Sequence[GateCell]) -> list[GateCell]:
    """The cells, the worst first."""
    return sorted(cells, key=lambda cell: (ORDER.index(cell.verdict), -cell.ratio.estimate))


def rows_of(gate: Gate) -> list[GateCell]:
    """All that a table shows: the cells, the worst first, then what stands beside them."""
    return ordered_cells([*gate.cells, *gate.beside])


def fields(gate_cell: GateCell) -> tuple[str, ...]:
    """One row, in the order of HEADS, with as many digits as its limit needs."""
    verdict = f"{gate_cell.verdict}: {gate_cell.why}" if gate_cell.why else str(gate_cell.verdict)
    places = units.places_for(gate_cell.limit)
    return (
        f"{gate_cell.experiment} {cell_name(gate_cell.cell) if gate_cell.cell else ''}".strip(),
        gate_cell.about.title,
        units.ratio(gate_cell.ratio.estimate, places),
        units.bounds(gate_cell.ratio, places),
        units.bounds(gate_cell.control, places),
        units.ratio(1 + gate_cell.limit, places),
        verdict,
    )


def print_gate(gate: Gate, console: Console) -> None:
    put(console, f"[bold {TONES[gate.outcome]}]{escape(headline(gate))}[/]")
    if not gate.cells:
        return
    columns = zip(HEADS, zip(*map(fields, rows_of(gate)), strict=True), strict=True)
    put_table(console, [Column(head, [escape(text) for text in texts]) for head, texts in columns])
    for line in sentences(gate):
        put(console, escape(line))


def sentences(gate: Gate) -> list[str]:
    """What stands below a table."""
    return [*(f"{line}." for line in beyond_malloc.sentences(gate.coverage)), *gate.remarks]


def as_markdown(gate: Gate, command: str) -> str:
    """A table for a comment on a pull request."""
    table = markdown.table(HEADS, list(map(fields, rows_of(gate))))
    note = (
        f"Ratios with {LEVEL} intervals, paired by block, of counts under callgrind with the range of all "
        "runs. Where OLD differs from itself by more than the limit, this machine could not tell."
    )
    note = " ".join([note, *sentences(gate)])
    return "\n".join([f"**heaplab gate: {headline(gate)}**", "", table, note, "", f"`{command}`", ""])


def write_junit(gate: Gate, path: Path) -> None:
    """Write a test case for each comparison, skipped if the machine could not tell, and one for the runs.

    Raises OSError.
    """
    suite = TestSuite("heaplab gate")
    suite.add_testcases([*map(case_of, gate.cells), case_of_runs(gate)])
    document = JUnitXml("heaplab gate")
    document.add_testsuite(suite)
    document.write(str(path), pretty=True)


def case_of_runs(gate: Gate) -> TestCase:
    case = TestCase("every run gave a figure", "heaplab.gate.runs")
    if gate.why_failed:
        case.result = [Error(gate.why_failed, "failed")]
    return case


def case_of(gate_cell: GateCell) -> TestCase:
    row = fields(gate_cell)
    case = TestCase(f"{row[0]}: {row[1]}", f"heaplab.gate.{gate_cell.experiment}")
    said = ", ".join(f"{head} {text}" for head, text in zip(HEADS[2:], row[2:], strict=True))
    if gate_cell.verdict is GateVerdict.WORSE:
        case.result = [Failure(said, "worse")]
    elif gate_cell.verdict is GateVerdict.COULD_NOT_TELL:
        case.result = [Skipped(said)]
    else:
        case.system_out = said
    return case


def as_bencher(gate: Gate) -> dict[str, Any]:
    """The ratios NEW to OLD, which hold on any machine, and the medians of NEW on this machine."""
    measures_of: dict[str, Any] = {}
    for cell in gate.cells:
        if cell.ratio.estimate == cell.ratio.estimate:  # not NaN
            measures = measures_of.setdefault(fields(cell)[0], {})
            measures[f"{cell.measure}-ratio"] = metric_of(cell, 1, ratio=True)
            if cell.about.unit == "s":
                measures["latency"] = metric_of(cell, NANOSECONDS, ratio=False)
            elif not cell.is_time:
                measures[cell.measure] = metric_of(cell, 1, ratio=False)
    return measures_of


def metric_of(gate_cell: GateCell, factor: float, *, ratio: bool) -> dict[str, float]:
    interval = gate_cell.ratio if ratio else gate_cell.median
    fields_of = {"value": interval.estimate * factor}
    if interval.bounded:
        fields_of |= {"lower_value": interval.low * factor, "upper_value": interval.high * factor}
    return fields_of


def plain_gate(gate: Gate) -> dict[str, Any]:
    return {
        "schema": 1,
        "failed": gate.outcome in (GateOutcome.WORSE, GateOutcome.FAILED),
        "outcome": str(gate.outcome),
        "says": headline(gate),
        "remarks": list(gate.remarks),
        "covers": [coverage.model_dump() for coverage in gate.coverage],
        "cells": list(map(plain_cell, ordered_cells(gate.cells))),
        "beside": list(map(plain_cell, gate.beside)),
    }


def plain_cell(gate_cell: GateCell) -> dict[str, Any]:
    return {
        "experiment": gate_cell.experiment,
        "cell": dict(gate_cell.cell),
        "metric": gate_cell.metric,
        "measure": gate_cell.measure,
        "unit": gate_cell.about.unit,
        "ratio": finite(gate_cell.ratio.estimate),
        "low": gate_cell.ratio.low if gate_cell.ratio.bounded else None,
        "high": gate_cell.ratio.high if gate_cell.ratio.bounded else None,
        "pairs": gate_cell.ratio.count,
        "limit": finite(gate_cell.limit),
        "noise_floor": finite(gate_cell.noise_floor),
        "verdict": str(gate_cell.verdict),
        "why": gate_cell.why,
    }
