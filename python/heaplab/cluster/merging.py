"""The results files of a plan: verified, each shard counted once, and merged over hosts."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import groupby, islice, product
from math import isfinite
from pathlib import Path
from typing import TypeVar

from heaplab import stats
from heaplab.analysis import MEMORY
from heaplab.cluster.host_ratios import ALIKE, KINDS, TIME, HostSummary, RatioOf, summary_of
from heaplab.cluster.plan_folder import CLOCK_TOLERANCE_S, Plan
from heaplab.cluster.shard_states import is_complete, runs_in
from heaplab.errors import UsageError
from heaplab.files import regular_file
from heaplab.report.words import wording
from heaplab.results import store
from heaplab.results.by_processes import by_processes
from heaplab.results.records import Campaign, Host
from heaplab.stats import HostRatios

ALL_KINDS = ""  # the group of all kinds of machine
HEAD = 2  # first lines of a results file: the campaign and the host
WORTH_PROCESSES = 1 << 26  # B of results; one process reads fewer before others have started
MOST_NAMED = 5  # largest number of hosts that a sentence names
Found = TypeVar("Found")


@dataclass(frozen=True)
class ShardFile:
    """A results file of a shard, by its first lines and its end."""

    path: Path
    shard: int
    machine: str
    node: str
    started: str
    complete: bool

    @property
    def order(self) -> tuple[bool, int, str, str]:
        """The file of a shard that counts comes first: a complete one, else the longest."""
        return not self.complete, -runs_in(self.path), self.started, self.path.name


@dataclass(frozen=True)
class Collected:
    """The files that count, one for each shard, and notes on the others."""

    files: list[ShardFile]
    missing: list[int]  # shards without any run
    begun: list[int]
    notes: list[str]


def collected(plan: Plan) -> Collected:
    """The results of a plan. Raises UsageError for a file of another plan, version or program."""
    by_shard: dict[int, list[ShardFile]] = {}
    notes = []
    for path in sorted(plan.results.glob("*.jsonl")):
        if file := verified(plan, path):
            by_shard.setdefault(file.shard, []).append(file)
        else:
            notes.append(f"{path.name} holds no run yet")
    if not by_shard:
        raise UsageError(f"{plan.results}: no results of this plan yet")
    files = []
    for shard in sorted(by_shard):
        several = by_shard[shard][1:]  # to order files reads them
        first, *others = sorted(by_shard[shard], key=lambda file: file.order) if several else by_shard[shard]
        files.append(first)
        if others:
            where = ", ".join(file.node for file in others)
            notes.append(f"shard {shard} counts once, as measured on {first.node}; also begun on {where}")
    now = datetime.now(UTC) + timedelta(seconds=CLOCK_TOLERANCE_S)
    ahead = {file.node for file in files if datetime.fromisoformat(file.started) > now}
    notes += [f"the clock of {node} is ahead of the one here" for node in sorted(ahead)]
    missing = [shard.index for shard in plan.shards if shard.index not in by_shard]
    return Collected(files, missing, [file.shard for file in files if not file.complete], notes)


def verified(plan: Plan, path: Path) -> ShardFile | None:
    """The shard in a file, according to its first two lines; None if the file ends before the first run."""
    with regular_file.opened(path, store.LARGEST) as stream:
        lines = [line for line in islice(stream, HEAD) if line.endswith(b"\n")]
    records = list(store.parse(b"".join(lines)))
    if not lines:
        return None
    if not isinstance(campaign := records[0], Campaign):
        raise UsageError(f"{path}: {store.why_no_results(lines[0])}")
    if campaign.heaplab != plan.file.heaplab:
        raise UsageError(
            f"{path}: measured by heaplab {campaign.heaplab}, the plan is of {plan.file.heaplab}; "
            "versions are not merged"
        )
    if len(records) < HEAD:
        return None
    facts = records[1].facts if isinstance(records[1], Host) else {}
    if facts.get("plan") != plan.hash:
        raise UsageError(f"{path}: of plan {facts.get('plan', 'none')}, not of this one, {plan.hash}")
    hashes = {shard.hash: shard for shard in plan.shards}
    if facts.get("shard_hash") not in hashes:
        raise UsageError(f"{path}: of no shard of this plan")
    shard = hashes[facts["shard_hash"]]
    return ShardFile(
        path, shard.index, shard.machine, str(facts["node"]), campaign.started, is_complete(path)
    )


def summaries(files: Sequence[ShardFile], workers: int) -> Iterator[HostSummary]:
    """The summary of every host, read by `workers` processes, each of which holds the runs of one host."""
    by_host = sorted(files, key=lambda file: (file.machine, file.node, file.shard))
    groups = [
        [file.path for file in of_host]
        for _, of_host in groupby(by_host, key=lambda file: (file.machine, file.node))
    ]
    size = sum(file.path.stat().st_size for file in files)
    if workers == 1 or len(groups) == 1 or size < WORTH_PROCESSES:
        yield from map(summary_of, groups)
        return
    yield from by_processes(summary_of, groups, workers)


@dataclass(frozen=True)
class Merged:
    plan: Plan
    hosts: list[HostSummary]
    missing: list[int]
    begun: list[int]
    notes: list[str] = field(default_factory=list)

    @property
    def runs(self) -> int:
        return sum(host.runs for host in self.hosts)

    @property
    def baseline(self) -> str:
        return self.plan.file.arms[0].name

    @property
    def others(self) -> list[str]:
        return [arm.name for arm in self.plan.file.arms[1:]]

    @cached_property
    def groups(self) -> dict[str, list[HostSummary]]:
        """The hosts by kind of machine; and all together, if there are several kinds."""
        by_machine: dict[str, list[HostSummary]] = {}
        for host in self.hosts:
            by_machine.setdefault(host.machine, []).append(host)
        return by_machine if len(by_machine) == 1 else by_machine | {ALL_KINDS: self.hosts}

    @cached_property
    def ratios(self) -> dict[str, dict[RatioOf, HostRatios]]:
        return {group: dict(pooled(hosts)) for group, hosts in self.groups.items()}

    @cached_property
    def scaling(self) -> dict[str, dict[RatioOf, HostRatios]]:
        """How each allocator scales, over the hosts of each kind of machine."""
        return {
            group: {
                about: stats.over_hosts(ratios)
                for about, ratios in of_all(hosts, lambda host: host.scaling).items()
            }
            for group, hosts in self.groups.items()
            if group != ALL_KINDS
        }

    def kinds(self) -> list[str]:
        seen = {about.kind for host in self.hosts for about in host.ratios}
        return [kind for kind in KINDS if kind in seen]

    def questions(self) -> Iterator[tuple[str, str, str]]:
        """Every group of hosts with every kind of workload and both metrics of a mean."""
        return product(self.groups, self.kinds(), (TIME, MEMORY))

    def rankings(self, group: str, kind: str, metric: str) -> list[list[str]]:
        """The arms on each host of a group, the best first; hosts that lack a figure are left out."""
        orders = []
        for host in self.groups[group]:
            values = {self.baseline: 1.0}
            for name in self.others:
                ratio = host.ratios.get(RatioOf(metric, name, kind))
                values[name] = ratio[0].estimate if ratio else float("nan")
            if all(map(isfinite, values.values())):
                orders.append(stats.ranked(values))
        return orders

    @cached_property
    def differences(self) -> list[str]:
        """A sentence for each fact or build in which hosts of one kind of machine differ."""
        sentences: list[str] = []
        for group, hosts in self.groups.items():
            if group == ALL_KINDS:
                continue
            for name in ALIKE:
                facts = {host.node: str(host.facts.get(name)) for host in hosts}
                sentences += odd_ones(f"{group}: {name.replace('_', ' ')}", facts)
            for arm in hosts[0].arms:
                builds = {host.node: host.arms.get(arm, "absent") for host in hosts}
                sentences += odd_ones(f"{group}: {arm}", builds)
        return sentences

    @cached_property
    def disturbances(self) -> list[str]:
        """Sentences on hosts that changed, were disturbed, or have runs without figures."""
        sentences = []
        for host in self.hosts:
            if host.changed:
                sentences.append(f"{host.node}: {', '.join(host.changed)} changed while it was measured")
            if host.is_disturbed and not host.changed:
                sentences.append(f"{host.node}: others disturbed {host.disturbed} of {host.runs} runs")
            if host.without_figure:
                sentences.append(f"{host.node}: {host.without_figure} of {host.runs} runs gave no figure")
        return sentences


def merged(plan: Plan, workers: int) -> Merged:
    results = collected(plan)
    return Merged(
        plan, list(summaries(results.files, workers)), results.missing, results.begun, results.notes
    )


def pooled(hosts: Sequence[HostSummary]) -> Iterator[tuple[RatioOf, HostRatios]]:
    for about, ratios in of_all(hosts, lambda host: host.ratios).items():
        yield about, stats.over_hosts([ratio for ratio, _ in ratios], [control for _, control in ratios])


def of_all(
    hosts: Sequence[HostSummary], ratios: Callable[[HostSummary], Mapping[RatioOf, Found]]
) -> dict[RatioOf, list[Found]]:
    """The figures of all hosts by their subject."""
    by_subject: dict[RatioOf, list[Found]] = {}
    for host in hosts:
        for about, ratio in ratios(host).items():
            by_subject.setdefault(about, []).append(ratio)
    return by_subject


def odd_ones(what: str, values: Mapping[str, str]) -> Iterator[str]:
    """A sentence if the hosts differ: the value of most hosts, and the hosts with other values."""
    usual, count = Counter(values.values()).most_common(1)[0]
    odd: dict[str, list[str]] = {}
    for node, value in values.items():
        if value != usual:
            odd.setdefault(value, []).append(node)
    if odd:
        each = {value: wording.shortened(nodes, MOST_NAMED) for value, nodes in odd.items()}
        others = "; ".join(f"{value} on {nodes}" for value, nodes in each.items())
        yield f"{what}: {usual} on {count} of {len(values)} hosts, {others}"
