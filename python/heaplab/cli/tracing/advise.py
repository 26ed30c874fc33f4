"""`heaplab advise`: what holds a program's memory, and what would give it back."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from heaplab.catalog import contents as catalogs
from heaplab.cli.benchmarks import recorded_trace
from heaplab.cli.benchmarks.selection import BASELINE, arms, note
from heaplab.cli.options.arm_options import GivenAllocator
from heaplab.cli.options.measuring_options import OWN_ALLOCATOR
from heaplab.cli.options.option_types import DURATION, OUTPUT_FILE
from heaplab.cli.options.program_command import ProgramOrTraceCommand
from heaplab.cli.screen.step_display import StepDisplay
from heaplab.cli.tracing import record, trace_summary
from heaplab.cli.tracing.trace import PAGE, PROCESS, summary_and_process
from heaplab.console import console
from heaplab.errors import UsageError
from heaplab.holders import advice_json, advice_page, holding_tables, ways_tried, what_if
from heaplab.holders.answer import Evidence, judge
from heaplab.holders.replaying import Recording, Treatment
from heaplab.records import Arm
from heaplab.traces.profile import Profile, of_process

PERFETTO = ".perfetto.json"


@click.command(cls=ProgramOrTraceCommand, context_settings={"allow_interspersed_args": False})
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="TRACE | -- PROGRAM [ARGS]...")
@click.option(
    "--allocators",
    metavar="A,B,...",
    help="Names, or 'all' found here. The first is the baseline.  [default: those found here, glibc first]",
)
@OWN_ALLOCATOR
@click.option(
    "--apart",
    multiple=True,
    metavar="TEXT",
    help="What if: give blocks of the call sites whose names hold TEXT a heap of their own.  [default: those "
    "that pin most]",
)
@click.option(
    "--pace",
    type=click.Choice(["asap", "recorded"]),
    default="asap",
    help="Replay as fast as possible, or no call earlier than in the recording.",
)
@click.option(
    "--trim-every",
    type=DURATION,
    help="Call malloc_trim each time that so much of the recording has passed.  [default: a tenth]",
)
@PROCESS
@click.option(
    "-o",
    "--output",
    type=OUTPUT_FILE,
    metavar="FILE",
    help="Write FILE; its suffix says what: .html a page, .perfetto.json counters for Perfetto's viewer.",
)
@click.option("--json", "as_json", is_flag=True, help="Print at most 8 KiB of JSON, the verdict first.")
@click.pass_obj
def advise(
    extra: tuple[Path, ...],
    /,
    program: tuple[str, ...],
    allocators: str | None,
    own: tuple[GivenAllocator, ...],
    apart: tuple[str, ...],
    pace: str,
    trim_every: float | None,
    process: int | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Tell what holds the memory of PROGRAM, and what would give it back.

    The first line is the verdict: live data; growing, which is a leak or a cache; retained by the allocator;
    pinned by few blocks; taken again by the next burst; or nothing to gain. PROGRAM is recorded in
    PROGRAM.trace, then replayed under each allocator, also with the call sites that pin most pages apart.

    \b
    Examples:
      heaplab advise -- ls -l
      heaplab advise ls.trace
      heaplab advise ls.trace --allocators jemalloc,scalloc -o advice.html
    """
    if output and not output.name.endswith((PAGE, PERFETTO)):
        raise UsageError(f"{output}: its suffix is neither {PAGE} nor {PERFETTO}")
    if not program:
        raise UsageError("advise: name a trace, or a program behind --")
    given = Path(program[0]) if recorded_trace.is_trace(program) else None
    if given:
        summary_and_process(given, process)  # refuses a bad trace before allocators are looked for
    _, treated = arms(catalogs.load(extra), allocators, own, None)
    trace = given or record.with_stacks(program, extra)
    summary, number = summary_and_process(trace, process)
    warnings = trace_summary.warnings(summary)
    for line in warnings:
        note(f"{trace}: {line}")
    profile = of_process(trace, summary, number, record.ProgressNote("reading events"))
    if not profile.stretches:
        raise UsageError(f"{trace}: holds no call, so that there is nothing to replay")
    with tempfile.TemporaryDirectory(prefix="heaplab-") as folder, StepDisplay("advise") as display:
        replayed = Recording(trace, number, Path(folder), ["--pace", pace], display.tell)
        evidence = evidence_of(replayed, profile, treatments(treated), apart)
        ways = ways_tried.ways_of(replayed, evidence, treated[0], trim_every)
    evidence = replace(evidence, other_ways=ways)
    verdict = judge(evidence)
    if output and output.name.endswith(PERFETTO):
        advice_json.write_perfetto(evidence, verdict, output)
    elif output:
        advice_page.write_html(evidence, verdict, warnings, output)
    if output:
        note(f"written: {output}")
    if as_json:
        click.echo(advice_json.text_of(evidence, verdict))
    else:
        holding_tables.print_advice(evidence, verdict, console())


def evidence_of(
    replayed: Recording, profile: Profile, treated: Sequence[Treatment], apart: Sequence[str]
) -> Evidence:
    """Replay under each treatment, and again with the chosen or proposed call sites apart."""
    evidence = Evidence(profile, replayed.replayed(replayed.compiled(), treated))
    sites = named(profile, apart) or what_if.proposed(evidence.census)
    pinned = evidence.census.pinned + evidence.census.retained
    if not sites or (not apart and pinned < evidence.worth):
        return evidence
    measured = replayed.replayed(replayed.compiled(sites), treated)
    found = what_if.tried(sites, profile, evidence.replays, measured, evidence.moment.place)
    return Evidence(profile, evidence.replays, found)


def named(profile: Profile, texts: Sequence[str]) -> tuple[int, ...]:
    """The call sites whose names hold one of the texts. Raises UsageError for a text in no name."""
    found: list[int] = []
    for text in texts:
        holding = [
            site.number for site in profile.sites if site.number and text in profile.chain(site.number)
        ]
        if not holding:
            raise UsageError(f"--apart {text}: no call site of {profile.trace} has this in its name")
        found += holding
    return tuple(dict.fromkeys(found))


def treatments(found: Sequence[Arm]) -> list[Treatment]:
    """The allocators that are not void, and the C library's a second time with malloc_trim."""
    plain = [Treatment(arm) for arm in found if not arm.void]
    trimmed = [Treatment(arm, trim=True) for arm in found if arm.allocator == BASELINE]
    return [*plain[:1], *trimmed, *plain[1:]]
