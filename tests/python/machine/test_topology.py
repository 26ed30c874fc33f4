"""Which CPUs threads take, on machines that are folders of files."""

import os
from pathlib import Path

import pytest

from heaplab.errors import UsageError
from heaplab.machine import container, topology
from heaplab.machine.container import GroupLimits


def machine(root: Path, siblings: list[str], nodes: list[str], **more: dict[int, str]) -> Path:
    """A machine with the list of siblings of each CPU and the list of CPUs of each node."""
    for number, shared in enumerate(siblings):
        folder = root / f"sys/devices/system/cpu/cpu{number}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(shared + "\n")
        for name, values in more.items():
            (folder.parent / name).write_text(values[number] + "\n")
    for number, cpus in enumerate(nodes):
        folder = root / f"sys/devices/system/node/node{number}"
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(cpus + "\n")
    return root


def order(root: Path, allowed: list[int]) -> list[int]:
    return [cpu.number for cpu in topology.usable(root, allowed)]


def test_hyperthreads_come_after_all_cores(tmp_path: Path) -> None:
    root = machine(tmp_path, ["0,4", "1,5", "2,6", "3,7"] * 2, ["0-7"])
    assert order(root, list(range(8))) == [0, 1, 2, 3, 4, 5, 6, 7]
    neighbours = machine(tmp_path / "other", ["0-1", "0-1", "2-3", "2-3"], ["0-3"])
    assert order(neighbours, [0, 1, 2, 3]) == [0, 2, 1, 3]


def test_threads_fill_one_node_before_the_next(tmp_path: Path) -> None:
    root = machine(tmp_path, [str(number) for number in range(8)], ["0,2,4,6", "1,3,5,7"])
    assert order(root, list(range(8))) == [0, 2, 4, 6, 1, 3, 5, 7]


def test_the_node_with_most_usable_cpus_comes_first(tmp_path: Path) -> None:
    root = machine(tmp_path, [str(number) for number in range(8)], ["0-3", "4-7"])
    assert order(root, [3, 4, 5, 6]) == [4, 5, 6, 3]


def test_fast_cores_come_before_slow_ones_and_hyperthreads_last(tmp_path: Path) -> None:
    root = machine(tmp_path, ["0-1", "0-1", "2-3", "2-3", "4", "5"], ["0-5"])
    (root / "sys/devices/cpu_atom").mkdir(parents=True)
    (root / "sys/devices/cpu_atom/cpus").write_text("4-5\n")
    assert order(root, list(range(6))) == [0, 2, 4, 5, 1, 3]
    fast = topology.chosen("fast", topology.usable(root, range(6)))
    assert [cpu.number for cpu in fast] == [0, 2, 1, 3]


def test_capacity_tells_slow_cores_of_arm(tmp_path: Path) -> None:
    capacity = {0: "446", 1: "446", 2: "1024", 3: "1024"}
    root = machine(tmp_path, ["0", "1", "2", "3"], ["0-3"], cpu_capacity=capacity)
    assert order(root, [0, 1, 2, 3]) == [2, 3, 0, 1]


@pytest.mark.parametrize(
    ("where", "numbers"), [("all", [0, 2, 4, 6, 1, 3, 5, 7]), ("cores", [0, 2, 4, 6]), ("node", [0, 2, 1, 3])]
)
def test_a_shard_runs_where_it_is_to(tmp_path: Path, where: topology.Where, numbers: list[int]) -> None:
    root = machine(tmp_path, ["0-1", "0-1", "2-3", "2-3", "4-5", "4-5", "6-7", "6-7"], ["0-3", "4-7"])
    cpus = topology.chosen(where, topology.usable(root, range(8)))
    assert [cpu.number for cpu in cpus] == numbers
    facts = topology.in_words(cpus)
    assert facts["cpus"] == numbers
    assert facts["cores"] == len({number // 2 for number in numbers})
    assert facts["nodes"] == sorted({number // 4 for number in numbers})


def test_fast_cpus_are_refused_where_all_are_alike(tmp_path: Path) -> None:
    root = machine(tmp_path, ["0", "1"], ["0-1"])
    with pytest.raises(UsageError, match="all CPUs here are alike"):
        topology.chosen("fast", topology.usable(root, [0, 1]))


@pytest.mark.parametrize(
    ("cpus", "limit", "counts"),
    [
        (1, None, [1]),
        (2, None, [1, 2]),
        (6, None, [1, 2, 4, 6]),
        (8, None, [1, 2, 4, 8]),
        (192, None, [1, 2, 4, 8, 16, 32, 64, 128, 192]),
        (64, 3.5, [1, 2, 3]),
        (64, 0.5, [1]),
        (4, 100.0, [1, 2, 4]),
    ],
)
def test_threads_are_powers_of_two_and_all_within_the_group_limit(
    monkeypatch: pytest.MonkeyPatch, cpus: int, limit: float | None, counts: list[int]
) -> None:
    monkeypatch.setattr(container, "limits", lambda: GroupLimits(cpus=limit))
    assert topology.thread_counts(cpus) == counts


def test_a_machine_that_tells_nothing_has_its_cpus_in_order(tmp_path: Path) -> None:
    assert order(tmp_path, [3, 1, 2]) == [1, 2, 3]


def test_this_machine_has_the_cpus_that_it_may_use() -> None:
    assert {cpu.number for cpu in topology.usable()} == os.sched_getaffinity(0)


def test_lists_of_the_kernel_are_read() -> None:
    assert topology.listed("0-2,8,10-11\n") == {0, 1, 2, 8, 10, 11}
    assert topology.listed("") == set()
