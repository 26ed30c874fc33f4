"""Allocators of running processes are asked: figures are right, and the processes notice nothing."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import pytest
from held_processes import asking, preloads, running
from laboratory import call, failure, success
from subprocesses import compiled, until

from heaplab.errors import HeaplabError
from heaplab.machine import native
from heaplab.machine.coverage.mappings import Region
from heaplab.running import asking as asking_module
from heaplab.running.asking import side_by_side
from heaplab.running.questions import abandoned_pages, said_by_xml, whole_pages
from heaplab.running.script import Script
from heaplab.running.target import state_of, target

MIB = 1 << 20
HELD = 40 * MIB
QUICK = ("look", "--for", "50ms", "--json", "--ask")
QUESTIONS = 200
COMPUTING = 20
KILLED = 2  # threads that ask_process sends into calls before it has the answer: to map memory, to ask
# Requests of ptrace, by number: each step of an asking program.
REQUESTS = {
    "POKEDATA": 5,
    "DETACH": 17,
    "GETREGSET": 0x4204,
    "SETREGSET": 0x4205,
    "SEIZE": 0x4206,
    "INTERRUPT": 0x4207,
}

pytestmark = [
    pytest.mark.starts_programs,
    pytest.mark.skipif(native.helper("ask_process") is None, reason="built without ask_process"),
]


def asked(pid: int, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(success(call(*QUICK, *options, pid)))
    return found


@pytest.mark.parametrize(
    ("kind", "verdict", "live", "free"),
    [
        ("live", "live data", HELD, 0),
        ("retained", "retained", 0, HELD),
        ("mapped", "outside malloc", 0, 0),
        ("stacks", "outside malloc", 0, 0),
    ],
)
def test_the_c_library_tells_what_is_live_and_what_is_free(
    holding: Path, kind: str, verdict: str, live: int, free: int
) -> None:
    with running(holding, kind) as pid:
        found = asked(pid)
    assert (found["verdict"], found["sure"]) == (verdict, True)
    assert live <= found["asked"]["live"] < live + MIB
    assert free <= found["asked"]["free"] < free + MIB
    assert found["also"] == []


def test_free_memory_between_blocks_in_use_is_pinned(holding: Path) -> None:
    with running(holding, "pinned") as pid:
        found = asked(pid)
    assert (found["verdict"], found["sure"]) == ("pinned", True)
    assert HELD / 2 < found["asked"]["free"] < HELD
    assert found["asked"]["returnable_at_most"] < MIB
    assert [other["verdict"] for other in found["also"]] == ["live data"]


def test_one_sentence_tells_all_of_it(holding: Path) -> None:
    with running(holding, "retained") as pid:
        sentence = asked(pid)["sentence"]
    assert sentence.startswith("retained by the C library: of 40.")
    assert " free in 2 arenas of the C library, of which malloc_trim can return at most 40." in sentence
    assert "MALLOC_ARENA_MAX" not in sentence


def test_where_many_arenas_hold_memory_the_setting_is_named_with_its_measure(holding: Path) -> None:
    with running(holding, "arenas") as pid:
        sentence = asked(pid)["sentence"]
    assert " free in 4 arenas of the C library, of which malloc_trim can return at most 12" in sentence
    assert " (sure); in other programs MALLOC_ARENA_MAX=2 was measured to " in sentence


@pytest.mark.parametrize(("kind", "least", "most"), [("retained", 39 * MIB, 41 * MIB), ("live", 0, MIB)])
def test_what_trimming_returns_was_promised(holding: Path, kind: str, least: int, most: int) -> None:
    with running(holding, kind) as pid:
        found = asked(pid, "--trim")["asked"]
        again = asked(pid)
    assert least <= found["came_back"] <= most
    assert found["came_back"] <= found["returnable_at_most"] + 64 * 1024  # of what else the process has freed
    assert again["verdict"] == ("live data" if kind == "live" else "nothing to gain")


@pytest.mark.parametrize("library", preloads())
@pytest.mark.parametrize("kind", ["live", "large"])
def test_other_allocators_tell_it_too(holding: Path, library: str, kind: str) -> None:
    with running(holding, kind, environment={"LD_PRELOAD": library}) as pid:
        found = asked(pid)
    assert (found["verdict"], found["sure"]) == ("live data", True)
    assert 0.99 * HELD <= found["asked"]["live"] < 1.1 * HELD
    assert found["also"] == []


def under(library: str) -> dict[str, str]:
    found = next((path for path in preloads() if library in path), None)
    if found is None:
        pytest.skip(f"{library} is not here")
    return {"LD_PRELOAD": found}


@pytest.mark.parametrize("library", ["heaplab_scalloc", "jemalloc", "mimalloc"])
def test_others_tell_what_blocks_in_use_pin(holding: Path, library: str) -> None:
    with running(holding, "pinned", environment=under(library)) as pid:
        found = asked(pid)
    assert (found["verdict"], found["sure"]) == ("pinned", True)
    assert [other["verdict"] for other in found["also"]] == ["live data"]


@pytest.mark.parametrize("library", ["jemalloc", "mimalloc"])
def test_others_tell_what_they_retain(holding: Path, library: str) -> None:
    with running(holding, "retained", environment=under(library)) as pid:
        found = asked(pid, "--trim")
    assert (found["verdict"], found["sure"]) == ("retained", True)
    assert found["asked"]["live"] < MIB
    assert 0.7 * HELD < found["asked"]["came_back"] < 1.1 * HELD


@pytest.mark.parametrize("library", ["heaplab_scalloc", "jemalloc", "mimalloc"])
def test_what_the_program_maps_is_not_the_allocators(holding: Path, library: str) -> None:
    with running(holding, "mapped", environment=under(library)) as pid:
        found = asked(pid)
    assert (found["verdict"], found["sure"]) == ("outside malloc", True)
    assert found["also"] == []


# Threads that have ended left pages to mimalloc that no other thread has taken yet; one in stdio is not sent.
@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("ended", r"of \d+ pages of threads that have ended mimalloc tells nothing"),
        ("fgets", "1 thread could not be asked"),
    ],
)
def test_of_threads_that_cannot_be_asked_nothing_is_claimed(holding: Path, kind: str, says: str) -> None:
    with running(holding, kind, environment=under("mimalloc")) as pid:
        found = asked(pid)
    assert (found["verdict"], found["sure"]) == ("live data", False)
    assert found["asked"]["live"] is None
    assert re.search(says, found["sentence"])


def test_llheap_claims_nothing_without_its_statistics(holding: Path) -> None:
    with running(holding, "retained", environment={"LD_PRELOAD": str(native.library("llheap"))}) as pid:
        found = asked(pid)
    assert (found["verdict"], found["sure"], found["asked"]["live"]) == ("live data", False, None)
    assert "it does not count live bytes" in found["sentence"]


def test_heaps_that_a_program_makes_itself_are_told(holding: Path, tmp_path: Path) -> None:
    text = "void* mi_heap_new(void); void* made(void) { return mi_heap_new(); }"
    user = compiled(tmp_path / "user.so", text, "-shared", "-fPIC")
    preloaded = under("mimalloc")["LD_PRELOAD"] + f":{user}"
    with running(holding, "live", environment={"LD_PRELOAD": preloaded}) as pid:
        found = asked(pid)
    assert (found["verdict"], found["sure"], found["asked"]["live"]) == ("live data", False, None)
    assert "user.so makes heaps of its own, of which nothing is told" in found["sentence"]


@pytest.mark.parametrize(
    ("statistics", "abandoned"),
    [
        ("heap stats:    peak      total      freed    current       unit\n"
         "     pages:      5          5          0          5          ok\n"
         "-abandoned:    1.2 K      1.3 K      0        1.1 K        not all freed!\n", "1.1 K"),
        ("heap stats:     peak       total     current       block      total#\n"
         "-abandoned:     7           7           7\n"
         "     pages:     5           5           5\n"
         "-abandoned:     2           2           0\n", ""),
        ("     pages:     5           5           5\n", "an unknown number of"),
        ("", "an unknown number of"),
    ],
)  # fmt: skip
def test_abandoned_pages_are_read_in_both_forms(statistics: str, abandoned: str) -> None:
    assert abandoned_pages(statistics) == abandoned


def test_mappings_without_a_gap_are_one() -> None:
    rows = [
        (0, 10, "", 4),
        (10, 20, "", 0),
        (20, 30, "", 5),
        (30, 40, "/x.so", 9),
        (40, 50, "", 2),
        (60, 70, "", 0),
    ]
    mapped = [
        Region(start, end, "rw-p", name, {"Anonymous": size}, frozenset()) for start, end, name, size in rows
    ]
    assert list(side_by_side(mapped)) == [(9, 0, 30), (2, 40, 50)]


def test_freed_memory_is_whole_pages_inside_free_blocks() -> None:
    root = ElementTree.fromstring(
        '<malloc><heap nr="0"><sizes><size from="33" to="49" total="490" count="10"/>'
        '<size from="4000" to="9000" total="80000" count="10"/></sizes>'
        '<total type="fast" count="0" size="0"/><total type="rest" count="21" size="90490"/>'
        '<system type="current" size="200000"/></heap><total type="fast" count="0" size="0"/>'
        '<total type="rest" count="21" size="90490"/><total type="mmap" count="1" size="8192"/>'
        '<system type="current" size="200000"/></malloc>'
    )
    said = said_by_xml(root)
    top = 90490 - 80490
    assert (said.live, said.free, said.arenas) == (200000 - 90490 + 8192, 90490, 1)
    assert said.returnable == 80000 + top
    assert [whole_pages(size) for size in root.iter("size")] == [0, 80000]


@pytest.mark.parametrize("words", [(), ("stdio",)])
def test_a_busy_process_notices_no_question(guarded: Path, words: tuple[str, ...]) -> None:
    threads = set()
    with running(guarded, *words) as pid:
        for _ in range(QUESTIONS):
            answer = asking(pid).ask()
            threads.add(answer.call.thread)
            assert answer.said.live
            assert answer.said.arenas
    if words:
        assert pid not in threads  # the first thread waits in stdio
        assert len(threads) > 1


def test_a_thread_that_computes_keeps_its_registers_and_errno(
    guarded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The functions that are called change both: drand48 has vector registers, close(-1) sets errno."""

    def add_calls(script: Script, functions: Mapping[str, int]) -> None:
        for name in ("drand48", "close"):
            script.call(functions[name], (1 << 64) - 1)

    with running(guarded, "compute") as pid:
        question = asking(pid)
        monkeypatch.setattr(question.question, "trim", add_calls)
        outcomes = [question.trim() for _ in range(COMPUTING)]
    assert {outcome.outcome for outcome in outcomes} == {"answered"}
    assert {outcome.thread for outcome in outcomes} == {pid}


