#!/usr/bin/env python3
"""Programs under the recorder: what they do stays the same, and the trace holds every call in a proven order.

Usage: cases.py RECORDER TRACE_TOOL PROGRAMS CASE      PROGRAMS is the folder of the test programs
"""

import json
import resource
import shutil
import signal
import sys

from recorded_program import COUNTER, TICKETS, Recorder, expect_all, expect_lost, number, run_case

THREADS, CALLS = 8, 50_000
FORKS = 300

EXPECTED_CALLS = [
    *("new 2001 0", "delete 0 0", "new[] 2002 0", "delete[] 0 0"),
    *("new 2003 0", "delete sized 2003 0", "new[] 2004 0", "delete[] sized 2004 0"),
    *("new nothrow 2005 0", "delete 0 0", "new[] nothrow 2006 0", "delete[] 0 0"),
    *("new 2007 64", "delete 0 64", "new[] 2008 64", "delete[] 0 64"),
    *("new 2009 64", "delete sized 2009 64", "new[] 2010 64", "delete[] sized 2010 64"),
    *("new nothrow 2011 64", "delete 0 64", "new[] nothrow 2012 64", "delete[] 0 64"),
    *("malloc 1001 0", "free 0 0", "calloc 1001 0", "realloc_from 0 0", "realloc_to 1003 0"),
    *("reallocarray_from 0 0", "reallocarray_to 1004 0", "free_sized 1004 0"),
    *("posix_memalign 1005 128", "free_aligned_sized 1005 128", "aligned_alloc 1006 256", "free 0 0"),
    *("memalign 1007 512", "free 0 0", "valloc 1008 0", "free 0 0", "pvalloc 1009 0", "free 0 0"),
    *("malloc 1010 0", f"realloc_to {2**63 - 1} 0", "free 0 0", "realloc_to 1011 0", "free 0 0"),
    *("malloc 1012 0", "realloc_from 0 0"),
]


def every_call(recorder: Recorder) -> None:
    assert recorder.record("recorded_every_call") == 0
    [process] = recorder.processes()
    expect_all(process)
    called = [f"{e['kind']} {e['size']} {e['alignment']}" for e in recorder.events()]
    first = called.index(EXPECTED_CALLS[0])
    assert called[first : first + len(EXPECTED_CALLS)] == EXPECTED_CALLS
    callers = {e["caller"] for e in recorder.events()[first : first + len(EXPECTED_CALLS)]}
    assert "0" not in callers


def order(recorder: Recorder, stamps: int = COUNTER) -> None:
    assert recorder.record("recorded_swapping", THREADS, CALLS, stamps=stamps) == 0
    [process] = recorder.processes()
    expect_all(process)
    assert number(process, "acquisitions") >= THREADS * CALLS
    assert number(process, "threads") == THREADS + 1
    kinds = [(e["kind"], e["address"]) for e in recorder.events(having="thread_")]
    for kind in ("thread_create", "thread_join"):
        assert sorted(thread for what, thread in kinds if what == kind) == [
            str(n + 2) for n in range(THREADS)
        ]


def order_of_tickets(recorder: Recorder) -> None:
    order(recorder, TICKETS)


def forks(recorder: Recorder) -> None:
    assert recorder.record("recorded_processes", "fork", FORKS) == 0
    processes = recorder.processes()
    assert len(processes) == FORKS + 1
    for process in processes:
        expect_all(process)
        forked = process["process"]["forked"] == "1"
        assert number(process, "released_inherited") == forked
        assert number(process, "acquisitions") >= (50 if forked else 1)
    assert len({process["process"]["pid"] for process in processes}) == FORKS + 1


def execs(recorder: Recorder) -> None:
    assert recorder.record("recorded_processes", "exec") == 0
    first, second = recorder.processes()
    assert first["process"]["pid"] == second["process"]["pid"]
    assert first["process"]["arguments"].endswith("\0exec\0")
    assert second["process"]["arguments"].endswith("\0ended\0")
    assert (number(first, "ended"), number(second, "ended")) == (0, 1)
    assert number(second, "acquisitions") >= 1000


def spawns(recorder: Recorder) -> None:
    assert recorder.record("recorded_processes", "spawn") == 0
    first, second = recorder.processes()
    assert second["process"]["parent_pid"] == first["process"]["pid"]
    for process in (first, second):
        expect_all(process)


def many_threads(recorder: Recorder) -> None:
    assert recorder.record("recorded_processes", "threads", 5000, 500) == 0
    written = recorder.bytes_on_disk()
    [process] = recorder.processes()
    expect_all(process)
    assert number(process, "threads") == 5001
    assert written < 5000 * 16384  # threads go on in the chunks of threads that ended


