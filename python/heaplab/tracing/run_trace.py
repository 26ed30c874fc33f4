"""What `heaplab trace` does: the content of a trace on the terminal, as a page, and for other programs."""

from pathlib import Path
from typing import Any

import click

from heaplab.errors import UsageError
from heaplab.files.output import write_text
from heaplab.options.trace_options import EVENTS
from heaplab.screen.console import console, put
from heaplab.screen.exit_status import DAMAGED, DONE
from heaplab.screen.notes import note
from heaplab.text.units import counted
from heaplab.traces import TRACE, TWIN, columns, dhat, folded, foreign, pprof, recording, sampling, tool
from heaplab.traces.control import sampling_of
from heaplab.traces.profile import Profile, busiest, of_process
from heaplab.traces.sampling import SamplingPlan
from heaplab.tracing import run_sample, run_twin, trace_changes, trace_page, trace_summary, trace_terminal
from heaplab.tracing.progress_note import ProgressNote

LABEL = 16  # columns
MOST = 20  # processes that are shown
PARQUET = ".parquet"
PEAK, AT_END = "peak", "end"  # default weights of collapsed stacks: of recordings, of samples

PAGE, DHAT, PPROF, FOLDED = ".html", ".json", ".pb.gz", ".folded"
FITTED = TWIN, run_twin.EXPERIMENT


def trace(
    trace_file: Path,
    new: Path | None,
    again: tuple[Path, ...],
    output: Path | None,
    rows: str | None,
    weight: str | None,
    process: int | None,
) -> int:
    """Show a trace, write it in another form, or compare it with another; return the exit status."""
    if run_sample.is_of_samples(trace_file):
        for name, value in (("--again", again), ("--rows", rows)):
            refuse_of_samples(name, value)
        return sampled(trace_file, new, output, weight, process)
    if new:
        return compare([trace_file, new, *again], output, process)
    if again:
        raise UsageError("--again goes with two traces: heaplab trace OLD NEW --again OLD2")
    refuse_without("--rows", rows, output, PARQUET, "a file of Parquet")
    refuse_without("--weight", weight, output, FOLDED, "collapsed stacks")
    if trace_file.suffix == TWIN:
        return run_twin.show_or_draw(trace_file, output)
    if output and output.name.endswith(TRACE):
        return imported(trace_file, output)
    if trace_file.is_dir():  # its content may be samples
        return trace(finished(trace_file), new, again, output, rows, weight, process)
    return show_or_write(trace_file, output, rows, weight, process)


def show_or_write(
    trace_file: Path, output: Path | None, rows: str | None, weight: str | None, process: int | None
) -> int:
    suffix = suffix_of(output) if output else ""
    summary, number = summary_and_process(trace_file, process)
    warnings = trace_summary.warnings(summary)
    for line in warnings:
        note(f"{trace_file}: {line}")
    if output and suffix in FITTED:
        run_twin.fit(trace_file, summary, number, output)
    elif output and suffix == PARQUET:
        columns.write_parquet(trace_file, summary, rows or EVENTS, output, ProgressNote("writing rows"))
    else:
        if not output:
            show(summary)
        profile = of_process(trace_file, summary, number, ProgressNote("reading events"))
        if unnamed := profile.without_names:
            note(f"{trace_file}: {unnamed}")
        if not output:
            show_process(profile, number, summary)
            return status_of(summary)
        write(profile, warnings, suffix, weight or PEAK, output)
    click.echo(output)
    return status_of(summary)


def refuse_of_samples(option: str, value: object) -> None:
    if value:
        raise UsageError(f"{option} goes with recordings of all calls, not with samples")


def sampled(
    place: Path, new: Path | None, output: Path | None, weight: str | None, process: int | None
) -> int:
    """The same with a file of samples."""
    refuse_without("--weight", weight, output, FOLDED, "collapsed stacks")
    if new and output:
        raise UsageError("-o goes with one file of samples")
    if new:
        return run_sample.compare(place, new, process)
    if not output:
        return run_sample.show(place, process)
    suffix = suffix_of(output)
    if suffix not in (PPROF, FOLDED):
        raise UsageError(f"{output}: of samples, -o writes {PPROF} or {FOLDED}")
    if weight == PEAK:
        raise UsageError("--weight peak: samples tell no peak; allowed is end, allocated or calls")
    profile, status = run_sample.profile(place, process)
    write(profile, [], suffix, weight or AT_END, output)
    click.echo(output)
    return status


