"""A whole results file: its studies, and the summary of every allocator over all studies."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from heaplab import stats
from heaplab.analysis.metrics import MEMORY
from heaplab.analysis.study import Study, studies_of
from heaplab.results import spec
from heaplab.results.records import CONTROL_SUFFIX, Run, Status
from heaplab.results.store import Results
from heaplab.stats import Interval, Judged

TIME_ONLY: tuple[str | None, ...] = (None,)
MEMORY_ONLY: tuple[str | None, ...] = (MEMORY,)
BOTH: tuple[str | None, ...] = (None, MEMORY)


@dataclass(frozen=True)
class Summary:
    """The ratios of one allocator to the baseline over all cells of a kind of workload; lower is better."""

    allocator: str
    time: Judged
    memory: Judged
    cost: Judged  # time and memory together: the square root of the product of their ratios
    cells: int  # number of cells in which both this allocator and the baseline have values
    cells_of: int  # number of planned cells, without those in which every run was skipped

    @property
    def complete(self) -> bool:
        return self.cells == self.cells_of


def _place(run: Run) -> tuple[str, str, str, int]:
    return run.experiment, repr(sorted(run.cell.items())), run.allocator, run.block


class Analysis:
    """All studies of one results file, and the means over them."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.campaign = results.campaign
        self.allocators = list(self.campaign.allocators)
        self.baseline = self.allocators[0]
        cpus = self.results.facts.get("cpus")
        self._relative: dict[tuple[str, str, tuple[str | None, ...], str], Interval] = {}
        self.studies = [
            study
            for item in spec.experiments_of(self.campaign)
            for study in studies_of(
                item, self.campaign, self.runs_of(item), results.timings.get(item.id), cpus
            )
        ]
        self.across = self._across(cpus)

    def runs_of(self, experiment: spec.Experiment) -> list[Run]:
        return [run for run in self.results.runs if run.experiment == experiment.id]

    def _across(self, cpus: int | None) -> list[Study]:
        """The studies across allocators of experiments that compare values of another parameter.

        Only the cells with the reference value of that parameter take part.
        """
        return [
            Study(
                experiment,
                spec.Workload.model_validate(self.campaign.workloads[experiment.workload]),
                self.campaign.scale,
                self.allocators,
                self.runs_of(experiment),
                self.results.timings.get(experiment.id),
                cpus,
            )
            for experiment in spec.experiments_of(self.campaign)
            if experiment.compare
            and self.baseline in experiment.measured(self.allocators)
            and len(experiment.measured(self.allocators)) > 1
        ]

    @property
    def between_allocators(self) -> list[Study]:
        return [study for study in self.studies if not study.under] + self.across

    @property
    def comparisons(self) -> list[Study]:
        """The studies whose candidates are values of a parameter."""
        return [study for study in self.studies if study.under]

    @property
    def compared(self) -> str:
        """The kind of the campaign's arms: "allocator" or "command"."""
        commands = any(arm.command for arm in self.results.libraries.values())
        return "command" if commands else "allocator"

    @property
    def only_within(self) -> bool:
        """Whether the campaign has one allocator and compares values of a parameter under it."""
        return len(self.allocators) == 1 and bool(self.comparisons)

    @cached_property
    def without_figure(self) -> list[Run]:
        """Void, failed, timed-out and skipped runs in the order they happened."""
        return [run for run in self.results.runs if run.status is not Status.OK]

    @cached_property
    def repeated(self) -> list[Run]:
        """Void runs that were repeated: the repetition counts instead."""
        again = {_place(run) for run in self.results.runs if run.attempt > 0}
        return [run for run in self.without_figure if run.attempt == 0 and _place(run) in again]

    @cached_property
    def disturbed(self) -> list[Run]:
        """Disturbed runs that count: repetitions, and runs that could not be repeated for lack of time."""
        return [run for run in self.results.runs if run.status is Status.OK and run.reason]

    def counts(self) -> Counter[Status]:
        return Counter(run.status for run in self.results.runs)

    def summarised(self, kind: str) -> list[Study]:
        """The studies of one kind of workload in which every allocator ran.

        A mean over other studies would compare allocators by different cells.
        """
        return [
            study
            for study in self.between_allocators
            if study.workload.kind == kind and set(study.candidates) >= set(self.allocators)
        ]

    def relative(
        self, kind: str, allocator: str, metrics: Iterable[str | None], base: str | None = None
    ) -> Interval:
        """The geometric mean of an allocator's ratios to `base`, over metrics and cells.

        Every study has the same weight. The metric None stands for time: the main metric of each timed study,
        inverted if it is a rate. Cells without values are left out; Summary.cells counts the others.
        """
        key = (kind, allocator, tuple(metrics), base or self.baseline)
        if key not in self._relative:
            groups = [
                study.cell_pairs(key[3], allocator, metric or study.main_metric)
                for metric in key[2]
                for study in self.summarised(kind)
                if metric or study.is_timed
            ]
            self._relative[key] = stats.geometric_mean([group for group in groups if group])
        return self._relative[key]

    def is_timed(self, kind: str) -> bool:
        return any(study.is_timed for study in self.summarised(kind))

    def shows_memory(self, kind: str) -> bool:
        """Whether any run has a figure of memory: a short program ends before its memory is sampled."""
        return any(study.shows(cell, MEMORY) for study in self.summarised(kind) for cell in study.cells)

    def summaries(self, kind: str) -> list[Summary]:
        """The summaries of all allocators but the baseline.

        The verdicts on one metric are one family of comparisons, so that Holm's procedure covers them.
        """
        others = [name for name in self.allocators if name != self.baseline]
        time, memory, cost = (
            self._judge(kind, others, metrics) for metrics in (TIME_ONLY, MEMORY_ONLY, BOTH)
        )
        return [
            Summary(name, time[name], memory[name], cost[name], *self._cells(kind, name)) for name in others
        ]

    def control(self, kind: str, metrics: Iterable[str | None]) -> Interval:
        """The ratio of the baseline to itself: noise alone."""
        return self.relative(kind, self.baseline + CONTROL_SUFFIX, metrics)

    def threshold(self, kind: str, metrics: Iterable[str | None]) -> float:
        """The difference a mean must exceed: the practical threshold, or a larger noise floor."""
        return stats.threshold_over(self.control(kind, metrics))

    def _judge(self, kind: str, allocators: list[str], metrics: tuple[str | None, ...]) -> dict[str, Judged]:
        ratios = [self.relative(kind, name, metrics) for name in allocators]
        judged = stats.judge_family(ratios, self.control(kind, metrics))
        return dict(zip(allocators, judged, strict=True))

    def _cells(self, kind: str, allocator: str) -> tuple[int, int]:
        """The number of cells in which allocator and baseline have values, and of all cells that count."""
        cells = [
            all(
                study.pair(cell, self.baseline, allocator, metric)[0]
                for metric in (study.main_metric, *((MEMORY,) if study.shows(cell, MEMORY) else ()))
            )
            for study in self.summarised(kind)
            for cell in study.cells_that_count
        ]
        return sum(cells), len(cells)
