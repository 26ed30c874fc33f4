"""The page about the fidelity of replays: tables of what research/replay_fidelity.py measured."""

from datetime import date
from statistics import median

from fidelity_figures import FAULTS, Program
from heaplab.analysis import MEMORY, Analysis
from heaplab.results.records import Status
from heaplab.stats import Interval
from heaplab.text import markdown, units
from page_parts import machine, ratio_text


def percent(ratio: Interval) -> str:
    """1.021 (1.015..1.030) as "+2.1 % (+1.5 to +3.0)"."""
    bounds = f" ({100 * (ratio.low - 1):+.1f} to {100 * (ratio.high - 1):+.1f})" if ratio.bounded else ""
    return f"{100 * (ratio.estimate - 1):+.1f} %{bounds}"


def order_row(program: Program) -> list[str]:
    of = program.process["summary"]
    events = int(of.get("events", program.process["events"]))
    marks, stalls = program.count("marks", "marks"), program.count("replay", "stalls")
    return [program.name, of.get("threads", "?"), f"{events:,}", f"{marks:.0f}", f"{stalls:,.0f}"]


def disorder(program: Program) -> list[str]:
    """What shows that a replay is not in the order of its program."""
    of = program.process["summary"]
    counts = {
        "calls lost": of.get("lost", 0),
        "blocks allocated while they lived": of.get("acquired_while_live", 0),
        "frees of unknown blocks": of.get("released_unknown", 0),
    }
    bad = [run for runs in program.study("marks").bad.values() for run in runs]
    failed = [run.reason for run in bad if run.status is not Status.VOID]
    return [f"{count} {what}" for what, count in counts.items() if int(count)] + failed[:1]


def order(programs: list[Program]) -> str:
    head = ["program", "threads", "events", "marks", "stalls"]
    lines = [
        f"- {program.name}: {', '.join(faults)}" for program in programs if (faults := disorder(program))
    ]
    verdict = "\n".join(lines) or (
        "Of no program was a call lost, a block allocated while it lived or an unknown block freed, and\n"
        "live bytes were those of the recording at every mark."
    )
    return markdown.table(head, [order_row(program) for program in programs]) + f"\n{verdict}\n"


def memory_row(program: Program) -> list[str]:
    peak = program.against_original(MEMORY, MEMORY)
    faults = program.against_original(program.faults, FAULTS)
    return [
        program.name,
        *(units.show(value, "B") for value in peak[:2]),
        percent(peak[2]),
        *(f"{value:,.0f}" for value in faults[:2]),
        percent(faults[2]),
    ]


def predicted(program: Program, name: str, metric: str) -> Interval | None:
    return program.predicted(name, metric or program.main_metric("original"))


def ranking_row(program: Program, metric: str = "") -> list[str]:
    ranking = program.ranking(metric)
    if ranking is None:
        return [program.name, "fewer than three allocators", "", "", "", ""]
    name = ranking.widest
    told = predicted(program, name, metric)
    return [
        program.name,
        f"{ranking.tau:.2f} ({ranking.tau_low:.2f} to {ranking.tau_high:.2f})",
        name,
        ratio_text(ranking.original[name]),
        ratio_text(ranking.replay[name]),
        ratio_text(told) if told else "",
    ]


def predictions(programs: list[Program], metric: str) -> str:
    """How many predicted ratios lie within the intervals of the programs' own, and how far off they are."""
    off, within = [], 0
    for program in programs:
        if (ranking := program.ranking(metric)) is None:
            continue
        for name, own in ranking.original.items():
            told = predicted(program, name, metric) if name != program.analysis.baseline else None
            if told is not None:
                within += own.low <= told.estimate <= own.high
                off.append(abs(told.estimate / own.estimate - 1))
    if not off:
        return ""
    return (
        f"\nOf {len(off)} ratios predicted, {within} lie within the interval of the program's own; "
        f"the median is {100 * median(off):.1f} % off.\n"
    )


