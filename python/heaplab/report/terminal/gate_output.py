"""The output of a gate: a table for a terminal or a pull request, JUnit XML, the JSON that bencher.dev reads.

The format of bencher.dev ("Bencher Metric Format"): for each benchmark and measure a value, with bounds if
known.
"""

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite
from rich.console import Console
from rich.markup import escape

from heaplab.analysis import INSTRUCTIONS, MEMORY, Gate, GateCell, GateOutcome
from heaplab.console import Column, put, put_table
from heaplab.report.tables.metric_tables import cell_name
from heaplab.report.words import beyond_malloc
from heaplab.stats import LEVEL, GateVerdict
from heaplab.text import markdown, units

ORDER = (GateVerdict.WORSE, GateVerdict.COULD_NOT_TELL, GateVerdict.NOT_WORSE)
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
    if worse := sum(one.verdict is GateVerdict.WORSE for one in cells):
        return f"WORSE: {worse} of {asked} {'is' if worse == 1 else 'are'} beyond the limit."
    if silent := sum(one.is_silent for one in cells):
        which = "any" if silent == len(cells) else f"{silent}"
        return f"COULD NOT TELL {which} of {asked}: this machine shows too little for the limit."
    return f"NOT WORSE: all of {asked} are within the limit."


def ordered_cells(cells: Sequence[GateCell]) -> list[GateCell]:
    """The cells, the worst first."""
    return sorted(cells, key=lambda one: (ORDER.index(one.verdict), -one.ratio.estimate))


def fields(one: GateCell) -> tuple[str, ...]:
    """One row, in the order of HEADS."""
    verdict = f"{one.verdict}: {one.why}" if one.why else str(one.verdict)
    return (
        f"{one.experiment} {cell_name(one.cell) if one.cell else ''}".strip(),
        one.about.title,
        units.ratio(one.ratio.estimate),
        units.bounds(one.ratio),
        units.bounds(one.control),
        units.ratio(1 + one.limit),
        verdict,
    )


def print_gate(gate: Gate, console: Console) -> None:
    put(console, f"[bold {TONES[gate.outcome]}]{escape(headline(gate))}[/]")
    if not gate.cells:
        return
    columns = zip(HEADS, zip(*map(fields, ordered_cells(gate.cells)), strict=True), strict=True)
    put_table(console, [Column(head, [escape(text) for text in texts]) for head, texts in columns])
    for line in beyond_malloc.sentences(gate.coverage):
        put(console, escape(f"{line}."))


def as_markdown(gate: Gate, command: str) -> str:
    """A table for a comment on a pull request."""
    table = markdown.table(HEADS, [fields(one) for one in ordered_cells(gate.cells)])
    note = (
        f"Ratios with {LEVEL} intervals, paired by block, of counts under callgrind with the range of all "
        "runs. Where OLD differs from itself by more than the limit, this machine could not tell."
    )
    note = " ".join([note, *(f"{line}." for line in beyond_malloc.sentences(gate.coverage))])
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


def as_bencher(gate: Gate) -> dict[str, Any]:
    """The ratios NEW to OLD, which hold on any machine, and the medians of NEW on this machine."""
    found: dict[str, Any] = {}
    for one in gate.cells:
        if one.ratio.estimate == one.ratio.estimate:  # not NaN
            measures = found.setdefault(fields(one)[0], {})
            measures[f"{measure_of(one)}-ratio"] = metric_of(one, 1, ratio=True)
            if one.about.unit == "s":
                measures["latency"] = metric_of(one, NANOSECONDS, ratio=False)
            elif one.metric in (MEMORY, INSTRUCTIONS):
                measures[measure_of(one)] = metric_of(one, 1, ratio=False)
    return found


def measure_of(one: GateCell) -> str:
    return {MEMORY: "memory", INSTRUCTIONS: "instructions"}.get(one.metric, "time")


def metric_of(one: GateCell, factor: float, *, ratio: bool) -> dict[str, float]:
    interval = one.ratio if ratio else one.median
    found = {"value": interval.estimate * factor}
    if interval.bounded:
        found |= {"lower_value": interval.low * factor, "upper_value": interval.high * factor}
    return found


def plain_gate(gate: Gate) -> dict[str, Any]:
    return {
        "schema": 1,
        "failed": gate.outcome in (GateOutcome.WORSE, GateOutcome.FAILED),
        "outcome": str(gate.outcome),
        "says": headline(gate),
        "covers": [one.model_dump() for one in gate.coverage],
        "cells": [plain_cell(one) for one in ordered_cells(gate.cells)],
    }


def plain_cell(one: GateCell) -> dict[str, Any]:
    return {
        "experiment": one.experiment,
        "cell": dict(one.cell),
        "metric": one.metric,
        "measure": measure_of(one),
        "unit": one.about.unit,
        "ratio": one.ratio.estimate if one.ratio.estimate == one.ratio.estimate else None,
        "low": one.ratio.low if one.ratio.bounded else None,
        "high": one.ratio.high if one.ratio.bounded else None,
        "pairs": one.ratio.count,
        "limit": one.limit,
        "noise_floor": one.noise_floor if isfinite(one.noise_floor) else None,
        "verdict": str(one.verdict),
        "why": one.why,
    }
