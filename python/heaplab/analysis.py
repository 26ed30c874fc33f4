"""What a results file says, as numbers: values by block, ratios to the baseline, the A/A control, summaries.

Only runs that ended well give values. Everything here is a pure function of the records; words, units for
display and figures are made elsewhere.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import isnan

from heaplab import spec, stats
from heaplab.errors import UsageError
from heaplab.records import CONTROL_SUFFIX, Parameter, Process, Run, Status
from heaplab.stats import Interval, Pair, Verdict
from heaplab.store import Results

Cell = tuple[tuple[str, Parameter], ...]  # the swept parameters, in the order of the sweep

PROCESS_METRICS = {
    "wall": spec.MetricSpec(title="wall time", unit="s"),
    "user": spec.MetricSpec(title="user time", unit="s"),
    "system": spec.MetricSpec(title="system time", unit="s"),
    "cpu": spec.MetricSpec(title="CPU time", unit="s"),
    "peak_memory": spec.MetricSpec(title="peak memory", unit="B"),
    "mean_memory": spec.MetricSpec(title="mean memory", unit="B"),
    "page_faults": spec.MetricSpec(title="page faults", unit="1"),
    "voluntary_switches": spec.MetricSpec(title="voluntary switches", unit="1"),
    "involuntary_switches": spec.MetricSpec(title="involuntary switches", unit="1"),
}
MEMORY = "peak_memory"
FAULTS = "page_faults"


def process_value(process: Process, metric: str) -> float:
    """The value of one of PROCESS_METRICS."""
    if metric == "cpu":
        return process.user + process.system
    if metric == FAULTS:
        return process.minor_faults + process.major_faults
    return float(getattr(process, metric))


@dataclass(frozen=True)
class Judged:
    """A ratio to the baseline and what may be said about it."""

    ratio: Interval
    verdict: Verdict
    threshold: float


class Study:
    """One experiment as it was measured."""

    def __init__(
        self,
        experiment: spec.Experiment,
        workload: spec.Workload,
        scale: str,
        names: list[str],
        runs: list[Run],
    ) -> None:
        self.experiment = experiment
        self.workload = workload
        self.baseline = names[0]
        self.control = self.baseline + CONTROL_SUFFIX
        self.cells: list[Cell] = [tuple(cell.items()) for cell in experiment.cells(scale)]
        self.runs = runs
        present = {run.allocator for run in runs}
        self.allocators = [name for name in names if name in present]
        self.good: dict[tuple[Cell, str], dict[int, Run]] = {}
        for run in runs:
            if run.status is Status.OK:
                cell = tuple(
                    (name, run.cell[name]) for name in experiment_axes(self.cells) if name in run.cell
                )
                self.good.setdefault((cell, run.allocator), {})[run.block] = run
        self._ratios: dict[tuple[Cell, str, str], Interval] = {}
        self._medians: dict[tuple[Cell, str, str], Interval] = {}
        self._judged: dict[str, dict[tuple[Cell, str], Judged]] = {}

    @property
    def axes(self) -> dict[str, list[Parameter]]:
        """The swept parameters with their values."""
        return {
            name: list(dict.fromkeys(dict(cell)[name] for cell in self.cells))
            for name in experiment_axes(self.cells)
        }

    @property
    def main_metric(self) -> str:
        return self.workload.main_metric

    def metric(self, name: str) -> spec.MetricSpec:
        """Title, unit and direction. Raises UsageError for a name nobody defined."""
        found = self.workload.metrics.get(name) or PROCESS_METRICS.get(name)
        if found is None:
            known = ", ".join([*self.workload.metrics, *PROCESS_METRICS])
            raise UsageError(f"{self.experiment.id}: no metric '{name}'; there are {known}")
        return found

    def values(self, cell: Cell, allocator: str, metric: str) -> dict[int, float]:
        """The values by block. Runs without the metric are left out."""
        found = {}
        for block, run in sorted(self.good.get((cell, allocator), {}).items()):
            if metric in self.workload.metrics:
                if run.sample and metric in run.sample.metrics:
                    found[block] = run.sample.metrics[metric].value
            elif run.process:
                found[block] = process_value(run.process, metric)
        return found

    def pair(self, cell: Cell, base: str, other: str, metric: str) -> Pair:
        """The values of the blocks in which both ended well."""
        left, right = self.values(cell, base, metric), self.values(cell, other, metric)
        both = sorted(left.keys() & right.keys())
        return [left[block] for block in both], [right[block] for block in both]

    def seed(self, cell: Cell, metric: str) -> int:
        return stats.seed_of(self.experiment.id, cell, metric)

    def ratio(self, cell: Cell, allocator: str, metric: str) -> Interval:
        """Median over the baseline's median, paired by block."""
        key = (cell, allocator, metric)
        if key not in self._ratios:
            pair = self.pair(cell, self.baseline, allocator, metric)
            self._ratios[key] = stats.compare(*pair, self.seed(cell, metric))
        return self._ratios[key]

    def median(self, cell: Cell, allocator: str, metric: str) -> Interval:
        key = (cell, allocator, metric)
        if key not in self._medians:
            values = list(self.values(cell, allocator, metric).values())
            self._medians[key] = stats.median_interval(values, self.seed(cell, metric))
        return self._medians[key]

    def noise_floor(self, metric: str) -> float:
        """How far the baseline and itself come out apart over the cells; not a number without a control."""
        return stats.noise_floor([self.ratio(cell, self.control, metric) for cell in self.cells])

    def threshold(self, metric: str) -> float:
        """What a difference must exceed here: the practical threshold, or a larger noise floor."""
        floor = self.noise_floor(metric)
        return stats.THRESHOLD if isnan(floor) else max(stats.THRESHOLD, floor)

    def judged(self, metric: str) -> dict[tuple[Cell, str], Judged]:
        """Every allocator but the baseline in every cell: one family of comparisons."""
        if metric not in self._judged:
            threshold = self.threshold(metric)
            ratios = {
                (cell, allocator): self.ratio(cell, allocator, metric)
                for cell in self.cells
                for allocator in self.allocators
                if allocator != self.baseline
            }
            verdicts = stats.judge_family(list(ratios.values()), threshold)
            self._judged[metric] = {
                key: Judged(ratio, verdict, threshold)
                for (key, ratio), verdict in zip(ratios.items(), verdicts, strict=True)
            }
        return self._judged[metric]

    def outliers(self, metric: str) -> list[tuple[Cell, str, int, float, float]]:
        """(cell, allocator, block, value, median) of every value far from its fellows; all of them count."""
        found = []
        for cell, allocator in self.good:
            values = self.values(cell, allocator, metric)
            median = self.median(cell, allocator, metric).estimate
            for position in stats.outliers(list(values.values())):
                block = list(values)[position]
                found.append((cell, allocator, block, values[block], median))
        return found


