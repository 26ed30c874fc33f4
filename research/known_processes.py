#!/usr/bin/env python3
"""Print what heaplab answers of running processes whose answer is known, under several allocators.

The processes are those of tests/python/running. Each runs for a while, with blocks from before. Then it is
looked at and asked (`look --ask`) and, where blocks may grow, recorded by samples (`record --pid`). A cell
has the verdicts and, behind a comma, the call site with the most live bytes of the window.

Example, five minutes:
  research/known_processes.py --aged 20 --for 30 --allocators glibc,scalloc
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from heaplab.catalog import contents
from heaplab.options.chosen_arms import arm_of
from heaplab.text import markdown
from heaplab.tracing import run_sample

SOURCES = Path(__file__).parents[1] / "tests/python/running"
HEAPLAB = (sys.executable, "-m", "heaplab")
KNOWN = {  # the source that has it, and the kind there; what serves is also recorded
    "a leak in one of 31 call sites": ("served", "leak"),
    "a cache that grows": ("served", "cache"),
    "retained after a burst": ("holding", "retained"),
    "pinned by survivors": ("holding", "pinned"),
    "memory outside malloc": ("holding", "mapped"),
    "nothing": ("served", "nothing"),
}
FEWEST = 10  # samples of a site: fewer show no growth


def verdicts(pid: int, seconds: float) -> str:
    words = [*HEAPLAB, "look", "--ask", "--for", f"{seconds}s", "--json", str(pid)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stderr.strip()
    told = json.loads(done.stdout)
    return " + ".join(each["sentence"].partition(":")[0] for each in (told, *told["also"]))


def largest_site(pid: int, seconds: float, folder: Path) -> str:
    """The call site with the most live bytes among samples of a window."""
    file = folder / f"{pid}.sample"
    sampled = ("--sample", "512KiB", "--for", f"{seconds}s", "-o", file)
    words = [*HEAPLAB, "record", "--pid", str(pid), *sampled]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stderr.strip()
    moments, _ = run_sample.moments_of(file, None)
    most = max(moments[-1].callers.values(), key=lambda caller: caller.live.bytes, default=None)
    if most is None or most.live.samples < FEWEST:
        return "no call site"
    return f"`{most.name.split()[0]}`, {most.kept:.0%} kept"


def cell(program: Path, kind: str, library: str, given: argparse.Namespace, folder: Path) -> str:
    environment = os.environ | ({"LD_PRELOAD": library} if library else {})
    pipe = subprocess.PIPE
    with subprocess.Popen([program, kind], stdin=pipe, stdout=pipe, env=environment) as process:
        time.sleep(given.aged)
        answers = [verdicts(process.pid, given.seconds)]
        if program.name == "served":
            answers.append(largest_site(process.pid, given.seconds, folder))
        goes_on = process.poll() is None
        process.kill()
    return ", ".join([*answers, *([] if goes_on else ["THE PROCESS ENDED"])])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--allocators", default="glibc,jemalloc,mimalloc,scalloc")
    parser.add_argument("--aged", type=float, default=10, help="s before anybody looks")
    parser.add_argument("--for", dest="seconds", type=float, default=20, help="s of each window")
    given = parser.parse_args()
    names = given.allocators.split(",")
    arms = [arm_of(contents.load(()), name) for name in names]
    with tempfile.TemporaryDirectory(prefix="heaplab-") as name:
        folder = Path(name)
        for source in ("served", "holding"):
            command = ["cc", "-O1", "-g", "-pthread", "-o", folder / source, SOURCES / f"{source}.c"]
            subprocess.run(command, check=True)
        rows = [
            [title, *(cell(folder / source, kind, ":".join(arm.preload), given, folder) for arm in arms)]
            for title, (source, kind) in KNOWN.items()
        ]
    print(markdown.table(["process", *names], rows))


if __name__ == "__main__":
    main()
