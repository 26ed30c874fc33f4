"""Runs a program under the recorder, otherwise as if the user had started the program directly."""

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from heaplab.errors import HeaplabError, UsageError
from heaplab.machine import interposition, native
from heaplab.machine.coverage import executed_programs
from heaplab.machine.coverage.tree_sampler import TreeSampler, text_of
from heaplab.machine.execute import CannotStartError, environment_for
from heaplab.machine.watch import descendants
from heaplab.results.records import Arm
from heaplab.screen.notes import note
from heaplab.traces import tool
from heaplab.traces.control import OFF, Control
from heaplab.traces.redirecting import functions_file
from heaplab.traces.redirecting.functions_file import Redirection
from heaplab.traces.sampling import END, Sampling, SamplingPlan

RAW = ".raw"
FOLDER = "HEAPLAB_RECORD"  # the variable that names the recorder's folder
SIGNALLED = 128  # as in a shell, plus the number of the signal: the status of a program that a signal ended
POLL_S = 0.2  # between two looks whether the time of recording is over
FIRST_LOOK_S = 0.001  # until the first look at the memory of the program; then the time to the next grows
LOOK_S = 0.02
# Files of a recording's folder with what was seen, and when: trace_tool puts the first into the trace, and
# where blocks lay at the moments of the second.
MEMORY, MOMENTS = "memory", "moments"
NONE_CALLED = "no process called malloc"
NO_PROCESS = "no process was recorded"  # the tool's words where no process called malloc and no call was lost
LEAST_REST = 10  # pause between two looks at processes, as a multiple of the time that a look takes
GRACE_S = 1.0  # for processes that are just ending, before a note about those that go on

KEEP_SIZE, PUNCH_HOLE = 1, 2  # flags of fallocate(2)

Handler = Callable[[int, FrameType | None], None]


@dataclass(frozen=True)
class Wanted:
    trace: Path
    library: Arm  # serves malloc below the recorder
    most_bytes: int = 0  # of all files while recording; 0: no limit
    seconds: float | None = None  # from the beginning of recording to its end
    paused: bool = False  # recording begins with SIGUSR1
    stacks: bool = False  # with the call stacks of acquisitions
    instructions: bool = False  # with the instructions of every thread
    functions: tuple[str, ...] = ()  # of the program's own malloc; (): those that are known
    sampled: SamplingPlan | None = None  # blocks are sampled, and the trace is a file of samples
    attached: bool = False  # to a process that runs already

    @property
    def raw(self) -> Path:
        return self.trace.with_name(self.trace.name + RAW)


def recorder() -> str:
    return str(native.needed(native.library("recorder"), "the recorder's library").resolve())


def arm_of(wanted: Wanted) -> Arm:
    """The library with the recorder above it: the recorder is then the one that serves malloc."""
    below = wanted.library
    return below.model_copy(
        update={
            "preload": [recorder(), *below.preload],
            "environment": {**below.environment, FOLDER: str(wanted.raw.absolute())},
        }
    )


def check(program: str, wanted: Wanted) -> Redirection | None:
    """What is redirected in the program: the functions of its own malloc, if it has one.

    Raises an error if the program cannot be recorded or the trace cannot be written.
    """
    library = arm_of(wanted)
    environment = environment_for(library)
    path = interposition.resolve_program(program, environment)
    interposition.refuse_other_c_library(path, library)
    redirected = functions_file.redirection_of(interposition.interpreter_of(path), wanted.functions)
    may_have_malloc = redirected is not None and bool(redirected.functions)
    if fault := interposition.fault_of_program(path, environment, library, may_have_malloc=may_have_malloc):
        raise UsageError(f"{fault}; nothing to record but what it starts, each by itself")
    if wanted.instructions and (fault := tool.why_no_instructions()):
        raise HeaplabError(
            f"--count-instructions: this machine does not lend the processor's counters: {fault}"
        )
    refuse_output(wanted)
    return redirected


def refuse_output(wanted: Wanted) -> None:
    """Raise UsageError if the trace cannot be written."""
    if wanted.trace.is_dir():
        raise UsageError(f"{wanted.trace}: is a folder")
    if wanted.raw.exists():
        raise UsageError(f"{wanted.raw}: an earlier recording left it; {to_finish(wanted)}, or remove it")


