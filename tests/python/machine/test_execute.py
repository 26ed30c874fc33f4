"""One process from outside: its end, its limits, its memory."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from bare_records import bare_arm
from subprocesses import HEEDING, gone, printed_by, ran, until

from heaplab.machine.execute import CannotStartError, Execution, environment_for, execute
from heaplab.machine.watch import CURVE_POINTS, FEWEST_SAMPLES, FIRST_INTERVAL_S, Limits, Watcher, thin_curve

MIB = 1 << 20
LIMITS = Limits(time=20)
TOUCH = "import time; block = bytearray(64 << 20); time.sleep(0.15)"


def python(program: str, limits: Limits = LIMITS) -> Execution:
    return execute([sys.executable, "-SEc", program], dict(os.environ), limits)


def test_a_program_that_ends_well() -> None:
    ended = execute(["/bin/sleep", "0.1"], {}, Limits(time=20))
    assert (ended.exit_status, ended.killed_for) == (0, "")
    assert 0.1 <= ended.process.wall_time < 5
    assert ended.process.minor_faults > 10


@pytest.mark.parametrize(("code", "status"), [("exit 7", 7), ("kill -SEGV $$", -11)])
def test_how_a_program_ended(code: str, status: int) -> None:
    assert execute(["/bin/sh", "-c", code], {}, Limits(time=20)).exit_status == status


def test_what_it_complains_about_can_be_read() -> None:
    with tempfile.TemporaryFile() as errors:
        execute(["/bin/sh", "-c", "echo no room >&2"], {}, Limits(time=20), errors=errors)
        errors.seek(0)
        assert errors.read() == b"no room\n"


def test_the_time_limit_ends_it_and_all_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    ended = execute(["/bin/sh", "-c", f"sleep 600 & echo $! >{mark}; wait"], {}, Limits(time=0.3))
    assert ended.killed_for == "time"
    until(lambda: gone(mark.read_text().strip()), "the child is gone")


def test_a_child_left_behind_dies_when_the_run_is_over() -> None:
    before = time.monotonic()
    execute(["/bin/sh", "-c", "sleep 600 & exit 0"], {}, Limits(time=20))
    assert time.monotonic() - before < 10


def test_the_memory_limit_ends_it() -> None:
    ended = python(
        "block = bytearray(400 << 20)\nimport time; time.sleep(20)", Limits(time=20, memory=100 * MIB)
    )
    assert ended.killed_for == "memory"
    assert ended.process.wall_time < 15


def test_memory_of_the_process_and_of_its_children_counts() -> None:
    alone = python(TOUCH).process.peak_memory
    assert 64 * MIB < alone < 90 * MIB
    both = f"import os\nif os.fork(): os.wait()\nelse:\n    {TOUCH}\n"
    assert 64 * MIB < python(both).process.peak_memory < 100 * MIB


def test_a_program_that_cannot_be_started_is_named() -> None:
    with pytest.raises(CannotStartError, match="/no/such: No such file"):
        execute(["/no/such"], {}, Limits(time=1))


def test_the_users_own_preloads_and_settings_do_not_reach_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("LD_PRELOAD", "MALLOC_CONF", "GLIBC_TUNABLES"):
        monkeypatch.setenv(name, "mine")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/mine")
    environment = {"LD_LIBRARY_PATH": "/x", "X_CACHE": "0"}
    library = bare_arm("x", preload=["/lib/x.so"], environment=environment)
    found = environment_for(library)
    assert found["LD_PRELOAD"] == "/lib/x.so"
    assert found["LD_LIBRARY_PATH"] == "/x:/mine"
    assert found["X_CACHE"] == "0"
    assert "MALLOC_CONF" not in found
    assert "GLIBC_TUNABLES" not in found


def test_a_long_curve_keeps_its_peaks() -> None:
    curve = [(i / 100, 10_000 if i == 777 else i % 7, 1) for i in range(5_000)]
    thinned = thin_curve(curve)
    assert len(thinned) == CURVE_POINTS
    assert (7.77, 10_000, 1) in thinned
    assert thinned == sorted(thinned)
    assert thin_curve(curve[:50]) == curve[:50]


def test_heaplab_takes_its_programs_with_it_when_it_is_killed(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    code = (
        "from heaplab.machine.execute import execute\n"
        "from heaplab.machine.watch import Limits\n"
        f"execute(['/bin/sh', '-c', 'echo $$ >{mark}; exec sleep 600'], {{}}, Limits(time=600))\n"
    )
    heaplab = subprocess.Popen([sys.executable, "-c", code])
    until(lambda: mark.exists() and mark.read_text().strip(), "the program runs")
    heaplab.kill()
    heaplab.wait()
    until(lambda: gone(mark.read_text().strip()), "the program is gone")


# heaplab that is told to end at every fork: the hook is called where Python drops
# exceptions.
TOLD_AT_A_FORK = """
import contextlib, os, signal, subprocess, sys
from heaplab.machine import execute
from heaplab.machine import host
from heaplab.machine import signals
from heaplab.machine.watch import Limits
signals.listen()
sys.unraisablehook = sys.__unraisablehook__  # no reminder
os.register_at_fork(before=lambda: os.kill(os.getpid(), signal.{number}))
try:
    {forks}
