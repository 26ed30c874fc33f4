"""What `heaplab cluster plan` does: it resolves experiments and arms once, and makes shards of the blocks."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from typing import Any, Literal

import click
from pydantic import Field

from heaplab import __version__
from heaplab.catalog import contents as catalogs, toml_file
from heaplab.catalog.contents import Catalog
from heaplab.cluster import bundle as bundles, plan_pilot
from heaplab.cluster.plan_folder import (
    BLOCKS_MOST,
    START_SCRIPT,
    KindOfMachine,
    PlanFile,
    PlannedArm,
    Shard,
    refuse_second,
    with_threads,
    write_plan,
)
from heaplab.comparison import chosen_experiments
from heaplab.comparison.benchmark import Benchmark, benchmark_of
from heaplab.errors import UsageError
from heaplab.machine import topology
from heaplab.options import chosen_arms
from heaplab.options.arm_options import GIVEN_ALLOCATOR, GivenAllocator
from heaplab.options.given_options import Subject
from heaplab.options.option_types import DEFAULT_PARENT, DURATION
from heaplab.results.checked import Spec
from heaplab.results.records import Arm
from heaplab.screen.notes import note

OF_MACHINES = ("nodes", "cpus", "architecture")
# Settings of a kind of machine that engines read.
OF_ENGINES = ("partition", "account", "qos", "constraint", "reservation", "time", "hosts", "runner")
SUBJECTS = {"suite", "experiments", "program"}
DEFAULT_MACHINE = "node"
LEAST = 2  # blocks of a shard
NAME_ALLOWED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")


class PlanWanted(Spec):
    """The content of a plan's TOML file; an option of the same name takes precedence."""

    suite: str = ""
    experiments: list[str] = Field(default_factory=list)  # ids, groups or globs
    scale: Literal["quick", "full"] = "quick"  # of the experiments
    program: list[str] = Field(default_factory=list)
    allocators: list[str] = Field(default_factory=list)
    # NAME = "ALLOCATOR SETTING=VALUE ...", or the path of a library
    arms: dict[str, str] = Field(default_factory=dict)
    machines: dict[str, dict[str, str | int]] = Field(default_factory=dict)
    blocks: int | None = Field(default=None, ge=2, le=BLOCKS_MOST - 1)
    shards: int | None = Field(default=None, ge=1)  # of all nodes together
    budget: str | float | None = None
    thread_counts: Literal["", "all"] = ""
    precision: float = Field(default=0.02, gt=0, lt=1)
    seed: int = Field(default=1, ge=0)
    bundle: bool = False
    builds: dict[str, list[str]] = Field(default_factory=dict)
    wheels: Path | None = None