@pytest.mark.parametrize("library", preloads())
def test_a_busy_process_under_another_malloc_notices_none_either(guarded: Path, library: str) -> None:
    with running(guarded, "stdio", environment={"LD_PRELOAD": library}) as pid:
        for _ in range(5):
            asking(pid).ask()
            asking(pid).trim()


@pytest.mark.parametrize("number", range(1, KILLED + 1))
@pytest.mark.parametrize("request_name", REQUESTS)
def test_a_process_outlives_the_end_of_who_asks(
    guarded: Path, killing: Path, monkeypatch: pytest.MonkeyPatch, request_name: str, number: int
) -> None:
    with running(guarded) as pid:
        question = asking(pid)
        with monkeypatch.context() as patch:
            patch.setenv("LD_PRELOAD", str(killing))
            patch.setenv("KILL_AT", f"{REQUESTS[request_name]} {number}")
            with pytest.raises(HeaplabError, match="ask_process was ended"):
                question.ask()
        assert state_of(pid) not in "tTZ"
        assert asking(pid).ask().said.live


def test_a_call_that_waits_for_a_lock_is_abandoned(holding: Path) -> None:
    with running(holding, "lock") as pid:
        said = failure(call(*QUICK, pid))
        assert "waited for a lock of malloc for a second and was abandoned" in said
        until(lambda: state_of(pid) == "S", "the process as it was", 20)


