"""What `heaplab cluster run` does: the campaign of one shard, on this node, into its own results file."""

import os
import platform
import re
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from heaplab import __version__
from heaplab.campaign import begin_or_resume as campaigns
from heaplab.campaign.begin_or_resume import Request
from heaplab.catalog import contents as catalogs, locate
from heaplab.catalog.contents import Catalog
from heaplab.cluster import bundle as bundles
from heaplab.cluster.plan_folder import CLOCK_TOLERANCE_S, Plan, Shard, read_plan, with_threads
from heaplab.cluster.shard_states import Completion, state_of
from heaplab.comparison.run_campaign import opened_at, run_campaign
from heaplab.comparison.shown_results import without_figure
from heaplab.errors import HeaplabError, UsageError
from heaplab.machine import host, setting_proof, topology
from heaplab.options import chosen_arms
from heaplab.options.arm_options import GivenAllocator, Settings
from heaplab.options.given_options import HowOptions
from heaplab.results import spec, store
from heaplab.results.manner import Manner, those_of
from heaplab.results.records import Arm, Host
from heaplab.screen.notes import note


def run_shard(extra: tuple[Path, ...], folder: Path, text: str, quiet: bool) -> int:
    """Measure the missing runs of a shard; return the exit status."""
    plan = read_plan(folder)
    shard = shard_of(plan, text)
    refuse_wrong_node(plan, shard)
    known = state_of(plan, shard)
    if known.state is Completion.COMPLETE:
        click.echo(f"shard {text}: complete, measured on {known.node}")
        return 0
    cpus = topology.chosen(plan.machine_of(shard).cpus, topology.usable())
    os.sched_setaffinity(0, {cpu.number for cpu in cpus})
    request = request_of(plan, shard, arms_here(plan, catalogs.load(extra)), len(cpus))
    path = plan.results_file(shard, node_name())
    refuse_other_results(path, request)
    facts = facts_of(plan, shard)
    options = HowOptions(**those_of(Manner, request), quiet=quiet)
    opened, needed = opened_at(path, request, options, facts=facts)
    stopped = run_campaign(
        opened, needed, options, f"go on with: heaplab cluster run {folder} --shard {text}"
    )
    if stopped:
        return 1
    with store.Store(path) as finished:
        finished.append(Host(facts=host.facts() | facts_of(plan, shard)))
    lacking = without_figure(store.load(path).runs)
    click.echo(f"shard {text}: complete, {path}")
    if lacking:
        note(f"{len(lacking)} runs gave no figure; {lacking[0].allocator}: {lacking[0].reason}")
    return 1 if lacking else 0


def shard_of(plan: Plan, text: str) -> Shard:
    """The shard I/N. Raises UsageError unless the plan has N shards and I is one of them."""
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    count = len(plan.shards)
    if not match:
        raise UsageError(f"--shard {text!r} is not I/N, such as 1/{count}")
    if int(match[2]) != count:
        raise UsageError(f"--shard {text}: {plan.folder} has {count} shards, not {match[2]}")
    if not 1 <= int(match[1]) <= count:
        raise UsageError(f"--shard {text}: the shards are 1 to {count}")
    return plan.shards[int(match[1]) - 1]


def refuse_wrong_node(plan: Plan, shard: Shard) -> None:
    """Raise UsageError if the shard is for other nodes or another version of heaplab."""
    if plan.file.heaplab != __version__:
        raise UsageError(
            f"{plan.folder}: planned by heaplab {plan.file.heaplab}, this is {__version__}; "
            "a plan is carried out by one version"
        )
    wanted = plan.machine_of(shard).architecture
    if wanted and wanted != platform.machine():
        raise UsageError(
            f"shard {shard.index}: is for {wanted} ({shard.machine}), this node is {platform.machine()}"
        )
    behind = (plan.file.made - datetime.now(UTC)).total_seconds()
    if behind > CLOCK_TOLERANCE_S:
        raise UsageError(
            f"{plan.folder}: planned in {behind:.0f} s by the clock of this node, which is behind"
        )
    if not plan.results.is_dir() or not os.access(plan.results, os.W_OK):
        raise UsageError(f"{plan.results}: no folder that can be written to; is the plan's folder shared?")


def arms_here(plan: Plan, catalog: Catalog) -> list[Arm]:
    """The arms of a plan on this node: the bundle's build, or else what the node has."""
    own = [
        GivenAllocator(arm.name, arm.base, Settings(arm.environment, arm.huge_pages))
        for arm in plan.file.arms
        if arm.base != arm.name
    ]
    files = bundles.bundled(plan)
    builds = {arm.name: bundles.library_for(plan, files, arm.name) for arm in plan.file.arms}
    for given in own:
        if given.library and not builds[given.name] and not given.library.is_file():
            raise UsageError(f"{given.name}: no {given.library} on this node; plan with --bundle")
    catalog = chosen_arms.with_own(catalog, own)
    arms = [bundled_or_found(plan, catalog, arm.name, builds[arm.name]) for arm in plan.file.arms]
    if void := next((arm for arm in arms if arm.void), None):
        raise HeaplabError(f"{void.allocator}: {void.void}")
    return arms


def bundled_or_found(plan: Plan, catalog: Catalog, name: str, build: bundles.BundledLibrary | None) -> Arm:
    if build is None:
        return chosen_arms.arm_of(catalog, name)
    library = locate.FoundLibrary((plan.folder / bundles.FOLDER / build.path).resolve(), build.version)
    return setting_proof.proved(locate.describe(name, *catalog.allocator(name), library))


def request_of(plan: Plan, shard: Shard, arms: list[Arm], cpus: int) -> Request:
    file = plan.file
    experiments = [spec.Experiment.model_validate(content) for content in file.experiments]
    if file.threads:
        experiments = with_threads(experiments, file.scale, topology.thread_counts(cpus))
    if shard.blocks:
        experiments = [item.with_blocks(shard.blocks) for item in experiments]
    workloads = {name: spec.Workload.model_validate(content) for name, content in file.workloads.items()}
    return Request(
        experiments=experiments,
        workloads=workloads,
        libraries=arms,
        scale=file.scale,
        seed=plan.seed_of(shard),
        command=file.command,
        budget=file.budget,
        precision=file.precision,
        placed=bool(file.threads),
        input=file.input,
        fit_blocks=file.fit_blocks,
        timings=file.timings,
    )


def facts_of(plan: Plan, shard: Shard) -> dict[str, Any]:
    """What a results file records about its shard, its node and the CPUs."""
    return {
        "plan": plan.hash,
        "shard": shard.index,
        "shard_hash": shard.hash,
        "machine": shard.machine,
        "node": node_name(),
        "placement": {"where": plan.machine_of(shard).cpus} | topology.in_words(topology.usable()),
    }


def node_name() -> str:
    """The name of this node, as a part of a file's name."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", os.environ.get("SLURMD_NODENAME") or socket.gethostname())


def refuse_other_results(path: Path, request: Request) -> None:
    """Raise UsageError if this node has results of the shard that cannot be continued."""
    if not path.exists() or not path.stat().st_size:
        return
    begun = store.load(path)
    if begun.campaign.id != campaigns.campaign_of(request).id:
        raise UsageError(
            f"{path}: was begun with other arms or CPUs than are here now; move it away to begin anew"
        )
    if not campaigns.same_machine(begun.host):
        raise UsageError(f"{path}: was begun on another machine or kernel; move it away to begin anew")
