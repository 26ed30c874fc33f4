"""What `heaplab watch` does: a page on a terminal, else a line each second."""

import contextlib
import sys
from dataclasses import dataclass
from math import inf
from pathlib import Path

from heaplab.errors import UsageError
from heaplab.options.option_types import OUTPUT_FILE
from heaplab.running import watch_lines, watch_page
from heaplab.running.target import target
from heaplab.running.watched import WatchedProcess, attached, started
from heaplab.traces import SAMPLE
from heaplab.traces.recording import SIGNALLED, Wanted
from heaplab.traces.sampling import SamplingPlan
from heaplab.tracing.run_record import default_trace, library_of

PAGE = ".watch.html"  # for a browser
MEAN = 512 << 10  # B between two samples of a program


@dataclass(frozen=True)
class WatchOptions:
    seconds: float | None
    ask: bool
    mean: int | None  # B between two samples; None: the user gave none
    output: Path | None


def watch(extra: tuple[Path, ...], program: tuple[str, ...], options: WatchOptions) -> int:
    """Return the exit status of the program if it has ended; else 0."""
    seconds = options.seconds or inf
    if len(program) == 1 and program[0].isdecimal():
        watch_process(extra, program[0], options, seconds)
        return 0
    if options.ask:
        raise UsageError("--ask goes with a PID: a program that is started here is sampled")
    return watch_program(extra, program, options, seconds)


def watch_process(extra: tuple[Path, ...], process: str, options: WatchOptions, seconds: float) -> None:
    if not options.mean:
        if options.output:
            raise UsageError("-o goes with a program, or with --sample: a PID alone is not sampled")
        show_process(WatchedProcess(target(process), options.ask), process, seconds)
        return
    of = target(process)
    trace = options.output or default_trace((of.name,), SAMPLE)
    OUTPUT_FILE.refuse_unwritable(trace)
    plan = SamplingPlan(options.mean)
    wanted = Wanted(trace, library_of(extra), sampled=plan, attached=True)
    with attached(of, wanted, options.ask) as source:
        with contextlib.suppress(KeyboardInterrupt):
            show_process(source, process, seconds)
        if options.output:
            source.finish()


def show_process(source: WatchedProcess, process: str, seconds: float) -> None:
    if sys.stdout.isatty() and sys.stdin.isatty():
        watch_page.show(source, seconds, Path(f"{process}{PAGE}"))
    else:
        watch_lines.show(source, seconds, sys.stdout)


def watch_program(
    extra: tuple[Path, ...], program: tuple[str, ...], options: WatchOptions, seconds: float
) -> int:
    trace = options.output or default_trace(program, SAMPLE)
    on_page = sys.stdout.isatty() and sys.stdin.isatty()
    output = default_trace(program, ".out") if on_page else None
    for path in filter(None, (trace, output)):
        OUTPUT_FILE.refuse_unwritable(path)
    wanted = Wanted(trace, library_of(extra), sampled=SamplingPlan(options.mean or MEAN))
    with started(program, wanted, output) as source:
        try:
            if on_page:
                watch_page.show(source, seconds, default_trace(program, PAGE))
            else:
                watch_lines.show(source, seconds, sys.stderr)
        except KeyboardInterrupt:  # the program gets the signal of the terminal, too
            source.wait(1.0)
        if options.output:
            source.finish()
    status = source.child.poll() or 0
    return SIGNALLED - status if status < 0 else status
