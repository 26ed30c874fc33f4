"""How a budget is divided among experiments: whose turn it is, and at which scale."""

import itertools
from dataclasses import dataclass
from math import inf
from typing import Any

import pytest

from heaplab.campaign.trial import Forecast
from heaplab.comparison import divided_budget
from heaplab.comparison.divided_budget import BudgetTurn, ScaledExperiment


@dataclass(frozen=True)
class StepOfSeconds:
    """Stands for a planned experiment whose forecast is known."""

    step: str
    seconds: float
    unknown: int = 0

    def at_least(self) -> Forecast:
        return Forecast(30, 90, self.seconds / 2, longer=1)

    def forecast(self, _room: float | None = None) -> Forecast:
        return Forecast(30, 90, self.seconds, 3 * self.seconds, unknown=self.unknown)


def scaled(*seconds: float, begun: int | None = None, complete: bool = False, unknown: int = 0) -> Any:
    steps: Any = [
        StepOfSeconds(name, each, unknown)
        for name, each in zip(("full", "fewer", "quick"), seconds, strict=True)
    ]
    return ScaledExperiment(steps, begun, complete)


def turn(scaled_experiment: ScaledExperiment, share: float, left: float) -> BudgetTurn | None:
    (known,) = divided_budget.queue([scaled_experiment], inf)
    return divided_budget.turn_of(known, share, left)


def test_what_has_no_result_is_first_and_the_shortest_of_that() -> None:
    long, short = scaled(9000, 900, 90), scaled(3000, 300, 30)
    cut_off, small = scaled(1, 1, 1, begun=2), scaled(2, 2, 2, begun=2, complete=True)
    found = divided_budget.queue([small, cut_off, long, short], inf)
    assert [part.steps for part in found] == [part.steps for part in (short, long, cut_off, small)]


def test_the_largest_step_that_fits_is_measured_and_says_what_does_not() -> None:
    found = turn(scaled(9000, 900, 90), share=1400, left=5000)
    assert (found.planned.step, found.seconds) == ("fewer", 1400)
    assert found.why == "full would take about 2.5 h; its share of the budget was 23.3 min"
    whole = turn(scaled(9000, 900, 90), share=14_000, left=14_000)
    assert (whole.planned.step, whole.why) == ("full", "")


def test_the_smallest_step_may_take_more_than_its_share_but_not_more_than_there_is() -> None:
    found = turn(scaled(9000, 900, 90), share=60, left=200)
    assert (found.planned.step, found.seconds) == ("quick", 180)
    assert "fewer would take about 15 min" in found.why
    assert "quick" not in found.why
    assert turn(scaled(9000, 900, 90), share=60, left=100) is None


def test_what_was_begun_goes_on_at_its_step() -> None:
    found = turn(scaled(1, 1, 1, begun=2), share=60, left=100)
    assert (found.planned.step, found.seconds) == ("quick", 60)


def test_what_is_complete_is_measured_again_only_at_a_larger_scale() -> None:
    assert turn(scaled(9000, 30, 3, begun=2, complete=True), share=60, left=100).planned.step == "fewer"
    assert turn(scaled(9000, 900, 3, begun=2, complete=True), share=60, left=100) is None


def test_without_a_forecast_the_smallest_step_is_measured() -> None:
    found = turn(scaled(1, 1, 1, unknown=1), share=60, left=100)
    assert (found.planned.step, found.seconds) == ("quick", 100)


def test_what_the_budget_has_room_for_is_told_before_it_is_spent() -> None:
    least = [Forecast(seconds=seconds) for seconds in (600.0, 30.0, 60.0)]
    told = divided_budget.room_in_words([*least, Forecast(unknown=1)], 120.0)
    assert told.startswith("this machine needs about 14.9 min for 3 experiments at the smallest scale")
    assert told.endswith("; the budget has room for 2, the shortest first")
    assert "room" not in divided_budget.room_in_words(least, 2000.0)


def test_nothing_is_tried_that_cannot_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor once the trials have taken their part of the budget, on a clock that advances at each look."""
    short, long = scaled(9, 9, 9), scaled(3000, 300, 300)
    least = [part.least for part in divided_budget.queue([long, short], left=100.0)]
    assert [(forecast.seconds, forecast.longer) for forecast in least] == [(9, 0), (150, 1)]
    assert divided_budget.room_in_words(least, 0.0).endswith(
        "needs at least 3.44 min for 2 experiments at the smallest scale; "
        "the budget has room for none: the shortest needs about 11.7 s"
    )
    clock = itertools.count(step=20)
    monkeypatch.setattr(divided_budget.time, "monotonic", lambda: float(next(clock)))
    least = [part.least for part in divided_budget.queue([short, short], left=100.0)]
    assert sorted(forecast.longer for forecast in least) == [0, 1]
