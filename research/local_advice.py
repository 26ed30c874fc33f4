#!/usr/bin/env python3
"""Compare what `heaplab advise --local` promises with what the advice saves in code.

The six programs of tests/python/subsystems/programs.cpp, and two of Debian's libraries that take an
allocator: nlohmann::json (nlohmann-json3-dev) reads the documents of iso-codes, Lua (liblua5.4-dev) counts
the words of /usr/share/common-licenses. Each is recorded, judged with replays, then run without and with the
local allocator by turns. Times are CPU time of the process, so that a busy machine adds little. An interval
is the least and the most; confirmed and in code, behind the median. Instructions are counted by callgrind.

Example, some minutes:
    research/local_advice.py --cases parser,json --rounds 8
"""

import argparse
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from heaplab.advise.other_ways import Amounts
from heaplab.advise.replaying import Recording
from heaplab.catalog import contents
from heaplab.machine.execute import environment_for, execute
from heaplab.machine.watch import Limits
from heaplab.options.chosen_arms import arm_of
from heaplab.results.records import Arm
from heaplab.subsystems import run_local
from heaplab.text import units
from heaplab.traces.profile import of_process
from heaplab.tracing import run_record
from heaplab.tracing.run_trace import summary_and_process

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "tests/python/subsystems"
FLAGS = ["-std=c++20", "-g", f"-I{ROOT}/include"]
DOCUMENTS = sorted(map(str, Path("/usr/share/iso-codes/json").glob("*.json")))
TEXTS = sorted(str(path) for path in Path("/usr/share/common-licenses").iterdir() if not path.is_symlink())
LONGEST_S = 60.0
SCRIPT = str(SOURCES / "words.lua")


class Case(NamedTuple):
    source: str
    flags: tuple[str, ...]
    subsystem: str
    plain: tuple[str, ...]  # arguments
    local: tuple[str, ...] = ()  # without: the change is not possible


SIX = ("programs.cpp", ("-O1", "-pthread"))
JSON = ("json_documents.cpp", ("-O2",))
LUA = ("lua_script.cpp", ("-O2", "-I/usr/include/lua5.4", "-llua5.4"))
CASES = {
    "parser": Case(*SIX, "parse_document", ("parser",), ("parser", "local")),
    "orders": Case(*SIX, "trade", ("orders",), ("orders", "local")),
    "names": Case(*SIX, "read_names", ("names",)),
    "pictures": Case(*SIX, "show_pictures", ("pictures",), ("pictures", "local")),
    "messages": Case(*SIX, "send_messages", ("messages",)),
    "sums": Case(*SIX, "add_up", ("sums",), ("sums", "local")),
    "json": Case(*JSON, "read_document", ("plain", "5", *DOCUMENTS), ("local", "5", *DOCUMENTS)),
    "lua": Case(*LUA, "main", ("plain", SCRIPT, "20", *TEXTS), ("local", SCRIPT, "20", *TEXTS)),
}


class Run(NamedTuple):
    seconds: float  # of the processor
    faults: float


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--allocator", default="glibc")
    parser.add_argument("--rounds", type=int, default=8)
    asked = parser.parse_args()
    arm = arm_of(contents.load(()), asked.allocator)
    columns = ("answer", "program's time", "less: promised", "confirmed", "in code", "off", "held")
    print(
        f"| case | {' | '.join(columns)} | instructions | page faults | resident |\n|{'---|' * 11}",
        flush=True,
    )
    offs = []
    with tempfile.TemporaryDirectory(prefix="heaplab-") as folder:
        for name in asked.cases.split(","):
            row, off = row_of(Path(folder), CASES[name], arm, asked.rounds)
            offs += off
            print(f"| {name} | {' | '.join(row)} |", flush=True)
    if offs:
        print(f"\nmedian error of {len(offs)} promises: {100 * median(map(abs, offs)):.0f} %")


def row_of(folder: Path, case: Case, arm: Arm, rounds: int) -> tuple[list[str], list[float]]:
    """The cells of a case, and how far the middle of its promise is off, if there is one."""
    program = str(folder / "program")
    subprocess.run(["c++", *FLAGS, SOURCES / case.source, *case.flags, "-o", program], check=True)
    judgement = judged(folder, (program, *case.plain), case.subsystem, arm)
    plain, local = [program, *case.plain], [program, *case.local]
    pairs = [(run(plain, arm), run(local, arm)) for _ in range(rounds)] if case.local else []
    seconds = median(before.seconds for before, _ in pairs) if pairs else run(plain, arm).seconds
    promise, confirmed = judgement.promised, judgement.confirmed
    answer = judgement.suits.words if promise else "no change"
    cells = [answer, milli(seconds), span(promise) if promise else units.NOTHING]
    cells.append(span(confirmed[0].seconds) if confirmed else units.NOTHING)
    if not pairs:
        return [*cells, *[units.NOTHING] * 6], []
    less = sorted(before.seconds - after.seconds for before, after in pairs)
    saved: Amounts = (less[0], median(less), less[-1])
    cells.append(span(saved))
    off = []
    if promise:
        off = [sum(promise) / 2 / saved[1] - 1]
        cells += [f"{100 * off[0]:+.0f} %", "yes" if promise[0] <= saved[1] <= promise[1] else "no"]
    else:
        cells += [units.NOTHING, "yes" if saved[1] < 0.01 * seconds else "no"]
    counts = [instructions(command, arm) for command in (plain, local)]
    faults = [median(of.faults for of in runs) for runs in zip(*pairs, strict=True)]
    cells.append(" to ".join(f"{count / 1e6:.1f} M" for count in counts))
    cells.append(" to ".join(f"{each:.0f}" for each in faults))
    cells.append(" to ".join(resident(command, arm) for command in (plain, local)))
    return cells, off


def judged(folder: Path, command: tuple[str, ...], subsystem: str, arm: Arm) -> run_local.Judgement:
    trace = folder / "program.trace"
    trace.unlink(missing_ok=True)
    run_record.with_stacks_in(trace, command, (), lambda: None)
    summary, number = summary_and_process(trace, None)
    profile = of_process(trace, summary, number)
    [judgement] = run_local.judgements(Recording(trace, number, folder), profile, (subsystem,), [arm])
    return judgement


def run(command: Sequence[str], arm: Arm) -> Run:
    of = execute(command, environment_for(arm), Limits(time=LONGEST_S)).process
    return Run(of.user_time + of.system_time, of.minor_faults)


def resident(command: Sequence[str], arm: Arm) -> str:
    """The most memory of a run that is looked at each millisecond."""
    of = execute(command, environment_for(arm), Limits(time=LONGEST_S), interval=0.001).process
    return units.show(of.peak_memory, "B") if of.peak_memory is not None else units.NOTHING


def instructions(command: Sequence[str], arm: Arm) -> int:
    counting = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command]
    told = subprocess.run(
        counting, env=environment_for(arm), capture_output=True, text=True, check=True
    ).stderr
    [count] = re.findall(r"Collected : (\d+)", told)
    return int(count)


def milli(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"


def span(seconds: Sequence[float]) -> str:
    """The least and the most, and the median where there is one."""
    if len(seconds) == 2:
        return f"{seconds[0] * 1e3:.1f} to {milli(seconds[1])}"
    return f"{milli(seconds[1])} ({seconds[0] * 1e3:.1f} to {seconds[-1] * 1e3:.1f})"


if __name__ == "__main__":
    main()
