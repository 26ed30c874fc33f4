#!/usr/bin/env python3
"""Count the instructions of malloc libraries in sixteen ways of use, and compare with a reference.

Usage: counted.py [--objdump PROGRAM] [--renew] WAYS REFERENCE NAME=LIBRARY...

WAYS is the program of ways.cpp, which runs under valgrind's callgrind. Counted is what is executed in the
library itself, in each thousand pairs of malloc and free: all instructions, and those that lock a cache line.
Noise does not touch these counts, other compilers do: REFERENCE is of one, and where it is absent the test is
skipped. A count that is more than 3 % off fails, also where it is less: the reference would let it come back.
Valgrind has no restartable sequences: scalloc-cores is counted as it is without them, on one processor.

--renew writes the rows of the named libraries instead. Exit status 0: all are within, 1: one is not, 2: wrong
usage, 77: no reference for this compiler.
"""

import argparse
import csv
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TOLERANCE = 0.03
SKIPPED = 77
RENEWING = "cmake --build build/release --target renew_counts"
# An exchange with memory locks without the prefix.
LOCKED = re.compile(r"^ *([0-9a-f]+):\s+(?:lock\b|xchg\b.*\()", re.MULTILINE)
WAY = re.compile(r"^desc: Trigger: Client Request: (\S+) (\d+)$", re.MULTILINE)


class Count(NamedTuple):
    """In each thousand pairs of malloc and free."""

    instructions: int
    locked: int


Counts = dict[tuple[str, str], Count]  # way, library


def locked_instructions(objdump: str, library: Path) -> set[int]:
    listing = subprocess.run(
        [objdump, "-d", "--no-show-raw-insn", library], check=True, capture_output=True, text=True
    ).stdout
    return {int(address, 16) for address in LOCKED.findall(listing)}


def executed(profile: str, library: Path) -> Iterator[tuple[int, int]]:
    """Yield the address of each instruction of the library, and how often callgrind saw it executed."""
    is_inside = is_call = False
    for line in profile.splitlines():
        if line.startswith("ob="):
            is_inside = line == f"ob={library}"
        elif line.startswith("calls="):
            is_call = True
        elif line.startswith("0x"):
            # The line behind a call has what the callee and its callees executed.
            if is_inside and not is_call:
                address, count = line.split()
                yield int(address, 16), int(count)
            is_call = False


def counted(ways: str, name: str, library: Path, objdump: str) -> Counts:
    locks = locked_instructions(objdump, library)
    with tempfile.TemporaryDirectory(prefix="heaplab-") as folder:
        command = ["valgrind", "--command-line-only=yes", "--tool=callgrind", "--quiet", "--vgdb=no"]
        command += ["--dump-instr=yes", "--dump-line=no", "--compress-strings=no", "--compress-pos=no"]
        command += [f"--log-file={folder}/log.%p", f"--callgrind-out-file={folder}/counts.%p", ways]
        subprocess.run(command, check=True, env=os.environ | {"LD_PRELOAD": str(library)})
        result: Counts = {}
        for path in Path(folder).glob("counts.*"):
            profile = path.read_text()
            if not (way := WAY.search(profile)):
                continue
            found = list(executed(profile, library))
            total = sum(count for _, count in found)
            locked = sum(count for address, count in found if address in locks)
            pairs = int(way[2])
            result[way[1], name] = Count(round(total * 1000 / pairs), round(locked * 1000 / pairs))
    return result


def read(reference: Path) -> Counts:
    with reference.open(newline="") as file:
        return {
            (row["way"], row["library"]): Count(int(row["instructions"]), int(row["locked"]))
            for row in csv.DictReader(file)
        }


def write(reference: Path, counts: Counts) -> None:
    with reference.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("way", "library", *Count._fields))
        rows.writerows((*key, *count) for key, count in sorted(counts.items()))


def faults(now: Counts, then: Counts) -> list[str]:
    found = [f"{way}, {name}: is not in both" for way, name in sorted(now.keys() ^ then.keys())]
    for way, name in sorted(now.keys() & then.keys()):
        for what, count, before in zip(Count._fields, now[way, name], then[way, name], strict=True):
            # One in a thousand pairs is the precision of the reference.
            if abs(count - before) > TOLERANCE * before + 1:
                verdict = "worse" if count > before else "better: renew the reference, so that it stays"
                text = f"{count / 1000:.3f} {what} a pair, {before / 1000:.3f} in the reference"
                found.append(f"{way}, {name}: {text}: {verdict}")
    return found


def self_test() -> int:
    then = {("ring", "x"): Count(100_000, 1_000)}
    cases = [
        ({("ring", "x"): Count(103_001, 1_000)}, 0),
        ({("ring", "x"): Count(103_002, 1_000)}, 1),
        ({("ring", "x"): Count(96_000, 1_000)}, 1),
        ({("ring", "x"): Count(100_000, 1_032)}, 1),
        ({("ring", "x"): Count(100_000, 1_000), ("queue", "x"): Count(1, 1)}, 1),
        ({}, 1),
    ]
    profile = "ob=/a.so\nfn=f\n0x10 3\ncob=/b.so\ncalls=2 0x90\n0x14 70\n0x18 2\nob=/b.so\nfn=g\n0x10 9\n"
    wrong = [case for case in cases if len(faults(case[0], then)) != case[1]]
    found = list(executed(profile, Path("/a.so")))
    listing = "  10:\tlock cmpxchg %rax,(%rdi)\n  18:\txchg %eax,(%rdi)\n  1a:\txchg %ax,%ax\n"
    locks = [int(address, 16) for address in LOCKED.findall(listing)]
    is_wrong = wrong or found != [(0x10, 3), (0x18, 2)] or locks != [0x10, 0x18]
    if is_wrong:
        print(*wrong, found, locks, sep="\n")
    return 1 if is_wrong else 0


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objdump", default="objdump")
    parser.add_argument("--renew", action="store_true")
    parser.add_argument("ways")
    parser.add_argument("reference", type=Path)
    parser.add_argument("libraries", nargs="+", metavar="NAME=LIBRARY")
    arguments = parser.parse_args()
    if not arguments.renew and not arguments.reference.exists():
        print(f"no counts of this compiler: {arguments.reference.name} is absent; {RENEWING} writes it")
        return SKIPPED
    # Where threads share buffers by processor, which they share depends on where they run.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    known = read(arguments.reference) if arguments.reference.exists() else {}
    now: Counts = {}
    for item in arguments.libraries:
        name, _, library = item.partition("=")
        now |= counted(arguments.ways, name, Path(library).resolve(), arguments.objdump)
    names = {name for _, name in now}
    if arguments.renew:
        write(arguments.reference, {key: count for key, count in known.items() if key[1] not in names} | now)
        return 0
    found = faults(now, {key: count for key, count in known.items() if key[1] in names})
    print(*found, sep="\n", file=sys.stderr)
    if found:
        print(f"To renew the reference, where that is meant: {RENEWING}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
