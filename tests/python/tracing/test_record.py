"""`heaplab record` leaves a program as it was, refuses what it cannot record, and loses nothing silently."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from laboratory import called
from subprocesses import HEAPLAB, HEEDING, compiled, executable, heaplab, printed_by, ran, until

from heaplab.machine import native
from heaplab.traces import tool
from heaplab.traces.control import ON, STATE_AT

pytestmark = pytest.mark.starts_programs

STATIC = "int main() { return 0; }"
STACKS = """#include <stdlib.h>
void inner(void) { free(malloc(100)); }
void outer(void) { inner(); }
int main() { outer(); }
"""


def record(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return heaplab(folder, "record", "-o", "x.trace", *arguments)


def programs_of(trace: Path) -> list[str]:
    return [Path(process["process"]["program"]).name for process in tool.summary(trace)["processes"]]


@pytest.mark.parametrize(("script", "status"), [("exit 5", 5), ("kill -9 $$", 137), ("kill -TERM $$", 143)])
def test_the_exit_status_is_that_of_the_program(tmp_path: Path, script: str, status: int) -> None:
    assert record(tmp_path, "--", "sh", "-c", script).returncode == status
    assert not (tmp_path / "x.trace.raw").exists()


@pytest.mark.parametrize("status", [0, 7])
def test_so_it_is_of_a_program_that_allocates_nothing(tmp_path: Path, status: int) -> None:
    text = f"#include <unistd.h>\nint main(void) {{ _exit({status}); }}"
    done = record(tmp_path, "--", compiled(tmp_path / "p", text))
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr == "heaplab: x.trace: nothing was recorded: no process called malloc\n"
    assert not list(tmp_path.glob("x.trace*"))


def test_what_the_program_reads_and_writes_is_its_own(tmp_path: Path) -> None:
    done = record(tmp_path, "--", "sh", "-c", "echo out; echo error >&2")
    assert done.stdout == "out\n"
    assert done.stderr.splitlines()[0] == "error"
    assert "calls lost 0; events out of order 0" in done.stderr


def test_every_process_is_in_the_trace(tmp_path: Path) -> None:
    assert record(tmp_path, "--", "sh", "-c", "ls . >/dev/null; exec ls .").returncode == 0
    programs = programs_of(tmp_path / "x.trace")
    assert programs.count("ls") == 2
    shown = called(tmp_path, "trace", "x.trace")
    assert shown.returncode == 0
    assert shown.stdout.count("released") == len(programs)


def test_another_allocator_serves_the_program(tmp_path: Path) -> None:
    assert record(tmp_path, "--under", "scalloc", "--", "ls").returncode == 0
    [process] = tool.summary(tmp_path / "x.trace")["processes"]
    assert "scalloc" in process["process"]["allocator"]


@pytest.mark.parametrize(("under", "serves"), [((), "libsame.so"), (("--under", "glibc"), "libc.so.6")])
def test_what_is_linked_serves_unless_another_is_named(
    tmp_path: Path, libraries: dict[str, Path], under: tuple[str, ...], serves: str
) -> None:
    program = compiled(tmp_path / "p", STACKS, "-Wl,--no-as-needed", str(libraries["same"]))
    assert record(tmp_path, *under, "--", program).returncode == 0
    [process] = tool.summary(tmp_path / "x.trace")["processes"]
    assert Path(process["process"]["allocator"]).name == serves


def test_the_name_of_the_trace_is_that_of_the_program(tmp_path: Path) -> None:
    assert heaplab(tmp_path, "record", "--", "ls").returncode == 0
    assert (tmp_path / "ls.trace").is_file()


def test_a_static_program_is_refused_before_it_runs(tmp_path: Path) -> None:
    compiled(tmp_path / "static", STATIC, "-static")
    done = record(tmp_path, "--", "./static")
    assert done.returncode == 2
    assert done.stderr == (
        "heaplab: static is linked statically, so no library can be preloaded into it; nothing to record but "
        "what it starts, each by itself\n"
    )
    assert not list(tmp_path.glob("x.trace*"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("-o . -- ls", "is a directory"),
        ("-o nowhere/below/x -- ./no-such-program", "there is no folder nowhere/below"),
        ("--for 0 -- ls", "is outside 0.001s"),
        ("--under nothing -- ls", "nothing"),
    ],
)
def test_bad_usage_is_one_line(tmp_path: Path, arguments: str, said: str) -> None:
    done = called(tmp_path, "record", *shlex.split(arguments))
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_killed_recording_is_finished_later(tmp_path: Path) -> None:
    program = ("sh", "-c", "ls >/dev/null; sleep 0.1; touch there; sleep 60")
    child = subprocess.Popen([*HEAPLAB, "record", "-o", "x.trace", "--", *program], cwd=tmp_path)
    wait_for(tmp_path / "there")
    grandchildren = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
    child.kill()
    child.wait()
    for pid in grandchildren:
        os.kill(int(pid), signal.SIGKILL)
    again = record(tmp_path, "--", "ls")
    assert again.returncode == 2
    assert "heaplab trace x.trace.raw makes its trace" in again.stderr
    assert called(tmp_path, "trace", "x.trace.raw").returncode == 0
    assert tool.summary(tmp_path / "x.trace")["processes"]
    assert not (tmp_path / "x.trace.raw").exists()


def test_what_interrupts_the_making_of_a_trace_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted = f'#!/bin/sh\n[ "$1" = finish ] && kill -INT $$\nexec {tool.program()} "$@"\n'
    monkeypatch.setattr(tool, "program", lambda: executable(tmp_path / "tool", interrupted))
    done = called(tmp_path, "record", "-o", "x.trace", "--", "ls")
    assert done.returncode == 1
    assert (
        "x.trace.raw: trace_tool was ended by SIGINT; heaplab trace x.trace.raw makes its trace"
        in done.stderr
    )
    monkeypatch.undo()
    assert called(tmp_path, "trace", "x.trace.raw").returncode == 0
    assert tool.summary(tmp_path / "x.trace")["processes"]


def test_where_heaplab_is_killed_the_program_goes_on_and_its_recording_too(tmp_path: Path) -> None:
    program = ("sh", "-c", "touch there; while [ ! -e enough ]; do sleep 0.05; done; ls .; touch done")
    child = subprocess.Popen([*HEAPLAB, "record", "-o", "x.trace", "--", *program], cwd=tmp_path)
    wait_for(tmp_path / "there")
    child.kill()
    child.wait()
    (tmp_path / "enough").touch()
    wait_for(tmp_path / "done")
    assert called(tmp_path, "trace", "x.trace.raw").returncode == 0
    assert "ls" in programs_of(tmp_path / "x.trace")


def test_a_disk_that_fills_up_is_said_and_what_was_recorded_is_kept(tmp_path: Path) -> None:
    refused = ran("unshare", "-rm", "true")
    if refused.returncode:
        pytest.skip(f"a small disk cannot be made here: {refused.stderr.strip()}")
    script = """
        mkdir small && mount -t tmpfs -o size=1m none small && cd small || exit 99
        "$@" record -o x.trace -- sh -c 'PYTHON -c "for i in range(99999): bytes(600)"; cat /dev/zero >all'
        echo "status $?"
        rm all && "$@" trace x.trace.raw || exit 98
        [ ! -e x.trace.raw ]
        """.replace("PYTHON", sys.executable)
    done = ran("unshare", "-rm", "sh", "-c", script, "sh", *HEAPLAB, cwd=tmp_path, timeout=100)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("status 1\n")
    assert "heaplab: x.trace.partial: No space left on device" in done.stderr
    assert "calls were not recorded: disk full" in done.stderr


def test_a_program_that_allocates_nothing_leaves_nothing_in_the_way_of_the_next_recording(
    tmp_path: Path,
) -> None:
    compiled(tmp_path / "nothing", "int main(void) { return 0; }")
    for program, recorded in (("./nothing", False), ("ls", True)):
        assert record(tmp_path, "--", program).returncode == 0
        assert (tmp_path / "x.trace").exists() is recorded
        assert not (tmp_path / "x.trace.raw").exists()


def test_signals_of_the_program_are_its_own(tmp_path: Path) -> None:
    """A handler of SIGUSR1 in the program hears what is sent to the program, and no window opens."""
    script = "trap 'touch heard' USR1; touch there; while [ ! -e enough ]; do sleep 0.05; done; exit 3"
    command = [*HEAPLAB, "record", "--paused", "-o", "x.trace", "--", "sh", "-c", script]
    child = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    wait_for(tmp_path / "there")
    [program] = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
    os.kill(int(program), signal.SIGUSR1)
    wait_for(tmp_path / "heard")
    (tmp_path / "enough").touch()
    _, said = child.communicate()
    assert child.returncode == 3
    assert said == "heaplab: x.trace: nothing was recorded: SIGUSR1 did not come\n"
    assert not list(tmp_path.glob("x.trace*"))


def test_a_window_is_recorded_between_two_signals(tmp_path: Path) -> None:
    script = "touch there; while [ ! -e enough ]; do ls >/dev/null; touch turn; sleep 0.05; done; exit 3"
    command = [*HEAPLAB, "record", "--paused", "-o", "x.trace", "--", "sh", "-c", script]
    child = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    wait_for(tmp_path / "there")
    child.send_signal(signal.SIGUSR1)
    state = tmp_path / "x.trace.raw" / "control"
    until(lambda: state.read_bytes()[STATE_AT] == ON, "recording")
    (tmp_path / "turn").unlink(missing_ok=True)
    wait_for(tmp_path / "turn")
    child.send_signal(signal.SIGUSR2)
    wait_for(tmp_path / "x.trace")  # while the program goes on
    (tmp_path / "enough").touch()
    assert child.wait() == 3
    shell, *_ = tool.summary(tmp_path / "x.trace")["processes"]
    assert int(shell["summary"]["lived_blocks"]) > 0
    command = (native.helper("compile_trace"), "x.trace", "x.workload", "0")
    compiled = json.loads(printed_by(*command, cwd=tmp_path))
    assert compiled["unknown_releases"] == 0
    assert compiled["peak_live_bytes"] == int(shell["summary"]["peak_bytes"])
    shown = called(tmp_path, "trace", "x.trace").stdout
    assert f"{shell['summary']['lived_blocks']} blocks" in shown.split("lived before")[1].splitlines()[0]
    for process in tool.summary(tmp_path / "x.trace")["processes"]:
        assert process["summary"]["released_unknown"] == "0"


def test_instructions_are_counted_or_refused_in_one_line(tmp_path: Path) -> None:
    done = record(tmp_path, "--count-instructions", "--", "perl", "-e", "$x{$_} = 1 for 1..100000")
    if fault := tool.why_no_instructions():
        assert done.returncode == 1
        [line] = done.stderr.splitlines()
        assert line.startswith("heaplab: --count-instructions: this machine does not lend")
        assert fault in line
        return
    [process] = tool.summary(tmp_path / "x.trace")["processes"]
    calls = int(process["summary"]["acquisitions"])
    assert 10 * calls < int(process["summary"]["instructions"]) < 100_000 * calls


def test_cpu_time_leaves_out_what_a_program_sleeps(tmp_path: Path) -> None:
    assert record(tmp_path, "--", "perl", "-e", "select(undef, undef, undef, 0.5)").returncode == 0
    [process] = tool.summary(tmp_path / "x.trace")["processes"]
    of, sums = process["process"], process["summary"]
    seconds = (int(sums["end_ticks"]) - int(of["start_ticks"])) / int(of["ticks_per_second"])
    assert 0 < int(sums["cpu_ns"]) * 1e-9 < seconds - 0.5


def test_call_stacks_are_recorded_by_frame_pointers(tmp_path: Path) -> None:
    compiled(tmp_path / "stacks", STACKS, "-g", "-O0", "-fno-omit-frame-pointer")
    assert record(tmp_path, "--stacks", "--", "./stacks").returncode == 0
    shown = called(tmp_path, "trace", "x.trace").stdout
    assert "inner (stacks.c:2) < outer < main" in shown


DAEMON = """#include <stdlib.h>
#include <unistd.h>
int main() {
  for (int i = 0; i < 1000; i++) free(malloc(10));
  if (daemon(1, 1) != 0) return 1;
  while (access("enough", F_OK) != 0) usleep(50000);
  for (int i = 0; i < 50000; i++) free(malloc(100));
}
"""


def test_what_the_program_leaves_running_is_recorded_and_named(tmp_path: Path) -> None:
    compiled(tmp_path / "service", DAEMON)
    command = [*HEAPLAB, "record", "-o", "x.trace", "--", "./service"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr.readline().startswith("heaplab: x.trace: still recorded: service (")
        (tmp_path / "enough").touch()
        child.stderr.read()  # the names of unnamed call sites may follow
    assert child.returncode == 0
    events = [process["events"] for process in tool.summary(tmp_path / "x.trace")["processes"]]
    assert max(events) >= 100_000


def test_the_recording_of_what_is_left_running_can_be_ended(tmp_path: Path) -> None:
    script = "(touch there; while [ ! -e enough ]; do ls >/dev/null; sleep 0.05; done) & exit 4"
    command = [*HEEDING, *HEAPLAB, "record", "-o", "x.trace", "--", "sh", "-c", script]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr
        try:
            wait_for(tmp_path / "there")
            told = child.stderr.readline()
            child.send_signal(signal.SIGINT)
            wait_for(tmp_path / "x.trace")  # while the loop goes on
        finally:
            (tmp_path / "enough").touch()
            child.stderr.read()
    assert re.search(r"still recorded: .*\bsh \(", told)
    assert child.returncode == 4
    assert "ls" in programs_of(tmp_path / "x.trace")


def test_a_size_limit_is_said(tmp_path: Path) -> None:
    done = record(
        tmp_path, "--trace-limit", "100KiB", "--", sys.executable, "-c", "[bytearray(i) for i in range(9999)]"
    )
    assert done.returncode == 0
    assert "calls were not recorded: size limit" in done.stderr


def wait_for(path: Path) -> None:
    until(path.exists, str(path))
