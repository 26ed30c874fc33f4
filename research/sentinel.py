#!/usr/bin/env python3
"""The sixty programs of the suite `sentinel`, by a rule, and where an allocator loses most on them.

`write` writes catalog/experiments/sentinel. `losses` reads the results of

    heaplab compare --suite sentinel --allocator now=NEW.so --allocator before=OLD.so \\
      --allocators now,before,mimalloc,tcmalloc -o out/sentinel

whose first allocator is the one that is looked at, and prints the programs in which it loses most: against
the best peer of each program, against `before`, and against itself, the A/A control, which tells how much of
the others is noise. Ratios are of pairs of one block, with 95 % intervals.

The rule. A program is a value of each factor below. The first twelve are all mixes of sizes, everything else
plain. Each of the others is the one of 500 random ones that shows the most combinations of values of three
factors which no program before shows. How many objects live and how often one is replaced follow from what a
program may take: 0.2 s by a simple model of its cost, and 256 MiB.

Example: research/sentinel.py losses out/sentinel --metric peak_memory
"""

import itertools
import random
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from dataclasses import astuple, dataclass
from pathlib import Path

from heaplab.analysis.whole_analysis import Analysis
from heaplab.errors import HeaplabError, UsageError
from heaplab.results import store

GROUP = Path(__file__).resolve().parent.parent / "catalog/experiments/sentinel"
PROGRAMS, CANDIDATES, SEED = 60, 500, 1
SECONDS, MEMORY, PROCESSORS = 0.2, 256 << 20, 2

# least size, greatest, step
RANGES = {
    "tiny": (8, 256, 8),
    "wide": (4, 32 << 10, 4),
    "medium": (1 << 10, 256 << 10, 256),
    "large": (5 << 20, 25 << 20, 64 << 10),
}


@dataclass(frozen=True)
class Program:
    sizes: str
    distribution: str
    alive: int
    death: str
    threads: int
    passed_on: int
    contents: str
    rest: int  # ms


# The plain value of each factor comes first, but for sizes and distribution, which have none.
FACTORS: dict[str, list[str | int]] = {
    "sizes": list(RANGES),
    "distribution": ["uniform", "doublings", "power-law"],
    "alive": [1024, 16, 32768],
    "death": ["random", "oldest", "newest", "together"],
    "threads": [2, 1, 8],
    "passed_on": [0, 10, 100],
    "contents": ["zeros", "nothing", "data"],
    "rest": [0, 5],
}


def programs() -> list[Program]:
    mixes = itertools.product(FACTORS["sizes"], FACTORS["distribution"])
    plain = [values[0] for values in list(FACTORS.values())[2:]]
    mixed = [Program(*mix, *plain) for mix in mixes]
    draw = random.Random(SEED)
    shown = {triple for program in mixed for triple in triples(program)}
    while len(mixed) < PROGRAMS:
        drawn = [Program(*(draw.choice(values) for values in FACTORS.values())) for _ in range(CANDIDATES)]
        best = max(drawn, key=lambda program: len(triples(program) - shown))
        mixed.append(best)
        shown |= triples(best)
    return mixed


def triples(program: Program) -> set[tuple[tuple[int, object], ...]]:
    return set(itertools.combinations(enumerate(astuple(program)), 3))


def mean_size(program: Program) -> float:
    least, most, step = RANGES[program.sizes]
    power = {"uniform": 0, "doublings": 1, "power-law": 2}[program.distribution]
    sizes = range(least, most + 1, step)
    return sum(size ** (1 - power) for size in sizes) / sum(size**-power for size in sizes)


def parameters(program: Program) -> dict[str, str | int]:
    """What the workload is told. Times of the model are those of a machine of 2024."""
    least, most, step = RANGES[program.sizes]
    mean = mean_size(program)
    seconds = 30e-9 + (10e-6 if program.sizes == "large" else mean * 0.01e-9)
    if program.contents != "nothing":
        seconds += mean * 0.15e-9
    if program.passed_on > 0:
        seconds += 100e-9
    each = min(program.threads, PROCESSORS) / program.threads * SECONDS / seconds
    # Twice as many deaths as objects at least, or little dies at all.
    alive = max(2, min(program.alive, int(MEMORY / mean / program.threads), int(each / 3)))
    return {
        "threads": program.threads,
        "live-objects": alive,
        "replacements": max(int(each), 3 * alive),
        "min-size": least,
        "max-size": most,
        "step": step,
        "distribution": program.distribution,
        "death": program.death,
        "passed-on": program.passed_on,
        "contents": program.contents,
        "rest": f"{program.rest}ms",
    }


