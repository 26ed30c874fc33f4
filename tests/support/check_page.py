#!/usr/bin/env python3
"""Compare a page of docs/ with what a program prints.

Usage: check_page.py [--update] PAGE PROGRAM [ARGUMENT...]

--update writes the page instead. Exit status 0: the same, 1: the page is out of date, 2: wrong usage.
"""

import difflib
import subprocess
import sys
from pathlib import Path


def main() -> int:
    update, words = "--update" in sys.argv[1:2], sys.argv[1:]
    if update:
        del words[0]
    if len(words) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    page, command = Path(words[0]), words[1:]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    if update:
        page.write_text(printed)
    present = page.read_text() if page.exists() else ""
    lines = difflib.unified_diff(
        present.splitlines(), printed.splitlines(), str(page), "as printed", lineterm=""
    )
    if printed != present:
        print(*lines, sep="\n")
        print(f"{page} is out of date; to write it: {sys.argv[0]} --update {' '.join(words)}")
    return int(printed != present)


if __name__ == "__main__":
    sys.exit(main())
