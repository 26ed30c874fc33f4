"""A process that runs already is recorded, and goes on as before, also if heaplab is killed at any step."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from held_processes import preloads, running
from laboratory import called
from subprocesses import HEAPLAB, until

from heaplab.advise.growth import growths_of
from heaplab.errors import HeaplabError, UsageError
from heaplab.machine import native
from heaplab.options.chosen_arms import BASELINE
from heaplab.programs.servers import free_port
from heaplab.running import run_attach
from heaplab.running.attaching import Attaching
from heaplab.running.serving import serving
from heaplab.running.target import state_of, target
from heaplab.traces import recording, tool
from heaplab.traces.control import OFF
from heaplab.traces.profile import of_process
from heaplab.traces.recording import Wanted
from heaplab.traces.sample_file import SampleFile
from heaplab.tracing import run_record, run_sample

TIMES = 20
# Requests of ptrace, by number: each step of a program that changes code. SETREGSET follows GETREGSET where a
# thread waits in one of a few system calls.
REQUESTS = {"POKEDATA": 5, "DETACH": 17, "GETREGSET": 0x4204, "SEIZE": 0x4206, "INTERRUPT": 0x4207}
COUNTS = ("acquisitions", "acquired_while_live")
LATE = 7  # of the requests of a kind
VISITS = 30_000  # after which a leak is worth a word

pytestmark = [
    pytest.mark.starts_programs,
    pytest.mark.skipif(native.helper("change_code") is None, reason="built without change_code"),
]


def attaching(pid: int) -> Attaching:
    of = target(str(pid))
    return Attaching(of, serving(of), recording.recorder(), ())


def code(pid: int) -> list[bytes]:
    """The begins of all functions that are redirected, as they are in memory."""
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        found = []
        for function in attaching(pid).redirection.functions:
            memory.seek(function.of.start)
            found.append(memory.read(function.replaced))
    return found


@contextmanager
def recorded(folder: Path, pid: int) -> Iterator[Attaching]:
    """The process while it is recorded, in a folder that is removed afterwards."""
    wanted = Wanted(folder / "x.trace", run_record.library_of((), BASELINE), attached=True)
    recording.make_folder(wanted.raw)
    with recording.control_of(wanted) as control:
        found = attaching(pid)
        found.attach(wanted.raw)
        control.begin()
        yield found
        control.switch(OFF)
        found.detach()
    recording.remove(wanted.raw)


def test_a_running_process_is_recorded_and_goes_on_as_before(tmp_path: Path, guarded: Path) -> None:
    with running(guarded) as pid:
        before = code(pid)
        done = called(tmp_path, "record", "--pid", str(pid), "--for", "0.5s", "-o", "x.trace", "--stacks")
        assert done.returncode == 0, done.stderr
        assert code(pid) == before
        maps = Path(f"/proc/{pid}/maps").read_text()
    [process] = tool.summary(tmp_path / "x.trace")["processes"]
    found = {name: int(process["summary"][name]) for name in ("acquisitions", "released_inherited", "lost")}
    assert found["acquisitions"] > 1000
    assert found["released_inherited"] > 100  # blocks from before
    assert process["summary"]["released_unknown"] == process["summary"]["acquired_while_live"] == "0"
    assert found["lost"] == 0
    assert "libc.so.6" in process["process"]["allocator"]
    assert "from before" in called(tmp_path, "trace", "x.trace").stdout
    assert "libheaplab_recorder.so" in maps


def test_a_busy_process_notices_none_of_many_recordings(tmp_path: Path, guarded: Path) -> None:
    with running(guarded) as pid:
        before = code(pid)
        for _ in range(TIMES):
            with recorded(tmp_path, pid):
                time.sleep(0.01)
        assert code(pid) == before


def test_the_recorder_of_an_earlier_recording_is_no_malloc(
    tmp_path: Path, guarded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor where a title over the environment hides what was preloaded."""
    with running(guarded) as pid:
        before = serving(target(str(pid))).name
        with recorded(tmp_path, pid):
            pass
        monkeypatch.setattr(Path, "read_bytes", lambda _path: b"guarded: serving clients\0\0")
        assert serving(target(str(pid))).name == before


@pytest.mark.parametrize("library", preloads())
def test_another_malloc_is_recorded_too(tmp_path: Path, guarded: Path, library: str) -> None:
    with running(guarded, environment={"LD_PRELOAD": library}) as pid:
        done = called(tmp_path, "record", "--pid", str(pid), "--for", "0.3s", "-o", "x.trace")
        assert done.returncode == 0, done.stderr
    [process] = tool.summary(tmp_path / "x.trace")["processes"]
    found = {name: int(count) for name, count in process["summary"].items() if name in COUNTS}
    assert found["acquisitions"] > 100
    assert found["acquired_while_live"] == 0  # each release was seen, by whichever name of its function
    assert Path(process["process"]["allocator"]).name == Path(library).name