def experiment_axes(cells: Iterable[Cell]) -> list[str]:
    return list(dict.fromkeys(name for cell in cells for name, _ in cell))


@dataclass(frozen=True)
class Standing:
    """One allocator over all cells of a kind of workload, relative to the baseline: lower is better."""

    allocator: str
    time: Judged
    memory: Judged
    faults: Interval
    cells: int  # with values of this allocator and the baseline
    cells_of: int  # asked for

    @property
    def complete(self) -> bool:
        return self.cells == self.cells_of


class Analysis:
    """One results file."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.campaign = results.campaign
        self.allocators = list(self.campaign.allocators)
        self.baseline = self.allocators[0]
        experiments = [spec.Experiment.model_validate(content) for content in self.campaign.experiments]
        self.studies = [
            Study(
                experiment,
                spec.Workload.model_validate(self.campaign.workloads[experiment.workload]),
                self.campaign.scale,
                self.allocators,
                [run for run in results.runs if run.experiment == experiment.id],
            )
            for experiment in experiments
        ]

    @cached_property
    def without_figure(self) -> list[Run]:
        """Void, failed, timed-out and skipped runs in the order they happened."""
        return [run for run in self.results.runs if run.status is not Status.OK]

    def counts(self) -> Counter[Status]:
        return Counter(run.status for run in self.results.runs)

    def summarised(self, kind: str) -> list[Study]:
        """The studies of one kind of workload that ran every allocator: only they can be averaged fairly."""
        return [
            study
            for study in self.studies
            if study.workload.kind == kind and set(study.allocators) >= set(self.allocators)
        ]

    def relative(self, kind: str, allocator: str, metric: str | None, base: str | None = None) -> Interval:
        """Geometric mean of an allocator's ratio to `base` over all cells, each study weighing the same.

        `metric` None is each workload's main metric, a rate turned into time. Cells without values are
        left out: see Standing.cells.
        """
        groups = []
        for study in self.summarised(kind):
            name = metric or study.main_metric
            cells = [
                (study.pair(cell, base or self.baseline, allocator, name), study.seed(cell, name))
                for cell in study.cells
            ]
            if study.metric(name).better == "higher":
                cells = [((other, first), seed) for (first, other), seed in cells]
            groups.append([(pair, seed) for pair, seed in cells if pair[0]])
        return stats.geometric_mean([group for group in groups if group])

    def standings(self, kind: str) -> list[Standing]:
        """All allocators but the baseline; the verdicts of a column are one family."""
        others = [name for name in self.allocators if name != self.baseline]
        columns = {metric: self._judge(kind, others, metric) for metric in (None, MEMORY)}
        return [
            Standing(
                name,
                columns[None][name],
                columns[MEMORY][name],
                self.relative(kind, name, FAULTS),
                *self._cells(kind, name),
            )
            for name in others
        ]

    def noise_floor(self, kind: str, metric: str | None) -> Interval:
        """The control in place of an allocator."""
        return self.relative(kind, self.baseline + CONTROL_SUFFIX, metric)

    def _judge(self, kind: str, allocators: list[str], metric: str | None) -> dict[str, Judged]:
        floor = stats.noise_floor([self.noise_floor(kind, metric)])
        threshold = stats.THRESHOLD if isnan(floor) else max(stats.THRESHOLD, floor)
        ratios = [self.relative(kind, name, metric) for name in allocators]
        verdicts = stats.judge_family(ratios, threshold)
        return {
            name: Judged(ratio, verdict, threshold)
            for name, ratio, verdict in zip(allocators, ratios, verdicts, strict=True)
        }

    def _cells(self, kind: str, allocator: str) -> tuple[int, int]:
        pairs = [
            study.pair(cell, self.baseline, allocator, MEMORY)[0]
            for study in self.summarised(kind)
            for cell in study.cells
        ]
        return sum(bool(pair) for pair in pairs), len(pairs)
