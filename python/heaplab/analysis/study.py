"""One experiment as it was measured: values by block, ratios to the baseline, verdicts, the A/A control."""

from collections.abc import Iterable
from dataclasses import dataclass

from heaplab import spec, stats
from heaplab.analysis.metrics import LATENCY_METRICS, PROCESS_METRICS, value_of
from heaplab.errors import UsageError
from heaplab.records import CONTROL_SUFFIX, Parameter, Run, Status
from heaplab.stats import Interval, Pair, Verdict

Cell = tuple[tuple[str, Parameter], ...]  # the swept parameters, in the order of the sweep


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
        cpus: int | None = None,
    ) -> None:
        self.experiment = experiment
        self.workload = workload
        self.cpus = cpus  # of the machine it was measured on
        self._fixed = experiment.parameters | getattr(experiment, scale).parameters
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
        return self.experiment.main_metric or self.workload.main_metric

    def metric(self, name: str) -> spec.MetricSpec:
        """Title, unit and direction. Raises UsageError for a name nobody defined."""
        found = self.workload.metrics.get(name) or (PROCESS_METRICS | LATENCY_METRICS).get(name)
        if found is None:
            known = ", ".join([*self.workload.metrics, *PROCESS_METRICS])
            raise UsageError(f"{self.experiment.id}: no metric '{name}'; there are {known}")
        return found

    def values(self, cell: Cell, allocator: str, metric: str) -> dict[int, float]:
        """The values by block. Runs without the metric are left out."""
        declared = metric in self.workload.metrics
        runs = sorted(self.good.get((cell, allocator), {}).items())
        found = {block: value_of(run, metric, declared) for block, run in runs}
        return {block: value for block, value in found.items() if value is not None}

    def pair(self, cell: Cell, base: str, other: str, metric: str) -> Pair:
        """The values of the blocks in which both ended well."""
        left, right = self.values(cell, base, metric), self.values(cell, other, metric)
        both = sorted(left.keys() & right.keys())
        return [left[block] for block in both], [right[block] for block in both]

    def seed(self, cell: Cell) -> int:
        """Of the resampling: all metrics of a cell take the same blocks, as they come from the same runs."""
        return stats.seed_of(self.experiment.id, cell)

    def oversubscribed(self, cell: Cell) -> bool:
        """Whether the workload has more threads here than the machine has CPUs."""
        threads = (self._fixed | dict(cell)).get("threads", 1)
        return self.cpus is not None and isinstance(threads, int) and threads > self.cpus

    def ratio(self, cell: Cell, allocator: str, metric: str) -> Interval:
        """Median over the baseline's median, paired by block."""
        key = (cell, allocator, metric)
        if key not in self._ratios:
            pair = self.pair(cell, self.baseline, allocator, metric)
            self._ratios[key] = stats.compare(*pair, self.seed(cell))
        return self._ratios[key]

    def cell_pairs(self, base: str, other: str, metric: str) -> list[tuple[Pair, int]]:
        """Pairs with their seeds of all cells that have any, turned so that a lower ratio is better."""
        pairs = [(self.pair(cell, base, other, metric), self.seed(cell)) for cell in self.cells]
        known = [(pair, seed) for pair, seed in pairs if pair[0]]
        if self.metric(metric).better == "higher":
            return [((second, first), seed) for (first, second), seed in known]
        return known

    def median(self, cell: Cell, allocator: str, metric: str) -> Interval:
        key = (cell, allocator, metric)
        if key not in self._medians:
            values = list(self.values(cell, allocator, metric).values())
            self._medians[key] = stats.median_interval(values, self.seed(cell))
        return self._medians[key]

    def controls(self, metric: str) -> list[Interval]:
        """The baseline against itself in every cell."""
        return [self.ratio(cell, self.control, metric) for cell in self.cells]

    def threshold(self, metric: str) -> float:
        """What a difference must exceed here: the practical threshold, or a larger noise floor."""
        return stats.threshold_over(self.controls(metric))

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
