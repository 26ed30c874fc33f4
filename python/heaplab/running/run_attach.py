"""`heaplab record --pid`: the calls of a process that runs already, which then goes on as before."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from heaplab.errors import HeaplabError, UsageError
from heaplab.running.attaching import Attaching
from heaplab.running.serving import serving
from heaplab.running.target import Target, target
from heaplab.screen.notes import note
from heaplab.text.units import counted
from heaplab.traces import recording
from heaplab.traces.control import OFF, Control
from heaplab.traces.recording import Wanted, Window
from heaplab.tracing import run_record
from heaplab.tracing.progress_note import ProgressNote
from heaplab.tracing.run_record import RecordingOptions

MS = 1000


def record(
    extra: tuple[Path, ...], program: tuple[str, ...], process: str | None, options: RecordingOptions
) -> int:
    """Record a program, and return its exit status, or a running process."""
    if bool(program) == bool(process):
        raise UsageError("record: give either PROGRAM or --pid PID")
    return attach(extra, process, options) if process else run_record.record(extra, program, options)


def attach(extra: tuple[Path, ...], process: str, options: RecordingOptions) -> int:
    """Record a running process; return 0."""
    started = {
        "--under": bool(options.under),
        "--paused": options.paused,
        "--count-instructions": options.instructions,
    }
    for name, value in started.items():
        if value:
            raise UsageError(f"{name} goes with a program that is started, not with --pid")
    of = target(process)
    wanted = run_record.wanted_of(extra, of.name, options, attached=True)
    recording.refuse_output(wanted)
    attaching = attaching_to(of, options.functions)
    recording.make_folder(wanted.raw)
    try:
        why = recorded(of, attaching, wanted)
    finally:
        for file in wanted.raw.glob("*.raw"):
            recording.punch(file)
        recording.remove(wanted.raw)
    run_record.tell_of(wanted, why and f"nothing was recorded: {why}")
    return 0


def attaching_to(of: Target, functions: tuple[str, ...]) -> Attaching:
    with while_it_runs(of):
        attaching = Attaching(of, serving(of), recording.recorder(), functions)
    for fault in attaching.redirection.faults:
        note(f"{of.title}: not recorded: {fault}")
    return attaching


@contextlib.contextmanager
def while_it_runs(of: Target) -> Iterator[None]:
    """Say of any error that the process has ended, if it has: its files vanish with it."""
    try:
        yield
    except (OSError, HeaplabError, UsageError):
        of.assert_runs()
        raise


def recorded(of: Target, attaching: Attaching, wanted: Wanted) -> str:
    """Redirect, wait for the end of the window, put the code back, and write; return why there is nothing."""
    with recording.control_of(wanted) as control:
        window = Window(control, wanted, lambda _left: None)
        with window.signals():
            with redirected(of, attaching, wanted, control):
                window.begin()
                window.wait()
            return recording.write(window, wanted, ProgressNote("making the trace"))


@contextlib.contextmanager
def redirected(of: Target, attaching: Attaching, wanted: Wanted, control: Control) -> Iterator[None]:
    """Calls come to the recorder, which does nothing before the control begins."""
    try:
        with while_it_runs(of):
            stopped = attaching.attach(wanted.raw)
        functions = counted(len(attaching.redirection.functions), "function", "functions")
        note(f"{of.title}: {functions} recorded; its threads stood still for {stopped * MS:.1f} ms")
        yield
    finally:
        control.switch(OFF)
        restore_code(of, attaching)


def restore_code(of: Target, attaching: Attaching) -> None:
    """Put the code back, unless the process has ended."""
    if not attaching.changes:
        return
    try:
        stopped = attaching.detach()
        note(f"{of.title}: as before; its threads stood still for {stopped * MS:.1f} ms")
    except HeaplabError as error:
        if not of.has_ended():
            note(f"{error}; its functions still lead to the recorder, which is off")
