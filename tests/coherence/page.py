#!/usr/bin/env python3
"""Look for what a program prints in a page of docs/, or in another file, also one that xz has packed.

Usage: page.py PAGE PROGRAM [ARGUMENT...]

Exit status 0: the page has it, 1: it does not, and the lines it lacks are printed, 2: wrong usage.
"""

import lzma
import subprocess
import sys
from pathlib import Path


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    page, program = Path(sys.argv[1]), sys.argv[2:]
    printed = subprocess.run(program, check=True, capture_output=True, text=True).stdout
    text = lzma.decompress(page.read_bytes()).decode() if page.suffix == ".xz" else page.read_text()
    if printed in text:
        return 0
    missing = [line for line in printed.splitlines() if line not in text.splitlines()]
    print(f"{page} lacks:", *(missing or ["the table in one piece"]), sep="\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
