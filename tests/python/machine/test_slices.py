"""Runs at the same time: their turns, their own times, what they leave out, how they end."""

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from heaplab.machine import native, slices
from heaplab.machine.execute import CannotStartError, Execution, Job, Steps
from heaplab.machine.slices import Sliced, in_slices
from heaplab.machine.watch import Limits
from heaplab.results.own_program import OwnProgram

pytestmark = pytest.mark.starts_programs

LIMITS = Limits(time=60)
# Computes until it has used so many seconds of CPU time, by a clock that pauses cannot move.
COMPUTE = "import time\nwhile time.process_time() < {}: sum(range(1000))"


def python(program: str, **more: object) -> Job:
    return Job([sys.executable, "-SEc", program], dict(os.environ), LIMITS, **more)


def once(job: Job) -> Steps[Execution]:
    return (yield job)


def cpu(sliced: Sliced[Execution]) -> float:
    return sliced.result.process.user_time + sliced.result.process.system_time


def test_runs_take_turns_and_only_one_goes_on_at_a_time() -> None:
    pids: set[int] = set()
    seen: Counter[int] = Counter()  # how many of them were not stopped, at each look

    def look(_at: float, tree: Sequence[int]) -> None:
        pids.add(tree[0])
        stats = [path for pid in pids if (path := Path(f"/proc/{pid}/stat")).exists()]
        states = [path.read_text().rpartition(")")[2].split()[0] for path in stats]
        seen[sum(state not in "TZX" for state in states)] += 1

    jobs = [python(COMPUTE.format(0.3), look=look) for _ in range(3)]
    one_cpu = frozenset(list(os.sched_getaffinity(0))[:1])
    ended = in_slices([once(job) for job in jobs], [1, 1, 1], cpus=one_cpu)
    assert len(pids) == 3
    # On a busy machine a run may wait for a CPU on which to be stopped.
    assert seen.most_common(1)[0][0] == 1
    for sliced in ended:
        assert sliced.result.exit_status == 0
        assert sliced.turns >= 0.25 / slices.SLICE_S
        # On one CPU no run computes longer than its own turns last, and none computes in those of others.
        assert cpu(sliced) <= sliced.own + slices.SLICE_S
        assert sliced.result.process.wall_time == sliced.own


def test_turns_are_shared_out_so_that_a_slow_run_ends_with_a_fast_one(tmp_path: Path) -> None:
    log = tmp_path / "ends"
    ended_at = f"\nopen({str(log)!r}, 'a').write(f'{{time.monotonic()}} ')"
    jobs = [python(COMPUTE.format(seconds) + ended_at) for seconds in (0.2, 0.6)]
    ended = in_slices([once(job) for job in jobs], [1, 3])
    first, last = map(float, log.read_text().split())
    assert ended[1].own > 2 * ended[0].own
    assert last - first < ended[0].own


def test_threads_and_children_stop_together(tmp_path: Path) -> None:
    counts = tmp_path / "counts"
    # Three processes or threads, each of which notes the CPU time of all when it ends.
    tree = f"""
import os, threading, time

def compute():
    while time.thread_time() < 0.2: sum(range(1000))
child = os.fork()
thread = threading.Thread(target=compute); thread.start(); compute(); thread.join()
if child: os.waitpid(child, 0); open({str(counts)!r}, 'a').write('x')
"""
    other = python(COMPUTE.format(0.2))
    tree_ended, _ = in_slices([once(python(tree)), once(other)], [3, 1])
    assert counts.read_text() == "x"
    assert cpu(tree_ended) >= 0.7
    assert cpu(tree_ended) <= (tree_ended.own + slices.SLICE_S) * len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("program", "seconds", "killed_for"),
    [("while True: pass", 0.3, "time"), ("x = b'x' * (300 << 20)", 60, "memory")],
)
def test_limits_hold_for_each_run_by_its_own_time(program: str, seconds: float, killed_for: str) -> None:
    limits = Limits(time=seconds, memory=100 << 20)
    bad = Job([sys.executable, "-SEc", f"{program}\nimport time; time.sleep(20)"], dict(os.environ), limits)
    good = python(COMPUTE.format(0.3))
    ended = in_slices([once(bad), once(good)], [1, 1])
    assert [sliced.result.killed_for for sliced in ended] == [killed_for, ""]
    assert ended[0].own < 10


def test_a_run_that_cannot_be_started_is_told_so_and_the_others_go_on() -> None:
    def steps() -> Steps[str]:
        with pytest.raises(CannotStartError, match="/no/such"):
            yield Job(["/no/such"], {}, LIMITS)
        return "told"

    ended = in_slices([steps(), once(python("pass"))], [1, 1])
    assert ended[0].result == "told"
    assert ended[1].result.exit_status == 0


def test_the_executions_of_a_run_begin_together() -> None:
    def twice() -> Steps[list[int]]:
        first = yield python("raise SystemExit(3)")
        second = yield python("raise SystemExit(4)")
        return [first.exit_status, second.exit_status]

    ended = in_slices([twice(), once(python("raise SystemExit(5)")), twice()], [2, 1, 2])
    assert [ended[0].result, ended[1].result.exit_status, ended[2].result] == [[3, 4], 5, [3, 4]]


def test_a_workload_leaves_pauses_out_of_its_clock() -> None:
    """The times that workloads take themselves are those of their own turns."""

    program = native.program(OwnProgram("large_cycle"))
    assert program

    def sample() -> Steps[dict[str, dict[str, float]]]:
        with tempfile.TemporaryFile() as written:
            words = [program, "--objects", "30", "--json", f"fd:{written.fileno()}"]
            ended = yield Job(words, dict(os.environ), LIMITS, pass_fds=[written.fileno()], knows_pauses=True)
            assert ended.exit_status == 0
            written.seek(0)
            return {"process": {"value": ended.process.wall_time}} | json.loads(written.read())["metrics"]

    ended = in_slices([sample() for _ in range(3)], [1, 1, 1])
    for sliced in ended:
        own, clock = sliced.result["process"]["value"], sliced.result["wall_time"]["value"]
        assert sliced.turns > 1
        assert clock <= own * 1.02 + 0.002


def test_nothing_is_left_when_an_end_is_asked_for() -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with tempfile.TemporaryDirectory() as folder:
        note = Path(folder) / "pid"
        note.touch()
        job = python(f"import os; open({str(note)!r}, 'w').write(str(os.getpid()))\nwhile True: pass")
        with pytest.raises(KeyboardInterrupt):
            in_slices([once(job), once(job)], [1, 1], tick=lambda: note.stat().st_size > 0 and stop())
        assert not Path("/proc", note.read_text()).exists()
