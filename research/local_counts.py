#!/usr/bin/env python3
"""Print the tables of counts on docs/what-the-papers-leave-open.md that local allocators have.

Counted is what runs while the clock runs, by callgrind: exact, so each run is made once. BIN is the folder of
the workloads. With further folders, of other compilers, their programs `utilization` are compared.
Example: research/local_counts.py build/release/bin
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from command_line import parser_of
from measured_part import Counts, counted

Options = Mapping[str, object]
STRUCTURES: Mapping[str, Options] = {
    "DS2": {"structure": "DS2", "elements": 512},
    "DS3": {"structure": "DS3", "elements": 512},
    "DS8": {"structure": "DS8", "elements": 64},
}
SYNCHRONIZED = ["AS1", *(f"AS{number}{lock}" for number in (7, 9, 11) for lock in ("", "-synchronized"))]
DOUBLINGS = [
    {"strategy": strategy, "chunk-growth": growth}
    for strategy in ("AS7", "AS7-doubling", "AS11", "AS11-doubling")
    for growth in ("geometric", "doubling")
]
WINKING = ["AS1", "AS3", "AS4", "AS5", "AS6", "AS11", "AS12"]


def ratios(named: Mapping[str, int]) -> str:
    base = next(iter(named.values()))
    return ", ".join(f"{name} {count / base:.2f}" for name, count in named.items())


def multipools(program: Path) -> None:
    for name, structure in STRUCTURES.items():
        options = {**structure, "operations": 32768}
        print(f"{name}: {ratios(by_strategy(program, options, SYNCHRONIZED))}")
        without = {**options, "buffer": 0}
        named = {
            " ".join(map(str, more.values())): counted(program, {**without, **more}).instructions
            for more in DOUBLINGS
        }
        print(f"{name} without a buffer: {ratios(named)}")


def by_strategy(program: Path, options: Options, strategies: Sequence[str]) -> dict[str, int]:
    return {name: counted(program, {**options, "strategy": name}).instructions for name in strategies}


def sets_of_sets(program: Path) -> None:
    references: list[Counts] = []
    for elements in (64, 1024):
        options = {"structure": "DS12", "elements": elements, "operations": 131_072}
        counts = {name: counted(program, {**options, "strategy": name}, caches=True) for name in WINKING}
        references.append(counts["AS1"])
        for what in ("instructions", "last_misses"):
            named = {name: getattr(each, what) for name, each in counts.items()}
            print(f"DS12, {elements} elements, {what}: {ratios(named)}")
    few, many = references
    instructions, misses = many.instructions / few.instructions, many.last_misses / few.last_misses
    print(f"DS12 under AS1, 1024 elements to 64: instructions {instructions:.2f}, misses {misses:.2f}")


def compilers(folders: Sequence[Path]) -> None:
    options = {"total": "64MiB", "active": "1MiB", "buffer": 0}
    for strategy in ("AS1", "AS5", "AS7", "AS9", "AS11"):
        more = {**options, "strategy": strategy}
        named = {str(folder): counted(folder / "utilization", more).instructions for folder in folders}
        print(f"{strategy}: {next(iter(named.values())):,} instructions; {ratios(named)}")


def main(arguments: Sequence[str]) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="BIN")
    folders = parser.parse_args(arguments).folders
    if len(folders) == 1:
        multipools(folders[0] / "growth")
        sets_of_sets(folders[0] / "growth")
    compilers(folders)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