def test_a_malloc_that_is_compiled_in_is_recorded_too(tmp_path: Path, served_by_its_own: Path) -> None:
    with running(served_by_its_own) as pid:
        done = called(tmp_path, "record", "--pid", str(pid), "--for", "0.3s", "-o", "x.trace")
        assert done.returncode == 0, done.stderr
    [process] = tool.summary(tmp_path / "x.trace")["processes"]
    assert int(process["summary"]["acquisitions"]) > 100
    assert process["process"]["allocator"] == str(served_by_its_own)


@pytest.mark.parametrize(
    ("kind", "grows", "leaks_surely"),
    [("leak", "forgotten", True), ("cache", "cached", False), ("nothing", "", False)],
)
def test_what_grows_is_told_and_what_is_older_is_no_leak(
    tmp_path: Path, served: Path, kind: str, grows: str, leaks_surely: bool
) -> None:
    with running(served, kind) as pid:
        done = called(tmp_path, "record", "--pid", str(pid), "--for", "1s", "-o", "x.trace", "--stacks")
        assert done.returncode == 0, done.stderr
    found = growths_of(of_process(tmp_path / "x.trace", tool.summary(tmp_path / "x.trace"), 0))
    assert [growth.name.split()[0] for growth in found] == ([grows] if grows else [])
    assert all((growth.leaks and growth.sure) == leaks_surely for growth in found)


def test_samples_tell_it_too(tmp_path: Path, served: Path) -> None:
    with running(served, "leak") as pid:
        sampled = ("--sample", "4KiB", "--every", "0.2s", "-o", "x.sample")
        for _ in range(2):  # the second has counts of its own
            done = called(tmp_path, "record", "--pid", str(pid), "--for", "1s", *sampled)
            assert done.returncode == 0, done.stderr
    moments, is_whole = run_sample.moments_of(tmp_path / "x.sample", None)
    assert is_whole
    assert len(moments) > 1
    most = max(moments[-1].callers.values(), key=lambda caller: caller.live.bytes)
    assert most.name.split()[0] == "forgotten"
    assert most.kept == 1


