#!/usr/bin/env python3
"""Rows of unwind information are those that readelf tells, for every row of real files.

Usage: unwind_rows.py PROGRAM FILE...      PROGRAM prints rows; of NAME.so.N the file is that of the loader
"""

import re
import subprocess
import sys
from collections.abc import Iterator

UNKNOWN, OUTERMOST, STACK_POINTER, FRAME_POINTER, AT_FRAME_POINTER, SIGNAL = range(1, 7)
NOT_SAVED, OVERWRITTEN = 1, -1
LEAST_ROWS = 1000
CFA = re.compile(r"(rsp|rbp)([+-]\d+)")
Row = tuple[int, int, int]


def told(file: str) -> Iterator[tuple[int, str, str, str]]:
    """Address, CFA, frame pointer and return address of each row of `readelf --debug-dump=frames-interp`."""
    command = ["readelf", "--wide", "--debug-dump=frames-interp", file]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    columns: list[str] = []
    in_function = False
    for line in text.splitlines():
        words = line.split()
        if " FDE " in line or " CIE " in line:
            in_function = " FDE " in line
            columns = []
        elif words[:1] == ["LOC"]:
            columns = words
        elif in_function and columns and len(words) == len(columns):
            of = dict(zip(columns, words, strict=True))
            yield int(words[0], 16), of["CFA"], of.get("rbp", "s"), of.get("ra", "s")


def expected(cfa: str, frame_pointer: str, return_address: str) -> Row | None:
    """None: readelf does not tell enough."""
    if return_address == "u":
        return (OUTERMOST, 0, OVERWRITTEN)
    match = CFA.fullmatch(cfa)
    if not match or return_address != "c-8":
        return None
    rule = STACK_POINTER if match[1] == "rsp" else FRAME_POINTER
    if frame_pointer in ("s", "u"):  # readelf writes u also where nothing is said of a register
        return (rule, int(match[2]), NOT_SAVED)
    saved = int(frame_pointer[1:]) if frame_pointer.startswith("c-") else OVERWRITTEN
    return (rule, int(match[2]), saved)


def compare(program: str, file: str) -> None:
    rows = {address: expected(*rest) for address, *rest in told(file)}
    text = "".join(f"{address:x}\n" for address in rows)
    done = subprocess.run([program, file], input=text, capture_output=True, text=True, check=True)
    found = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert len(found) == len(rows) > LEAST_ROWS, (file, len(found), len(rows))
    wrong = {
        f"{address:x}": (row, other)
        for (address, row), other in zip(rows.items(), found, strict=True)
        if row is not None and row != other
    }
    assert not wrong, (file, len(wrong), list(wrong.items())[:5])
    compared = sum(row is not None for row in rows.values())
    assert compared > 0.95 * len(rows), (file, compared, len(rows))


def loaded(name: str) -> str:
    """The file that the loader takes for a name."""
    found = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    return next(line.rpartition(" => ")[2] for line in found.splitlines() if line.split()[:1] == [name])


if __name__ == "__main__":
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    for name in sys.argv[2:]:
        compare(sys.argv[1], loaded(name) if ".so." in name else name)
