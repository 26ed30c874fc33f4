"""Executes one fresh process and watches it from outside: time, memory of the process tree, limits.

The process leads a session of its own and dies with heaplab (PR_SET_PDEATHSIG); whatever it started is
killed with it when the run is over.
"""

import contextlib
import ctypes
import mmap
import os
import select
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from heaplab.errors import HeaplabError
from heaplab.machine import interrupts
from heaplab.records import Library, Process

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)

INTERVAL_S = 0.010  # between two looks at the memory, once the process is past its first steps
FIRST_INTERVAL_S = 0.001
CHILDREN_EVERY = 8  # looks between two searches for new processes of the tree
CURVE_POINTS = 200  # of the memory curve that are kept
PAGE_KINDS = (b"RssAnon:", b"RssShmem:", b"VmPTE:")


# Settings of an allocator in the user's own environment would disturb the comparison.
DISTURBING = ("LD_PRELOAD", "LD_AUDIT", "GLIBC_TUNABLES", "MALLOC_CONF")


def plain_environment() -> dict[str, str]:
    """The user's environment without settings of any allocator."""
    return {name: value for name, value in os.environ.items() if name not in DISTURBING}


def environment_for(library: Library) -> dict[str, str]:
    """The environment in which a program is served by the library."""
    environment = plain_environment()
    own = dict(library.environment)
    if path := own.get("LD_LIBRARY_PATH"):
        own["LD_LIBRARY_PATH"] = ":".join(filter(None, (path, environment.get("LD_LIBRARY_PATH"))))
    if library.preload:
        own["LD_PRELOAD"] = ":".join(library.preload)
    return environment | own


@dataclass(frozen=True)
class Limits:
    time: float  # s
    memory: int | None = None  # B, resident memory of the whole tree
    cpus: frozenset[int] | None = None  # where it may run; None: everywhere


@dataclass
class Execution:
    """How one process ended. `killed_for` is "time", "memory" or "" if it ended by itself."""

    exit_status: int  # as waitstatus_to_exitcode: negative for a signal
    killed_for: str
    process: Process
    seen: int = 0  # processes of the tree whose mapped files were looked at
    mapped: set[str] = field(default_factory=set)  # watched files that one of them had mapped


class CannotStartError(HeaplabError):
    """The program could not be started at all."""


def execute(
    command: Sequence[str | Path],
    environment: dict[str, str],
    limits: Limits,
    *,
    pass_fds: Sequence[int] = (),
    errors: IO[bytes] | int = subprocess.DEVNULL,
    output: IO[bytes] | int = subprocess.DEVNULL,
    folder: Path | None = None,
    watch: Sequence[str] = (),
) -> Execution:
    """Run `command` to its end, in `folder` if given, and return what was seen."""
    started = mmap.mmap(-1, 8)  # shared with the child, which notes the time just before exec

    def before_exec() -> None:
        if limits.cpus:
            os.sched_setaffinity(0, limits.cpus)
        struct.pack_into("d", started, 0, time.monotonic())

    with contextlib.ExitStack() as at_end:
        try:
            child = start(
                command,
                at_end,
                before_exec,
                env=environment,
                stdout=output,
                stderr=errors,
                cwd=folder,
                pass_fds=pass_fds,
            )
        except OSError as error:
            raise CannotStartError(f"{command[0]}: {error.strerror}") from error
        (begin,) = struct.unpack_from("d", started, 0)
        watcher = Watcher(child.pid, begin, limits, watch)
        killed_for = watcher.until_end()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    process = Process(
        wall=watcher.ended - begin,
        user=usage.ru_utime,
        system=usage.ru_stime,
        minor_faults=usage.ru_minflt,
        major_faults=usage.ru_majflt,
        voluntary_switches=usage.ru_nvcsw,
        involuntary_switches=usage.ru_nivcsw,
        peak_memory=watcher.peak,
        mean_memory=watcher.mean(),
        memory=thin_curve(watcher.curve),
    )
    return Execution(child.returncode, killed_for, process, watcher.seen, watcher.mapped)


def start(
    command: Sequence[str | Path],
    at_end: contextlib.ExitStack,
    before_exec: Callable[[], None] = lambda: None,
    **options: Any,
) -> subprocess.Popen[bytes]:
    """Start a process without input in a session of its own; `at_end` kills it with all it started."""
    heaplab = os.getpid()
    with interrupts.held() as mask:

        def prepare() -> None:
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != heaplab:
                os._exit(1)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            before_exec()

        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=prepare,  # noqa: PLW1509 - heaplab has no other threads while it measures
            **options,
        )
        at_end.callback(end_all, child)
    return child