class Visitors(threading.Thread):
    """Send redis the command of its forgetful module, over and over, and count the answers."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.count, self.is_over, self._port = 0, False, port

    def run(self) -> None:
        with socket.create_connection(("127.0.0.1", self._port)) as connection:
            answers = connection.makefile("rb")
            while not self.is_over:
                connection.sendall(b"visit\r\n" * 100)
                for number in range(self.count + 1, self.count + 101):
                    assert answers.readline() == b":%d\r\n" % number
                self.count += 100

    def wait_for(self, more: int) -> None:
        wanted = self.count + more
        until(lambda: self.count > wanted or not self.is_alive(), "visits", 300)
        assert self.is_alive()


@contextmanager
def visited(folder: Path, module: Path) -> Iterator[tuple[int, Visitors]]:
    """The number of a redis with a module that leaks, and its visitors."""
    port = free_port()
    command = ["redis-server", "--port", str(port), "--save", "", "--loadmodule", str(module)]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, cwd=folder, stdout=log) as server:
        visitors = Visitors(port)
        try:
            until(lambda: b"Ready to accept" in (folder / "log").read_bytes(), "the server")
            visitors.start()
            yield server.pid, visitors
            visitors.is_over = True
            visitors.join()
        finally:
            visitors.is_over = True
            server.kill()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("redis-server") is None, reason="no redis-server")
def test_a_leak_of_a_server_is_found_while_it_serves(tmp_path: Path, forgetful: Path) -> None:
    with visited(tmp_path, forgetful) as (pid, visitors):
        visitors.wait_for(VISITS)  # blocks from before
        sampled = ("--sample", "8KiB", "--every", "0.2s", "-o", "x.sample")
        words = [*HEAPLAB, "record", "--pid", str(pid), *sampled]
        with subprocess.Popen(words, cwd=tmp_path) as heaplab:
            until(lambda: count_of(tmp_path / "x.sample") > 0, "a snapshot", 300)
            for _ in range(2):
                visitors.wait_for(VISITS)
            heaplab.send_signal(signal.SIGTERM)
            assert heaplab.wait(300) == 0
        visitors.wait_for(VISITS)
    said = " ".join(called(tmp_path, "advise", "x.sample").stdout.split())  # as wide as a terminal may be
    assert re.match(r"growing: .*; remembered_visitor \(forgetful.c:\d+\) < visit < ", said), said


def count_of(file: Path) -> int:
    return len(list(SampleFile(file).snapshots())) if file.exists() else 0


@pytest.mark.parametrize("number", [1, LATE])
@pytest.mark.parametrize("request_name", REQUESTS)
def test_a_process_outlives_the_end_of_who_changes_its_code(
    tmp_path: Path,
    guarded: Path,
    killing: Path,
    monkeypatch: pytest.MonkeyPatch,
    request_name: str,
    number: int,
) -> None:
    with running(guarded, "interrupts") as pid:
        before = code(pid)
        with monkeypatch.context() as patch:
            real = Attaching._change

            def killed(self: Attaching, changes: Sequence[tuple[int, bytes, bytes]]) -> float:
                patch.setenv("LD_PRELOAD", str(killing))
                patch.setenv("KILL_AT", f"{REQUESTS[request_name]} {number}")
                return real(self, changes)

            patch.setattr(Attaching, "_change", killed)
            with pytest.raises(HeaplabError, match="change_code was ended"), recorded(tmp_path, pid):
                pass
        assert state_of(pid) not in "tTZ"
        recording.remove(tmp_path / "x.trace.raw")
        with recorded(tmp_path, pid):  # what was begun is completed, and then taken back
            time.sleep(0.05)
        assert code(pid) == before


@pytest.mark.parametrize("program", ["ask_process", "change_code"])
@pytest.mark.parametrize("request_name", [*REQUESTS, "SETREGSET"])
def test_a_process_notices_nothing_of_the_end_of_heaplab_at_any_step(
    tmp_path: Path, guarded: Path, killing: Path, request_name: str, program: str
) -> None:
    """Its helper completes the step: not even an epoll_wait ends early."""
    steps = REQUESTS | {"SETREGSET": 0x4205}
    environment = {"LD_PRELOAD": str(killing), "KILL_AT": f"{steps[request_name]} 1 {program}"}
    with running(guarded) as pid:
        before = code(pid)
        command = [*HEAPLAB, "record", "--pid", str(pid), "--for", "0.1s", "-o", "x.trace"]
        done = subprocess.run(command, cwd=tmp_path, env=os.environ | environment, check=False)
        assert done.returncode == -signal.SIGKILL
        until(lambda: not is_home_of_any(tmp_path), "the end of the helper")
        recording.remove(tmp_path / "x.trace.raw")
        with recorded(tmp_path, pid):
            time.sleep(0.05)
        assert code(pid) == before


def test_no_system_call_ends_early(tmp_path: Path, waiting: Path) -> None:
    """Where Linux ends a call at a stop, also without a signal, the thread begins it anew."""
    with running(waiting) as pid:
        for _ in range(2):
            with recorded(tmp_path, pid):
                pass


def is_home_of_any(folder: Path) -> bool:
    """Whether a process runs in this folder."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").samefile(folder):
                return True
    return False


def test_heaplab_may_be_killed_while_it_records(tmp_path: Path, guarded: Path) -> None:
    raw = tmp_path / "x.trace.raw"
    with running(guarded) as pid:
        before = code(pid)
        command = [*HEAPLAB, "record", "--pid", str(pid), "-o", "x.trace"]
        with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as heaplab:
            until(lambda: list(raw.glob("*.raw")) and not is_off(raw), "a recording that is on")
            heaplab.kill()
        until(lambda: is_off(raw), "the end of a recording that nobody keeps")
        recording.remove(raw)
        with recorded(tmp_path, pid):
            pass
        assert code(pid) == before


def is_off(raw: Path) -> bool:
    content = (raw / "control").read_bytes()
    return content[12] == 0


def test_a_process_that_ends_while_it_is_looked_at_is_said_to_have_ended() -> None:
    """Whatever file of it is missed first."""
    with subprocess.Popen(["sleep", "100"]) as child:
        of = target(str(child.pid))
        with pytest.raises(UsageError, match="no such file"), run_attach.while_it_runs(of):
            raise UsageError("no such file")
        child.kill()
        child.wait()
        with pytest.raises(HeaplabError, match="has ended"), run_attach.while_it_runs(of):
            raise UsageError("no such file")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--pid", "1", "--", "ls"), "give either PROGRAM or --pid PID"),
        ((), "give either PROGRAM or --pid PID"),
        (("--pid", "1", "--paused"), "--paused goes with a program that is started, not with --pid"),
        (("--pid", "x"), "is no number of a process"),
    ],
)
def test_wrong_usage_is_one_line(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    done = called(tmp_path, "record", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
