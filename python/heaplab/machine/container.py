"""What a container changes: limits of control groups, filtered system calls, whether a debugger may attach.

Files are read below a root that a test may replace. Without /proc or control groups nothing is limited.
"""

import ctypes
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from heaplab.machine import signals

ROOT = Path("/")
PTRACE_TRACEME = 0
# Version 1 writes the largest multiple of the page for "no limit".
UNLIMITED = 1 << 62
# Docker, Podman and CRI-O leave these; systemd-nspawn and others name themselves.
MARKS = {".dockerenv": "docker", "run/.containerenv": "podman"}
SECCOMP = {"0": "off", "1": "strict", "2": "filtered"}
# The files of each version: the limit of memory, the used memory, and the page cache that is dropped first.
MEMORY_FILES = {
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: ("memory.max", "memory.current", "inactive_file"),
}


@dataclass(frozen=True)
class GroupLimits:
    """The tightest limits of this process's control group and of all groups above it that are visible."""

    memory: int | None = None  # B
    memory_left: int | None = None  # B until the limit, page cache that would be dropped first not counted
    cpus: float | None = None  # of CPU time in each second


def limits(root: Path = ROOT, process: int | str = "self") -> GroupLimits:
    """The limits of a process, of this one by default."""
    memory: list[int] = []
    left: list[int] = []
    cpus: list[float] = []
    for group, version in groups(root, "memory", process):
        limit, usage, droppable = MEMORY_FILES[version]
        most = number(group / limit)
        if most is not None and most < UNLIMITED:
            memory.append(most)
            used = (number(group / usage) or 0) - statistic(group / "memory.stat", droppable)
            left.append(max(0, most - max(0, used)))
    for group, version in groups(root, "cpu", process):
        if (share := cpu_share(group, version)) is not None:
            cpus.append(share)
    return GroupLimits(min(memory, default=None), min(left, default=None), min(cpus, default=None))


def times_throttled(root: Path = ROOT) -> int | None:
    """How often a `memory.high` of the own groups was passed; None without control groups of version 2."""
    counts = [
        statistic(group / "memory.events", "high")
        for group, version in groups(root, "memory")
        if version == 2 and (group / "memory.events").exists()
    ]
    return sum(counts) if counts else None


def groups(root: Path, controller: str, process: int | str = "self") -> Iterator[tuple[Path, int]]:
    """The folders of a process's control group for a controller and of those above, with the version."""
    own: dict[str, str] = {}
    for line in text(root / f"proc/{process}/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        own |= dict.fromkeys(controllers.split(","), path)  # version 2: one line without controllers
    for line in text(root / "proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        top, mounted = before.split(" ")[3:5]
        if kind == "cgroup2" and "" in own:
            path, version = own[""], 2
        elif kind == "cgroup" and controller in own and controller in options.split(","):
            path, version = own[controller], 1
        else:
            continue
        at = root / mounted.lstrip("/")
        # A container sees its own group as the top, under a path that only the host knows.
        below = path.removeprefix(top.rstrip("/")).lstrip("/") if path.startswith(top.rstrip("/")) else ""
        folder = at / below
        if not folder.is_dir():
            folder = at
        while True:
            yield folder, version
            if folder in (at, root):
                break
            folder = folder.parent


def cpu_share(group: Path, version: int) -> float | None:
    """CPUs whose whole time a group may use; None without a limit."""
    if version == 2:
        quota, _, period = text(group / "cpu.max").partition(" ")
    else:
        quota, period = text(group / "cpu.cfs_quota_us"), text(group / "cpu.cfs_period_us")
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() and int(period) else None


def kind(root: Path = ROOT) -> str:
    """The kind of container that this process runs in; "" if none shows."""
    for mark, name in MARKS.items():
        if (root / mark).exists():
            return name
    return text(root / "run/systemd/container")


def seccomp(root: Path = ROOT) -> str | None:
    """Whether system calls of this process are filtered; None if the kernel does not tell."""
    for line in text(root / "proc/self/status").splitlines():
        if line.startswith("Seccomp:"):
            mode = line.split()[1]
            return SECCOMP.get(mode, mode)
    return None


def may_trace() -> bool:
    """Whether a debugger may trace a program here, tried in a child: a filter or a policy may refuse it."""
    libc = ctypes.CDLL(None)
    with signals.blocked():
        child = os.fork()
        if child == 0:
            os._exit(0 if libc.ptrace(PTRACE_TRACEME, 0, None, None) == 0 else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def statistic(path: Path, name: str) -> int:
    for line in text(path).splitlines():
        if line.startswith(f"{name} "):
            return int(line.split()[1])
    return 0


def number(path: Path) -> int | None:
    content = text(path)
    return int(content) if content.isdigit() else None


def text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
