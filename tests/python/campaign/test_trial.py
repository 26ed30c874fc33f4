"""How long a campaign takes, by trials."""

import pytest
from laboratory import Laboratory

from heaplab.campaign import plan, trial


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
    one = results.campaign.model_copy(update={"allocators": ["slow"]})
    monkeypatch.setenv("FAKE_CRASH", "libslow.so")
    assert trial.forecast_within(one, results.libraries, {}, room=600).unknown == 1
