"""The results of one host of a plan: every ratio to the host's baseline, and faults that lessen their worth.

The shards that one node carried out are one campaign with more blocks. Only this summary of a host is kept:
what is merged over hosts needs no single run.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from heaplab import stats
from heaplab.analysis import MEMORY, Analysis, Study
from heaplab.cluster.plan_folder import BLOCKS_MOST, HASH_SHOWN
from heaplab.results import store
from heaplab.results.records import Arm, Status
from heaplab.stats import Interval

TIME = "time"  # the main metric of every timed study
KINDS = ("program", "synthetic")
THREADS = "threads"
Measured = tuple[Interval, Interval]  # a ratio, and the ratio of the control
# Facts in which the hosts of one kind are expected to agree.
ALIKE = (
    "cpu",
    "cpus",
    "cores",
    "numa_nodes",
    "smt",
    "governor",
    "cpu_limit",
    "kernel",
    "c_library",
    "transparent_huge_pages",
    "page_size",
    "architecture",
)
SHOWN = (*ALIKE, "memory", "placement")
# Facts that must not change while a shard is measured.
STEADY = ("cpus", "cpu_limit", "governor", "smt", "transparent_huge_pages", "placement", "memory_limit")
DISTURBED_SHARE = 0.1  # a larger share of disturbed runs is told


class RatioOf(NamedTuple):
    """The subject of a ratio. Without an experiment, the ratio is a mean over a kind of workload."""

    metric: str  # TIME or MEMORY for a mean, else the name of a metric
    allocator: str
    kind: str  # of workload
    experiment: str = ""
    cell: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class HostSummary:
    """One host: its facts, its ratios with those of the control, and its faults."""

    node: str
    machine: str  # kind
    shards: tuple[int, ...]
    facts: Mapping[str, Any]
    arms: Mapping[str, str]  # version and hash of each arm
    runs: int
    without_figure: int
    disturbed: int
    ratios: Mapping[RatioOf, Measured]
    scaling: Mapping[RatioOf, Interval]  # the ratio of N threads to the fewest, by allocator and cell
    changed: tuple[str, ...] = ()  # facts that had changed when a shard ended

    @property
    def is_disturbed(self) -> bool:
        return bool(self.changed) or self.disturbed > DISTURBED_SHARE * max(self.runs, 1)


def summary_of(paths: Sequence[Path]) -> HostSummary:
    """The summary of the host whose shards lie in these files. Raises UsageError for one that holds none."""
    parts = [store.load(path, series=False) for path in paths]
    whole = joined(parts)
    measured = Analysis(whole)
    first = parts[0].facts
    return HostSummary(
        node=first["node"],
        machine=first["machine"],
        shards=tuple(part.facts["shard"] for part in parts),
        facts={name: first.get(name) for name in SHOWN},
        arms={name: version_of(arm) for name, arm in whole.libraries.items()},
        runs=sum(len(part.runs) for part in parts),
        without_figure=sum(run.status not in (Status.OK, Status.VOID) for part in parts for run in part.runs),
        disturbed=len(measured.disturbed) + len(measured.repeated),
        ratios=dict(means(measured)) | dict(cells(measured)),
        scaling=dict(scaling(measured)),
        changed=tuple(dict.fromkeys(name for part in parts for name in changed_in(part))),
    )


def version_of(arm: Arm) -> str:
    """The version of an arm and the beginning of its hash, which differ between builds."""
    digests = [digest[:HASH_SHOWN] for digest in arm.sha256.values()]
    return " ".join(filter(None, [arm.version, *digests]))


def joined(parts: Sequence[store.Results]) -> store.Results:
    """The shards of one host as one campaign: block B of shard I is block (I - 1) * BLOCKS_MOST + B.

    All are timed alike, as their plan says.
    """
    if len(parts) == 1:
        return parts[0]
    runs = [
        run.model_copy(update={"block": (part.facts["shard"] - 1) * BLOCKS_MOST + run.block})
        for part in parts
        for run in part.runs
    ]
    return replace(parts[0], runs=runs)


def means(measured: Analysis) -> Iterator[tuple[RatioOf, Measured]]:
    for kind in KINDS:
        if not measured.summarised(kind):
            continue
        for summary in measured.summaries(kind):
            for metric, judged in ((TIME, summary.time), (MEMORY, summary.memory)):
                yield RatioOf(metric, summary.allocator, kind), (judged.ratio, judged.control)


def cells(measured: Analysis) -> Iterator[tuple[RatioOf, Measured]]:
    """The ratios of every cell: of its main metric, and of memory. Rates are inverted: lower is better."""
    for study in measured.between_allocators:
        metrics = dict.fromkeys((study.main_metric, MEMORY))
        for cell in study.cells_run:
            for name in study.candidates:
                for metric in metrics if name != study.baseline else ():
                    ratio = lower_is_better(study, metric, study.ratio(cell, name, metric))
                    control = lower_is_better(study, metric, study.ratio(cell, study.control, metric))
                    about = RatioOf(metric, name, study.workload.kind, study.name, cell)
                    yield about, (ratio, control)


def lower_is_better(study: Study, metric: str, ratio: Interval) -> Interval:
    return ratio.inverse() if study.metric(metric).better == "higher" else ratio


def scaling(measured: Analysis) -> Iterator[tuple[RatioOf, Interval]]:
    """The main metric with N threads over that with the fewest, of every allocator; lower is better."""
    for study in measured.between_allocators:
        threads = [value for value in study.axes.get(THREADS, []) if isinstance(value, int)]
        if len(threads) < 2:
            continue
        for cell in study.cells_run:
            if dict(cell)[THREADS] == min(threads):
                continue
            for name in study.candidates:
                pair = study.across(cell, name, study.main_metric, {THREADS: min(threads)})
                ratio = lower_is_better(study, study.main_metric, stats.compare(*pair))
                yield RatioOf(study.main_metric, name, study.workload.kind, study.name, cell), ratio


def changed_in(results: store.Results) -> list[str]:
    before, after = results.host, results.host_at_end
    return [name for name in STEADY if before and after and before.facts.get(name) != after.facts.get(name)]
