"""What is watched, one look each second: a process that runs, or a program that is started and sampled."""

import contextlib
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from heaplab.errors import HeaplabError
from heaplab.machine.execute import CannotStartError, environment_for
from heaplab.running import run_attach
from heaplab.running.asking import Asking
from heaplab.running.serving import serving
from heaplab.running.smaps import BEYOND, MemoryLimit, memory_of
from heaplab.running.target import Target, target
from heaplab.running.what_holds import Look
from heaplab.traces import recording
from heaplab.traces.estimates import Estimate
from heaplab.traces.sample_file import Snapshot
from heaplab.traces.sampling import ASKED, END, Sampling, head_of
from heaplab.traces.symbols import Names
from heaplab.tracing.sampled_callers import SampledChange, SampledMoment, changes, moment_of

GROWTH_S = 60  # within which growth is shown
UNLIMITED = MemoryLimit(None, None)


@dataclass(frozen=True)
class Glance:
    """What is known at one second. Sizes in B; None: not known."""

    title: str
    resident: int = 0
    outside: int = 0  # malloc, surely
    live: Estimate | None = None
    newer: Estimate | None = None  # live, of what was acquired since the watch began
    retained: int | None = None  # malloc's, at least, and in no block
    moment: SampledMoment | None = None
    grown: Sequence[SampledChange] = ()  # by call site, within the last minute


class WatchedSites:
    """The call sites of processes that are sampled, and how they grow."""

    def __init__(self, wanted: recording.Wanted) -> None:
        assert wanted.sampled
        self._trace = wanted.trace
        self._head = head_of(wanted.sampled)
        self._sampling = Sampling(wanted.raw, wanted.trace, wanted.sampled)
        self._names: Names = {}
        self._past: deque[SampledMoment] = deque()

    def snapshot(self) -> Snapshot:
        return self._sampling.look("watch")

    def of(self, snapshot: Snapshot, number: int) -> tuple[SampledMoment, Sequence[SampledChange]]:
        """Those of a process of the snapshot, and what grew within the last minute."""
        now = moment_of(self._trace, self._head, snapshot, number, self._names)
        return now, changes(self._earlier(now), now)

    def _earlier(self, now: SampledMoment) -> SampledMoment:
        """The same process a minute ago, or when it was first seen."""
        if self._past and self._past[-1].process.begin_ns != now.process.begin_ns:
            self._past.clear()
        self._past.append(now)
        while self._past[0].snapshot.seconds < now.snapshot.seconds - GROWTH_S:
            self._past.popleft()
        return self._past[0]

    def write(self, why: str = ASKED) -> str:
        """Raises HeaplabError if the snapshot cannot be written."""
        taken = self._sampling.take(why).processes
        return f"{self._trace}: a snapshot was added" if taken else "there is nothing to write yet"

    def finish(self) -> None:
        self.write(END)


class WatchedProcess:
    """A process that runs already."""

    def __init__(self, of: Target, ask: bool, sites: WatchedSites | None = None) -> None:
        """`sites`: it is sampled. Raises HeaplabError if the allocator cannot be asked."""
        self._of = of
        self._sites = sites
        self._served = serving(of)
        self._asking = Asking(of, self._served) if ask else None

    def look(self) -> Glance | None:
        """None: the process has ended. Raises HeaplabError."""
        try:
            memory = memory_of(self._of, self._served.is_c_library)
            answer = self._asking.ask() if self._asking else None
        except HeaplabError:
            if self._of.has_ended():
                return None
            raise
        look = Look(self._of, self._served, memory, memory, 1.0, UNLIMITED, [], answer)
        said = answer.said.live if answer else None
        live = None if said is None else Estimate(said, said, said)
        retained = None if live is None else look.retained
        glance = Glance(self._of.title, memory.bytes, look.beyond, live, retained=retained)
        return self._with_sites(glance, self._sites) if self._sites else glance

    def _with_sites(self, glance: Glance, sites: WatchedSites) -> Glance:
        snapshot = sites.snapshot()
        for number, process in enumerate(snapshot.processes):
            if process.pid == self._of.pid:
                now, grown = sites.of(snapshot, number)
                return replace(glance, newer=now.live, moment=now, grown=grown)
        return glance

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def write(self) -> str:
        """Raises HeaplabError if the snapshot cannot be written."""
        return self._sites.write() if self._sites else "it is not sampled: heaplab watch --sample 512KiB PID"

    def finish(self) -> None:
        """Precondition: it is sampled."""
        assert self._sites
        self._sites.finish()


class WatchedProgram:
    """A program that is started, sampled, and goes on alone when the watch ends."""

    def __init__(self, child: "subprocess.Popen[bytes]", sites: WatchedSites) -> None:
        self.child = child
        self._sites = sites
        self.write = sites.write
        self.finish = sites.finish

    def look(self) -> Glance | None:
        """The process that holds most, of the program and what it has started. None: all have ended."""
        snapshot = self._sites.snapshot()
        running = [number for number, process in enumerate(snapshot.processes) if not process.ended]
        if not running:
            return Glance("no process has called malloc") if self.child.poll() is None else None
        number = max(running, key=lambda each: snapshot.processes[each].live.bytes)
        try:
            of = target(str(snapshot.processes[number].pid))
            memory = memory_of(of, is_glibc=True)  # before names are looked up, which takes time
        except HeaplabError:
            return Glance("a process has ended just now")
        now, grown = self._sites.of(snapshot, number)
        outside = memory.within(BEYOND)
        retained = max(0, round(memory.bytes - outside - now.live.high))
        return Glance(of.title, memory.bytes, outside, now.live, retained=retained, moment=now, grown=grown)

    def wait(self, seconds: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.child.wait(seconds)


@contextlib.contextmanager
def started(
    program: Sequence[str], wanted: recording.Wanted, output: Path | None
) -> Iterator[WatchedProgram]:
    """The program, sampled until the end of the block. `output` gets what it writes, if not None."""
    recording.check(program[0], wanted)
    recording.make_folder(wanted.raw)
    environment = environment_for(recording.arm_of(wanted))
    with recording.control_of(wanted) as control, contextlib.ExitStack() as stack:
        stack.callback(recording.remove, wanted.raw)
        stack.callback(control.switch, False)
        stdin, out = None, None
        if output:
            stdin, out = subprocess.DEVNULL, stack.enter_context(output.open("wb"))
        try:
            child = subprocess.Popen(program, env=environment, stdin=stdin, stdout=out, stderr=out)
        except OSError as error:
            raise CannotStartError(f"{program[0]}: {error.strerror}") from error
        yield WatchedProgram(child, WatchedSites(wanted))


@contextlib.contextmanager
def attached(of: Target, wanted: recording.Wanted, ask: bool) -> Iterator[WatchedProcess]:
    """A process that runs already, sampled until the end of the block."""
    attaching = run_attach.attaching_to(of, wanted.functions)
    recording.make_folder(wanted.raw)
    with contextlib.ExitStack() as stack:
        stack.callback(recording.remove, wanted.raw)
        control = stack.enter_context(recording.control_of(wanted))
        stack.enter_context(run_attach.redirected(of, attaching, wanted, control))
        control.begin()
        yield WatchedProcess(of, ask, WatchedSites(wanted))