def record(
    program: Sequence[str],
    wanted: Wanted,
    redirected: Redirection | None,
    waiting: Callable[[list[str]], None],
    finished: Callable[[str], None],
    progress: tool.Progress,
) -> int:
    """Run `program` until it and the processes that it leaves running have ended; return its exit status.

    `waiting` gets the processes that the program leaves running. `finished` is called at the end, with
    the reason if there is no trace, else with "".
    """
    make_folder(wanted.raw)
    if redirected:
        redirected.write(wanted.raw)
    with control_of(wanted) as control:
        window = Window(control, wanted, waiting)
        with window.signals():
            try:
                window.child = subprocess.Popen(program, env=environment_for(arm_of(wanted)))
            except OSError as error:
                remove(wanted.raw)
                raise CannotStartError(f"{program[0]}: {error.strerror}") from error
            window.wait()
            if redirected and (fault := redirected.fault_in(wanted.raw)):
                note(f"{program[0]}: its own malloc was not recorded: {fault}")
            try:
                why = write(window, wanted, progress)
                remove(wanted.raw)
                finished(why and f"nothing was recorded: {why}")
            except HeaplabError:
                if not has_process(wanted):
                    remove(wanted.raw)  # the next recording needs a new folder
                raise
            finally:
                status = window.child.wait()  # the program goes on if only its beginning was recorded
    return SIGNALLED - status if status < 0 else status


def write(window: "Window", wanted: Wanted, progress: tool.Progress) -> str:
    """Write what was recorded; return why there is nothing, "" if there is. Raises HeaplabError."""
    if window.sampling:
        return "" if window.sampling.take(END).processes else NONE_CALLED
    if not window.opened:
        return "SIGUSR1 did not come"
    unseen = window.write_memory()
    why = finish(wanted, progress)
    return why and "; ".join([why, *unseen])


def finish(wanted: Wanted, progress: tool.Progress) -> str:
    """Make the trace; return why there is none, "" if there is one. Raises what `tool.finish` raises."""
    try:
        tool.finish(wanted.raw, wanted.trace, progress)
    except HeaplabError as error:
        if str(error).endswith(NO_PROCESS):
            return NONE_CALLED
        if not has_process(wanted):
            raise
        raise HeaplabError(f"{error}; {to_finish(wanted)}") from error
    return ""


def has_process(wanted: Wanted) -> bool:
    """Whether the folder holds what a process did."""
    return any(wanted.raw.glob("*.raw"))


def to_finish(wanted: Wanted) -> str:
    return f"heaplab trace {wanted.raw} makes its trace"


def control_of(wanted: Wanted) -> Control:
    return Control(
        wanted.raw,
        tool.stamps_here(),
        wanted.most_bytes,
        on=not wanted.paused,
        attached=wanted.attached,
        stacks=wanted.stacks,
        instructions=wanted.instructions,
        sample_bytes=wanted.sampled.mean if wanted.sampled else 0,
        page_period=wanted.sampled.page_period if wanted.sampled else 0,
    )


def make_folder(raw: Path) -> None:
    """Make the folder of a recording. Raises UsageError if the folder exists or cannot be made."""
    try:
        raw.mkdir()
    except OSError as error:
        raise UsageError(f"{raw}: {error.strerror}") from error


def punch(file: Path) -> None:
    """Give back the memory and the disk of a file that a process has still mapped: it keeps the addresses."""
    with file.open("r+b") as stream:
        libc = ctypes.CDLL(None, use_errno=True)
        whole = ctypes.c_int64(os.fstat(stream.fileno()).st_size)
        libc.fallocate(stream.fileno(), KEEP_SIZE | PUNCH_HOLE, ctypes.c_int64(0), whole)


def remove(raw: Path) -> None:
    """Remove the folder of a recording; a process that is just beginning may add a file meanwhile."""
    shutil.rmtree(raw, ignore_errors=True)
    if raw.exists():
        shutil.rmtree(raw)


