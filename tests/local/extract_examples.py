#!/usr/bin/env python3
"""Make a GoogleTest file of the C++ blocks of a Markdown page: one test a block, named by its heading.

The #include lines of all blocks go to the top, and each block is the body of its test.
Usage: extract_examples.py PAGE.md TESTS.cpp
"""

import re
import sys
from pathlib import Path


def blocks(page: str) -> list[tuple[str, str]]:
    """Return (name, code) of every ```cpp block, in order."""
    found = []
    heading = ""
    for part in re.finditer(r"^#+ (?P<heading>[^\n]+)$|^```cpp\n(?P<code>.*?)^```$", page, re.M | re.S):
        if part["heading"]:
            heading = re.sub(r"\W+", "_", part["heading"]).strip("_").lower()
        else:
            found.append((f"{heading}_{len(found) + 1}", part["code"]))
    return found


def main() -> int:
    page, output = Path(sys.argv[1]), Path(sys.argv[2])
    includes: set[str] = set()
    tests = []
    for name, code in blocks(page.read_text(encoding="utf-8")):
        lines = code.splitlines()
        includes |= {line for line in lines if line.startswith("#include")}
        body = "\n".join("  " + line for line in lines if not line.startswith("#include"))
        tests.append(f"TEST(guide, {name}) {{\n{body}\n}}\n")
    if not tests:
        sys.exit(f"{page}: no ```cpp block")
    head = "\n".join(sorted(includes | {"#include <cassert>", "#include <gtest/gtest.h>"}))
    output.write_text(f"{head}\n\n" + "\n".join(tests), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
