#!/usr/bin/env python3
"""Count instructions in an emulated machine, with a kernel and a counter: tools/test_emulated.sh.

In the machine (machine.py), the tests of instruction_counter run, and a program is recorded with its
instructions counted; the trace is read here. Leaves PROCESSOR.log and PROCESSOR.trace in FOLDER.
Exit status 0: all as it should be, 1: not.
Example: tests/emulated/counting.py build/emulated max
"""

import argparse
import base64
import subprocess
import sys
from pathlib import Path

from machine import HERE, boot, work_folder

from heaplab.traces import tool
from heaplab.traces.control import Control

EXPECTED = (
    "before: /proc/sys/kernel/perf_user_access is 0: programs may read them once it is 1",
    "after: instructions",
    "end",
)
FILES = ("bin/base_test", "bin/trace_tool", "lib/libheaplab_recorder.so")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("processor", help="as qemu-system-aarch64 -cpu calls it")
    arguments = parser.parse_args()
    files = (arguments.folder / "tree" / file for file in FILES)
    raw = work_folder(arguments.folder, (HERE / "counting.sh").read_text(), *files) / "raw"
    raw.mkdir()
    with Control(raw, "tickets", 0, on=True, instructions=True):
        pass
    # qemu counts instructions only if each takes a fixed time (-icount). The count is that of all processors
    # together, so the machine has a single processor.
    console = boot(arguments.folder, "-cpu", arguments.processor, "-icount", "shift=1")
    (arguments.folder / f"{arguments.processor}.log").write_text(console)
    said, _, rest = console.partition("\ntrace:\n")
    print(said)
    missing = [line for line in EXPECTED if line not in console.splitlines()]
    if missing or "SKIPPED" in said:
        print("a test was skipped" if not missing else f"the machine did not say: {', '.join(missing)}")
        return 1
    trace = arguments.folder / f"{arguments.processor}.trace"
    trace.write_bytes(base64.b64decode(rest.partition("\nend\n")[0]))
    subprocess.run(["heaplab", "trace", trace], check=True)
    return check(trace)


def check(trace: Path) -> int:
    """Of two processes: a parent that works for each call, and its child, which begins to count at 0."""
    parent, child = (process["summary"] for process in tool.summary(trace)["processes"])
    executed, its_own = (int(summary.get("instructions", 0)) for summary in (parent, child))
    calls = int(parent["acquisitions"]) + int(parent["releases"])
    print(f"parent: {executed} instructions for {calls} calls; child: {its_own} instructions")
    right = 100 * calls < executed < 10_000 * calls and 1000 < its_own < executed / 10
    if right and "uncounted_threads" not in parent | child:
        return 0
    print("expected: all threads counted, 100 to 10,000 instructions a call, the child a tenth of its parent")
    return 1


if __name__ == "__main__":
    sys.exit(main())
