#!/usr/bin/env python3
"""Fail on commit subjects that are not `area: imperative` in at most 72 characters.

Without FILE looks at the commits that main does not have; with FILE at the message that it holds, as the hook
commit-msg of git gives it. Exit status 0: all are well, 1: some are not, 2: no commits to be had.
Example: tools/check_subjects.py
"""

import re
import subprocess
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path

LONGEST = 72
SHAPE = re.compile(r"[a-z][\w ,./-]*: \S.*[^.\s]")
BY_GIT = re.compile(r"(Merge|Revert|fixup!|squash!) ")


def fault_of(subject: str) -> str:
    """What is wrong with a subject; "" if nothing is."""
    if BY_GIT.match(subject):
        return ""
    if len(subject) > LONGEST:
        return f"{len(subject)} characters, allowed are {LONGEST}"
    if not SHAPE.fullmatch(subject):
        return "is not `area: imperative`, the area in small letters and no full stop"
    return ""


def subjects_of_branch() -> list[str]:
    """Those that main does not have; where there is no main, as in a shallow copy, the last."""
    for which in ("main..HEAD", "-1"):
        command = ["git", "log", "--no-merges", "--format=%s", which]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.splitlines()
    print(f"check_subjects: {done.stderr.strip()}", file=sys.stderr)
    sys.exit(2)


def main() -> int | str:
    """Return what sys.exit takes: a status, or the faults, which it prints and ends with status 1."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, help="a commit message")
    file = parser.parse_args().file
    subjects = [file.read_text().partition("\n")[0]] if file else subjects_of_branch()
    faults = [(subject, fault) for subject in subjects if (fault := fault_of(subject))]
    return "\n".join(f"{subject}: {fault}" for subject, fault in faults) or 0


if __name__ == "__main__":
    sys.exit(main())
