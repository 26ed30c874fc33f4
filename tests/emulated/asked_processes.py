"""Processes are asked, stopped and recorded, and notice nothing, as tests/python/running tries elsewhere.

They have the lowest priority: an emulated processor is slow.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from held_processes import asking, running

from heaplab.errors import HeaplabError
from heaplab.machine import native
from heaplab.running.attaching import Attaching
from heaplab.running.script import Script
from heaplab.running.serving import serving
from heaplab.running.target import target
from heaplab.traces import recording, tool
from heaplab.traces.control import OFF, Control

TIMES = 5
# Requests of ptrace, by number, behind which who asks is killed.
REQUESTS = {"POKEDATA": 5, "GETREGSET": 0x4204, "SETREGSET": 0x4205, "SEIZE": 0x4206, "INTERRUPT": 0x4207}


@contextmanager
def held(name: str, *words: str) -> Iterator[int]:
    """The number of a process, which tells at its end whether it has noticed anything."""
    print(name, *words, flush=True)
    with running(Path(f"/emulated/{name}"), *words) as pid:
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.setpriority(os.PRIO_PROCESS, int(thread), 19)
        yield pid


def failure(pid: int) -> str:
    try:
        asking(pid).ask()
    except HeaplabError as error:
        return str(error)
    return ""


def add_calls(script: Script, functions: Mapping[str, int]) -> None:
    """Calls that change vector registers and errno."""
    for name in ("drand48", "close"):
        script.call(functions[name], (1 << 64) - 1)


def record(pid: int) -> None:
    raw, trace = Path("/emulated/raw"), Path("/emulated/x.trace")
    raw.mkdir()
    of = target(str(pid))
    attaching = Attaching(of, serving(of), recording.recorder(), ())
    with Control(raw, "tickets", 0, on=True, attached=True) as control:
        attaching.attach(raw)
        control.begin()
        time.sleep(1)
        control.switch(OFF)
        attaching.detach()
    subprocess.run([native.helper("trace_tool"), "finish", raw, trace], check=True)
    shutil.rmtree(raw)
    [process] = tool.summary(trace)["processes"]
    found = {name: int(process["summary"][name]) for name in ("acquisitions", "released_unknown", "lost")}
    assert found.pop("acquisitions") > 10, process
    assert not any(found.values()), process


with held("guarded") as pid:
    for request, number in REQUESTS.items():
        os.environ |= {"LD_PRELOAD": "/emulated/killing", "KILL_AT": f"{number} 1"}
        assert "ask_process was ended" in failure(pid), request
        del os.environ["LD_PRELOAD"]
        assert asking(pid).ask().said.live
with held("guarded", "compute") as pid:
    question = asking(pid)
    question.question.trim = add_calls
    assert {question.trim().outcome for _ in range(TIMES)} == {"answered"}
with held("holding", "lock") as pid:
    assert "waited for a lock of malloc for a second and was abandoned" in failure(pid)
with held("waiting") as pid:
    for _ in range(TIMES):
        command = [native.needed(native.helper("change_code"), "change_code")]
        subprocess.run(command, input=f"process {pid}\n", text=True, check=True)
# A thread that has just begun to wait may find its call ended (docs/decisions/0083).
with held("guarded", "interrupts") as pid:
    for _ in range(TIMES):
        record(pid)
