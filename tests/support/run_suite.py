#!/usr/bin/env python3
"""Run a GoogleTest program under one malloc library and compare with what is known of that library.

Usage: run_suite.py PROGRAM NAME LIBRARY DEVIATIONS

LIBRARY is "libc" for the C library's own malloc.

DEVIATIONS, a TOML file, lists the tests that the library is known to fail, and why. All others of PROGRAM
must pass; a listed one must fail, so that the table cannot outlive the fault.

HEAPLAB_EMULATOR in the environment: the words before a program that is built for another machine.
HEAPLAB_LEFT_OUT: tests that are not run, with colons between.
Exit status 0: as expected, 1: not, 2: wrong usage.
"""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

EMULATOR = os.environ.get("HEAPLAB_EMULATOR", "").split()
TIME_LIMIT_S = 600 if EMULATOR else 120


def environment(library: str) -> dict[str, str]:
    """Return the environment in which `library` serves malloc."""
    result = dict(os.environ)
    result.pop("LD_PRELOAD", None)
    if library != "libc":
        result["LD_PRELOAD"] = result["HEAPLAB_LIBRARY_UNDER_TEST"] = library
    return result


def tests_of(program: str) -> set[str]:
    """Return the names of all tests of a GoogleTest program."""
    listed = subprocess.run(
        [*EMULATOR, program, "--gtest_list_tests"], capture_output=True, text=True, check=True
    ).stdout
    names, suite = set(), ""
    for line in listed.splitlines():
        if line.startswith("  "):
            names.add(suite + line.split()[0])
        else:
            suite = line.strip()
    return names


def run(program: str, library: str, test_filter: str) -> tuple[bool, str]:
    """Run the tests that `test_filter` selects; return whether all passed, and the output."""
    command = [*EMULATOR, program, f"--gtest_filter={test_filter}", "--gtest_brief=1"]
    try:
        done = subprocess.run(
            command,
            env=environment(library),
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=TIME_LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        return False, f"no end after {TIME_LIMIT_S} s\n"
    return done.returncode == 0, f"{done.stdout}(exit status {done.returncode})\n"


def main() -> int:
    if len(sys.argv) != 5:
        print(__doc__, file=sys.stderr)
        return 2
    program, name, library, table = sys.argv[1:]
    rows = [row for row in tomllib.loads(Path(table).read_text())["deviation"] if name in row["libraries"]]
    own = tests_of(program)
    deviations = [(test, row) for row in rows for test in row["tests"] if test in own]

    left_out = [test for test, _ in deviations] + os.environ.get("HEAPLAB_LEFT_OUT", "").split(":")
    conforms, output = run(program, library, "*-" + ":".join(left_out))
    print(output, end="")
    for test, row in deviations:
        if not row.get("run", True) or not run(program, library, test)[0]:
            print(f"expected deviation: {test}: {row['reason']}")
        else:
            print(f"FAULT: {test} passes, but {table} says: {row['reason']}")
            conforms = False
    return 0 if conforms else 1


if __name__ == "__main__":
    sys.exit(main())
