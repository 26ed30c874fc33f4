"""`heaplab advise`: what holds a program's memory, and what would give it back."""

import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import inf
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
from heaplab.cli.tracing.trace import PAGE, PROCESS, status_of, summary_and_process
from heaplab.console import console
from heaplab.errors import UsageError
from heaplab.holders import advice_json, advice_page, holding_tables, ways_tried, what_if
from heaplab.holders.answer import Evidence, HolderAnswer, answers_of, growing_answers
from heaplab.holders.replaying import RUNS, Recording, Treatment
from heaplab.holders.sentences import growth
from heaplab.results.records import Arm, Coverage
from heaplab.traces import trace_coverage
from heaplab.traces.profile import Profile, of_process

PERFETTO = ".perfetto.json"
PATIENCE = 60.0  # s that all replays at the recorded pace may take


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
    help="Replay as fast as possible, or no call earlier than in the recording.  [default: recorded under "
    "allocators that may purge by time, if that takes at most a minute; all else as fast as possible]",
)
@click.option(
    "--budget",
    type=DURATION,
    help="Begin no replay after so much time; the answer is then of those before.  [default: none]",
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
    pace: str | None,
    budget: float | None,
    trim_every: float | None,
    process: int | None,
    output: Path | None,
    as_json: bool,
) -> int:
    """Tell what holds the memory of PROGRAM, and what would give it back.

    The first lines are what holds most: live data; a leak; data that grows; what the allocator retains; what
    few blocks pin; what the next burst takes again; or nothing to gain. PROGRAM is recorded in PROGRAM.trace.
    Leaks and growth are told first. Then the recording is replayed under each allocator, also with the call
    sites that pin most pages apart. Ctrl-C ends the replays: what is known then is told, with exit status 1.

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
    for line in warnings if given else []:  # else told at the end of the recording
        note(f"{trace}: {line}")
    profile = of_process(trace, summary, number, record.ProgressNote("reading events"))
    if not profile.stretches:
        raise UsageError(f"{trace}: holds no call, so that there is nothing to replay")
    named(profile, apart)  # refuses a text in no name before the replays
    tell_growth(profile)
    plan = treatments(treated)
    paced = pace == "recorded" or (pace is None and affordable(profile, plan))
    purges = plan[0].purges_by_time
    unmeasured = Evidence(profile, [], hurried=not paced, base_purges=purges, complete=False)
    with tempfile.TemporaryDirectory(prefix="heaplab-") as folder, StepDisplay("advise") as display:
        replayed = Recording(trace, number, Path(folder), paced, display.tell)
        evidence, interrupted = known(
            unmeasured, gathered(replayed, unmeasured, plan, apart, trim_every), budget
        )
    evidence = replace(evidence, coverage=coverage_of(evidence, summary))
    answers = answers_of(evidence)
    if output:
        write(evidence, answers, warnings, output)
    if as_json:
        click.echo(advice_json.text_of(evidence, answers))
    else:
        holding_tables.print_advice(evidence, answers, console())
    if interrupted:
        raise KeyboardInterrupt
    if not evidence.complete:
        note("the budget ended the replays: what would have been measured after it is not known")
    return status_of(summary)


def coverage_of(evidence: Evidence, summary: trace_coverage.Summary) -> Coverage | None:
    """What malloc explains of the memory at the moment of the advice; without replays at the end."""
    at_end = not evidence.replays or evidence.census.why == "end"
    seconds = None if at_end else evidence.census.time_us / 1e6
    return trace_coverage.at_moment(summary, evidence.profile, seconds)


def write(evidence: Evidence, answers: Sequence[HolderAnswer], warnings: Sequence[str], output: Path) -> None:
    """Write the page, or the counters, that the suffix of the file asks for. Raises HeaplabError."""
    if output.name.endswith(PERFETTO):
        advice_json.write_perfetto(evidence, answers, output)
    else:
        advice_page.write_html(evidence, answers, warnings, output)
    note(f"written: {output}")


def known(first: Evidence, steps: Iterable[Evidence], budget: float | None) -> tuple[Evidence, bool]:
    """The evidence when all is done, the budget is spent, or Ctrl-C ends it: then the second is true."""
    last, ends = first, time.monotonic() + (budget or inf)
    try:
        for evidence in steps:
            last = evidence
            if time.monotonic() >= ends:
                break
    except KeyboardInterrupt:
        return last, True
    return last, False


def tell_growth(profile: Profile) -> None:
    """Say what grows before anything is replayed, which takes longer."""
    found = growing_answers(profile)
    for answer in found:
        note(growth(profile, answer))
    if not found:
        note("no call site leaks or grows")


def affordable(profile: Profile, plan: Sequence[Treatment]) -> bool:
    """Whether replays at the recorded pace take at most as long as people wait."""
    slow = sum(one.purges_by_time for one in plan)
    return profile.timed and profile.seconds * slow * RUNS <= PATIENCE


def gathered(
    replayed: Recording,
    evidence: Evidence,
    plan: Sequence[Treatment],
    apart: Sequence[str],
    trim_every: float | None,
) -> Iterator[Evidence]:
    """Ever more evidence: of what holds the memory, then of other ways to use blocks."""
    for step in held(replayed, evidence, plan, apart):
        evidence = step
        yield evidence
    for way in ways_tried.ways_of(replayed, evidence, plan[0].arm, trim_every):
        evidence = replace(evidence, other_ways=[*evidence.other_ways, way])
        yield evidence
    yield replace(evidence, complete=True)


def held(
    replayed: Recording, evidence: Evidence, plan: Sequence[Treatment], apart: Sequence[str]
) -> Iterator[Evidence]:
    """Replay under each treatment, and again with the chosen or proposed call sites apart."""
    workload = replayed.compiled()
    for treatment in plan:
        evidence = replace(evidence, replays=[*evidence.replays, replayed.replayed(workload, treatment)])
        yield evidence
    sites = named(evidence.profile, apart) or what_if.proposed(evidence.census)
    pinned = evidence.census.pinned + evidence.census.retained
    if sites and (apart or pinned >= evidence.worth):
        workload = replayed.compiled(sites)
        measured = []
        for treatment in plan:
            measured.append(replayed.replayed(workload, treatment))
            yield evidence
        found = what_if.tried(sites, evidence.profile, evidence.replays, measured, evidence.moment.place)
        yield replace(evidence, what_if=found)


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
