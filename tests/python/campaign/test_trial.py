"""How long a campaign takes, by trials."""

import pytest
from laboratory import Laboratory

from heaplab.campaign import plan, trial
from heaplab.results.records import Run, Status


def test_what_fits_is_tried_under_all_arms(finished: Laboratory) -> None:
    results = finished.results()
    found = trial.forecast_within(results.campaign, results.libraries, {}, room=600)
    assert (found.longer, found.unknown) == (0, 0)
    assert found.runs == len(plan.done(results.runs))
    assert found.seconds >= 0.012 * found.runs  # a run of the fake workload waits so long
    assert found.seconds_most == found.seconds * found.runs_most / found.runs


def test_an_arm_that_takes_too_long_is_found_where_the_baseline_is_quick(
    finished: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = finished.results()
    monkeypatch.setenv("FAKE_HANG", "libslow.so")
    quick = trial.forecast(results.campaign, results.libraries, {}, trial.PATIENCE_S)
    assert quick.longer == 0
    found = trial.forecast_within(results.campaign, results.libraries, {}, room=5)
    assert found.longer == 1
    assert found.seconds > 5


def test_without_a_run_that_ends_well_nothing_is_known(
    finished: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = finished.results()
    alone = results.campaign.model_copy(update={"allocators": ["slow"]})
    monkeypatch.setenv("FAKE_CRASH", "libslow.so")
    assert trial.forecast_within(alone, results.libraries, {}, room=600).unknown == 1


def test_cells_that_need_too_much_memory_are_not_tried(
    finished: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = finished.results()
    campaign = results.campaign.model_copy(update={"memory_limit": 1 << 30})
    *_, last = plan.comparisons(campaign)
    tried: list[str] = []

    def measured(measure: trial.RunMeasurer, block: plan.Block, *rest: object, **options: object) -> Run:
        tried.append(block.comparison.key)
        return next(run for run in results.runs if run.status is Status.OK)

    monkeypatch.setattr(trial.RunMeasurer, "__call__", measured)
    needed = {cell.key: 2 << 30 for cell in last.cells}
    trial.forecast_within(campaign, results.libraries, needed, room=600)
    assert tried
    assert last.key not in tried
    everywhere = {cell.key: 2 << 30 for comparison in plan.comparisons(campaign) for cell in comparison.cells}
    assert trial.forecast_within(campaign, results.libraries, everywhere, room=600).unknown == 1
    assert trial.forecast(campaign, results.libraries, everywhere, trial.PATIENCE_S).unknown == 1
