"""Control groups that limit the memory of one run: cgroup v2, or v1 where that has the memory controller.

A group is made beside heaplab's own, or above: in the nearest group that may hold others with a limit. As
root that is always so; a user needs a delegated group.
"""

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from heaplab.errors import HeaplabError

MEMBERSHIP = Path("/proc/self/cgroup")
MOUNTS = Path("/proc/self/mountinfo")
CONTROLLERS, PASSED_ON, MEMBERS = "cgroup.controllers", "cgroup.subtree_control", "cgroup.procs"
MEMORY = "memory"
EMPTY_WITHIN_S = 10.0  # a group is empty soon after its processes have ended
WANTED = (
    "--fit: no control group here whose memory this user may limit; needs cgroup v2 with the memory "
    "controller, as root or delegated, as by: systemd-run --user --scope -p Delegate=yes"
)


@dataclass(frozen=True)
class Files:
    """The names of the files of a group."""

    limit: str
    peak: str
    events: str
    preset: dict[str, str]  # files that are written before the limit, where the kernel has them


V2 = Files("memory.max", "memory.peak", "memory.events", {"memory.swap.max": "0", "memory.oom.group": "1"})
V1 = Files(
    "memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control", {"memory.swappiness": "0"}
)


@dataclass(frozen=True)
class MemoryGroup:
    """A group for the processes of one run."""

    path: Path
    files: Files

    @property
    def members(self) -> Path:
        return self.path / MEMBERS

    def limit(self, size: int) -> None:
        for name, value in self.files.preset.items():
            if (self.path / name).exists():
                (self.path / name).write_text(value)
        (self.path / self.files.limit).write_text(str(size))

    @property
    def kills(self) -> int:
        """How many of its processes the kernel has killed for memory."""
        events = dict(line.split() for line in (self.path / self.files.events).read_text().splitlines())
        return int(events["oom_kill"])

    @property
    def peak(self) -> int | None:
        """B of memory at most, as the limit counts them; None before Linux 5.19."""
        path = self.path / self.files.peak
        return int(path.read_text()) if path.exists() else None


class MemoryGroupParent:
    """Where groups are made. Raises HeaplabError, in one line, where none may be."""

    def __init__(self) -> None:
        for files, own, top in places():
            for parent in (own, *own.parents):
                if parent.is_relative_to(top) and may_hold(parent, files):
                    self._parent, self._files = parent, files
                    return
        raise HeaplabError(WANTED)

    @contextlib.contextmanager
    def new(self, limit: int | None) -> Iterator[MemoryGroup]:
        """A group with the limit, which is gone afterwards."""
        group = MemoryGroup(self._parent / f"heaplab-{os.getpid()}-{time.monotonic_ns()}", self._files)
        group.path.mkdir()
        try:
            if limit is not None:
                group.limit(limit)
            yield group
        finally:
            removed(group.path)


def places() -> Iterator[tuple[Files, Path, Path]]:
    """The files, own group and top of each hierarchy that may limit memory."""
    mounts = [line.split() for line in MOUNTS.read_text().splitlines()]
    for line in MEMBERSHIP.read_text().splitlines():
        _, controllers, own = line.split(":", 2)
        for words in mounts:
            kind, options = words[words.index("-") + 1], words[-1].split(",")
            root, top = words[3], Path(words[4])
            within = os.path.relpath(own, root) if Path(own).is_relative_to(root) else "."
            if kind == "cgroup2" and not controllers:
                yield V2, top / within, top
            elif kind == "cgroup" and MEMORY in controllers.split(",") and MEMORY in options:
                yield V1, top / within, top


def may_hold(parent: Path, files: Files) -> bool:
    """Whether this user may make a group with a limit in this one; the top may be asked to allow it."""
    if not os.access(parent / MEMBERS, os.W_OK) or not os.access(parent, os.W_OK):
        return False
    if files is V1:
        return (parent / files.limit).exists()
    if MEMORY not in words_in(parent / CONTROLLERS):
        return False
    if MEMORY not in words_in(parent / PASSED_ON):
        with contextlib.suppress(OSError):  # a group with members of its own passes nothing on
            (parent / PASSED_ON).write_text(f"+{MEMORY}")
    return MEMORY in words_in(parent / PASSED_ON)


def words_in(path: Path) -> Sequence[str]:
    return path.read_text().split() if path.exists() else []


def removed(group: Path) -> None:
    """Remove the group as soon as its processes have ended."""
    end = time.monotonic() + EMPTY_WITHIN_S
    while True:
        try:
            group.rmdir()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return
