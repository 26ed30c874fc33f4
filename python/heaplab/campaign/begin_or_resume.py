"""Begins a campaign in a folder, or continues an unfinished campaign there."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from heaplab import __version__
from heaplab.campaign import standard_input
from heaplab.errors import UsageError
from heaplab.machine import host, interposition
from heaplab.results import spec, store
from heaplab.results.manner import Manner
from heaplab.results.own_program import MUTATOR
from heaplab.results.records import Arm, Campaign, Host, Input, Run, Timing, refuse_no_text
from heaplab.results.store import ResultsLock, Store

HASH_LENGTH = 16  # hexadecimal digits
# Fields of a request that its campaign has too, and that must agree for runs to belong together.
PART_OF_IDENTITY = (
    *("scale", "seed", "pinned", "placed", "warm", "memory_limit", "time_limit"),
    *("prepare", "cleanup", "instructions", "fit_blocks", "slices"),
)


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What is measured, whatever the arms."""

    experiments: Sequence[spec.Experiment]
    workloads: dict[str, spec.Workload]  # all workloads that the experiments name
    scale: spec.ScaleName
    input: Input | None = None
    fit_blocks: int | None = None  # number of blocks that cells are shortened for; None: lengths stay


@dataclass(frozen=True, kw_only=True)
class Request(Measurement, Manner):
    """All that a campaign follows from."""

    libraries: Sequence[Arm]  # the first is the baseline
    command: Sequence[str]  # the command as the user typed it
    why_scale: str = ""
    placed: bool = False
    instructions: Literal["", "callgrind"] = ""
    timings: Mapping[str, Timing] = field(default_factory=dict)  # by experiment; what a plan decided


@dataclass(frozen=True)
class OpenedCampaign:
    """A campaign ready to run. `moved` is the new path of results of another campaign."""

    campaign: Campaign
    libraries: dict[str, Arm]
    store: Store
    runs: list[Run]
    runs_of_earlier_budgets: int = 0  # runs that the budget does not count
    unreadable: list[str] = field(default_factory=list)  # as store.Results has them
    moved: Path | None = None
    timings: dict[str, Timing] = field(default_factory=dict)
    spent: float = 0.0  # s of the budget that were spent before the first run


def campaign_of(request: Request) -> Campaign:
    """The campaign record of a request. Raises UsageError for text that a record cannot hold."""
    refuse_no_text(request.command)
    for arm in request.libraries:
        refuse_no_text([*arm.preload, *arm.command, *arm.environment.values()])
        if any(work.executable != MUTATOR for work in request.workloads.values()):
            interposition.preloaded(arm)
    content: dict[str, Any] = {
        "experiments": [experiment.model_dump(mode="json") for experiment in request.experiments],
        "workloads": {name: work.model_dump(mode="json") for name, work in request.workloads.items()},
        "allocators": [library.allocator for library in request.libraries],
        "input": request.input.model_dump() if request.input else None,
        **{name: getattr(request, name) for name in PART_OF_IDENTITY},
    }
    return Campaign(
        id=identity(content, request.libraries),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        heaplab=__version__,
        command=list(request.command),
        budget=request.budget,
        precision=request.precision,
        why_scale=request.why_scale,
        **content,
    )


def identity(content: dict[str, Any], libraries: Sequence[Arm]) -> str:
    """Hash of everything that must agree for runs to belong together: the measured cells and the arms."""
    arms = {library.allocator: what_runs(library) for library in libraries}
    return hashlib.sha256(json.dumps([content, arms], sort_keys=True).encode()).hexdigest()[:HASH_LENGTH]


def what_runs(arm: Arm) -> dict[str, Any]:
    """The part of an arm on which its figures depend."""
    collector = {"runtime", "version"} if arm.runtime else set()
    return arm.model_dump(include={"sha256", "environment", "huge_pages", "command"} | collector)


