"""The page about the fidelity of replays: tables of what research/replay_fidelity.py measured."""

from datetime import date

from fidelity_figures import FAULTS, Program
from heaplab.analysis import MEMORY, Analysis
from heaplab.records import Status
from heaplab.report.words import units
from heaplab.stats import Interval
from page_parts import machine, markdown, ratio_text


def percent(ratio: Interval) -> str:
    """1.021 (1.015..1.030) as "+2.1 % (+1.5 to +3.0)"."""
    bounds = f" ({100 * (ratio.low - 1):+.1f} to {100 * (ratio.high - 1):+.1f})" if ratio.bounded else ""
    return f"{100 * (ratio.estimate - 1):+.1f} %{bounds}"


def order_row(one: Program) -> list[str]:
    of, marks = one.process["summary"], one.study("marks")
    violations = int(of.get("acquired_while_live", 0)) + int(of.get("released_unknown", 0))
    failed = [run.reason for runs in marks.bad.values() for run in runs if run.status is not Status.VOID]
    identical = f"at all {one.count('marks', 'marks'):.0f}" if not failed else f"no: {failed[0]}"
    return [
        one.name,
        of.get("threads", "?"),
        f"{int(of.get('events', one.process['events'])):,}",
        of.get("lost", "0"),
        str(violations),
        identical,
        f"{one.count('replay', 'stalls'):,.0f}",
    ]


def memory_row(one: Program) -> list[str]:
    peak = one.against_original(MEMORY, MEMORY)
    faults = one.against_original(one.faults, FAULTS)
    return [
        one.name,
        *(units.show(value, "B") for value in peak[:2]),
        percent(peak[2]),
        *(f"{value:,.0f}" for value in faults[:2]),
        percent(faults[2]),
    ]


def ranking_row(one: Program, metric: str = "") -> list[str]:
    found = one.ranking(metric)
    if found is None:
        return [one.name, "fewer than three allocators", "", "", "", ""]
    name = found.widest
    return [
        one.name,
        f"{found.tau:.2f} ({found.tau_low:.2f} to {found.tau_high:.2f})",
        name,
        ratio_text(found.original[name]),
        ratio_text(found.replay[name]),
        f"{found.difference(name):.3f}",
    ]


def ratio_rows(one: Program) -> list[list[str]]:
    """For each allocator but glibc the ratios of program, replay and prediction, of time and of memory."""
    metrics = ("", MEMORY)
    sides = [one.ranking(metric) for metric in metrics]
    known = [side.original if side else {} for side in sides]
    rows = []
    for name in dict.fromkeys([*known[0], *known[1]]):
        if name == one.analysis.baseline:
            continue
        row = [one.name, name]
        for metric, side in zip(metrics, sides, strict=True):
            if side is None or name not in side.original:
                row += ["", "", ""]
                continue
            predicted = one.predicted(name, metric or one.main_metric("original"))
            row += [ratio_text(side.original[name]), ratio_text(side.replay[name])]
            row.append(ratio_text(predicted) if predicted else "")
        rows.append(row)
    return rows


INTRODUCTION = """# How faithful replays are

A replay repeats the calls of a recorded program, and nothing else of the program. This page compares
programs with the replays of their recordings, under glibc and between allocators.
`research/replay_fidelity.py` writes the page; its `--help` says how it measures.
"""
ORDER = """
## Order

Violations are blocks that were allocated while they lived, and frees of unknown blocks. Live bytes are
compared with the recording at marks at which all threads of the replay meet. A stall is a wait for another
thread in which a thread gave up its processor: the largest number of any run.
"""
SIZE = """
## Memory and page faults under glibc

Peak resident memory with page tables, without the replayer's own pages, and page faults: medians, and the
difference of the replay with its 95 % interval. The aims are 5 % and 10 %. Both are those of the pass in
which all threads meet at each epoch. The program's figures count all its memory: also data of its libraries,
its stacks, and what it takes from the system without malloc.
"""
RANKING = """
## Ranking of allocators: {what}

Kendall's tau of the ratios to glibc: 1 if program and replay rank the allocators alike, -1 if the other way
round; with an interval from resampled rounds. Then the allocator whose ratios differ most.{more}
"""
MORE_TIME = """

The replay does nothing but allocate, so that its ratios are further from 1 than the program's. The last table
adds what they predict: the program's time under glibc, and the seconds by which replays differ. Where the
program's own ratios differ by less than their intervals, there is nothing to rank, and tau says nothing: such
a replay shows what malloc alone would gain, which the program does not notice."""
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
MORE_MEMORY = """

The last table adds what the replays predict: the program's peak under glibc, and the bytes by which the peaks
of the replays differ. An allocator that gives memory back after a time has less time for that in a replay,
which is over sooner: `heaplab compare x.trace --pace recorded` replays single calls and memory no faster than
they were recorded."""
AIM_PEAK, AIM_FAULTS = 0.05, 0.10


def misses(one: Program) -> list[str]:
    """What of a program's memory is further off than the aims."""
    found = []
    for what, aim, row in (
        ("peak memory", AIM_PEAK, one.against_original(MEMORY, MEMORY)),
        ("page faults", AIM_FAULTS, one.against_original(one.faults, FAULTS)),
    ):
        if not abs(row[2].estimate - 1) <= aim:
            found.append(f"{what} {percent(row[2])}")
    return found


def misleading(programs: list[Program]) -> str:
    lines = [
        f"- {one.name}: {', '.join(found)}" + (f": {WHY[one.name]}" if one.name in WHY else "")
        for one in programs
        if (found := misses(one))
    ]
    return (
        "\nFurther off than the aims:\n\n" + "\n".join(lines) + "\n"
        if lines
        else "\nAll are within the aims.\n"
    )


def rankings(programs: list[Program], what: str, metric: str, more: str) -> str:
    head = ["program", "tau", "largest difference", "program's ratio", "replay's ratio", "difference"]
    text = RANKING.format(what=what, more=more)
    return text + "\n" + markdown(head, [ranking_row(one, metric) for one in programs])


def page(programs: list[Program], analysis: Analysis) -> str:
    """The whole page, in Markdown."""
    names = ", ".join(analysis.allocators)
    host = analysis.results.host
    order = ["program", "threads", "events", "calls lost", "violations", "live bytes identical", "stalls"]
    size = ["program", "peak", "of the replay", "difference", "page faults", "of the replay", "difference"]
    ratios = [
        "program",
        "allocator",
        "time",
        "time of the replay",
        "time predicted",
        "memory",
        "memory of the replay",
        "memory predicted",
    ]
    return "".join(
        [
            INTRODUCTION,
            f"\nMeasured on {date.today():%-d %B %Y} by `{' '.join(analysis.campaign.command)}`,\n"
            f"under {names}.\n",
            ORDER + "\n" + markdown(order, [order_row(one) for one in programs]),
            SIZE + "\n" + markdown(size, [memory_row(one) for one in programs]),
            misleading(programs),
            rankings(programs, "time", "", MORE_TIME),
            rankings(programs, "peak memory", MEMORY, MORE_MEMORY),
            "\n## All ratios to glibc\n\nWith 95 % intervals from pairs of the same round.\n\n",
            markdown(ratios, [row for one in programs for row in ratio_rows(one)]),
            machine(host.facts if host else {}),
        ]
    )