def make_plan(
    extra: tuple[Path, ...],
    source: Path | None,
    output: Path,
    machines: Sequence[str],
    own: Sequence[GivenAllocator],
    builds: Sequence[str],
    quiet: bool,
    **options: Any,
) -> int:
    """Write a plan, and print the commands that carry it out."""
    refuse_second(output)
    wanted = wanted_of(source, options)
    kinds = {name: kind_of(name, about) for name, about in machines_of(machines, wanted).items()}
    named = [GIVEN_ALLOCATOR.convert(f"{name}={text}", None, None) for name, text in wanted.arms.items()]
    given = [*named, *own]
    catalog, arms = chosen_arms.arms(catalogs.load(extra), ",".join(wanted.allocators) or None, given, None)
    benchmark = benchmark_wanted(catalog, arms, wanted)
    parts = parts_of(kinds, wanted)
    shards = shards_of(kinds, wanted, parts)
    if parts > 1 and not wanted.blocks:
        benchmark = divided(benchmark, parts)
    more = builds_of(builds, wanted, arms)
    budget = budget_of(wanted, benchmark)
    tried = benchmark
    if wanted.thread_counts:
        counts = topology.thread_counts(len(topology.usable()))
        tried = replace(benchmark, experiments=with_threads(benchmark.experiments, benchmark.scale, counts))
    bundle = bundles.make(output, arms if wanted.bundle else [], more, wanted.wheels)
    pilot = plan_pilot.pilot(tried, arms, wanted.seed, quiet=quiet)
    if line := pilot.outlook(wanted.precision, budget):
        note(line)
    content = PlanFile(
        hash="",
        heaplab=__version__,
        made=datetime.now(UTC),
        command=["heaplab", *sys.argv[1:]],
        scale=benchmark.scale,
        seed=wanted.seed,
        budget=budget / parts if budget else None,
        precision=wanted.precision,
        threads=wanted.thread_counts,
        fit_blocks=None if wanted.blocks else benchmark.fit_blocks,
        input=benchmark.input,
        bundle=bundle,
        experiments=[item.model_dump(mode="json") for item in benchmark.experiments],
        workloads={name: work.model_dump(mode="json") for name, work in benchmark.workloads.items()},
        timings=pilot.timings,
        arms=[planned(arm, given) for arm in arms],
        machines=kinds,
        shards=shards,
    )
    plan = write_plan(output, content)
    count = len(plan.shards)
    click.echo(
        f"{count} {'shard' if count == 1 else 'shards'} of plan {plan.hash}, each whole blocks on one node\n"
        f"carry out one of them, anywhere: {output / START_SCRIPT} 1/{count}\n"
        f"put together what came back: heaplab cluster merge {output}"
    )
    return 0


def wanted_of(source: Path | None, options: Mapping[str, Any]) -> PlanWanted:
    """The content of the TOML file, overridden by options.

    An option that names what is measured replaces all that the file says about it.
    """
    content = toml_file.content_of(source) if source else {}
    given = {name: value for name, value in options.items() if value not in (None, (), [])}
    if "allocators" in given:
        given["allocators"] = words(given["allocators"])
    if SUBJECTS & given.keys():
        content = {name: value for name, value in content.items() if name not in SUBJECTS}
    checked = toml_file.checked(PlanWanted, source or "plan", content | given)
    if len(SUBJECTS & checked.model_fields_set) > 1:
        raise UsageError(f"{source or 'plan'}: a suite, experiments and a program exclude each other")
    return checked


def words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def benchmark_wanted(catalog: Catalog, arms: Sequence[Arm], wanted: PlanWanted) -> Benchmark:
    if not wanted.experiments:
        return benchmark_of(
            catalog, arms, Subject(program=tuple(wanted.program), suite=wanted.suite or None), quiet=True
        )
    chosen, workloads = chosen_experiments.experiments(catalog, wanted.experiments)
    return Benchmark(experiments=chosen, workloads=workloads, scale=wanted.scale, folder=DEFAULT_PARENT)


def machines_of(given: Sequence[str], wanted: PlanWanted) -> Mapping[str, Mapping[str, str | int]]:
    """The kinds of machine from the options, NAME SETTING=VALUE ..., or else from the file."""
    machines: dict[str, dict[str, str | int]] = {}
    for text in given:
        try:
            name, *settings = shlex.split(text)
        except ValueError:
            raise UsageError(
                f"--machine {text!r}: names no kind of machine, such as 'epyc nodes=4'"
            ) from None
        unsaid = [word for word in settings if "=" not in word]
        if name in machines or unsaid:
            fault = "is there twice" if name in machines else f"{unsaid[0]!r} is no SETTING=VALUE"
            raise UsageError(f"--machine {text!r}: {fault}")
        machines[name] = {key: value for key, _, value in (word.partition("=") for word in settings)}
    return machines or wanted.machines or {DEFAULT_MACHINE: {}}


