#!/usr/bin/env python3
"""See a suite find the fault planted in a malloc library.

Usage: expect_fault.py FAULT LIBRARY PROGRAM

Exit status 0: the program ended with status 1 and named the fault, 1: not, 2: wrong usage.
"""

import os
import subprocess
import sys

# By fault: the test of conformance that fails, what properties says.
FINDINGS = {
    "overlapping": ("usable_size.may_all_be_used", "overlaps block"),
    "misaligned": ("malloc.is_aligned_for_every_type_at_every_size", "is not aligned to 16"),
    "forgetful": ("realloc.keeps_contents_from_every_size_to_every_size", "has lost its contents"),
    "unclean": ("calloc.gives_zeros_in_memory_that_was_dirty", "from calloc is not zero"),
}


def main() -> int:
    if len(sys.argv) != 4 or sys.argv[1] not in FINDINGS:
        print(__doc__, file=sys.stderr)
        return 2
    fault, library, program = sys.argv[1:]
    test, words = FINDINGS[fault]
    if os.path.basename(program) == "conformance":
        command, finding = [program, f"--gtest_filter={test}"], f"[  FAILED  ] {test}"
    else:
        command, finding = [program], words
    done = subprocess.run(
        command,
        env=os.environ | {"LD_PRELOAD": library},
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=120,
    )
    if done.returncode == 1 and finding in done.stdout:
        return 0
    print(done.stdout[-5000:])
    print(f"exit status {done.returncode}; expected 1 and {finding!r}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