INTRODUCTION = """# How faithful replays are

A replay repeats the calls of a recorded program, and nothing else of the program. This page compares
programs with the replays of their recordings, under glibc and between allocators.

| to learn | a replay is |
| --- | --- |
| how often, in which order and in which threads a program calls malloc | exact |
| its peak memory and page faults under glibc | near, where malloc is where its memory comes from |
| which allocator takes least memory | near; with `--pace recorded` where one gives memory back after a time |
| which allocator is fastest | near for programs that spend their time in malloc; further from 1 than they |
"""
ORDER = """
## Order

Live bytes are compared with the recording at marks, at which all threads of the replay meet. A stall is a
wait for another thread in which a thread gave up its processor: the largest number of any run.
"""
SIZE = """
## Memory and page faults under glibc

Medians of peak resident memory with page tables, without the replayer's own pages, and of page faults; the
difference of the replay has its 95 % interval. The aims are 5 % and 10 %. In this pass all threads meet at
each epoch. The program's figures count all its memory: also data of its libraries, its stacks, and what it
takes from the system without malloc.
"""
RANKING = """
## Ranking of allocators: {what}

Kendall's tau of the ratios to glibc: 1 if program and replay rank the allocators alike, -1 if the other way
round, with an interval from resampled rounds. Then the allocator whose ratios differ most, with 95 %
intervals from pairs of the same round. {more}
"""
MORE_TIME = """The replay does nothing but allocate, so that its ratios are further from 1 than the
program's. *Predicted* is what follows for the program: its time under glibc, and the seconds by which the
replays differ; empty where that is no time. Where the program's own ratios differ by less than their
intervals, there is nothing to rank, and tau says nothing."""
WHY = {
    "larson": "it runs for a fixed time: recorded, it does less in that time, and starts fewer threads",
    "gxx": "the compiler takes the memory of its garbage collector from the system, not from malloc",
    "ghostscript": "3.6 MiB are data of its library; a replay writes to every page of a block, the program "
    "not to all pages of its large ones",
    "python": "1.3 MiB are data of its library",
    "redis": "0.9 MiB are data of the program and its libraries",
    "producer_consumer": "its queue is bounded and its heap a third of a MiB; between two meetings of a "
    "replay a producer may allocate 128 KiB and more",
    "producer_consumer_acdc": "the program's own peak varies by half from run to run",
}
MORE_MEMORY = """*Predicted* is the program's peak under glibc, and the bytes by which the peaks of
the replays differ. A replay is over sooner, so that an allocator that gives memory back after a time has less
time for that: `heaplab compare x.trace --pace recorded` replays no faster than was recorded."""
AIM_PEAK, AIM_FAULTS = 0.05, 0.10


def misses(program: Program) -> list[str]:
    """What of a program's memory is further off than the aims."""
    missed = []
    for what, aim, row in (
        ("peak memory", AIM_PEAK, program.against_original(MEMORY, MEMORY)),
        ("page faults", AIM_FAULTS, program.against_original(program.faults, FAULTS)),
    ):
        if not abs(row[2].estimate - 1) <= aim:
            missed.append(what)
    return missed


def misleading(programs: list[Program]) -> str:
    lines = [
        f"- {program.name}, {' and '.join(names)}" + (f": {WHY[program.name]}" if program.name in WHY else "")
        for program in programs
        if (names := misses(program))
    ]
    return (
        "\nFurther off than the aims:\n\n" + "\n".join(lines) + "\n"
        if lines
        else "\nAll are within the aims.\n"
    )


def rankings(programs: list[Program], what: str, metric: str, more: str) -> str:
    head = ["program", "tau", "largest difference", "program's ratio", "replay's ratio", "predicted"]
    text = RANKING.format(what=what, more=more)
    table = markdown.table(head, [ranking_row(program, metric) for program in programs])
    return text + "\n" + table + predictions(programs, metric)


def page(programs: list[Program], analysis: Analysis) -> str:
    """The whole page, in Markdown."""
    names = ", ".join(analysis.allocators)
    host = analysis.results.host
    size = ["program", "peak", "of the replay", "difference", "page faults", "of the replay", "difference"]
    return "".join(
        [
            INTRODUCTION,
            f"\nMeasured on {date.today():%-d %B %Y} by `{' '.join(analysis.campaign.command)}`,\n"
            f"under {names}. `heaplab report --form table` of its folder has every ratio.\n",
            ORDER + "\n" + order(programs),
            SIZE + "\n" + markdown.table(size, [memory_row(program) for program in programs]),
            misleading(programs),
            rankings(programs, "time", "", MORE_TIME),
            rankings(programs, "peak memory", MEMORY, MORE_MEMORY),
            machine(host.facts if host else {}),
        ]
    )
