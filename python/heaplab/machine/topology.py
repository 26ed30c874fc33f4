"""The CPUs that this process may use, and the order in which threads take them.

The order is: fast CPUs before slow ones (hybrid machines), one CPU of every core before its hyperthreads, and
within that one NUMA node after the other, so that N threads share as few nodes as N cores allow. Files are
read below a root that a test may replace.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import floor
from pathlib import Path
from typing import Any, Literal

from heaplab.errors import UsageError
from heaplab.machine import container
from heaplab.machine.container import text

ROOT = Path("/")
CPU_FOLDER = "sys/devices/system/cpu"
NODE_FOLDER = "sys/devices/system/node"
# The fast and the slow CPUs of Intel's hybrid processors; other machines give each CPU a capacity.
SLOW_PART = "sys/devices/cpu_atom/cpus"
FULL_CAPACITY = 1024

Where = Literal["all", "cores", "node", "fast"]


@dataclass(frozen=True)
class Cpu:
    number: int
    core: str  # equal for hyperthreads of one core
    sibling: int  # place among the hyperthreads of its core, from 0
    node: int
    speed: int  # larger is faster


def usable(root: Path = ROOT, allowed: Iterable[int] | None = None) -> list[Cpu]:
    """The CPUs that this process may use, in the order in which threads take them."""
    numbers = sorted(os.sched_getaffinity(0) if allowed is None else allowed)
    nodes = node_of_each(root)
    slow = listed(text(root / SLOW_PART))
    cores: Counter[str] = Counter()
    cpus = []
    for number in numbers:
        folder = root / CPU_FOLDER / f"cpu{number}"
        core = text(folder / "topology/thread_siblings_list") or str(number)
        capacity = text(folder / "cpu_capacity")
        speed = int(capacity) if capacity.isdigit() else FULL_CAPACITY - (number in slow)
        cpus.append(Cpu(number, core, cores[core], nodes.get(number, 0), speed))
        cores[core] += 1
    whole = Counter(cpu.node for cpu in cpus)
    # The node with the most usable CPUs comes first, so that few threads leave the other nodes free.
    return sorted(cpus, key=lambda cpu: (cpu.sibling, -cpu.speed, -whole[cpu.node], cpu.node, cpu.number))


def node_of_each(root: Path) -> dict[int, int]:
    nodes: dict[int, int] = {}
    for folder in sorted((root / NODE_FOLDER).glob("node[0-9]*")):
        number = int(folder.name.removeprefix("node"))
        nodes |= dict.fromkeys(listed(text(folder / "cpulist")), number)
    return nodes


def chosen(where: Where, cpus: list[Cpu]) -> list[Cpu]:
    """The CPUs of `cpus` that a shard runs on, in their order. Raises UsageError if there are none."""
    if where == "cores":
        return [cpu for cpu in cpus if cpu.sibling == 0]
    if where == "node":
        return [cpu for cpu in cpus if cpu.node == cpus[0].node]
    if where == "fast":
        if len({cpu.speed for cpu in cpus}) == 1:
            raise UsageError("cpus=fast: all CPUs here are alike; take cpus=all, cores or node")
        return [cpu for cpu in cpus if cpu.speed == cpus[0].speed]
    return cpus


def thread_counts(cpus: int) -> list[int]:
    """1, 2, 4 ... and the number of all CPUs or, if smaller, the limit of the control group."""
    limit = container.limits().cpus
    most = cpus if limit is None else max(1, min(cpus, floor(limit)))
    return sorted({most, *(1 << power for power in range(most.bit_length()) if 1 << power <= most)})


def in_words(cpus: Iterable[Cpu]) -> dict[str, Any]:
    """The CPUs as facts of a results file, listed in the order in which threads take them."""
    listed_cpus = list(cpus)
    return {
        "cpus": [cpu.number for cpu in listed_cpus],
        "cores": len({cpu.core for cpu in listed_cpus}),
        "nodes": sorted({cpu.node for cpu in listed_cpus}),
        "speeds": sorted({cpu.speed for cpu in listed_cpus}),
        "cpu_limit": container.limits().cpus,
    }


def listed(ranges: str) -> set[int]:
    """The numbers in a list as the kernel writes it: "0-2,8" is 0, 1, 2 and 8."""
    numbers: set[int] = set()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", ranges):
        numbers |= set(range(int(first), int(last or first) + 1))
    return numbers