def end_all(child: subprocess.Popen[bytes]) -> None:
    kill_group(child.pid)
    child.wait()


def kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


class Watcher:
    """Looks at the memory of a process tree about every 10 ms until its first process has ended."""

    def __init__(self, pid: int, begin: float, limits: Limits, watch: Sequence[str]) -> None:
        self.curve: list[tuple[float, int, int]] = []
        self.peak = 0
        self.ended = begin
        self.mapped: set[str] = set()
        self._pid = pid
        self._begin = begin
        self._limits = limits
        self._watch = {name.encode() for name in watch}
        self._tree = [pid]
        self._looked_at: set[int] = set()

    def until_end(self) -> str:
        """Return why the process was killed: "time", "memory", or "" if it ended by itself."""
        ending = os.pidfd_open(self._pid)
        poll = select.poll()
        poll.register(ending, select.POLLIN)
        interval, looks = FIRST_INTERVAL_S, 0
        try:
            while not poll.poll(interval * 1000):
                looks += 1
                interval = min(INTERVAL_S, interval * 1.5)
                self._look(search=looks % CHILDREN_EVERY == 0)
                if why := self._over_limit():
                    kill_group(self._pid)
                    poll.poll()
                    return why
            return ""
        finally:
            self.ended = time.monotonic()
            os.close(ending)

    @property
    def seen(self) -> int:
        return len(self._looked_at)

    def mean(self) -> float:
        """Mean memory in bytes over the time from the first look to the last."""
        if len(self.curve) < 2:
            return float(self.peak)
        weighted = sum(
            (after[0] - before[0]) * (before[1] + before[2])
            for before, after in zip(self.curve, self.curve[1:], strict=False)
        )
        return weighted / (self.curve[-1][0] - self.curve[0][0])

    def _look(self, search: bool) -> None:
        if search:
            self._tree = descendants(self._pid)
        resident = tables = 0
        for pid in self._tree:
            anonymous, shared, table = page_kinds(pid)
            resident += anonymous + shared
            tables += table
            if self._watch and pid not in self._looked_at and anonymous:
                self._look_at_maps(pid)
        if resident:
            self.curve.append((time.monotonic() - self._begin, resident, tables))
            self.peak = max(self.peak, resident + tables)

    def _look_at_maps(self, pid: int) -> None:
        try:
            content = Path(f"/proc/{pid}/maps").read_bytes()
        except OSError:
            return
        found = {name for name in self._watch if name in content}
        self.mapped |= {name.decode() for name in found}
        if found or b"libc." in content:  # otherwise it is still being loaded
            self._looked_at.add(pid)

    def _over_limit(self) -> str:
        if time.monotonic() - self._begin > self._limits.time:
            return "time"
        if self._limits.memory and self.curve and sum(self.curve[-1][1:]) > self._limits.memory:
            return "memory"
        return ""


def page_kinds(pid: int) -> tuple[int, int, int]:
    """Anonymous resident, shared resident and page-table bytes of a process; zeros if it is gone."""
    try:
        with open(f"/proc/{pid}/status", "rb", buffering=0) as stream:
            content = stream.read(4096)
    except OSError:
        return 0, 0, 0
    values = []
    for kind in PAGE_KINDS:
        at = content.find(kind)
        values.append(int(content[at + len(kind) : at + len(kind) + 12].split()[0]) * 1024 if at >= 0 else 0)
    return values[0], values[1], values[2]


def descendants(pid: int) -> list[int]:
    """The process and everything it started that is still below it."""
    tree = [pid]
    for parent in tree:
        try:
            threads = os.listdir(f"/proc/{parent}/task")
            for thread in threads:
                with open(f"/proc/{parent}/task/{thread}/children", "rb", buffering=0) as stream:
                    tree += [int(child) for child in stream.read(65536).split()]
        except OSError:
            continue
    return tree


def thin_curve(curve: list[tuple[float, int, int]]) -> list[tuple[float, int, int]]:
    """At most CURVE_POINTS of a curve: the largest of each stretch, so that peaks survive."""
    if len(curve) <= CURVE_POINTS:
        return curve
    step = len(curve) / CURVE_POINTS
    stretches = (curve[int(i * step) : int((i + 1) * step)] for i in range(CURVE_POINTS))
    return [max(stretch, key=lambda point: point[1] + point[2]) for stretch in stretches]
