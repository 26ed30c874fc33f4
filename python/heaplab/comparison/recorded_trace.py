"""A trace, or the twin of one, as experiments: it is compiled once, then replayed under each allocator."""

import contextlib
import hashlib
import json
import os
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from heaplab.catalog import locate
from heaplab.catalog.contents import Catalog
from heaplab.comparison.given_server import Measured
from heaplab.comparison.program_experiment import BLOCKS
from heaplab.errors import HeaplabError, UsageError
from heaplab.files import regular_file
from heaplab.machine import native
from heaplab.options.replay_options import PACE, RECORDED
from heaplab.results import spec
from heaplab.results.records import Parameter
from heaplab.screen.notes import note
from heaplab.screen.step_display import StepDisplay
from heaplab.traces import TRACE, TWIN, architecture, tool
from heaplab.traces.tool import ANY_NAME
from heaplab.twins import drawing, twin_file
from heaplab.twins.making import make_trace

WORKLOAD = "replay"
DURATION, DURATION_AT = struct.Struct("<Q"), 152  # in the header of a workload file (docs/workload-format.md)
AS_IT_IS: Mapping[str, Parameter] = MappingProxyType({})

# By name of a pass: its title, its options of `replay`, its metrics. One pass for all metrics would disturb
# what it measures. The pass for the time of all calls has no pauses at any --pace: they would count as time.
PASSES: dict[str, tuple[str, dict[str, Parameter], list[str]]] = {
    "time": ("time of all calls", {}, ["wall_time", "system_time", "minor_faults", "stalls"]),
    "latency": (
        "latency of single calls",
        {"latency": True},
        ["allocation_latency_p99", "free_latency_p99", "allocation_latency_p50", "free_latency_p50"],
    ),
    "memory": (
        "memory where all threads meet",
        {"marks": True, "drift": 0},
        ["average_memory", "memory_per_live", "peak_memory"],
    ),
}
# Each pass is an aspect of its own: no mean combines the time of all calls with the latency of single calls.
ASPECTS = {
    "time": spec.Aspect(
        id="calls",
        title="All calls",
        question="How long do all calls of the recording take together?",
        where="all calls of the program count",
    ),
    "latency": spec.Aspect(
        id="latency",
        title="Slow calls",
        question="How long does an allocation take that is slower than 99 of 100?",
        where="its slowest calls count",
    ),
    "memory": spec.Aspect(
        id="memory",
        title="Memory",
        question="How much memory does the heap take on average for the blocks of the recording?",
        where="the blocks of the program live",
        measure="memory",
    ),
}


def experiments_of(
    catalog: Catalog, trace: Path, quiet: bool, replaying: Mapping[str, Parameter] = AS_IT_IS
) -> Measured:
    """Three experiments of one cell each: a pass for time, one for latency, one for memory.

    `replaying` are the values of the options in replay_options.py.
    """
    file, workload = workload_of(trace, quiet), catalog.workloads[WORKLOAD]
    if replaying.get(PACE) == RECORDED:
        workload = workload.model_copy(update={"timeout_s": workload.timeout_s + 2 * seconds_of(file)})
    scale = spec.Scale(blocks=BLOCKS[0], blocks_most=BLOCKS[1])
    experiments = [
        spec.Experiment(
            id=f"{WORKLOAD}/{name}",
            title=f"{trace.name}: {title}",
            claim="",
            workload=WORKLOAD,
            aspect=ASPECTS[name],
            parameters={"file": str(file)}
            | options
            | {key: value for key, value in replaying.items() if (name, key) != ("time", PACE)},
            metrics=metrics,
            main_metric=metrics[0],
            quick=scale,
            full=scale,
        )
        for name, (title, options, metrics) in PASSES.items()
    ]
    return experiments, {WORKLOAD: workload}


