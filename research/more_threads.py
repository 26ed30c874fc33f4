#!/usr/bin/env python3
"""Write copies of experiments whose quick scale sweeps other numbers of threads, as a catalog for --catalog.

Runs stay as short as in the quick scale: minutes tell how allocators scale on many processors.
Example:
  research/more_threads.py --threads 1,4,16,20,39 -o more scalloc-oopsla15/fig06 scalloc-oopsla15/fig08
  heaplab --catalog more run scalloc-oopsla15/fig06 --allocators glibc,scalloc,scalloc-paper
"""

import re
from pathlib import Path

from command_line import parser_of

EXPERIMENTS = Path(__file__).parents[1] / "catalog/experiments"
QUICK_THREADS = re.compile(r"(\[quick\]\n(?:[^\[].*\n)*?sweep = \{ threads = )\[[^]]*\]")


def numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("experiments", nargs="+", metavar="EXPERIMENT")
    parser.add_argument("--threads", required=True, type=numbers, metavar="N,N,...")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="DIRECTORY")
    given = parser.parse_args()
    for experiment in given.experiments:
        file = EXPERIMENTS / f"{experiment}.toml"
        if not file.is_file():
            parser.error(f"no experiment {experiment}: `heaplab show experiments` names them")
        text, replaced = QUICK_THREADS.subn(rf"\g<1>{given.threads}", file.read_text())
        if not replaced:
            parser.error(f"{experiment}: the quick scale sweeps no threads")
        path = given.output / "experiments" / f"{experiment}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