def others() -> list[int]:
    """The numbers of all other processes."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def still_running(raw: Path, among: Collection[int]) -> dict[int, str]:
    """The names of those processes that record into the folder; they may outlive the program that began it.

    Such a process has a file of the folder mapped, or, before its first call, the recorder and the variable
    that names the folder.
    """
    folder, begins = os.fsencode(raw.resolve()) + b"/", os.fsencode(f"{FOLDER}={raw.absolute()}")
    processes = {}
    for pid in among:
        process = Path(f"/proc/{pid}")
        try:
            maps = (process / "maps").read_bytes()
            is_preloaded = os.fsencode(recorder()) in maps
            if folder in maps or (is_preloaded and begins in (process / "environ").read_bytes().split(b"\0")):
                name = (process / "comm").read_text(errors="replace").strip()
                processes[pid] = f"{name} ({pid})"
        except OSError:  # the process has ended meanwhile, or belongs to another user
            continue
    return processes


class Window:
    """When recording begins and ends: with the program, after a time, or at signals to heaplab.

    A recording that samples gets SIGUSR1 as the wish for a snapshot.
    """

    def __init__(self, control: Control, wanted: Wanted, waiting: Callable[[list[str]], None]) -> None:
        self.child: subprocess.Popen[bytes] | None = None
        self._control = control
        self._raw = wanted.raw
        self._waiting = waiting
        self._seconds = wanted.seconds
        begins_late = wanted.paused or wanted.attached
        self._began = None if begins_late else time.monotonic()
        self._closed = False
        self.sampling = Sampling(wanted.raw, wanted.trace, wanted.sampled) if wanted.sampled else None
        # What a program held before a window of its life, no trace of the window tells.
        self._sampler = (
            None if begins_late or wanted.sampled else TreeSampler(recorder(), str(wanted.raw.absolute()))
        )

    def wait(self) -> None:
        """Return when the recording has ended, or the program and the processes that it leaves running."""
        pause = FIRST_LOOK_S
        while self.child and not self._closed:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.child.wait(pause)
                break
            self._tick()
            longest = LOOK_S if self._sampler else POLL_S
            pause = max(min(longest, pause * 1.5), self._look(self.child.pid))
        self._wait_for_others()
        self._control.switch(OFF)

    def _look(self, pid: int) -> float:
        """Sample the memory of a process and its descendants; return the s that this took."""
        began = time.monotonic()
        if self._sampler and not self._closed:
            self._sampler.look(began, descendants(pid))
        return time.monotonic() - began

    def write_memory(self) -> list[str]:
        """Write what the trace is to hold of the memory seen; on a full disk, nothing.

        Return why the recorder was not in programs that were started.
        """
        processes = self._sampler.processes if self._sampler else []
        moments = [f"{process.pid} {sample.at_ns}\n" for process in processes for sample in process.kept]
        processes += executed_programs.not_seen(self._control.executed_programs(), processes)
        try:
            (self._raw / MOMENTS).write_text("".join(moments))
            (self._raw / MEMORY).write_text(text_of(processes))
        except OSError:
            (self._raw / MEMORY).unlink(missing_ok=True)
        return [process.unseen for process in processes if process.unseen]

    def _wait_for_others(self) -> None:
        speak_at = time.monotonic() + GRACE_S
        left: dict[int, str] = {}
        while not self._closed:
            began = time.monotonic()
            # A look at all processes takes milliseconds of a processor, so known ones are looked at first.
            left = still_running(self._raw, left) or still_running(self._raw, others())
            if not left:
                return
            now = time.monotonic()
            if now >= speak_at:
                left = still_running(self._raw, others())
                self._waiting([*left.values()])
                speak_at = float("inf")
            time.sleep(max(POLL_S, LEAST_REST * (now - began)))
            self._tick()

    def _tick(self) -> None:
        if self.sampling:
            self.sampling.tick()
        if self._began and self._seconds and time.monotonic() - self._began >= self._seconds:
            self._close()

    @property
    def opened(self) -> bool:
        return self._began is not None

    def begin(self) -> None:
        self._began = time.monotonic()
        self._control.begin()

    def _open(self, *_: object) -> None:
        if self.sampling:
            self.sampling.ask()
        elif self._began is None:
            self.begin()

    def _close(self, *_: object) -> None:
        self._control.switch(OFF)
        self._closed = True

    def _hand_on(self, number: int, _frame: FrameType | None) -> None:
        if self.child and self.child.returncode is None:
            self.child.send_signal(number)
        else:
            self._close()

    def _leave_to_program(self, *_: object) -> None:
        """Ignore a signal of the terminal, which the program gets too, while the program runs."""
        if not self.child or self.child.returncode is not None:
            self._close()

    @contextlib.contextmanager
    def signals(self) -> Iterator[None]:
        """Signals in the block switch recording; requests to end go to the program while it runs."""
        handlers: dict[signal.Signals, Handler] = {
            signal.SIGUSR1: self._open,
            signal.SIGUSR2: self._close,
            **dict.fromkeys((signal.SIGTERM, signal.SIGHUP), self._hand_on),
            **dict.fromkeys((signal.SIGINT, signal.SIGQUIT), self._leave_to_program),
        }
        # An ignored signal, for example SIGHUP under nohup, stays ignored here and in the program.
        heard = {
            number: handler
            for number, handler in handlers.items()
            if signal.getsignal(number) != signal.SIG_IGN
        }
        before = {number: signal.signal(number, handler) for number, handler in heard.items()}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
