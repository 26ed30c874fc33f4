"""The summary of a campaign on a terminal, and the same as plain data."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from heaplab.analysis import MEMORY_ONLY, TIME_ONLY, Analysis, Judged, Standing, Worst, worst_cells
from heaplab.claims import ClaimOutcome, ClaimResult
from heaplab.report import cells, units, words
from heaplab.report.advice import answer
from heaplab.report.choice import choices
from heaplab.report.crossing import crossings, means
from heaplab.stats import Interval, Why

TONES = {"good": "green", "bad": "red", "same": "default", "open": "yellow"}
RESULTS = {ClaimResult.HOLDS: "green", ClaimResult.FAILS: "red", ClaimResult.OPEN: "yellow"}


def print_summary(analysis: Analysis, console: Console) -> None:
    """Verdict lines and a table for each kind of workload, then what gave no figure."""
    for kind, title in words.KINDS.items():
        if not analysis.summarised(kind) or analysis.only_within:
            continue
        standings = analysis.standings(kind)
        console.print(f"\n[bold]{title.capitalize()}[/]")
        found = answer(analysis, kind, standings)
        console.print(f"[bold]{escape(found.advice)}[/]")
        for leader in found.leaders:
            names = "undecided" if leader.open else words.listed(leader.names)
            console.print(f"  {leader.title + ':':<16}{escape(names)}, {escape(leader.text)}")
        for note in found.notes:
            console.print(escape(note))
        console.print(_table(analysis, kind, standings))
    for found in choices(analysis):
        console.print(f"\n[bold]Which {found.what} when, under {escape(found.under)}[/]")
        for sentence in (*found.sentences, *found.experiments):
            console.print(escape(sentence))
        if found.families:
            console.print(_plain_table(found.families))
    for crossed in crossings(analysis):
        console.print(f"\n{escape(crossed.experiment)}: {escape(crossed.sentence)}")
    if not any(analysis.summarised(kind) for kind in words.KINDS) and not analysis.comparisons:
        console.print("No run ended well: there is nothing to compare.")
    _print_faults(analysis, console)


def _plain_table(content: cells.Table) -> Table:
    table = Table(caption=content.caption, caption_justify="left")
    for column in (content.corner, *content.columns):
        table.add_column(column)
    for name, entries in content.rows:
        texts = [f"{e.text} ({e.small})" if e.small else e.text for e in entries]
        table.add_row(escape(name), *map(escape, texts))
    return table


def _print_faults(analysis: Analysis, console: Console) -> None:
    total = sum(analysis.counts().values())
    repeated = {run.order for run in analysis.repeated}
    lost = [run for run in analysis.without_figure if run.order not in repeated]
    if repeated or analysis.disturbed:
        stand = f"; {n} count although they were disturbed" if (n := len(analysis.disturbed)) else ""
        console.print(f"\n{len(repeated)} of {total} runs were disturbed by others and repeated{stand}.")
    if lost:
        console.print(f"\n{len(lost)} of {total} runs gave no figure:")
    for reason in sorted({f"{run.allocator}, {run.experiment}: {run.reason}" for run in lost}):
        console.print(f"  {escape(reason)}")


def _table(analysis: Analysis, kind: str, standings: list[Standing]) -> Table:
    table = Table(
        caption=f"Relative to {analysis.baseline}, geometric means with 95 % intervals. "
        f"Peak memory counts page tables. {words.noise(analysis, kind)}",
        caption_justify="left",
    )
    for column in ("allocator", "time", "", "peak memory", "", "page faults", "cells", "at worst"):
        table.add_column(column, justify="left" if column in ("allocator", "") else "right")
    worst = worst_cells(analysis, kind)
    memory = "1" if analysis.shows_memory(kind) else units.NOTHING
    table.add_row(analysis.baseline, "1", "", memory, "", "1", "", _worst(worst.get(analysis.baseline)))
    for standing in sorted(standings, key=lambda s: (not s.complete, s.time.ratio.estimate)):
        table.add_row(
            standing.allocator,
            *_judged(standing.time, words.TIME),
            *_judged(standing.memory, words.MEMORY),
            units.ratio(standing.faults.estimate),
            f"{standing.cells}/{standing.cells_of}",
            _worst(worst.get(standing.allocator)),
        )
    return table


def _worst(found: Worst | None) -> str:
    """The largest ratio of the main metric to the best allocator's in the same cell, and where."""
    return "" if found is None else f"{units.ratio(found.ratio)} {escape(found.experiment)}"


def _judged(judged: Judged, metric: Any) -> tuple[str, str]:
    color = TONES[words.tone(judged, metric)]
    return words.ratio(judged), f"[{color}]{words.verdict_with_reason(judged, metric)}[/]"


def print_claims(outcomes: Sequence[ClaimOutcome], console: Console) -> None:
    """Every claim with what the figures say of it."""
    if not outcomes:
        console.print("No experiment in these results makes a claim that can be tested.")
    for outcome in outcomes:
        color = RESULTS[outcome.result]
        console.print(f"[{color}]{outcome.result}[/]  {escape(outcome.experiment)}: {escape(outcome.says)}")
        console.print(f"    {escape(outcome.figures)}", style="dim")


def as_plain(analysis: Analysis) -> dict[str, Any]:
    """The summary as JSON can hold it; what is unknown is null."""
    return {
        "schema": 1,
        "campaign": analysis.campaign.id,
        "baseline": analysis.baseline,
        "runs": {str(status): count for status, count in analysis.counts().items()},
        "summaries": {
            kind: {
                "advice": answer(analysis, kind, analysis.standings(kind)).advice,
                "noise_floor": {
                    "time": plain(analysis.noise_floor(kind, TIME_ONLY)),
                    "memory": plain(analysis.noise_floor(kind, MEMORY_ONLY)),
                },
                "allocators": {
                    standing.allocator: {
                        "time": plain_judged(standing.time, words.TIME),
                        "memory": plain_judged(standing.memory, words.MEMORY),
                        "page_faults": plain(standing.faults),
                        "cells": standing.cells,
                        "cells_of": standing.cells_of,
                    }
                    for standing in analysis.standings(kind)
                },
                "worst": {
                    name: {
                        "ratio": it.ratio,
                        "experiment": it.experiment,
                        "cell": dict(it.cell),
                        "best": it.best,
                    }
                    for name, it in worst_cells(analysis, kind).items()
                },
            }
            for kind in words.KINDS
            if analysis.summarised(kind)
        },
        "comparisons": [
            {
                "experiment": study.experiment.id,
                "under": study.under,
                "reference": study.baseline,
                study.axis: {name: plain_judged(j, words.TIME) for name, j in means(study).items()},
            }
            for study in analysis.comparisons
        ],
    }


def plain(interval: Interval) -> dict[str, float | int | None]:
    numbers = {"ratio": interval.estimate, "low": interval.low, "high": interval.high}
    known = {name: value if isfinite(value) else None for name, value in numbers.items()}
    if not interval.bounded:
        known["low"] = None
    return {**known, "pairs": interval.count}


def plain_judged(judged: Judged, metric: Any) -> dict[str, Any]:
    found = {**plain(judged.ratio), "verdict": None, "threshold": judged.threshold, "why": words.why(judged)}
    return found if judged.why is Why.NO_FIGURE else found | {"verdict": words.verdict(judged, metric)}
