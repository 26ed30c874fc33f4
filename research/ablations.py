#!/usr/bin/env python3
"""Take one mechanism after another away, and say what it is worth today, with the counts that explain it.

Each pair of arms runs the same small workload in turns. Times are CPU times of the whole process; page faults
and peak memory are the kernel's; instructions are callgrind's, of a shorter run without its start. Transfers
of cache lines between cores come from research/coherence.csv.xz. Example, some minutes:
    research/ablations.py --pairs 9 --page docs/ablations.md
"""

import os
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import coherence_curves
from ablated import ABLATIONS, GROWTH, STRATEGIES, Ablation
from command_line import parser_of
from heaplab.catalog import contents, locate
from heaplab.machine import host, native
from heaplab.machine.callgrind import InstructionCounter
from heaplab.machine.execute import environment_for, execute
from heaplab.machine.watch import Limits
from heaplab.report.words import strategies
from heaplab.results.own_program import OwnProgram
from heaplab.results.records import Arm
from heaplab.stats import Interval, compare
from heaplab.text import units
from heaplab.text.markdown import table
from page_parts import machine

ROOT = Path(__file__).parents[1]
TIME_LIMIT_S = 300.0
MEASURES = {
    "time": "CPU time",
    "instructions": "instructions",
    "faults": "page faults",
    "memory": "peak memory",
}


# By arm, the measures of each of its runs; and those by what the ablations share.
ByArm = dict[str, list[dict[str, float]]]
Runs = dict[tuple[str, str, str], ByArm]


@dataclass(frozen=True)
class Measured:
    ratios: dict[str, Interval]  # without the mechanism over with it
    values: dict[str, tuple[float, float]]  # with it, without it: medians
    transfers: tuple[str, str] | None


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--only", default="", help="names of ablations, with commas between them")
    parser.add_argument("--page", type=Path, help="write the page")
    asked = parser.parse_args()
    names = asked.only.split(",") if asked.only else [ablation.name for ablation in ABLATIONS]
    chosen = [ablation for ablation in ABLATIONS if ablation.name in names]
    if not chosen:
        parser.error(
            f"no ablation {asked.only!r}; there are {', '.join(ablation.name for ablation in ABLATIONS)}"
        )
    runs: Runs = {}
    costs = {}
    for ablation in chosen:
        if ablation.key not in runs:
            runs[ablation.key] = in_turns([each for each in chosen if each.key == ablation.key], asked.pairs)
        costs[ablation] = measured(ablation, runs[ablation.key])
        print(ablation.name, *row(ablation, costs[ablation])[1:], sep=" | ", file=sys.stderr, flush=True)
    if asked.page:
        write(asked.page, costs, runs, asked.pairs)


def in_turns(those: Sequence[Ablation], pairs: int) -> ByArm:
    """The runs of all arms of ablations that share a workload, each block in an order of its own."""
    arms = list(dict.fromkeys(which for ablation in those for which in (ablation.with_it, ablation.without)))
    commands = {which: command(those[0], which) for which in arms}
    values: ByArm = {which: [] for which in arms}
    for number in range(pairs + 1):
        for which in random.Random(number).sample(arms, len(arms)):
            values[which].append(run(*commands[which]))
    for which in arms:
        del values[which][0]  # the first is warmer or colder than the others
        counts = [instructions(those[0], commands[which]) for _ in range(2)]
        for position, each in enumerate(values[which]):
            each["instructions"] = counts[position % 2]
    return values


def measured(ablation: Ablation, by_arm: ByArm) -> Measured:
    ratios, values = {}, {}
    for measure in MEASURES:
        with_it, without = (
            [each[measure] for each in by_arm[which]] for which in (ablation.with_it, ablation.without)
        )
        ratios[measure] = compare(with_it, without)
        values[measure] = (median(with_it), median(without))
    return Measured(ratios, values, transfers(ablation))


def command(ablation: Ablation, which: str) -> tuple[list[str], Mapping[str, str]]:
    program = str(native.program(OwnProgram(ablation.workload)))
    words = [program, *ablation.options.split(), "--no-counters"]
    if which.startswith("--"):
        return [*words, *which.split()], os.environ
    return words, environment_for(arm(which))


def arm(name: str) -> Arm:
    return locate.locate(contents.load((ROOT / "catalog",)), name)


def run(words: Sequence[str], environment: Mapping[str, str]) -> dict[str, float]:
    done = execute(words, dict(environment), Limits(time=TIME_LIMIT_S))
    if done.killed_for or done.exit_status:
        raise SystemExit(f"{' '.join(words)}: ended with {done.killed_for or done.exit_status}")
    process = done.process
    return {
        "time": process.user_time + process.system_time,
        "faults": float(process.minor_faults),
        "memory": float(process.peak_memory or 0),
    }


