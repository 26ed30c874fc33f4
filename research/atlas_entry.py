#!/usr/bin/env python3
"""Keep of a campaign what an atlas shows, in a file that is small enough to be checked in.

What runs were over time, what the processor counted, figures that no experiment shows, what is known of the
process of a workload that tells its own figures, what was warmed and watched, and the options of every run
are left out, as are blocks beyond --blocks; so are the prefix that heaplab is installed under and the
home directory. Figures of runs keep three digits, which give the ratios of the campaign to half a per cent,
what other work took of the processors one; the padding of environments is 0.
ENTRY ends in .xz, which every command that reads results unpacks. Example:
    research/atlas_entry.py out/compare docs/atlas/2026-11-29-two-processors.jsonl.xz
"""

import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from command_line import parser_of
from heaplab.machine import native
from heaplab.results import store

# What every workload reports, and verdicts and their reasons rest on.
COMMON = {"wall_time", "cpu_time", "peak_memory", "page_tables"}
PREFIX = "/usr/local"
LEFT_OUT = {"warming", "behaviour"}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("results", type=Path, help="results file or the folder it lies in")
    parser.add_argument("entry", type=Path, help="the file to write")
    parser.add_argument("--blocks", type=int, default=5, help="so many are kept (default 5)")
    asked = parser.parse_args()
    text = "".join(f"{line}\n" for line in lines(store.results_file(asked.results), asked.blocks))
    packed = lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)
    asked.entry.write_bytes(packed)
    print(f"{asked.entry}: {len(packed) / 1024:.0f} KiB")


def lines(results: Path, blocks: int) -> Iterator[str]:
    shown: dict[str, set[str]] = {}
    for line in results.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["kind"] == "campaign":
            shown = {
                experiment["id"]: {*experiment["metrics"], experiment["main_metric"]} | COMMON
                for experiment in record["experiments"]
            }
        if record["kind"] == "run" and record["block"] >= blocks:
            continue
        if record["kind"] == "run":
            record = small(record, shown[record["experiment"]])
        text = json.dumps(record, separators=(",", ":"), ensure_ascii=False)
        yield text.replace(str(native.root()), PREFIX).replace(str(Path.home()), "~")


def small(run: dict[str, Any], kept: set[str]) -> dict[str, Any]:
    if sample := run.get("sample"):
        metrics = {name: value for name, value in sample["metrics"].items() if name in kept}
        run["sample"] = sample | {"series": {}, "parameters": {}, "served_by": {}, "metrics": metrics}
        run["process"] = None
    if process := run.get("process"):
        run["process"] = process | {"memory": []}
    run |= {"foreign_cpu": rounded(run["foreign_cpu"], digits=1), "environment_bytes": 0}
    told = {name: value for name, value in run.items() if name == "cell" or value not in ("", None, {}, [])}
    return {name: rounded(value) for name, value in told.items() if name not in LEFT_OUT}


def rounded(value: Any, digits: int = 3) -> Any:
    if isinstance(value, dict):
        return {name: rounded(part, digits) for name, part in value.items()}
    return type(value)(float(f"{value:.{digits}g}")) if type(value) in (int, float) else value


if __name__ == "__main__":
    main()
