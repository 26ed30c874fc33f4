#!/usr/bin/env python3
"""Ask, stop, abandon and record processes in an emulated machine, with a real kernel: tools/test_emulated.sh.

In the machine (machine.py), asked_processes.py runs, with the Python of FOLDER/packages.
Exit status 0: all as it should be, 1: not.
Example: tests/emulated/asking.py build/emulated
"""

import shutil
import subprocess
import sys
from pathlib import Path

from machine import HERE, boot, work_folder

PROGRAMS = ("guarded", "holding", "waiting")
HELPERS = ("ask_process", "change_code", "move_entries", "trace_tool")
FILES = (*(f"bin/{name}" for name in HELPERS), "lib/libheaplab_recorder.so")
RUN = "PYTHONPATH=python HEAPLAB_NATIVE=/emulated/native python3 asked_processes.py"
SOURCES = HERE.parent / "python"


def main() -> int:
    folder = Path(sys.argv[1])
    work = work_folder(folder, RUN, HERE / "asked_processes.py", SOURCES / "support/held_processes.py")
    for name, *options in [*((name,) for name in PROGRAMS), ("killing", "-shared", "-fPIC")]:
        made = [*options, "-o", str(work / name), str(SOURCES / f"running/{name}.c")]
        subprocess.run(["aarch64-linux-gnu-gcc", "-O1", "-pthread", *made], check=True)
    for file in FILES:
        to = work / "native" / ("libexec" if file.startswith("bin") else "lib")
        to.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / "tree" / file, to)
    shutil.copytree(folder / "packages", work / "python")
    shutil.copytree(HERE.parents[1] / "python/heaplab", work / "python/heaplab")
    compiled = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    subprocess.run([*compiled, work / "python"], check=True)
    console = boot(folder, "-cpu", "max,pauth-impdef=on", "-smp", "2")
    print(console)
    return 0 if "end" in console.splitlines() else 1


if __name__ == "__main__":
    sys.exit(main())
