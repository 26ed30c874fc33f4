"""`--budget auto`: how much time the limits of a gate need on this machine, told before it is spent."""

from math import ceil, isfinite
from pathlib import Path

from heaplab import analysis
from heaplab.campaign import begin_or_resume as campaigns
from heaplab.campaign.begin_or_resume import Request
from heaplab.comparison.run_campaign import TO_GO_ON, Pointless, needed_by, run_campaign
from heaplab.options.given_options import GateOptions
from heaplab.options.option_types import LONGEST_AUTO_S
from heaplab.options.quantities import show_duration
from heaplab.results import store
from heaplab.results.store import Results
from heaplab.screen.notes import note

FIRST_LOOK_S = 60.0  # of measuring, from which the variation of the runs is estimated
MOST_S = LONGEST_AUTO_S
SPARE = 1.1  # factor of the forecast, because the variation is an estimate


def go_on(
    path: Path,
    request: Request,
    limits: analysis.GateLimits,
    options: GateOptions,
    pointless: Pointless | None,
) -> str:
    """Tell how much more time the limits need after the first look, and measure for that time.

    Returns why measuring was stopped, "" if it was not.
    """
    results = store.load(path)
    if results.end is None or results.end.reason != "budget":
        return ""
    measured = analysis.Analysis(results)
    blocks = analysis.blocks_for_limits(analysis.gate_cells([measured], limits))
    more = SPARE * blocks * analysis.seconds_of_round(measured.between_allocators)
    if more == 0 or (pointless and pointless(measured)):
        return ""
    budget = min(more, MOST_S)
    going_on = f"; going on for {in_words(budget)}" if budget < more else ""
    need = f"{in_words(more)} more" if isfinite(more) else "more blocks to say how long they take"
    note(f"the limits need {need} here{going_on}")
    return measure_longer(results, request, budget, options, limits, pointless)


def measure_longer(
    results: Results,
    request: Request,
    budget: float,
    options: GateOptions,
    limits: analysis.GateLimits,
    pointless: Pointless | None = None,
) -> str:
    """Measure for `budget` seconds more. Returns why measuring was stopped, "" if it was not."""
    arms = {arm.allocator: arm for arm in request.libraries}
    opened = campaigns.resume(results, arms, budget)
    return run_campaign(opened, needed_by(results.campaign), options, TO_GO_ON, pointless, limits=limits)


def in_words(seconds: float) -> str:
    return show_duration(float(ceil(seconds)))
