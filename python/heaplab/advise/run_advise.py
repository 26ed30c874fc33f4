"""What `heaplab advise` does: it records the program, replays it under each allocator, and answers."""

import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

import click

from heaplab.advise import (
    advice_json,
    advice_page,
    holding_tables,
    perfetto,
    sampled_growth,
    ways_tried,
    what_if,
)
from heaplab.advise.answer import Evidence, HolderAnswer, answers_of, growing_answers
from heaplab.advise.recorded_profile import recorded_profile
from heaplab.advise.replaying import RUNS, Recording, Treatment
from heaplab.advise.sentences import growth, sentence
from heaplab.errors import UsageError
from heaplab.options.arm_options import GivenAllocator
from heaplab.options.chosen_arms import BASELINE
from heaplab.results.records import Arm, Coverage
from heaplab.screen.console import console
from heaplab.screen.exit_status import DAMAGED, DONE
from heaplab.screen.notes import note
from heaplab.screen.step_display import StepDisplay
from heaplab.traces import trace_coverage
from heaplab.traces.profile import Profile
from heaplab.tracing import run_sample
from heaplab.tracing.run_trace import PAGE, status_of

PERFETTO = ".perfetto.json"
PATIENCE = 60.0  # s that all replays at the recorded pace may take; with call sites apart as much again


@dataclass(frozen=True)
class AdviceOptions:
    """How a recording is replayed and told about. None: the user gave no value."""

    allocators: str | None
    own: tuple[GivenAllocator, ...]
    apart: tuple[str, ...]
    pace: str | None
    budget: float | None  # s
    trim_every: float | None  # s
    process: int | None
    output: Path | None
    as_json: bool


def advise(extra: tuple[Path, ...], program: tuple[str, ...], options: AdviceOptions) -> int:
    """Record the program if it is no trace, replay, and answer; return the exit status."""
    if options.output and not options.output.name.endswith((PAGE, PERFETTO)):
        raise UsageError(f"{options.output}: its suffix is neither {PAGE} nor {PERFETTO}")
    if len(program) == 1 and run_sample.is_of_samples(Path(program[0])):
        return advise_by_samples(Path(program[0]), options)
    of = recorded_profile(extra, program, options.allocators, options.own, options.process)
    profile, trace, summary, warnings = of.profile, of.trace, of.summary, of.warnings
    named(profile, options.apart)  # refuses a text in no name before the replays
    tell_growth(profile)
    plan = treatments(of.arms)
    unmeasured = Evidence(profile, [], complete=False)
    with tempfile.TemporaryDirectory(prefix="heaplab-") as folder, StepDisplay("advise") as display:
        slow = slow_runs(profile, plan, options.pace)
        replayed = Recording(trace, of.process, Path(folder), slow, display.tell)
        evidence, interrupted = known(
            unmeasured,
            gathered(replayed, unmeasured, plan, options.apart, options.trim_every),
            options.budget,
        )
    evidence = replace(evidence, coverage=coverage_of(evidence, summary))
    answers = answers_of(evidence)
    if options.output:
        write(evidence, answers, warnings, options.output)
    if options.as_json:
        click.echo(advice_json.text_of(evidence, answers))
    else:
        holding_tables.print_advice(evidence, answers, console())
    if interrupted:
        raise KeyboardInterrupt
    if not evidence.complete:
        note("the budget ended the replays: what would have been measured after it is not known")
    return status_of(summary)


def advise_by_samples(place: Path, options: AdviceOptions) -> int:
    """Answer from snapshots, which cannot be replayed."""
    of_replays = {
        "--allocators": options.allocators,
        "--allocator": options.own,
        "--apart": options.apart,
        "--pace": options.pace,
        "--budget": options.budget,
        "--trim-every": options.trim_every,
    }
    if given := next((name for name, value in of_replays.items() if value), ""):
        raise UsageError(f"{given} goes with a recording of all calls: samples cannot be replayed")
    if options.output and not options.output.name.endswith(PERFETTO):
        raise UsageError(f"{options.output}: of samples, -o writes {PERFETTO}")
    moments, is_whole = run_sample.moments_of(place, options.process)
    answer = sampled_growth.answer_of(moments)
    if options.output:
        perfetto.write(options.output, answer.sentence, perfetto.of_samples(answer))
        note(f"written: {options.output}")
    if options.as_json:
        click.echo(sampled_growth.text_of(answer))
    else:
        sampled_growth.print_answer(answer, console())
    return DONE if is_whole else DAMAGED


def coverage_of(evidence: Evidence, summary: trace_coverage.Summary) -> Coverage | None:
    """What malloc explains of the memory at the moment of the advice; without replays at the end."""
    at_end = not evidence.replays or evidence.census.why == "end"
    seconds = None if at_end else evidence.census.time_us / 1e6
    return trace_coverage.at_moment(summary, evidence.profile, seconds)


def write(evidence: Evidence, answers: Sequence[HolderAnswer], warnings: Sequence[str], output: Path) -> None:
    """Write the page, or the counters, that the suffix of the file asks for. Raises HeaplabError."""
    if output.name.endswith(PERFETTO):
        perfetto.write(output, sentence(evidence, answers[0]), perfetto.of_replays(evidence))
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
    answers = growing_answers(profile)
    for answer in answers:
        note(growth(profile, answer))
    if not answers:
        note("no call site leaks or grows")


def slow_runs(profile: Profile, plan: Sequence[Treatment], pace: str | None) -> int:
    """How often each allocator that purges by time is replayed at the recorded pace: while people wait."""
    if pace or not profile.timed:
        return RUNS if pace == "recorded" else 0
    once = profile.seconds * sum(treatment.purges_by_time for treatment in plan)
    return min(RUNS, int(PATIENCE / max(once, 1)))


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
        tried = what_if.tried(sites, evidence.profile, evidence.replays, measured, evidence.moment.place)
        yield replace(evidence, what_if=tried)


def named(profile: Profile, texts: Sequence[str]) -> tuple[int, ...]:
    """The call sites whose names hold one of the texts. Raises UsageError for a text in no name."""
    sites: list[int] = []
    for text in texts:
        holding = [
            site.number for site in profile.sites if site.number and text in profile.chain(site.number)
        ]
        if not holding:
            raise UsageError(f"--apart {text}: no call site of {profile.trace} has this in its name")
        sites += holding
    return tuple(dict.fromkeys(sites))


def treatments(arms: Sequence[Arm]) -> list[Treatment]:
    """The allocators that are not void, and the C library's a second time with malloc_trim."""
    plain = [Treatment(arm) for arm in arms if not arm.void]
    trimmed = [Treatment(arm, trim=True) for arm in arms if arm.allocator == BASELINE]
    return [*plain[:1], *trimmed, *plain[1:]]
