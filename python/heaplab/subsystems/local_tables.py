"""Judgements of subsystems in sentences, tables and JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape

from heaplab.advise.other_ways import Amounts
from heaplab.report.tables.table_parts import Entry, Table, print_table
from heaplab.screen.console import put
from heaplab.subsystems.benchmarks import Corners
from heaplab.subsystems.calibration import Told
from heaplab.subsystems.judgement import Judgement
from heaplab.subsystems.resources import Resource
from heaplab.subsystems.vetoes import LocalKind, winks_out
from heaplab.text import units

LABEL = 10  # columns
LETTERS = ("D", "V", "L", "U", "C")
NOTHING_FOUND = "no subsystem is worth a look"
TIMES = {"II": " for accesses", "V": ", as the others in an aged heap"}
BEYOND = (
    "Promised is the range of what I, III, IV and V save of the time of its calls, wider by the most that "
    "one of their forms lies outside the range of the others; with II also of the rest of the time in its "
    "episodes. The time of its calls is the cap."
)
NOTES = (
    "D density of allocation, V variation of sizes, L locality, U utilization, C contention, from 0 to 1 "
    "(P0089, section 5); then those of Benchmarks I to V.",
)


def print_judgements(
    judged: Sequence[Judgement], used: Sequence[Resource], corners: Corners, console: Console
) -> None:
    """A sentence for each subsystem with its vetoes, the faults of resources in use, then the tables."""
    if not judged:
        put(console, NOTHING_FOUND)
    for judgement in judged:
        put(console, f"[bold]{escape(sentence(judgement))}[/]")
        for veto in judgement.vetoes:
            put(console, escape(veto_line(veto)), label="veto", indent=LABEL)
    for resource in used:
        put(console, f"[bold]{escape(resource.sentence)}[/]")
    for table in tables(judged, corners) if judged else ():
        put(console, "")
        print_table(table, console)


def tables(judged: Sequence[Judgement], corners: Corners) -> list[Table]:
    calibrated = [told(judged), gains(judged)] if any(j.confirmed for j in judged) else []
    return [dimensions(judged, corners), episodes(judged), *calibrated]


def sentence(judgement: Judgement) -> str:
    advice, of = judgement.advice, judgement.measured.of
    if advice is LocalKind.NONE:
        return f"{judgement.name}: no change" + (f"; {judgement.why_not}" if judgement.why_not else "")
    first = judgement.confirmed[0]
    chunk = f", first chunk {units.show(of.typical_bytes, 'B')}" if advice is LocalKind.MONOTONIC else ""
    wink = ", winking out" if winks_out(judgement.measured, advice) else ""
    gain = shown(judgement, first.seconds) + (" of its time" if judgement.measured.run_s else "")
    return f"{judgement.name}: {advice.words}{chunk}{wink}; replays under {first.allocator} gain {gain}"


def veto_line(veto: Any) -> str:
    kinds = sorted(strategy.words for strategy in veto.forbids)
    return f"{veto.why}: no {', no '.join(kinds)}" if len(kinds) < 3 else f"{veto.why}: no local allocator"


def shown(judgement: Judgement, seconds: tuple[float, ...]) -> str:
    """The least and the most of a gain, as shares of the program's time where that is known."""
    run = judgement.measured.run_s
    least, most = (units.percent(x / run) if run else units.show(x, "s") for x in (seconds[0], seconds[-1]))
    return f"{least} to {most}"


def dimensions(judged: Sequence[Judgement], corners: Corners) -> Table:
    rows = [(j.name, [Entry(level(each.value)) for each in j.measured.dimensions]) for j in judged]
    rows += [(f"Benchmark {number}", [Entry(level(x)) for x in corner]) for number, corner in corners.items()]
    units_of = [f"{d.letter}: {d.unit}" for d in judged[0].measured.dimensions] if judged else []
    return Table("Five dimensions", list(LETTERS), rows, "subsystem", notes=[*NOTES, *units_of])


