"""How `heaplab compare --all-publications --budget` divides the time among the experiments.

1. Experiments without a result come first, the shortest first; then those that a budget cut off; then those
   that are complete at less than the publication's scale and may be measured at a larger one. How long the
   first take is tried, as long as that takes no more than TRIED of the budget.
2. When its turn comes, the share of an experiment is the time left, divided by the experiments left: the time
   that an experiment does not use falls to the later ones.
3. An experiment is measured at the largest of its steps (campaign/scale_steps.py) whose forecast, times
   MARGIN, fits its share. An experiment that was begun goes on at its step. Where not even the smallest step
   fits its share, that step may take MOST_SHARES shares if a trial of the baseline says that this is enough;
   otherwise the experiment waits for another call.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Self

from heaplab.campaign.trial import Forecast
from heaplab.comparison.planned_experiment import PlannedExperiment
from heaplab.text.units import counted, duration

MARGIN = 1.3  # a forecast leaves out cells between the first and the last, repetitions and the report
MOST_SHARES = 3  # that the smallest step of an experiment may take
TRIED = 0.25  # of the budget, that trials may take before anything is measured


@dataclass(frozen=True)
class ScaledExperiment:
    """An experiment with all its steps, the largest first."""

    steps: Sequence[PlannedExperiment]
    begun: int | None = None  # position of the step whose results lie in the folder
    complete: bool = False  # whether these results are complete
    least: Forecast | None = None  # of the smallest step; None: no forecast was made

    @classmethod
    def found(cls, steps: Sequence[PlannedExperiment]) -> Self:
        begun = next((place for place, experiment in enumerate(steps) if experiment.earlier()), None)
        return cls(steps, begun, begun is not None and steps[begun].is_complete)

    @property
    def name(self) -> str:
        return self.steps[0].name


@dataclass(frozen=True)
class BudgetTurn:
    """A step that is measured next, with its time limit."""

    planned: PlannedExperiment
    seconds: float | None  # None: no limit
    why: str = ""  # why the scale is not larger


def queue(ahead: Iterable[ScaledExperiment], left: float) -> list[ScaledExperiment]:
    """The experiments in the order of their turns, with a forecast for those without a result.

    An experiment is tried if it may fit in `left` seconds, and as long as trials take no more than their part
    of these; else the forecast is a lower bound.
    """
    known, until = [], time.monotonic() + TRIED * left
    for experiment in sorted(ahead, key=lambda entry: entry.steps[-1].at_least().seconds):
        least = None
        if experiment.begun is None:
            least = experiment.steps[-1].at_least()
            if MARGIN * least.seconds <= left and time.monotonic() < until:
                least = experiment.steps[-1].forecast()
        known.append(replace(experiment, least=least))
    return sorted(
        known,
        key=lambda entry: (entry.complete, entry.least is None, entry.least.seconds if entry.least else 0.0),
    )


def room_in_words(least: Sequence[Forecast], left: float) -> str:
    """How many of the smallest steps `left` seconds have room for, and what all need; "" without any."""
    known = sorted(
        (replace(forecast, seconds=MARGIN * forecast.seconds) for forecast in least if not forecast.unknown),
        key=lambda forecast: forecast.seconds,
    )
    if not known:
        return ""
    fit = sum(until <= left for until in accumulate(forecast.seconds for forecast in known))
    need = f"this machine needs {how_long(sum(known, Forecast()))} for {counted(len(known), 'experiment')}"
    room = f"the budget has room for {fit}, the shortest first"
    if fit == 0:
        room = f"the budget has room for none: the shortest needs {how_long(known[0])}"
    return f"{need} at the smallest scale{'' if fit == len(known) else f'; {room}'}"


def turn_of(scaled_experiment: ScaledExperiment, share: float, left: float) -> BudgetTurn | None:
    """The next step of an experiment; None if no step fits in the time left."""
    if scaled_experiment.begun is not None and not scaled_experiment.complete:
        return BudgetTurn(scaled_experiment.steps[scaled_experiment.begun], share)
    too_large: list[str] = []
    for planned in scaled_experiment.steps[: scaled_experiment.begun]:
        forecast = planned.forecast(share)
        if fits(forecast, share):
            return BudgetTurn(planned, share, why(too_large, share))
        too_large.append(f"{planned.step} would take {how_long(forecast)}")
    if scaled_experiment.least is None:
        return None
    room = min(left, MOST_SHARES * share)
    if scaled_experiment.least.unknown or fits(scaled_experiment.least, room):
        return BudgetTurn(scaled_experiment.steps[-1], room, why(too_large[:-1], share))
    return None


def fits(forecast: Forecast, room: float) -> bool:
    return not forecast.longer and not forecast.unknown and MARGIN * forecast.seconds <= room


def why(too_large: Sequence[str], share: float) -> str:
    return f"{', '.join(too_large)}; its share of the budget was {duration(share)}" if too_large else ""


def how_long(forecast: Forecast) -> str:
    if forecast.unknown:
        return "no one knows how long"
    return f"{'at least' if forecast.longer else 'about'} {duration(forecast.seconds)}"
