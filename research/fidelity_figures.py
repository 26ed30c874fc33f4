"""What research/replay_fidelity.py measured of each program and its replay, as figures."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import kendalltau

from heaplab import stats
from heaplab.analysis import MEMORY, Analysis, Study
from heaplab.stats import Interval
from heaplab.traces import tool

FAULTS = "minor_faults"  # of the measured part of a workload
DRAWS = 500  # resamples of the blocks, for the intervals of Kendall's tau
SEED = 1


@dataclass(frozen=True)
class Ranking:
    """The ratios of all allocators to glibc, of the program and of its replay; below 1 is better."""

    original: dict[str, Interval]
    replay: dict[str, Interval]
    tau: float
    tau_low: float
    tau_high: float

    @property
    def widest(self) -> str:
        """The allocator whose two ratios differ most."""
        return max(self.original, key=self.difference)

    def difference(self, name: str) -> float:
        return abs(self.replay[name].estimate - self.original[name].estimate)


@dataclass(frozen=True)
class Program:
    name: str
    trace: Path
    analysis: Analysis

    def study(self, part: str) -> Study:
        wanted = f"{self.name}/{part}"
        return next(study for study in self.analysis.studies if study.experiment.id == wanted)

    @cached_property
    def process(self) -> dict[str, Any]:
        """The summary of the process that is replayed: the one with the most events."""
        return max(tool.summary(self.trace)["processes"], key=lambda process: process["events"])

    def values(self, part: str, allocator: str, metric: str) -> dict[int, float]:
        """By block, oriented so that less is better."""
        study = self.study(part)
        by_block = study.values(study.cells[0], allocator, metric)
        if study.metric(metric).better == "higher":
            return {block: 1 / value for block, value in by_block.items()}
        return by_block

    def count(self, part: str, metric: str) -> float:
        """The largest value that any run under glibc had; 0 if no run has any."""
        runs = self.study(part).good.values()
        chosen = [
            run.sample.metrics[metric].value
            for blocks in runs
            for run in blocks.values()
            if run.sample and metric in run.sample.metrics and run.allocator == self.analysis.baseline
        ]
        return max(chosen, default=0.0)

    def main_metric(self, part: str) -> str:
        return self.study(part).main_metric

    @property
    def faults(self) -> str:
        """The metric that counts page faults of the program itself: of all of it, or of the measured part."""
        return FAULTS if self.study("original").workload.kind == "synthetic" else "page_faults"

    @staticmethod
    def part_with(metric: str) -> str:
        """The pass of the replay that measures the metric."""
        return "marks" if metric in (MEMORY, FAULTS) else "replay"

    def against_original(self, original: str, replay: str) -> tuple[float, float, Interval]:
        """Medians under glibc of the program and of the replay, and their ratio."""
        base = self.analysis.baseline
        first = self.values("original", base, original)
        last = self.values(self.part_with(replay), base, replay)
        both = sorted(first.keys() & last.keys())
        pair = [first[block] for block in both], [last[block] for block in both]
        return float(np.median(pair[0])), float(np.median(pair[1])), stats.compare(*pair)

    def predicted(self, allocator: str, metric: str) -> Interval | None:
        """The program's ratio by its own time or memory under glibc and the replays' difference.

        None for other metrics, and where the replays differ by more than the program takes.
        """
        if metric not in ("wall_time", MEMORY):
            return None
        base = self.analysis.baseline
        whole = self.values("original", base, metric)
        before, after = (
            self.values(self.part_with(metric), allocator_name, metric)
            for allocator_name in (base, allocator)
        )
        both = sorted(whole.keys() & before.keys() & after.keys())
        predicted = [whole[block] + after[block] - before[block] for block in both]
        if min(predicted, default=0) <= 0:
            return None
        return stats.compare([whole[block] for block in both], predicted)

    def ranking(self, metric: str = "") -> Ranking | None:
        """By `metric`, or by the main metric of each. None if fewer than three allocators have values."""
        known, replay = {}, self.part_with(metric)
        for part in ("original", replay):
            wanted = metric or self.main_metric(part)
            known[part] = {
                name: values
                for name in self.analysis.allocators
                if (values := self.values(part, name, wanted))
            }
        names = [name for name in known["original"] if name in known[replay]]
        if len(names) < 3:
            return None
        tables = [table(known[part], names) for part in ("original", replay)]
        draws = taus(*tables)
        low, high = np.nanpercentile(draws, [2.5, 97.5])
        ratios = [
            {name: stats.compare(list(rows[0]), list(row)) for name, row in zip(names, rows, strict=True)}
            for rows in tables
        ]
        estimates = [[ratio.estimate for ratio in side.values()] for side in ratios]
        return Ranking(*ratios, float(kendalltau(*estimates).statistic), float(low), float(high))


def table(values: dict[str, dict[int, float]], names: list[str]) -> np.ndarray[Any, Any]:
    """A row for each allocator, a column for each block that all have."""
    blocks = sorted(set.intersection(*(set(values[name]) for name in names)))
    return np.array([[values[name][block] for block in blocks] for name in names])


def taus(original: np.ndarray[Any, Any], replay: np.ndarray[Any, Any]) -> list[float]:
    """Kendall's tau of the ratios, of resampled blocks of both."""
    draw, sampled = np.random.default_rng(SEED), []
    for _ in range(DRAWS):
        ratios = []
        for rows in (original, replay):
            drawn = rows[:, draw.integers(0, rows.shape[1], rows.shape[1])]
            ratios.append(np.median(drawn / drawn[0], axis=1))
        sampled.append(float(kendalltau(*ratios).statistic))
    return sampled
