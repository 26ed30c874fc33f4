#!/usr/bin/env python3
"""Call stacks: right where there are frame pointers or unwind information, and never a fault without.

Usage: stacks.py RECORDER TRACE_TOOL PROGRAMS CASE      PROGRAMS is the folder of the test programs
"""

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from recorded_program import Recorder, expect_all, number, run_case

MOST_FRAMES = 33  # src/trace/raw/raw_file.h
DEPTHS = 50


def stacks_by_size(recorder: Recorder) -> dict[int, set[tuple[int, ...]]]:
    sites = json.loads(recorder.tell("sites", recorder.trace, 0))["sites"]
    found = defaultdict(set)
    for event in recorder.events():
        if event["kind"] == "malloc":
            found[int(event["size"])].add(tuple(sites[int(event["site"]) - 1]))
    return found


def frame_pointers(recorder: Recorder) -> None:
    expect_call_stacks(recorder, "recorded_call_stacks")


def no_frame_pointers(recorder: Recorder) -> None:
    """Unwind information alone leads from main to the leaf, also through a function that aligns its stack."""
    found = expect_call_stacks(recorder, "recorded_call_stacks_without")
    assert {stack[3:] for stack in found[10_003]} == {stack[3:] for stack in found[10_001]}


def no_table(recorder: Recorder) -> None:
    """A program without .eh_frame_hdr has the stacks that its frame pointers lead to."""
    expect_call_stacks(recorder, "recorded_call_stacks_no_table")


def expect_call_stacks(recorder: Recorder, program: str) -> dict[int, set[tuple[int, ...]]]:
    """In each thread and each time a size has the same stack, but for what called the thread's function."""
    assert recorder.record(program, stacks=True) == 0
    [process] = recorder.processes()
    expect_all(process)
    assert process["process"]["stacks"] == "full"
    found = stacks_by_size(recorder)
    left, right = found[10_001], found[10_002]
    assert {stack[0] for stack in left} == {stack[0] for stack in right}
    assert {stack[1:3] for stack in left} & {stack[1:3] for stack in right} == set()
    for depth in range(DEPTHS):
        stacks = found[20_000 + depth]
        assert len({stack[: depth + 3] for stack in stacks}) == 1
        # main and a thread have callers of their own, which the depth may hide
        assert len(stacks) == (2 if depth + 4 <= MOST_FRAMES else 1), (depth, stacks)
        inner = next(iter(stacks))
        assert len(set(inner[2 : min(depth + 2, MOST_FRAMES)])) == min(depth, 1)
        assert all(len(stack) > depth + 3 or len(stack) == MOST_FRAMES for stack in stacks)
    assert number(process, "sites") < 4 * DEPTHS
    return found


def locked_threads(recorder: Recorder) -> None:
    """A thread whose lock the C library holds has stacks too, at any depth, on a stack of any owner."""
    assert recorder.record("recorded_thread_attributes", stacks=True) == 0
    [process] = recorder.processes()
    expect_all(process)
    stacks = stacks_by_size(recorder)
    # leaf, run, and what the C library starts threads with; leaf, descend 21 times, run
    assert {len(stack) >= 2 for stack in stacks[30_001]} == {True}
    assert len({stack[:2] for stack in stacks[30_001]}) == 1
    assert {len(stack) >= 1 + 21 + 1 for stack in stacks[30_002]} == {True}
    assert len({stack[:23] for stack in stacks[30_002]}) == 1


def other_stacks(recorder: Recorder) -> None:
    """On stacks that are not the thread's, the caller alone is known."""
    assert recorder.record("recorded_call_stacks", "elsewhere", stacks=True) == 0
    [process] = recorder.processes()
    assert number(process, "acquired_while_live") == 0
    assert {len(stack) for stack in stacks_by_size(recorder)[10_001]} == {1}


def handlers(recorder: Recorder) -> None:
    """The stack of a signal handler leads on through what the signal interrupted."""
    assert recorder.record("recorded_call_stacks_without", "handler", stacks=True) == 0
    [process] = recorder.processes()
    expect_all(process)
    [stack] = stacks_by_size(recorder)[10_001]
    modules = json.loads(recorder.tell("sites", recorder.trace, 0))["modules"]
    files = [path_of(address, modules).rpartition("/")[2] for address in stack]
    # leaf, left, call_all; the C library's return from the handler, and raise; main, and what called it
    program, library = "recorded_call_stacks_without", "libc.so.6"
    assert [file for file, _ in groupby(files)] == [program, library, program, library, program], files


def fault(recorder: Recorder) -> None:
    """A signal at the first instruction of a function: the function and its caller are in the stack."""
    program = "recorded_call_stacks_without"
    assert recorder.record(program, "fault", stacks=True) == 0
    [process] = recorder.processes()
    expect_all(process)
    [stack] = stacks_by_size(recorder)[10_001]
    modules = json.loads(recorder.tell("sites", recorder.trace, 0))["modules"]
    inside = [address for address in stack if path_of(address, modules).endswith(f"/{program}")]
    names = functions_of(recorder.programs / program, inside, modules)
    at = names.index("read_nowhere")
    assert [name.rpartition("::")[2] for name in names[at:]][:3] == ["read_nowhere", "cause_fault()", "main"]


def unloaded(recorder: Recorder) -> None:
    """Where a library follows another at the same addresses, stacks are those of its own code."""
    assert recorder.record("recorded_plugins", stacks=True) == 0
    [process] = recorder.processes()
    expect_all(process)
    found = stacks_by_size(recorder)
    outer = [{stack[1:] for stack in found[40_000 + number]} for number in range(3)]
    assert outer[0] == outer[1] == outer[2]
    assert {len(stack) for stack in outer[0]} == {4}, outer  # main, two of the C library, _start
    inner = [next(iter(found[40_000 + number]))[0] % 2**48 for number in range(3)]
    assert len(set(inner)) == 1, "the calls do not stand at one address"


def path_of(address: int, modules: str) -> str:
    for line in modules.splitlines():
        span, _, path = line.split(" ", 2)
        start, end = (int(word, 16) for word in span.split("-"))
        if start <= address < end:
            return path
    return ""


def functions_of(program: Path, addresses: Sequence[int], modules: str) -> list[str]:
    """The functions of the program that hold the byte before each address."""
    mapped = next(line for line in modules.splitlines() if line.endswith(f"/{program.name}"))
    start, offset = (int(word, 16) for word in (mapped.partition("-")[0], mapped.split(" ", 2)[1]))
    listed = subprocess.run(["nm", "-nC", program], capture_output=True, text=True, check=True).stdout
    symbols = [line.split(" ", 2) for line in listed.splitlines() if not line.startswith(" ")]
    found = []
    for address in addresses:
        inside = address - 1 - start + offset
        found.append([name for at, _, name in symbols if int(at, 16) <= inside][-1])
    return found


def children(recorder: Recorder) -> None:
    """A child of fork has a file, and stacks, of its own."""
    assert recorder.record("recorded_processes", "fork", 20, stacks=True) == 0
    for process in recorder.processes():
        expect_all(process)


def killed(recorder: Recorder) -> None:
    assert recorder.record("recorded_processes", "killed", stacks=True) < 0
    [process] = recorder.processes()
    expect_all(process)


CASES = (
    frame_pointers,
    locked_threads,
    no_frame_pointers,
    no_table,
    other_stacks,
    handlers,
    fault,
    unloaded,
    children,
    killed,
)

if __name__ == "__main__":
    sys.exit(run_case(__doc__, CASES))