def mappings(pid: int) -> list[str]:
    """Where mappings begin, but for the heap, which trimming makes smaller."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return [line for line in lines if "[heap]" not in line]


def test_no_mapping_is_left(holding: Path) -> None:
    with running(holding, "live") as pid:
        asked(pid)
        before = mappings(pid)
        asked(pid, "--trim")
        until(lambda: mappings(pid) == before, "the same mappings as before", 20)


def test_a_stopped_process_is_not_asked(holding: Path) -> None:
    with running(holding, "live") as pid:
        os.kill(pid, signal.SIGSTOP)
        until(lambda: state_of(pid) == "T", "the stop")
        assert "it is stopped; continue it first" in failure(call(*QUICK, pid))
        os.kill(pid, signal.SIGCONT)


def test_a_traced_process_is_not_asked(holding: Path) -> None:
    seize = (
        f"import ctypes, sys, time; ctypes.CDLL(None).ptrace({REQUESTS['SEIZE']}, int(sys.argv[1]), 0, 0); "
        "print(flush=True); time.sleep(600)"
    )
    with running(holding, "live") as pid:
        with subprocess.Popen([sys.executable, "-c", seize, str(pid)], stdout=subprocess.PIPE) as debugger:
            assert debugger.stdout
            debugger.stdout.readline()
            said = failure(call(*QUICK, pid))
            debugger.kill()
        assert f"process {debugger.pid} traces it already" in said


def test_changed_code_is_not_called(holding: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking_module.Symbols, "begin_of", lambda _self, _address: b"\xcc" * 16)
    with running(holding, "live") as pid:
        assert "its code is not that of its files" in failure(call(*QUICK, pid))


@pytest.mark.parametrize(
    ("status", "says"),
    [
        ({}, ""),
        ({"Seccomp": "2"}, "its system calls are filtered (seccomp)"),
        ({"x86_Thread_features": "shstk wrss"}, "it has a shadow stack"),
        ({"TracerPid": "7"}, "process 7 traces it already"),
        ({"State": "T (stopped)"}, "it is stopped"),
    ],
)
def test_a_state_that_forbids_calls_is_named(
    holding: Path, monkeypatch: pytest.MonkeyPatch, status: dict[str, str], says: str
) -> None:
    with running(holding, "live") as pid:
        of = target(str(pid))
        monkeypatch.setitem(vars(of), "status", of.status | status)
        said = asking_module.first_of(of)
    assert said.startswith(says)
    assert bool(said) == bool(says)


@pytest.mark.parametrize("agrees", [True, False])
def test_on_a_terminal_nothing_is_given_back_unasked(
    holding: Path, monkeypatch: pytest.MonkeyPatch, agrees: bool
) -> None:
    asked_for = []

    def confirm(what: str, **_options: object) -> bool:
        asked_for.append(what)
        return agrees

    with running(holding, "retained") as pid, monkeypatch.context() as patch:
        patch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        patch.setattr(click, "confirm", confirm)
        came_back = asked(pid, "--trim")["asked"]["came_back"]
    assert [
        what.endswith("call malloc_trim? Threads that allocate wait meanwhile.") for what in asked_for
    ] == [True]
    assert (came_back is not None) == agrees
