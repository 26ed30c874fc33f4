"""Executes one fresh process and records its cost: time, memory of the process tree, page faults.

The process leads a session of its own and is killed if heaplab dies (PR_SET_PDEATHSIG). At the end of the
run, every process that it started is killed.
"""

import contextlib
import ctypes
import mmap
import os
import resource
import select
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from heaplab.errors import HeaplabError
from heaplab.machine import huge_pages, signals
from heaplab.machine.preload_paths import loadable, loadable_folder
from heaplab.machine.watch import (
    FEWEST_SAMPLES,
    INTERVAL_S,
    Limits,
    Look,
    MemoryCurve,
    Watcher,
    kill_group,
    no_look,
    thin_curve,
)
from heaplab.results.records import Arm, Process

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)

# Usage of the process before its exec, in the order of the shared note; the time of the exec follows.
USAGE = ("ru_utime", "ru_stime", "ru_minflt", "ru_majflt", "ru_nvcsw", "ru_nivcsw")
NOTE = struct.Struct(f"{len(USAGE) + 1}d")

# Prefixes of environment variables that heaplab removes: a user's settings would disturb the comparison.
DISTURBING = (
    "LD_PRELOAD",
    "LD_AUDIT",
    "GLIBC_TUNABLES",
    "MALLOC_",
    "MIMALLOC_",
    "TCMALLOC_",
    "TBB_MALLOC_",
    "SCUDO_OPTIONS",
    "HEAPLAB_SCALLOC_",
    "HEAPLAB_TRIM",
)
# Settings of a language's runtime, which no arm of a collector takes from the user's environment.
OF_RUNTIMES = ("GOGC", "GOMEMLIMIT", "GODEBUG", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")


def plain_environment() -> dict[str, str]:
    """The user's environment without the settings of any allocator."""
    return {name: value for name, value in os.environ.items() if not name.startswith(DISTURBING)}


def environment_for(library: Arm) -> dict[str, str]:
    """The environment in which the library serves a program."""
    environment = plain_environment()
    if library.runtime:
        environment = {name: value for name, value in environment.items() if name not in OF_RUNTIMES}
    own = dict(library.environment)
    if path := own.get("LD_LIBRARY_PATH"):
        folders = (loadable_folder(path), environment.get("LD_LIBRARY_PATH"))
        own["LD_LIBRARY_PATH"] = ":".join(filter(None, folders))
    if preloaded := [*library.preload, *library.beside]:
        own["LD_PRELOAD"] = ":".join(map(loadable, preloaded))
    return environment | own


@dataclass
class Execution:
    """The end of one process. `killed_for` is "time", "memory", or "" if the process ended by itself."""

    exit_status: int  # as from waitstatus_to_exitcode: negative for a signal
    killed_for: str
    process: Process
    seen: int = 0  # number of processes of the tree whose mapped files were examined
    mapped: set[str] = field(default_factory=set)  # watched files that one of these processes had mapped


def failure(execution: Execution, message: str, limits: Limits) -> str:
    """Why the process failed, in one line; "" for a process that ended well."""
    if execution.killed_for == "time":
        return f"not done after {limits.time:g} s"
    if execution.killed_for == "memory":
        return f"used more than the {(limits.memory or 0) >> 20} MiB it may"
    if execution.exit_status == 0:
        return ""
    if execution.exit_status > 0:
        how = f"exit status {execution.exit_status}"
    else:
        how = f"killed by {signal.Signals(-execution.exit_status).name}"
    return f"{how}: {message}" if message else how


class CannotStartError(HeaplabError):
    """The program could not be started."""


@dataclass(frozen=True)
class Job:
    """One process that is ready to be started, with what is to be watched of it."""

    command: Sequence[str | Path]
    environment: dict[str, str]
    limits: Limits
    pass_fds: Sequence[int] = ()
    source: IO[bytes] | int = subprocess.DEVNULL  # its standard input
    errors: IO[bytes] | int = subprocess.DEVNULL
    output: IO[bytes] | int = subprocess.DEVNULL
    folder: Path | None = None  # in which the process runs
    watch: Sequence[str] = ()  # files that may be mapped; the execution tells which were
    interval: float = INTERVAL_S  # s between two samples of its memory at most
    knows_pauses: bool = False  # whether it is a workload of heaplab, whose clock can leave out pauses
    look: Look = no_look  # see watch.Watcher

    def launched(self, at_end: contextlib.ExitStack) -> "Launched":
        streams = {"stdin": self.source, "stdout": self.output, "stderr": self.errors}
        where = {"cwd": self.folder, "pass_fds": self.pass_fds}
        return launch(self.command, self.environment, self.limits, at_end, **streams, **where)

    def watcher(self, pid: int, tick: Callable[[], None]) -> Watcher:
        return Watcher(pid, self.limits, self.watch, self.interval, tick, self.look)


def execute(
    command: Sequence[str | Path],
    environment: dict[str, str],
    limits: Limits,
    tick: Callable[[], None] = lambda: None,
    **more: Any,
) -> Execution:
    """Run `command` alone to its end; `more` are fields of Job, and `tick` is called at every sample."""
    return carried_out(Job(command, environment, limits, **more), tick)


def carried_out(job: Job, tick: Callable[[], None] = lambda: None) -> Execution:
    """Carry out the job alone to its end, and return its cost. `tick` is called at every sample."""
    with contextlib.ExitStack() as at_end:
        launched = job.launched(at_end)
        watcher = job.watcher(launched.child.pid, tick)
        poll = launched.ending(at_end)
        killed_for = ""
        watcher.look(time.monotonic() - launched.begin)
        while not poll.poll(watcher.wait * 1000):
            if killed_for := watcher.sample(time.monotonic() - launched.begin):
                kill_group(launched.child.pid)
                poll.poll()
                break
        wall_time = time.monotonic() - launched.begin
        watcher.look(wall_time)
        return launched.execution(watcher, killed_for, wall_time)


T = TypeVar("T")
# The executions of a run: a generator that yields each job when the job is ready, and gets its Execution.
Steps = Generator[Job, Execution, T]


def alone(steps: Steps[T], tick: Callable[[], None] = lambda: None, look: Look | None = None) -> T:
    """Carry out a run with no other run beside it; `look` looks at each of its processes."""
    try:
        job = next(steps)
        while True:
            try:
                execution = carried_out(replace(job, look=look) if look else job, tick)
            except CannotStartError as error:
                job = steps.throw(error)
            else:
                job = steps.send(execution)
    except StopIteration as end:
        return cast(T, end.value)


@dataclass(frozen=True)
class Launched:
    """A process that was started, with the time of its exec and its usage before the exec."""

    child: subprocess.Popen[bytes]
    begin: float
    before: list[float]

    def ending(self, at_end: contextlib.ExitStack) -> select.poll:
        """A poll that returns an event when the process has ended."""
        descriptor = os.pidfd_open(self.child.pid)
        at_end.callback(os.close, descriptor)
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return poll

    def execution(self, watcher: Watcher, killed_for: str, wall_time: float) -> Execution:
        """The end of the process, which ran for `wall_time` s."""
        process = self.reaped(watcher.curve, wall_time)
        signals.await_own(self.child.returncode)
        return Execution(self.child.returncode, killed_for, process, watcher.seen, watcher.mapped)

    def reaped(self, curve: MemoryCurve, wall_time: float, fewest_samples: int = FEWEST_SAMPLES) -> Process:
        """The record of the process, after its end: memory as sampled, the rest as the kernel accounts it.

        A peak of memory needs `fewest_samples` samples.
        """
        _, status, usage = os.wait4(self.child.pid, 0)
        self.child.returncode = os.waitstatus_to_exitcode(status)
        user, system, *counts = (after - early for after, early in zip(used(usage), self.before, strict=True))
        minor_faults, major_faults, voluntary_switches, involuntary_switches = map(int, counts)
        seen = len(curve.points) >= fewest_samples
        return Process(
            wall_time=wall_time,
            user_time=max(0.0, user),
            system_time=max(0.0, system),
            minor_faults=minor_faults,
            major_faults=major_faults,
            voluntary_switches=voluntary_switches,
            involuntary_switches=involuntary_switches,
            peak_memory=curve.peak if seen else None,
            mean_memory=curve.mean() if seen else None,
            memory=thin_curve(curve.points),
        )


def launch(
    command: Sequence[str | Path],
    environment: dict[str, str],
    limits: Limits,
    at_end: contextlib.ExitStack,
    **options: Any,
) -> Launched:
    """Start the program of a run on the CPUs that it may use. Raises CannotStartError."""
    note = mmap.mmap(-1, NOTE.size)  # shared with the child, which fills it in just before exec

    def before_exec() -> None:
        if limits.cpus:
            os.sched_setaffinity(0, limits.cpus)
        if limits.members:
            limits.members.write_text("0")  # stands for the process that writes
        if limits.huge_pages and not huge_pages.set_mode(limits.huge_pages):
            raise OSError  # becomes a SubprocessError in the parent
        # Ignored by the background jobs of a shell, SIGINT would stay ignored over exec.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        NOTE.pack_into(note, 0, *used(resource.getrusage(resource.RUSAGE_SELF)), time.monotonic())

    try:
        child = start(command, at_end, before_exec, env=environment, **options)
    except OSError as error:
        raise CannotStartError(f"{command[0]}: {error.strerror}") from error
    except subprocess.SubprocessError as error:
        raise CannotStartError(f"{command[0]}: cannot have thp={limits.huge_pages}") from error
    *before, begin = NOTE.unpack_from(note)
    return Launched(child, begin, before)


def used(usage: resource.struct_rusage) -> list[float]:
    return [getattr(usage, name) for name in USAGE]


def start(
    command: Sequence[str | Path],
    at_end: contextlib.ExitStack,
    before_exec: Callable[[], None] = lambda: None,
    **options: Any,
) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own, by default without input; `at_end` kills the session."""
    heaplab = os.getpid()
    with signals.blocked() as mask:

        def prepare() -> None:
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != heaplab:
                os._exit(1)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            before_exec()

        child = subprocess.Popen(
            command,
            start_new_session=True,
            preexec_fn=prepare,  # noqa: PLW1509 - heaplab has no other threads while it measures
            **{"stdin": subprocess.DEVNULL, **options},
        )
        at_end.callback(end_all, child)
    return child


def end_all(child: subprocess.Popen[bytes]) -> None:
    kill_group(child.pid)
    child.wait()
