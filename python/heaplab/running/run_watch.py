"""What `heaplab watch` does: a page on a terminal, else a line each second."""

import sys
from dataclasses import dataclass
from math import inf
from pathlib import Path

from heaplab.errors import UsageError
from heaplab.options.chosen_arms import BASELINE
from heaplab.options.option_types import OUTPUT_FILE
from heaplab.options.program_command import SAMPLE
from heaplab.running import watch_lines, watch_page
from heaplab.running.target import target
from heaplab.running.watched import WatchedProcess, started
from heaplab.traces.recording import SIGNALLED, Wanted
from heaplab.traces.sampling import SamplingPlan
from heaplab.tracing.run_record import default_trace, library_of

PAGE = ".watch.html"  # for a browser


@dataclass(frozen=True)
class WatchOptions:
    seconds: float | None
    ask: bool
    mean: int  # B between two samples
    output: Path | None


def watch(extra: tuple[Path, ...], program: tuple[str, ...], options: WatchOptions) -> int:
    """Return the exit status of the program if it has ended; else 0."""
    seconds = options.seconds or inf
    if len(program) == 1 and program[0].isdecimal():
        if options.output:
            raise UsageError("-o goes with a program: a process that runs already is not sampled")
        source = WatchedProcess(target(program[0]), options.ask)
        if sys.stdout.isatty() and sys.stdin.isatty():
            watch_page.show(source, seconds, Path(f"{program[0]}{PAGE}"))
        else:
            watch_lines.show(source, seconds, sys.stdout)
        return 0
    if options.ask:
        raise UsageError("--ask goes with a PID: a program that is started here is sampled")
    return watch_program(extra, program, options, seconds)


def watch_program(
    extra: tuple[Path, ...], program: tuple[str, ...], options: WatchOptions, seconds: float
) -> int:
    trace = options.output or default_trace(program, SAMPLE)
    on_page = sys.stdout.isatty() and sys.stdin.isatty()
    output = default_trace(program, ".out") if on_page else None
    for path in filter(None, (trace, output)):
        OUTPUT_FILE.refuse_unwritable(path)
    wanted = Wanted(trace, library_of(extra, BASELINE), sampled=SamplingPlan(options.mean))
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