def status_of(*summaries: dict[str, Any]) -> int:
    """The exit status of a command that has read these traces."""
    return DAMAGED if any(summary["damage"] for summary in summaries) else DONE


def compare(files: list[Path], output: Path | None, process: int | None) -> int:
    """Show the differences of the second trace to the first by call site; the others repeat the first."""
    if output:
        raise UsageError("-o goes with one trace")
    profiles, summaries = [], []
    for path in files:
        summary, number = summary_and_process(path, process)
        summaries.append(summary)
        for line in summary["damage"]:
            note(f"{path}: {line}")
        profiles.append(of_process(path, summary, number, ProgressNote(f"reading {path.name}")))
    old, new, *again = profiles
    trace_terminal.print_changes(trace_changes.changes(old, new, again), console())
    return status_of(*summaries)


def refuse_without(option: str, value: str | None, output: Path | None, suffix: str, form: str) -> None:
    """Raise UsageError for an option that does not apply to the form of the output."""
    if value and not (output and output.name.endswith(suffix)):
        raise UsageError(f"{option} goes with {form}: heaplab trace TRACE {option} {value} -o FILE{suffix}")


def suffix_of(output: Path) -> str:
    known = (PAGE, PARQUET, DHAT, PPROF, FOLDED, *FITTED)
    for suffix in known:
        if output.name.endswith(suffix):
            return suffix
    raise UsageError(f"{output}: its suffix is none of {', '.join((*known, TRACE))}")


def write(profile: Profile, warnings: list[str], suffix: str, weight: str, output: Path) -> None:
    if suffix == PAGE:
        trace_page.write_html(profile, warnings, output)
    elif suffix == DHAT:
        write_text(output, dhat.as_dhat(profile))
    elif suffix == FOLDED:
        write_text(output, folded.as_folded(profile, weight))
    else:
        pprof.write_pprof(profile, output)


def summary_and_process(trace_file: Path, process: int | None) -> tuple[dict[str, Any], int]:
    """The summary of a trace, and the process that the user names, or else the one with the most events."""
    summary = tool.summary(trace_file)
    last = len(summary["processes"]) - 1
    if process is not None and process > last:
        raise UsageError(f"--process {process}: {trace_file} has processes 0 to {last}")
    return summary, busiest(summary) if process is None else process


def show(summary: dict[str, Any]) -> None:
    out = console()
    put(out, trace_summary.totals(summary))
    for process in summary["processes"][:MOST]:
        put(out, "")
        for label, text in trace_summary.of_process(process):
            put(out, text.replace("[", r"\["), label=label, indent=LABEL)
    if (more := len(summary["processes"]) - MOST) > 0:
        put(out, f"and {counted(more, 'process', 'processes')} more")


def show_process(profile: Profile, number: int, summary: dict[str, Any]) -> None:
    out = console()
    put(out, "")
    if len(summary["processes"]) > 1:
        put(out, f"Process {profile.pid}, number {number} of the trace; --process N shows another.")
    trace_terminal.print_profile(profile, out)


def imported(source: Path, output: Path) -> int:
    """Make a trace of the output of heaptrack or mtrace."""
    if source.is_dir():
        raise UsageError(f"{source}: is a folder, not the output of heaptrack or mtrace")
    if foreign.is_trace(source):
        raise UsageError(f"{source}: is a trace already")
    summary = foreign.make_trace(source, output, ProgressNote("making the trace"))
    if summary["cut_off"]:
        note(f"{source}: is cut off; what is intact was used")
    if summary["skipped"]:
        note(f"{source}: {summary['skipped']} lines were not understood and are left out")
    note(f"{output}: {trace_summary.totals(tool.summary(output))}")
    click.echo(output)
    return DAMAGED if summary["cut_off"] else DONE


def finished(raw: Path) -> Path:
    """Make the trace of a folder that a recording left. Raises UsageError for another folder."""
    if not (raw.name.endswith(recording.RAW) and (raw / "control").is_file()):
        raise UsageError(f"{raw}: is a folder, not a trace")
    made = raw.with_name(raw.name.removesuffix(recording.RAW))
    mean, page_period = sampling_of(raw)
    if mean:
        sampling.finish(raw, made, SamplingPlan(mean, page_period=page_period))
    else:
        tool.finish(raw, made, ProgressNote("making the trace"))
    recording.remove(raw)
    note(f"{made}: made of {raw}")
    return made