def kind_of(name: str, about: Mapping[str, str | int]) -> KindOfMachine:
    if not name or not NAME_ALLOWED.issuperset(name):
        raise UsageError(f"machines.{name}: a name has letters, digits and -_. alone")
    if unknown := [key for key in about if key not in (*OF_MACHINES, *OF_ENGINES)]:
        raise UsageError(
            f"machines.{name}: no setting {unknown[0]!r}; there are {', '.join((*OF_MACHINES, *OF_ENGINES))}"
        )
    return toml_file.checked(
        KindOfMachine,
        f"machines.{name}",
        {key: about[key] for key in OF_MACHINES if key in about}
        | {"options": {key: str(about[key]) for key in OF_ENGINES if key in about}},
    )


def planned(arm: Arm, given: Sequence[GivenAllocator]) -> PlannedArm:
    """The arm as the plan describes it, for every node to find."""
    own = next((candidate for candidate in given if candidate.name == arm.allocator), None)
    if own is None:
        return PlannedArm(name=arm.allocator, base=arm.allocator)
    return PlannedArm(
        name=own.name,
        base=str(own.library.absolute()) if own.library else own.base,
        environment=own.settings.environment,
        huge_pages=own.settings.huge_pages,
    )


def budget_of(wanted: PlanWanted, benchmark: Benchmark) -> float | None:
    """The budget of a node: the user's; none if the user gives blocks; else that of the suite or program."""
    if isinstance(wanted.budget, str):
        return DURATION.convert(wanted.budget, None, None)
    return wanted.budget or (None if wanted.blocks else benchmark.budget)


def parts_of(kinds: Mapping[str, KindOfMachine], wanted: PlanWanted) -> int:
    """The number of shards of a node. Raises UsageError if there is none that leaves each enough blocks."""
    nodes = sum(kind.nodes for kind in kinds.values())
    shards = wanted.shards or nodes
    if shards % nodes:
        raise UsageError(f"--shards {shards}: takes a multiple of {nodes}, the number of nodes")
    parts = shards // nodes
    if wanted.blocks and wanted.blocks < LEAST * parts:
        most = wanted.blocks // LEAST * nodes
        raise UsageError(f"--shards {shards}: {wanted.blocks} blocks on a node make at most {most} shards")
    return parts


def shards_of(kinds: Mapping[str, KindOfMachine], wanted: PlanWanted, parts: int) -> list[Shard]:
    """The shards, by kind of machine: the blocks of each node are divided among its own."""
    machines = [
        (name, part) for name, kind in kinds.items() for _ in range(kind.nodes) for part in range(parts)
    ]

    def blocks_of(part: int) -> int | None:
        return wanted.blocks // parts + (part < wanted.blocks % parts) if wanted.blocks else None

    return [
        Shard(index=index, machine=name, blocks=blocks_of(part), hash="")
        for index, (name, part) in enumerate(machines, 1)
    ]


def divided(benchmark: Benchmark, parts: int) -> Benchmark:
    """The benchmark of one of the shards among which the blocks of every experiment are divided."""

    def share(blocks: int) -> int:
        return max(LEAST, ceil(blocks / parts))

    experiments = [item.with_blocks_by(share) for item in benchmark.experiments]
    fit_blocks = share(benchmark.fit_blocks) if benchmark.fit_blocks else None
    return replace(benchmark, experiments=experiments, fit_blocks=fit_blocks)


def builds_of(given: Sequence[str], wanted: PlanWanted, arms: Sequence[Arm]) -> dict[str, list[Path]]:
    """The further builds of each arm, from the file and from options NAME=LIBRARY."""
    builds = {name: list(map(Path, paths)) for name, paths in wanted.builds.items()}
    for text in given:
        name, _, path = text.partition("=")
        if not path:
            raise UsageError(
                f"--add-build {text!r} is not NAME=LIBRARY, as jemalloc=./aarch64/libjemalloc.so"
            )
        builds.setdefault(name, []).append(Path(path))
    names = [arm.allocator for arm in arms]
    if unknown := [name for name in builds if name not in names]:
        raise UsageError(f"--add-build {unknown[0]}=...: no such arm; there are {', '.join(names)}")
    return builds
