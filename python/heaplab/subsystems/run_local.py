"""What `heaplab advise --local` does: find subsystems, judge them, calibrate and confirm, tell."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import click

from heaplab.advise.recorded_profile import recorded_profile
from heaplab.advise.replaying import Cost, Recording
from heaplab.advise.ways_tried import compared, pairs_of
from heaplab.errors import UsageError
from heaplab.options.arm_options import GivenAllocator
from heaplab.results.records import Arm
from heaplab.screen.console import console
from heaplab.screen.notes import note
from heaplab.screen.step_display import StepDisplay
from heaplab.subsystems import benchmarks, calibration, local_page, local_tables, patches, resources
from heaplab.subsystems.groups import RESOURCES, Group, below_functions, groups_of, resource_of
from heaplab.subsystems.judgement import Confirmed, Judgement, worth_telling
from heaplab.subsystems.resources import Resource, told_apart
from heaplab.subsystems.subsystem import Appraised, Subsystem
from heaplab.subsystems.vetoes import LocalKind
from heaplab.traces import tool
from heaplab.traces.profile import Profile
from heaplab.tracing import run_sample
from heaplab.tracing.run_trace import PAGE, status_of

TIMED = 3  # replays whose median tells what a call takes


@dataclass(frozen=True)
class LocalOptions:
    allocators: str | None
    own: tuple[GivenAllocator, ...]
    subsystems: tuple[str, ...]
    process: int | None
    output: Path | None
    as_json: bool
    patch: bool


def local(extra: tuple[Path, ...], program: tuple[str, ...], options: LocalOptions) -> int:
    """Record the program if it is no trace, judge its subsystems; return the exit status."""
    if options.output and not options.output.name.endswith(PAGE):
        raise UsageError(f"{options.output}: its suffix is not {PAGE}, which is all that --local writes")
    if len(program) == 1 and run_sample.is_of_samples(Path(program[0])):
        raise UsageError(f"{program[0]}: holds samples; --local needs every call, of a trace or a program")
    of = recorded_profile(extra, program, options.allocators, options.own, options.process)
    profile = of.profile
    with tempfile.TemporaryDirectory(prefix="heaplab-") as folder, StepDisplay("advise") as display:
        recording = Recording(of.trace, of.process, Path(folder), told=display.tell)
        used = resources_in_use(recording, profile)
        judged = list(
            judgements(recording, profile, options.subsystems, [arm for arm in of.arms if not arm.void])
        )
    corners = benchmarks.corners(next(arm for arm in of.arms if not arm.void))
    if options.output:
        local_page.write_html(profile, judged, used, corners, of.warnings, options.output)
        note(f"written: {options.output}")
    if options.patch:
        click.echo("\n".join(patches.text_of(judgement) for judgement in judged))
    elif options.as_json:
        rows = [*map(local_tables.plain, judged), *map(resources.plain, used)]
        click.echo(json.dumps(rows, ensure_ascii=False))
    else:
        local_tables.print_judgements(judged, used, corners, console())
    return status_of(of.summary)


def judgements(
    recording: Recording, profile: Profile, rules: Sequence[str], treated: Sequence[Arm]
) -> Iterator[Judgement]:
    """Of each subsystem that is worth telling, with replays for those that a local allocator suits."""
    plain = recording.workload("plain")
    recording.told(f"replaying under {treated[0].allocator}")
    seconds = median(recording.cost(plain.path, treated[0]).seconds for _ in range(TIMED))
    subsystems = measured(recording, profile, rules, seconds / max(plain.calls, 1))
    for subsystem in subsystems if rules else worth_telling(subsystems):
        judgement = Judgement(subsystem)
        if judgement.suits is not LocalKind.NONE:
            calibrated = calibration.calibrated(subsystem.of, judgement.suits, treated[0], recording.told)
            confirmed = [confirmation(recording, judgement, plain.path, arm) for arm in treated]
            judgement = replace(judgement, calibration=calibrated, confirmed=tuple(confirmed))
        yield judgement


def measured(recording: Recording, profile: Profile, rules: Sequence[str], call_s: float) -> list[Appraised]:
    counts = counted(recording, groups_of(profile, rules))
    return [Appraised(subsystem, profile, call_s) for subsystem in counts]


def counted(recording: Recording, groups: Sequence[Group]) -> list[Subsystem]:
    all_counts = tool.subsystems(recording.trace, recording.process, [group.sites for group in groups])
    return [Subsystem(group=group, **counts) for group, counts in zip(groups, all_counts, strict=True)]


def resources_in_use(recording: Recording, profile: Profile) -> list[Resource]:
    """Monotonic resources whose chunks the recording holds."""
    several: list[Resource] = []
    for kind in RESOURCES:
        sites = [site for site in profile.sites if resource_of(profile, site) == kind]
        several += told_apart(kind, counted(recording, below_functions(profile, sites)))
    return several


def confirmation(recording: Recording, judgement: Judgement, plain: Path, arm: Arm) -> Confirmed:
    """Replays as it is, and with the subsystem's calls served by the local allocator, by turns."""
    recording.told(f"{judgement.name} by {judgement.suits} under {arm.allocator}")
    sites = ",".join(map(str, judgement.measured.of.group.sites))
    served = recording.workload("local", "--apart", sites).path

    def before() -> Cost:
        return recording.cost(plain, arm)

    def after() -> Cost:
        return recording.cost(served, arm, "--apart", judgement.suits)

    return Confirmed(arm.allocator, compared(pairs_of(before, after)))
