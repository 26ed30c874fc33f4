"""One experiment as measured: values by block, ratios to the baseline, verdicts, the A/A control."""

from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property

from heaplab import stats
from heaplab.analysis.metrics import COUNTED_METRICS, LATENCY_METRICS, PROCESS_METRICS, WALL, value_of
from heaplab.errors import UsageError
from heaplab.results import spec
from heaplab.results.records import CONTROL_SUFFIX, Campaign, Parameter, Run, Status, Timing
from heaplab.stats import Interval, Judged, Keyed, Pair

MeasuredCell = tuple[tuple[str, Parameter], ...]  # the swept parameters, in the order of the sweep


class Study:
    """One experiment as measured: the values of every candidate in every cell.

    The candidates are allocators, and the first allocator is the baseline. An experiment with `compare` has
    one study for each allocator: its candidates are values of the compared parameter, and the reference value
    is the baseline. Such an experiment can also be studied across allocators, in the cells with the reference
    value.
    """

    def __init__(
        self,
        experiment: spec.Experiment,
        workload: spec.Workload,
        scale: spec.ScaleName,
        allocators: list[str],
        runs: list[Run],
        timing: Timing | None = None,
        cpus: int | None = None,
        under: str = "",
    ) -> None:
        self.timing = timing  # None: nothing was decided yet
        self.experiment = experiment
        self.workload = workload
        self.cpus = cpus  # CPUs of the machine that measured
        self.under = under  # the allocator under which values of a parameter are compared; else empty
        self._scale = scale
        compare = experiment.compare
        self._along = compare.along if compare and under else ""
        swept = [
            cell
            for cell in experiment.cells(scale)
            if under or compare is None or cell[compare.along] == compare.reference
        ]
        shared = ({name: cell[name] for name in cell if name != self._along} for cell in swept)
        self.cells: list[MeasuredCell] = list(dict.fromkeys(tuple(cell.items()) for cell in shared))
        names = self._names(swept) if self._along else allocators
        self.baseline = names[0]
        self.control = self.baseline + CONTROL_SUFFIX
        self.runs = [
            run
            for run in runs
            if counts(run, timing)
            and (not under or run.allocator.removesuffix(CONTROL_SUFFIX) == under)
            and (under or compare is None or run.cell.get(compare.along) == compare.reference)
        ]
        self.good: dict[tuple[MeasuredCell, str], dict[int, Run]] = {}
        self.bad: dict[tuple[MeasuredCell, str], list[Run]] = {}
        for run in self.runs:
            if run.status is Status.OK:
                self.good.setdefault(self.place(run), {})[run.block] = run
            else:
                self.bad.setdefault(self.place(run), []).append(run)
        present = {candidate for _, candidate in (*self.good, *self.bad)}
        self.candidates = [name for name in names if name in present]
        self._values: dict[tuple[MeasuredCell, str, str], dict[int, float]] = {}
        self._ratios: dict[tuple[MeasuredCell, str, str], Interval] = {}
        self._medians: dict[tuple[MeasuredCell, str, str], Interval] = {}
        self._judged: dict[str, dict[tuple[MeasuredCell, str], Judged]] = {}

    def _names(self, swept: list[dict[str, Parameter]]) -> list[str]:
        """The values of the compared parameter as text, the reference value first."""
        compare = self.experiment.compare
        assert compare
        return list(dict.fromkeys([compare.reference, *(str(cell[self._along]) for cell in swept)]))

    def place(self, run: Run) -> tuple[MeasuredCell, str]:
        """The cell and the candidate that a run belongs to."""
        cell = tuple((name, run.cell[name]) for name in self.axes if name in run.cell)
        if not self._along:
            return cell, run.allocator
        control = CONTROL_SUFFIX if run.allocator.endswith(CONTROL_SUFFIX) else ""
        return cell, f"{run.cell[self._along]}{control}"

    @property
    def axis(self) -> str:
        """The name of what the candidates are: the compared parameter, or "allocator"."""
        return self._along or "allocator"

    @property
    def name(self) -> str:
        """The experiment's id, with the allocator or the reference value that the study is limited to."""
        if self.under:
            return f"{self.experiment.id} under {self.under}"
        compare = self.experiment.compare
        return f"{self.experiment.id} with {compare.reference}" if compare else self.experiment.id

    @cached_property
    def axes(self) -> dict[str, list[Parameter]]:
        """The swept parameters with their values, without the compared parameter."""
        names = dict.fromkeys(name for cell in self.cells for name, _ in cell)
        return {name: list(dict.fromkeys(dict(cell)[name] for cell in self.cells)) for name in names}

    @property
    def main_metric(self) -> str:
        """What verdicts rest on; the wall time gives way to the clock that decides."""
        main = self.experiment.main_metric or self.workload.main_metric
        return self.timing.clock if self.timing and main == WALL else main

    @property
    def blocks_done(self) -> int:
        """The number of blocks in which every candidate has a figure in every cell that was run."""
        every = [set(self.good.get((cell, name), {})) for cell in self.cells_run for name in self.candidates]
        return len(set.intersection(*every)) if every else 0

    @property
    def blocks_most(self) -> int:
        scale: spec.Scale = getattr(self.experiment, self._scale)
        return max(scale.blocks, scale.blocks_most)

    @property
    def is_timed(self) -> bool:
        """Whether the main metric is a time or a rate, and may enter a mean of times."""
        return self.metric(self.main_metric).unit in ("s", "1/s")

    def metric(self, name: str) -> spec.MetricSpec:
        """Title, unit and direction of a metric. Raises UsageError for an undefined name."""
        described = self.workload.metrics.get(name) or (
            PROCESS_METRICS | LATENCY_METRICS | COUNTED_METRICS
        ).get(name)
        if described is None:
            known = ", ".join([*self.workload.metrics, *PROCESS_METRICS])
            raise UsageError(f"{self.experiment.id}: no metric '{name}'; there are {known}")
        return described

    def values(self, cell: MeasuredCell, candidate: str, metric: str) -> dict[int, float]:
        """The values of a candidate in a cell, by block. Runs without the metric are left out."""
        key = (cell, candidate, metric)
        if key not in self._values:
            runs = sorted(self.good.get((cell, candidate), {}).items())
            by_block = {block: value_of(run, metric, self.workload.metrics) for block, run in runs}
            self._values[key] = {block: value for block, value in by_block.items() if value is not None}
        return self._values[key]

    def shows(self, cell: MeasuredCell, metric: str) -> bool:
        """Whether any candidate has a value of the metric in the cell."""
        return any(self.values(cell, candidate, metric) for candidate in self.candidates)

    def pair(self, cell: MeasuredCell, base: str, other: str, metric: str) -> Pair:
        """The values of both candidates in the blocks in which the runs of both ended well."""
        left, right = self.values(cell, base, metric), self.values(cell, other, metric)
        both = sorted(left.keys() & right.keys())
        return [left[block] for block in both], [right[block] for block in both]

    def key(self, cell: MeasuredCell) -> Hashable:
        """The key of a cell's pairs: all its metrics and candidates come from the same blocks."""
        return self.experiment.id, self.under, cell

    def oversubscribed(self, cell: MeasuredCell) -> bool:
        """Whether the workload has more threads here than the machine has CPUs."""
        compared: dict[str, Parameter] = {self._along: self.baseline} if self._along else {}
        threads = self.experiment.resolved(self._scale, dict(cell) | compared).get("threads", 1)
        return self.cpus is not None and isinstance(threads, int) and threads > self.cpus

    def ratio(self, cell: MeasuredCell, candidate: str, metric: str) -> Interval:
        """The ratio of the candidate to the baseline, paired by block."""
        key = (cell, candidate, metric)
        if key not in self._ratios:
            pair = self.pair(cell, self.baseline, candidate, metric)
            self._ratios[key] = stats.compare(*pair)
        return self._ratios[key]

    def quotient(
        self, cell: MeasuredCell, candidate: str, metric: str, against: Mapping[str, Parameter]
    ) -> Pair:
        """A pair whose ratio is a ratio of ratios: this cell's ratio to the baseline over the other cell's.

        The other cell is the one in which `against` holds. V and V1 are the values of candidate and baseline
        in this cell, I and I1 those in the other cell. The ratio is (V/V1) / (I/I1) = (V I1) / (V1 I); each
        side of the pair is one of these products. Blocks with equal numbers share a round and a seed, so that
        blocks pair cells just as they pair candidates.
        """
        other = self.changed(cell, against)
        above = [self.values(cell, candidate, metric), self.values(other, self.baseline, metric)]
        below = [self.values(cell, self.baseline, metric), self.values(other, candidate, metric)]
        blocks = sorted(set.intersection(*(set(values) for values in above + below)))
        sides = [[first[b] * second[b] for b in blocks] for first, second in (below, above)]
        return sides[0], sides[1]

    def across(
        self, cell: MeasuredCell, candidate: str, metric: str, against: Mapping[str, Parameter]
    ) -> Pair:
        """The values of a candidate in the cell in which `against` holds, paired with those in this cell."""
        first, last = (self.values(place, candidate, metric) for place in (self.changed(cell, against), cell))
        blocks = sorted(first.keys() & last.keys())
        return [first[b] for b in blocks], [last[b] for b in blocks]

    def changed(self, cell: MeasuredCell, against: Mapping[str, Parameter]) -> MeasuredCell:
        """The cell in which the swept parameters of `against` have the values given there."""
        return tuple((name, against.get(name, value)) for name, value in cell)

    def failure(self, cell: MeasuredCell, candidate: str) -> str:
        """The first reason why a run of the candidate gave no figure in a cell; "" if every run gave one."""
        runs = self.bad.get((cell, candidate), [])
        return runs[0].reason if runs else ""

    @property
    def cells_run(self) -> list[MeasuredCell]:
        """The cells in which at least one run was attempted."""
        seen = {cell for cell, _ in (*self.good, *self.bad)}
        return [cell for cell in self.cells if cell in seen]

    @property
    def cells_that_count(self) -> list[MeasuredCell]:
        """All cells except those in which every run was skipped: no allocator is to blame for them."""
        seen = {cell for cell, _ in map(self.place, self.runs)}
        started = {self.place(run)[0] for run in self.runs if run.status is not Status.SKIPPED}
        return [cell for cell in self.cells if cell in started or cell not in seen]

    def keyed(self, pairs: Iterable[tuple[Pair, MeasuredCell]]) -> list[Keyed]:
        """The pairs that have values, each with the key of its cell."""
        return [(pair, self.key(cell)) for pair, cell in pairs if pair[0]]

    def cell_pairs(self, base: str, other: str, metric: str) -> list[Keyed]:
        """The pair and the key of every cell that has values, oriented so that a lower ratio is better."""
        known = self.keyed((self.pair(cell, base, other, metric), cell) for cell in self.cells)
        if self.metric(metric).better == "higher":
            return [((second, first), key) for (first, second), key in known]
        return known

    def median(self, cell: MeasuredCell, candidate: str, metric: str) -> Interval:
        key = (cell, candidate, metric)
        if key not in self._medians:
            values = list(self.values(cell, candidate, metric).values())
            self._medians[key] = stats.median_interval(values)
        return self._medians[key]

    def judged(self, metric: str) -> dict[tuple[MeasuredCell, str], Judged]:
        """The verdicts on every candidate but the baseline in every cell, as one family of comparisons."""
        if metric not in self._judged:
            ratios = {
                (cell, candidate): self.ratio(cell, candidate, metric)
                for cell in self.cells
                for candidate in self.candidates
                if candidate != self.baseline
            }
            controls = [self.ratio(cell, self.control, metric) for cell, _ in ratios]
            judged = stats.judge_family(list(ratios.values()), controls)
            self._judged[metric] = dict(zip(ratios, judged, strict=True))
        return self._judged[metric]

    def outliers(self, metric: str) -> list[tuple[MeasuredCell, str, int, float, float]]:
        """(cell, candidate, block, value, median) of every outlier. Outliers are shown and count."""
        outlying = []
        for cell, candidate in self.good:
            values = self.values(cell, candidate, metric)
            median = self.median(cell, candidate, metric).estimate
            for position in stats.outliers(list(values.values())):
                block = list(values)[position]
                outlying.append((cell, candidate, block, values[block], median))
        return outlying


def studies_of(
    experiment: spec.Experiment,
    campaign: Campaign,
    runs: list[Run],
    timing: Timing | None = None,
    cpus: int | None = None,
) -> list[Study]:
    """The study of an experiment; with `compare` a study for each allocator."""
    workload = spec.Workload.model_validate(campaign.workloads[experiment.workload])
    names = experiment.measured(campaign.allocators)
    return [
        Study(experiment, workload, campaign.scale, names, runs, timing, cpus, under)
        for under in (names if experiment.compare else [""])
    ]


def counts(run: Run, timing: Timing | None) -> bool:
    """Whether a run was timed like later runs of its experiment: a first block before slices was not."""
    return timing is None or run.status is not Status.OK or timing.slices == (run.turns is not None)