def instructions(ablation: Ablation, shown: tuple[list[str], Mapping[str, str]]) -> float:
    """What a short run takes beyond one with half of its work: instructions of the work, not of the start."""
    words, environment = shown
    option, amount = ablation.short.split()
    place = words.index(option) + 1
    amounts = (amount, str(int(amount) // 2))
    whole, half = (counted([*words[:place], each, *words[place + 1 :]], environment) for each in amounts)
    return whole - half


def counted(words: Sequence[str], environment: Mapping[str, str]) -> float:
    counter = InstructionCounter()
    try:
        run([*counter.prefix, *words], environment)
        return float(counter.taken().instructions)
    finally:
        counter.close()


def transfers(ablation: Ablation) -> tuple[str, str] | None:
    """Lines moved for an operation with 256 threads, and atomic operations in parentheses."""
    if not ablation.simulated:
        return None
    known = coherence_curves.counts()
    return (
        coherence_curves.at_most_threads(known, ablation.simulated, ablation.with_it),
        coherence_curves.at_most_threads(known, ablation.simulated, ablation.without),
    )


# ---------------------------------------------------------------- the page


def write(page: Path, costs: Mapping[Ablation, Measured], runs: Runs, pairs: int) -> None:
    head = ["mechanism", *MEASURES.values(), "transfers (atomic operations) with it; without"]
    parts = [
        "# What each mechanism is worth",
        "scalloc's six ablations, llheap's settings and the strategies of local allocators: each row takes "
        "one mechanism away and leaves all else. A number is what the workload takes without it over what it "
        f"takes with it, with a 95 % interval over {pairs} pairs of runs: above 1, the mechanism saves. "
        "Times are CPU times and were measured beside other work; instructions, page faults, memory and the "
        "simulator's transfers ([what is counted](scalloc-coherence.md#what-is-counted)) do not mind, and "
        "tell why.",
        f"`research/ablations.py --pairs {pairs} --page docs/ablations.md` wrote this page on "
        f"{datetime.now(UTC):%Y-%m-%d}.",
        table(head, [row(ablation, each) for ablation, each in costs.items()]),
    ]
    for ablation, each in costs.items():
        if ablation is STRATEGIES[0]:
            parts += side_by_side(runs[ablation.key])
        shown = f"`{ablation.workload} {ablation.options}`"
        parts += [
            f"## {ablation.mechanism[0].upper()}{ablation.mechanism[1:]}",
            f"Meant to save: {ablation.saves}. With: `{ablation.with_it}`; without: `{ablation.without}`. "
            f"Workload: {shown}.",
            ablation.why,
            in_numbers(each),
        ]
    parts.append(machine(host.facts()).strip())
    page.write_text("\n\n".join(part.strip() for part in parts if part) + "\n")


def side_by_side(by_arm: ByArm) -> list[str]:
    """All strategies relative to the global allocator: a section."""
    names = sorted((which.split()[-1] for which in by_arm), key=lambda name: int(name.removeprefix("AS")))
    ratios = {
        measure: {
            name: compare(
                *(
                    [each[measure] for each in by_arm[f"--strategy {strategy}"]]
                    for strategy in (names[0], name)
                )
            )
            for name in names[1:]
        }
        for measure in MEASURES
    }
    rows = [
        [strategies.title(name), *(spoken(ratios[measure][name]) for measure in MEASURES)]
        for name in names[1:]
    ]
    return [
        "## Strategies of local allocators, side by side",
        "Each strategy relative to AS1, the global allocator as a type. Workload: "
        f"`growth {GROWTH['options']}`, sets of numbers in a vector. Each section below compares two "
        "strategies that differ in one thing.",
        table(["strategy", *MEASURES.values()], rows),
    ]


def row(ablation: Ablation, cost: Measured) -> list[str]:
    said = [spoken(cost.ratios[measure]) for measure in MEASURES]
    return [ablation.mechanism, *said, "; ".join(cost.transfers) if cost.transfers else "–"]


def spoken(ratio: Interval) -> str:
    if ratio.bounded and ratio.high - ratio.low < 0.0005:
        return f"{ratio.estimate:.3f}"
    return (
        f"{ratio.estimate:.2f} ({ratio.low:.2f}–{ratio.high:.2f})"
        if ratio.bounded
        else f"{ratio.estimate:.2f}"
    )


def in_numbers(cost: Measured) -> str:
    unit = {"time": "s", "instructions": "1", "faults": "1", "memory": "B"}
    said = [
        f"{title} {units.show(first, unit[measure])} with it, {units.show(last, unit[measure])} without"
        for measure, title in MEASURES.items()
        for first, last in [cost.values[measure]]
    ]
    return f"{'; '.join(said)}. Instructions are those of a shorter run, without its start."


if __name__ == "__main__":
    main()