def killed(recorder: Recorder) -> None:
    assert recorder.record("recorded_processes", "killed") == -signal.SIGKILL
    [process] = recorder.processes()
    expect_all(process)
    assert number(process, "acquisitions") >= 1000
    assert number(process, "ended") == 0


def quiet_exit(recorder: Recorder) -> None:
    assert recorder.record("recorded_processes", "quiet_exit") == 3
    [process] = recorder.processes()
    expect_all(process)
    assert number(process, "acquisitions") >= 1000


def size_limit(recorder: Recorder) -> None:
    assert recorder.record("recorded_swapping", 4, 50_000, most_bytes=1 << 20) == 0
    assert recorder.bytes_on_disk() <= 1 << 20
    expect_lost(recorder, "size limit", 4 * 100_000)


def disk_full(recorder: Recorder) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, 1 << 19))

    assert recorder.record("recorded_swapping", 4, 50_000, before=limit) == 0
    expect_lost(recorder, "disk full", 4 * 100_000)


def descriptors_closed(recorder: Recorder) -> None:
    assert recorder.record("recorded_processes", "closed") == 0
    [process] = recorder.processes()
    expect_all(process)
    assert number(process, "acquisitions") >= 100_000


def signal_handlers(recorder: Recorder) -> None:
    assert recorder.record("recorded_processes", "handler") == 0
    [process] = recorder.processes()
    assert number(process, "acquired_while_live") == 0
    assert number(process, "released_unknown") <= number(process, "lost")
    assert number(process, "acquisitions") >= 400_000


def no_folder(recorder: Recorder) -> None:
    def remove() -> None:
        shutil.rmtree(recorder.raw)

    assert recorder.record("recorded_processes", "ended", before=remove) == 0
    assert not recorder.raw.exists()


def libraries_at_one_address(recorder: Recorder) -> None:
    """Where a library follows another at the same addresses, each call site is in its own."""
    assert recorder.record("recorded_plugins") == 0
    [process] = recorder.processes()
    expect_all(process)
    events = [event for event in recorder.events() if event["kind"] == "malloc"]
    callers = [{int(e["caller"]) for e in events if int(e["size"]) == 40_000 + n} for n in range(3)]
    assert [len(found) for found in callers] == [1, 1, 1]
    first, two, again = (found.pop() for found in callers)
    assert first == again != two
    assert first % 2**48 == two % 2**48, "they were not loaded at one address"
    modules = json.loads(recorder.tell("sites", recorder.trace, 0))["modules"]
    for address, name in ((first, "one"), (two, "two")):
        spans = [line.split(" ", 2) for line in modules.splitlines()]
        inside = [path for span, _, path in spans if within(address, span)]
        assert [path.rpartition("/")[2] for path in inside] == [f"librecorded_plugin_{name}.so"]


def within(address: int, span: str) -> bool:
    start, end = (int(part, 16) for part in span.split("-"))
    return start < address <= end


def sampled(recorder: Recorder) -> None:
    """Where every block is a sample, programs do what they did, with threads, children and all ends."""
    for status, *words in (
        (0, "recorded_every_call"),
        (0, "recorded_swapping", 4, 50_000),
        (0, "recorded_plugins"),
        *((0, "recorded_processes", what) for what in ("exec", "spawn", "closed", "handler")),
        (0, "recorded_processes", "fork", FORKS),
        (0, "recorded_processes", "threads", 500, 50),
        (3, "recorded_processes", "quiet_exit"),
        (-signal.SIGKILL, "recorded_processes", "killed"),
    ):
        assert recorder.record(*words, sample_bytes=1) == status, words
        assert list(recorder.raw.glob("*.raw")), words
        shutil.rmtree(recorder.raw)


def program_names(recorder: Recorder) -> None:
    """A program has the name by which it was started, whatever that links to."""
    target = recorder.programs / "recorded_processes"
    link = recorder.folder / "typed"
    link.symlink_to(target)
    recorder.programs = recorder.folder
    assert recorder.record("typed", "ended") == 0
    [process] = recorder.processes()
    assert process["process"]["program"] == str(link)
    assert process["process"]["executable"] == str(target.resolve())


CASES = (
    every_call,
    order,
    order_of_tickets,
    forks,
    execs,
    spawns,
    many_threads,
    killed,
    quiet_exit,
    size_limit,
    disk_full,
    descriptors_closed,
    signal_handlers,
    no_folder,
    libraries_at_one_address,
    sampled,
    program_names,
)

if __name__ == "__main__":
    sys.exit(run_case(__doc__, CASES))
