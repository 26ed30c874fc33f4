"""The rounds of tuning. Each is a campaign in its own folder, so that an interrupted round can go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from heaplab import analysis
from heaplab.campaign.begin_or_resume import Request
from heaplab.comparison.outlook import BudgetOutlook, told_at
from heaplab.comparison.run_campaign import TO_GO_ON, is_measured, opened_for, run_campaign
from heaplab.comparison.shown_results import load
from heaplab.comparison.whole_budget import WholeBudget
from heaplab.errors import HeaplabError
from heaplab.options.given_options import HowOptions
from heaplab.results import store
from heaplab.results.records import Arm, Status
from heaplab.screen.notes import note

COARSE = 0.05  # precision of the rounds that only choose
SEEDS = 1000  # between the seeds of two rounds: more than a round has blocks, so that no seed is used twice


@dataclass(frozen=True)
class TuningRound:
    name: str  # of its folder
    number: int
    share: float  # of what is left of the budget
    chooses: bool = True


SCREENING = TuningRound("screening", 1, 0.25)
COMBINING = TuningRound("combinations", 2, 1 / 3)
CONFIRMING = TuningRound("confirmed", 0, 1.0, chooses=False)


@dataclass(frozen=True)
class Tuner:
    """Carries out rounds. `request` is the request of the confirmation, still without libraries."""

    request: Request
    folder: Path
    options: HowOptions
    whole: WholeBudget
    afresh: bool  # whether the folder holds a complete tuning, which is then measured anew

    def measured(self, stage: TuningRound, arms: Sequence[Arm]) -> analysis.Analysis | None:
        """The results of a round, measured now or earlier; None if the round is interrupted now.

        Raises HeaplabError if the first arm, the baseline, gives no figure.
        """
        (request, share), place = self.request_of(stage, arms), self.folder / stage.name
        if not self.afresh and is_measured(place, request):
            note(f"{place}: was measured before")
        else:
            if not self.options.quiet:
                note(f"{stage.name}: {', '.join(arm.allocator for arm in arms[1:])}")
            opened, needed = opened_for(request, place, replace(self.options, output=None), share)
            outlook = BudgetOutlook(told_at(request.precision), request.budget, share=share)
            if run_campaign(opened, needed, self.options, TO_GO_ON, outlook=outlook):
                return None
        measured = analysis.Analysis(load(place))
        runs = [run for run in measured.results.runs if run.allocator == measured.baseline]
        if not any(run.status is Status.OK for run in runs):
            why = runs[0].reason if runs else "it was not run"
            at = measured.results.path
            raise HeaplabError(f"{at}: no run under {measured.baseline} gave a figure: {why}")
        return measured

    def request_of(self, stage: TuningRound, arms: Sequence[Arm]) -> tuple[Request, float]:
        """The request of a round, and its share of the budget."""
        request, share = self.whole.rest(self.request, stage.share)
        of_round = replace(
            request,
            libraries=arms,
            seed=self.request.seed + stage.number * SEEDS,
            precision=max(self.request.precision, COARSE) if stage.chooses else self.request.precision,
        )
        return of_round, share


def is_complete(folder: Path) -> bool:
    """Whether the last tuning in the folder completed its confirmation."""
    paths = [folder / stage.name / store.FILE_NAME for stage in (SCREENING, CONFIRMING)]
    if not all(path.exists() for path in paths):
        return False
    first, last = map(store.load, paths)
    return last.end is not None and last.campaign.started >= first.campaign.started


def without_any_figure(measured: analysis.Analysis) -> dict[str, str]:
    """The arms that gave no figure in any run, each with the first reason."""
    reasons: dict[str, str] = {}
    for run in measured.without_figure:
        reasons.setdefault(run.allocator, run.reason)
    good = {run.allocator for run in measured.results.runs if run.status is Status.OK}
    return {name: reasons[name] for name in measured.allocators if name in reasons and name not in good}
