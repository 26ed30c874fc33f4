"""Chooses the settings that are worth a confirmation, in two rounds. Their figures are not results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from heaplab import analysis
from heaplab.catalog.contents import Catalog
from heaplab.cli.benchmarks import selection
from heaplab.cli.tune.tuning_arms import Trial, combinations
from heaplab.cli.tune.tuning_rounds import COMBINING, SCREENING, Tuner, TuningRound, without_any_figure
from heaplab.errors import HeaplabError
from heaplab.records import Arm
from heaplab.report.terminal.tuned import Tuned


@dataclass
class TuningChoice:
    catalog: Catalog
    baseline: Arm
    trials: list[Trial]
    tuner: Tuner
    void: dict[str, str] = field(default_factory=dict)  # why a trial gave no figure

    def chosen(self) -> list[Trial] | None:
        """The trials worth a confirmation, the most promising first; None if a round is interrupted.

        The second round has at most as many arms as the first, so that the same part of the budget suffices.
        """
        first = self._measured(SCREENING, self.trials)
        if first is None:
            return None
        together = combinations(analysis.improvements(first), self.trials)
        if not together:
            return among(self.trials, analysis.promising(first, len(analysis.rankings(first))))
        room = len(first.allocators) - 1 - len(together)
        finalists = [*together, *among(self.trials, analysis.promising(first, max(room, 1)))]
        second = self._measured(COMBINING, finalists)
        return (
            None
            if second is None
            else among(finalists, analysis.promising(second, len(analysis.rankings(second))))
        )

    def _measured(self, stage: TuningRound, trials: Sequence[Trial]) -> analysis.Analysis | None:
        """Measure the baseline and the trials that are not void; None if the round is interrupted."""
        arms = self.arms_of(trials)
        if not arms:
            reasons = "; ".join(dict.fromkeys(self.void.values()))
            name = self.baseline.allocator
            raise HeaplabError(f"tune: no setting of {name} is in effect here: {reasons}")
        measured = self.tuner.measured(stage, [self.baseline, *arms])
        self.void |= without_any_figure(measured) if measured else {}
        return measured

    def arms_of(self, trials: Sequence[Trial]) -> list[Arm]:
        """The arms of the trials that are not void. A note names a void arm the first time."""
        given = [trial.given(self.baseline.allocator) for trial in trials]
        catalog = selection.with_own(self.catalog, given)
        found = [selection.arm_of(catalog, one.name) for one in given]
        for arm in found:
            if arm.void and arm.allocator not in self.void:
                selection.note(f"{arm.allocator} is void: {arm.void}")
                self.void[arm.allocator] = arm.void
        return [arm for arm in found if not arm.void]

    @property
    def tuned(self) -> Tuned:
        tried = {trial.name: " ".join(trial.words) for trial in self.trials}
        return Tuned(self.baseline.allocator, tried, self.void)


def among(trials: Sequence[Trial], names: Sequence[str]) -> list[Trial]:
    """The trials of these names, in their order."""
    by_name = {trial.name: trial for trial in trials}
    return [by_name[name] for name in names]