def begin(
    path: Path,
    request: Request,
    tried: Callable[[Campaign], Campaign] = lambda campaign: campaign,
    facts: Mapping[str, Any] = MappingProxyType({}),
    lock: ResultsLock | None = None,
) -> OpenedCampaign:
    """Continue the same campaign if it lies unfinished in the file `path`, or begin the campaign there.

    `tried` adds the findings of pilot runs to a new campaign, or raises. Results of another campaign or a
    finished one are kept under another name. `facts` stand beside those of the machine. `lock` is that of the
    file if the caller has taken it.
    """
    campaign = campaign_of(request)
    lock = lock or (ResultsLock(path) if path.parent.is_dir() else None)
    try:
        return begin_locked(path, request, campaign, tried, facts, lock)
    except BaseException:
        if lock:
            lock.release()
        raise


def begin_locked(
    path: Path,
    request: Request,
    campaign: Campaign,
    tried: Callable[[Campaign], Campaign],
    facts: Mapping[str, Any],
    lock: ResultsLock | None,
) -> OpenedCampaign:
    earlier = None
    if path.exists():
        results = store.load(path)
        if results.campaign.id == campaign.id and results.end is None and same_machine(results.host):
            again = results.campaign.model_copy(
                update={"budget": campaign.budget, "precision": campaign.precision}
            )
            return go_on(results, again, {item.allocator: item for item in request.libraries}, lock)
        earlier = results.campaign
    campaign = tried(campaign)
    lock = lock or ResultsLock(path)
    if earlier is None and path.exists():
        raise UsageError(f"{path}: another heaplab wrote it meanwhile")
    moved = aside(path, earlier) if earlier else None
    opened = Store(path, lock)
    opened.append(campaign)
    opened.append(Host(facts=host.facts() | dict(facts)))
    libraries = {item.allocator: item for item in request.libraries if item.allocator in campaign.allocators}
    for library in libraries.values():
        opened.append(library)
    for timing in request.timings.values():
        opened.append(timing)
    timings = dict(request.timings)
    return OpenedCampaign(campaign, libraries, opened, [], moved=moved, timings=timings)


def resume(results: store.Results, libraries: dict[str, Arm], budget: float | None = None) -> OpenedCampaign:
    """Continue a campaign that was read, with `budget` seconds more or with its own budget.

    A budget that was spent completely starts anew. Raises UsageError if the machine or a library has changed.
    """
    lock = ResultsLock(results.path)
    try:
        return resume_locked(store.load(results.path), libraries, budget, lock)
    except BaseException:
        lock.release()
        raise


def resume_locked(
    results: store.Results, libraries: dict[str, Arm], budget: float | None, lock: ResultsLock
) -> OpenedCampaign:
    standard_input.refuse_changed(results.campaign.input)
    if not same_machine(results.host):
        raise UsageError(f"{results.path}: measured on another machine, cannot be resumed here")
    for name, library in results.libraries.items():
        if what_runs(library) != what_runs(libraries[name]):
            raise UsageError(f"{results.path}: {name} has changed since, start a new campaign")
    if budget is None:
        return go_on(results, results.campaign, libraries, lock)
    campaign = results.campaign.model_copy(update={"budget": budget})
    return replace(go_on(results, campaign, libraries, lock), runs_of_earlier_budgets=len(results.runs))


def go_on(
    results: store.Results, campaign: Campaign, libraries: dict[str, Arm], lock: ResultsLock | None = None
) -> OpenedCampaign:
    opened = Store(results.path, lock)
    return OpenedCampaign(
        campaign,
        libraries,
        opened,
        results.runs,
        results.runs_of_earlier_budgets,
        results.unreadable,
        timings=dict(results.timings),
    )


def earlier(path: Path, request: Request) -> store.Results | None:
    """The results of the same campaign in the file, with the same arms on this machine; None without any."""
    if not path.exists():
        return None
    results = store.load(path)
    same = results.campaign.id == campaign_of(request).id and same_machine(results.host)
    return results if same else None


def same_machine(known: Host | None) -> bool:
    facts = json.loads(json.dumps(host.facts()))
    return known is not None and all(known.facts.get(name) == facts.get(name) for name in host.SAME_MACHINE)


def aside(path: Path, campaign: Campaign) -> Path:
    """Rename a results file after the time at which its campaign began."""
    stamp = campaign.started.replace(":", "").replace("-", "").split("+")[0]
    target = path.with_name(f"{path.stem}-{stamp}{path.suffix}")
    number = 1
    while target.exists():
        number += 1
        target = path.with_name(f"{path.stem}-{stamp}-{number}{path.suffix}")
    path.rename(target)
    return target