def level(value: float | None) -> str:
    return "not known" if value is None else f"{value:.2f}"


def episodes(judged: Sequence[Judgement]) -> Table:
    rows = []
    for judgement in judged:
        of = judgement.measured.of
        share = judgement.measured.share
        rows.append(
            (
                judgement.name,
                [
                    Entry(units.show(of.calls, "1")),
                    Entry("not known" if share is None else units.percent(share)),
                    Entry(units.show(of.episodes, "1")),
                    Entry(units.show(of.typical_bytes, "B")),
                    Entry(units.show(of.mean_size, "B")),
                    Entry(units.show(of.blow_up, "1")),
                    Entry(units.show(of.threads, "1")),
                ],
            )
        )
    columns = ["calls", "of the time", "episodes", "of bytes", "mean size", "blow-up", "threads"]
    notes = [
        "of the time: mean time of a call in a replay, by the recorded time less what recording takes at "
        "least. Of bytes: 19 of 20 bytes are in episodes of at most so many. Blow-up: what a monotonic "
        "allocator holds for each byte that lives at a time."
    ]
    return Table("Subsystems and their episodes", columns, rows, "subsystem", notes=notes)


def told(judged: Sequence[Judgement]) -> Table:
    """What each benchmark tells of each subsystem, or why it tells nothing."""
    rows = [
        (f"{judgement.name}: {of.number}", [Entry(said(of), tone="left")])
        for judgement in judged
        for of in (judgement.calibration.told if judgement.calibration else ())
    ]
    return Table(
        "What Benchmarks I to V tell", ["with the local allocator"], rows, "subsystem", notes=[BEYOND]
    )


def said(of: Told) -> str:
    if of.why_not:
        return f"not like this: {of.why_not}"
    least, most = units.percent(min(of.savings)), units.percent(max(of.savings))
    return f"{least} to {most} less time{TIMES.get(of.number, '')}"


def gains(judged: Sequence[Judgement]) -> Table:
    rows = []
    for judgement in judged:
        calibration = judgement.calibration
        for confirmed in judgement.confirmed:
            savings = confirmed.savings
            promise = judgement.promised if confirmed is judgement.confirmed[0] else None
            rows.append(
                (
                    f"{judgement.name} by {judgement.suits.words}",
                    [
                        Entry(confirmed.allocator),
                        Entry(shown(judgement, promise) if promise else units.NOTHING),
                        Entry(shown(judgement, savings.seconds)),
                        Entry(amount(savings.memory, "B")),
                        Entry(amount(savings.faults, "1")),
                        Entry(
                            f"{calibration.faults[0]:.0f} to {calibration.faults[1]:.0f}"
                            if calibration and promise
                            else units.NOTHING
                        ),
                    ],
                )
            )
    columns = ["above", "promised", "confirmed", "memory less", "faults less", "benchmark's faults"]
    return Table("What is gained: less time, of the program's", columns, rows, "subsystem")


def amount(amounts: Amounts, unit: str) -> str:
    return units.show(amounts[1], unit)


def plain(judgement: Judgement) -> dict[str, Any]:
    """For other programs."""
    measured = judgement.measured
    return {
        "subsystem": judgement.name,
        "advice": judgement.advice.value,
        "suits": judgement.suits.value,
        "why_not": judgement.why_not,
        "vetoes": [{"why": veto.why, "forbids": sorted(veto.forbids)} for veto in judgement.vetoes],
        "winking_out": winks_out(measured, judgement.suits),
        "dimensions": {dimension.letter: dimension.value for dimension in measured.dimensions},
        "calls": measured.of.calls,
        "share": measured.share,
        "episodes": measured.of.episodes,
        "episode_bytes": measured.of.typical_bytes,
        "blow_up": measured.of.blow_up,
        "promised_s": judgement.promised,
        "calibration": judgement.calibration and asdict(judgement.calibration),
        "confirmed": [asdict(confirmed) for confirmed in judgement.confirmed],
    }
