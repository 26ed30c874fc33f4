#!/usr/bin/env python3
"""Fail on atomic operations in src and include that need not name their memory order.

Exit status 0: none found, 1: some found, 2: no src/base/atomic.h. Example: tools/check_atomics.py

The types of src/base/atomic.h take no operation without an order: the compiler enforces the rule wherever
they are used. What is left to find here is every other way to an atomic operation. Fences of the standard
library always name their order.
"""

import re
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path

from check_layers import cpp_sources

DOOR = "src/base/atomic.h"
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
OTHER_WAYS = re.compile(
    r"\bstd\s*::\s*atomic(?!_thread_fence\b|_signal_fence\b)\w*|\b__(?:atomic|sync)_\w+|\b_Atomic\b|<stdatomic\.h>"
)


def code_lines(text: str) -> list[str]:
    """Return the lines of `text` without comments and strings."""
    return COMMENT_OR_STRING.sub(lambda skipped: "\n" * skipped[0].count("\n"), text).splitlines()


def check(root: Path, source: Path) -> list[str]:
    where = source.relative_to(root).as_posix()
    if where == DOOR:
        return []
    return [
        f"{where}:{number}: {other_way[0]}: use the types of {DOOR}, whose operations name their memory order"
        for number, line in enumerate(code_lines(source.read_text()), 1)
        for other_way in OTHER_WAYS.finditer(line)
    ]


def main() -> int | str:
    """Return what sys.exit takes: a status, or the faults, which it prints and ends with status 1."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    here = Path(__file__).parent.parent
    parser.add_argument("root", nargs="?", type=Path, default=here, help="of the sources")
    root = parser.parse_args().root.resolve()
    if not (root / DOOR).is_file():
        print(f"{root / DOOR}: no such file", file=sys.stderr)
        return 2
    faults = [fault for source in cpp_sources(root) for fault in check(root, source)]
    return "\n".join(faults) or 0


if __name__ == "__main__":
    sys.exit(main())
