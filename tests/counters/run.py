#!/usr/bin/env python3
"""Count instructions in a machine that qemu emulates, with a kernel and a counter: tools/test_counters.sh.

FOLDER holds `root`, a Debian root for AArch64, and `tree`, a build for it. In the machine, the tests of
instruction_counter run, and a program is recorded with its instructions counted; the trace is read here.
Leaves PROCESSOR.log and PROCESSOR.trace in FOLDER. Exit status 0: all as it should be, 1: not.
Example: tests/counters/run.py build/counters max
"""

import argparse
import base64
import shutil
import subprocess
import sys
from pathlib import Path

from heaplab.traces import tool
from heaplab.traces.control import Control

EXPECTED = (
    "before: /proc/sys/kernel/perf_user_access is 0: programs may read them once it is 1",
    "after: instructions",
    "end",
)
SECONDS = 300  # at most, of which the machine takes 15


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("processor", help="as qemu-system-aarch64 -cpu calls it")
    arguments = parser.parse_args()
    pack(arguments.folder)
    console = boot(arguments.folder, arguments.processor)
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


def pack(folder: Path) -> None:
    """Make the file system that the machine begins with."""
    work = folder / "root/counters"
    shutil.rmtree(work, ignore_errors=True)
    (work / "raw").mkdir(parents=True)
    for program in ("bin/base_test", "bin/trace_tool", "lib/libheaplab_recorder.so"):
        shutil.copy(folder / "tree" / program, work)
    with Control(work / "raw", "tickets", 0, on=True, instructions=True):
        pass
    shutil.copy(Path(__file__).with_name("init.sh"), folder / "root/init")
    paths = sorted(path.relative_to(folder / "root") for path in (folder / "root").rglob("*"))
    names = "\0".join(str(path) for path in paths if path.parts[0] != "boot")
    with (folder / "initramfs").open("wb") as packed:
        command = ["cpio", "--quiet", "--null", "-o", "-H", "newc"]
        subprocess.run(command, cwd=folder / "root", input=names.encode(), stdout=packed, check=True)


def boot(folder: Path, processor: str) -> str:
    """What the machine writes to its console.

    qemu counts instructions only if each takes a fixed time (-icount). The count is that of all processors
    together, so the machine has a single processor.
    """
    [kernel] = (folder / "root/boot").glob("vmlinuz-*")
    machine = ["-M", "virt", "-cpu", processor, "-m", "1G", "-icount", "shift=1"]
    without = ["-net", "none", "-nographic", "-no-reboot"]
    files = ["-kernel", str(kernel), "-initrd", str(folder / "initramfs")]
    kernel_options = ["-append", "console=ttyAMA0 quiet panic=-1"]
    command = ["timeout", str(SECONDS), "qemu-system-aarch64", *machine, *without, *files, *kernel_options]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.stdout.replace("\r", "") + done.stderr


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
