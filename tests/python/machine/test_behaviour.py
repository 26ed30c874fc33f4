"""What an observer makes of its looks at threads and of what the kernel counted: busy threads, and waits."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from heaplab.machine import behaviour, execute
from heaplab.machine.behaviour import Observer
from heaplab.machine.watch import Limits
from heaplab.results.records import Process

# One look: when, and of each thread of each process (thread, s on a CPU, s of waiting for a CPU).
Look = tuple[float, dict[int, list[tuple[int, float, float]]]]


@pytest.fixture
def observer(monkeypatch: pytest.MonkeyPatch) -> Observer:
    monkeypatch.setattr(behaviour, "oddities_of", lambda _pid, _leader: iter(()))
    return Observer()


def look(observer: Observer, monkeypatch: pytest.MonkeyPatch, looks: Sequence[Look]) -> None:
    for at, processes in looks:
        monkeypatch.setattr(behaviour, "threads_of", lambda pid, seen=processes: iter(seen[pid]))
        observer.look(at, list(processes))


def counted(wall: float, cpu: float, executions: int = 1) -> Process:
    counts = dict.fromkeys(("minor_faults", "major_faults", "voluntary_switches", "involuntary_switches"), 0)
    return Process(
        executions=executions,
        wall_time=wall,
        user_time=cpu,
        system_time=0.0,
        peak_memory=None,
        mean_memory=None,
        **counts,
    )


def test_executions_in_a_row_are_one_thread_at_a_time(
    observer: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each waited 1 ms for a CPU: together, that is no second thread."""
    for pid in range(1, 21):
        look(observer, monkeypatch, [(0.001, {pid: [(pid, 0.0005, 0.001)]})])
    found = observer.behaviour(counted(wall=0.003, cpu=0.002, executions=20))
    assert found
    assert found.busy == pytest.approx(1.0)
    assert found.waiting == pytest.approx(0.0)


def test_a_short_program_of_one_thread_is_never_more_than_one_busy_thread(
    observer: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process waited for a CPU before the program began."""
    look(observer, monkeypatch, [(0.001, {1: [(1, 0.0005, 0.004)]})])
    found = observer.behaviour(counted(wall=0.003, cpu=0.002))
    assert found
    assert found.busy == pytest.approx(1.0)


def test_cpu_time_that_no_single_thread_can_use_tells_of_threads_between_looks(
    observer: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    look(observer, monkeypatch, [(0.001, {1: [(1, 0.001, 0.0)]})])
    found = observer.behaviour(counted(wall=1.0, cpu=2.5))
    assert found
    assert found.busy == pytest.approx(2.5)


def two_threads(looks: int) -> list[Look]:
    """Two threads of which each computes half of its time."""
    times = [step / looks for step in range(looks + 1)]
    return [(at, {1: [(1, at / 2, 0.0), (2, at / 2, 0.0)]}) for at in times]


def test_threads_at_once_wait_for_a_part_of_their_lives(
    observer: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    look(observer, monkeypatch, two_threads(looks=12))
    found = observer.behaviour(counted(wall=1.0, cpu=1.0))
    assert found
    assert found.waiting == pytest.approx(0.5)


def test_of_several_threads_a_few_looks_tell_too_little(
    observer: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    look(observer, monkeypatch, two_threads(looks=4))
    assert observer.behaviour(counted(wall=1.0, cpu=1.0)) is None


@pytest.mark.parametrize(("slept", "waiting"), [(0.0, 0.0), (0.020, 0.5)])
def test_of_executions_in_a_row_the_least_waiting_counts(
    observer: Observer, monkeypatch: pytest.MonkeyPatch, slept: float, waiting: float
) -> None:
    """Each computes for 20 ms; heaplab looks at two of three only 30 ms after their end."""
    ends = [0.020 + slept + late for late in (0.030, 0.0, 0.030)]
    for pid, end in enumerate(ends, 1):
        look(observer, monkeypatch, [(0.0, {pid: [(pid, 0.0, 0.0)]}), (end, {pid: [(pid, 0.020, 0.0)]})])
    found = observer.behaviour(counted(wall=sum(ends) / 3, cpu=0.020, executions=3))
    assert found
    assert found.waiting == pytest.approx(waiting)


def test_the_last_look_is_at_a_process_that_has_ended() -> None:
    """The kernel still tells how long the process waited for a CPU."""
    told = []

    def look(_at: float, tree: Sequence[int]) -> None:
        state = Path(f"/proc/{tree[0]}/stat").read_text().rpartition(")")[2].split()[0]
        told.append((state, list(behaviour.threads_of(tree[0]))))

    execute.execute(["true"], execute.plain_environment(), Limits(time=60), look=look)
    state, [(_, ran, _)] = told[-1]
    assert (state, len(told) > 1, ran > 0) == ("Z", True, True)