def seconds_of(workload: Path) -> float:
    """The duration of the recording in a compiled trace. Raises HeaplabError for a truncated file."""
    with workload.open("rb") as file:
        head = file.read(DURATION_AT + DURATION.size)
    if len(head) < DURATION_AT + DURATION.size:
        raise HeaplabError(f"{workload}: is cut off; remove the file, and it is made anew from the trace")
    (microseconds,) = DURATION.unpack_from(head, DURATION_AT)
    return float(microseconds) / 1e6


def workload_of(trace: Path, quiet: bool) -> Path:
    """The compiled trace. It lies beside the trace or, if that folder is not writable, in the user's cache.

    A trace is compiled once for each content. Raises UsageError for a file that is neither trace nor twin.
    """
    is_twin = trace.suffix == TWIN
    twin_file.read(trace) if is_twin else tool.summary(trace)  # refuse what is neither
    compiler = native.needed(native.helper("compile_trace"), "compile_trace")
    made_by = [compiler, Path(drawing.__file__)] if is_twin else [compiler]
    name = f"{trace.name}.{content_of(trace, *made_by)}.workload"
    beside, cached = trace.resolve().parent, locate.user_cache() / "workloads"
    for folder in (beside, cached):
        if (folder / name).is_file():
            return folder / name
    folder = beside if os.access(beside, os.W_OK) else cached
    folder.mkdir(parents=True, exist_ok=True)
    with recording_of(trace, folder) as recorded:
        compiled = compile_trace(compiler, recorded, folder / name, quiet)
    tell_about(trace, compiled, quiet)
    if not compiled["calls"]:
        (folder / name).unlink()
        raise tool.unusable(trace, "holds no call, so that there is nothing to replay", compiled["damage"])
    return folder / name


@contextlib.contextmanager
def recording_of(path: Path, folder: Path) -> Iterator[Path]:
    """The trace itself, or for the time of the block one that is drawn from a twin."""
    if path.suffix != TWIN:
        yield path
        return
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        drawn = Path(scratch) / f"{path.name}{TRACE}"
        make_trace(drawing.draw(twin_file.read(path)), drawn)
        yield drawn


def content_of(*files: Path) -> str:
    """A hash of the contents of the trace and of what compiles it, for the name of the compiled trace."""
    digest = hashlib.sha256()
    for path in files:
        with regular_file.opened(path) as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def compile_trace(compiler: Path, trace: Path, workload: Path, quiet: bool) -> dict[str, Any]:
    """Compile, show the progress, and return the compiler's summary. Raises UsageError."""
    command = [str(compiler), str(trace), str(workload)]
    last: dict[str, Any] = {}
    next_share = 0.0
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, errors=ANY_NAME) as running,
        StepDisplay("compiling") as display,
    ):
        assert running.stdout
        assert running.stderr
        for line in running.stdout:
            last = json.loads(line)
            if "done" in last and not quiet and last["done"] >= next_share:
                display.tell(f"{trace.name}, {last['done']:.0%} done")
                next_share += 0.1
        complaint = running.stderr.read().strip().removeprefix("compile_trace: ")
    if running.returncode != 0:
        raise UsageError(complaint or f"{trace}: compile_trace ended with {running.returncode}")
    return last


def tell_about(trace: Path, summary: dict[str, Any], quiet: bool) -> None:
    """Note what the reader must know of the trace: which process is replayed, and what is missing."""
    for line in summary["damage"]:
        note(line)
    if line := architecture.note(summary["machine"]):
        note(f"{trace}: {line}")
    if summary["lost"] or summary["unknown_releases"] or summary["doubled_blocks"]:
        note(
            f"{trace}: {summary['lost']} calls are missing, {summary['unknown_releases']} blocks were freed "
            f"that it does not hold, {summary['doubled_blocks']} were allocated twice; the rest is replayed"
        )
    if summary["processes"] > 1 and not quiet:
        named = f"{summary['program']} ({summary['pid']})"
        note(f"{trace}: {named} is replayed, of {summary['processes']} processes")