except KeyboardInterrupt:
    sys.exit(7)
"""
FORKS = {
    "a run": "execute.execute(['/bin/sleep', '60'], {}, Limits(time=50))",
    "a driver": "execute.start(['/bin/sleep', '60'], contextlib.ExitStack())",
    "warming": "host.warm_memory(1 << 16)",
}


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("forks", FORKS.values(), ids=FORKS.keys())
def test_a_request_to_end_is_not_lost_when_it_comes_at_a_fork(forks: str, number: str) -> None:
    program = TOLD_AT_A_FORK.format(forks=forks, number=number)
    done = ran(*HEEDING, sys.executable, "-c", program)
    assert (done.returncode, done.stderr) == (7, "")


def test_a_program_may_be_told_to_end() -> None:
    blocked = "import signal, sys; sys.exit(len(signal.pthread_sigmask(signal.SIG_BLOCK, [])))"
    assert python(blocked).exit_status == 0


def test_somebody_is_called_again_and_again_while_it_runs() -> None:
    calls = []
    execute(["/bin/sleep", "0.2"], {}, LIMITS, tick=lambda: calls.append(time.monotonic()))
    assert len(calls) >= 5


# heaplab whose child touches 4096 pages before it becomes the program.
TOUCHED_BEFORE = """
import os
from heaplab.machine.execute import execute
from heaplab.machine.watch import Limits
pages = bytearray(b"x" * (16 << 20))
os.register_at_fork(after_in_child=lambda: pages.reverse())
print(execute(["/bin/true"], {}, Limits(time=20)).process.minor_faults)
"""


def test_what_a_process_used_before_it_became_the_program_is_not_the_programs() -> None:
    assert 10 < int(printed_by(sys.executable, "-c", TOUCHED_BEFORE)) < 1000


def test_a_peak_seen_in_few_looks_is_absent() -> None:
    tried = [execute(["/bin/true"], {}, LIMITS).process for _ in range(5)]
    for process in [*tried, execute(["/bin/sleep", "0.3"], {}, LIMITS).process]:
        seen = len(process.memory) >= FEWEST_SAMPLES
        assert [process.peak_memory is not None, process.mean_memory is not None] == [seen, seen]
    assert seen


def test_the_first_looks_are_close_enough_to_see_a_short_program() -> None:
    watcher = Watcher(os.getpid(), LIMITS, interval=0.010)
    waits = []
    while watcher.wait < 0.010:
        waits.append(watcher.wait)
        watcher.sample(0.0)
    assert waits[: 2 * FEWEST_SAMPLES] == [FIRST_INTERVAL_S] * 2 * FEWEST_SAMPLES
    assert waits[2 * FEWEST_SAMPLES :] == sorted(set(waits))[1:] != []


@pytest.mark.parametrize(
    ("maps", "seen", "mapped"),
    [
        (b"1-2 /lib/libc.so.6\n3-4 /lib/mine.so\n5-6 [stack]\n", 1, {"/lib/mine.so"}),
        (b"1-2 /lib/libc.so.6\n5-6 [stack]\n", 1, set()),
        (b"1-2 /bin/ls\n5-6 [stack]\n", 0, set()),  # still being loaded
        (b"1-2 /lib/libc.so.6\n", 0, set()),  # ended while its maps were read
    ],
)
def test_only_a_whole_list_of_mapped_files_tells_that_one_is_missing(
    monkeypatch: pytest.MonkeyPatch, maps: bytes, seen: int, mapped: set[str]
) -> None:
    monkeypatch.setattr(Path, "read_bytes", lambda _path: maps)
    watcher = Watcher(os.getpid(), Limits(1), ["/lib/mine.so"])
    watcher.sample(0.001)
    assert (watcher.seen, watcher.mapped) == (seen, mapped)


def test_a_program_that_a_signal_to_the_whole_job_ends_first_was_interrupted() -> None:
    environment, limits = dict(os.environ), Limits(10)
    alone = execute(["sh", "-c", "kill -TERM $$"], environment, limits)
    assert alone.exit_status == -signal.SIGTERM
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        both = f"(sleep 0.1; kill -TERM {os.getpid()}) & kill -TERM $$"
        with pytest.raises(KeyboardInterrupt):
            execute(["sh", "-c", both], environment, limits)
    finally:
        signal.signal(signal.SIGTERM, before)