def name(program: Program) -> str:
    passed = {0: "own", 10: "tenth-passed", 100: "passed"}[program.passed_on]
    rest = "-rests" if program.rest else ""
    use = f"{program.sizes}-{program.distribution}-{program.alive}-{program.death}-{program.threads}t"
    return f"{use}-{passed}-{program.contents}{rest}"


# --- the catalog ---

ASPECTS = {
    "local": "Threads free their own objects of up to 256 KiB",
    "remote": "Threads free the objects of others",
    "large": "Objects of 5 to 25 MiB",
}


def aspect(program: Program) -> str:
    return (
        "large"
        if program.sizes == "large"
        else "remote"
        if program.passed_on and program.threads > 1
        else "local"
    )


def experiment(of: str) -> str:
    """The text of an experiment."""
    chosen = [program for program in programs() if aspect(program) == of]
    lines = [
        f"# Written by research/sentinel.py, by a rule: {len(chosen)} of {PROGRAMS} programs.",
        f'title = "Sentinel: {ASPECTS[of][0].lower()}{ASPECTS[of][1:]}"',
        'claim = "Points of the space of ways to use a heap, chosen by a rule: none is behind."',
        f'aspect = "{of}"',
        'workload = "sentinel"',
        'metrics = ["wall_time", "cpu_time", "peak_memory", "minor_faults"]',
        "",
    ]
    for scale in ("quick", "full"):
        sweep = "".join(f'  "{name(program)}",\n' for program in chosen)
        lines += [
            f"[{scale}]",
            f"sweep = {{ program = [\n{sweep}] }}",
            f"blocks = {3 if scale == 'quick' else 10}",
            f"blocks_most = {9 if scale == 'quick' else 30}",
            "",
        ]
    lines += ["[presets.program]"]
    for program in chosen:
        words = ", ".join(
            f"{key} = {value!r}".replace("'", '"') for key, value in parameters(program).items()
        )
        lines.append(f"{name(program)} = {{ {words} }}")
    lines += ["", "[[plots]]", 'kind = "bars"', 'x = "program"', 'y = "wall_time"', ""]
    return "\n".join(lines)


def write() -> None:
    GROUP.mkdir(exist_ok=True)
    for of in ASPECTS:
        (GROUP / f"{of}.toml").write_text(experiment(of))


# --- the table of losses ---


def losses(results: Path, metric: str, before: str, most: int) -> None:
    analysis = Analysis(store.load(results))
    now = analysis.baseline
    if before not in analysis.allocators[1:]:
        known = ", ".join(analysis.allocators)
        raise UsageError(f"there is no arm '{before}' in the results; there are {known}")
    to_peers, to_before, to_itself = [], [], []
    for study in analysis.between_allocators:
        for cell in study.cells_run:
            ratios = {
                other: study.ratio(cell, other, metric).inverse()
                for other in study.candidates
                if other != now and study.ratio(cell, other, metric).count
            }
            program = " ".join(str(value) for _, value in cell)
            if (again := study.ratio(cell, study.control, metric)).count:
                to_itself.append((again.inverse(), study.control, program))
            if before in ratios:
                to_before.append((ratios.pop(before), before, program))
            if ratios:
                best = max(ratios, key=lambda other: ratios[other].estimate)
                to_peers.append((ratios[best], best, program))
    for other_side, rows in (("the best peer", to_peers), (before, to_before), ("itself", to_itself)):
        print(f"{now} to {other_side}, {metric}: {len(rows)} programs, worst first")
        for ratio, other, program in sorted(rows, key=lambda row: -row[0].estimate)[:most]:
            interval = f"({ratio.low:.2f}-{ratio.high:.2f})" if ratio.bounded else "(few blocks)"
            print(f"  {ratio.estimate:5.2f} {interval:12} {other:16} {program}")
        print()


def main() -> None:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("write", help="write the experiments into the catalog")
    table = commands.add_parser("losses", help="print where the first allocator of results loses most")
    table.add_argument("results", type=Path, help="results.jsonl, or its folder")
    table.add_argument("--metric", default="wall_time", help="[default: %(default)s]")
    table.add_argument("--before", default="before", help="name of the arm to beat [default: %(default)s]")
    table.add_argument("--most", type=int, default=20, help="programs in a table [default: %(default)s]")
    given = parser.parse_args()
    if given.command == "write":
        return write()
    try:
        losses(given.results, given.metric, given.before, given.most)
    except HeaplabError as error:
        print(f"sentinel: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
