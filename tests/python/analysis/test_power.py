"""What more measuring would decide, and where noise comes from, checked against what was planted."""

import json
from dataclasses import replace
from math import inf, isnan
from pathlib import Path

import numpy as np
import pytest
import synthetic
from laboratory import call, success
from rich.console import Console

from heaplab import stats
from heaplab.analysis import Analysis, power_of
from heaplab.report.page import report_page
from heaplab.report.tables import power_table
from heaplab.stats import Interval, Judged, Verdict
from heaplab.stats.forecast import Noise, times_the_blocks

EFFECTS = {"swift": (0.9, 1.0), "near": (0.96, 1.0)}


def judged(ratio: Interval, control: Interval = stats.UNCONTROLLED) -> Judged:
    return Judged(ratio, stats.judge(ratio, control), control)


def pairs(generator: np.random.Generator, blocks: int, noise: float, ratio: float) -> Interval:
    base, other = (np.exp(generator.normal(0, noise, blocks)) for _ in range(2))
    return stats.compare(list(base), list(other * ratio))


@pytest.mark.parametrize(("noise", "ratio"), [(0.08, 0.92), (0.05, 1.08), (0.05, 1.0)])
def test_the_forecast_number_of_blocks_decides(noise: float, ratio: float) -> None:
    """The forecast of many small campaigns is on average what a campaign of that length needs."""
    generator = np.random.default_rng(1)
    found = [times_the_blocks(judged(pairs(generator, 40, noise, ratio)), 1) for _ in range(60)]
    blocks = round(40 * float(np.median(found)))
    enough = [judged(pairs(generator, 2 * blocks, noise, ratio)).verdict for _ in range(60)]
    early = [judged(pairs(generator, max(6, blocks // 4), noise, ratio)).verdict for _ in range(60)]
    assert sum(v is not Verdict.UNDECIDED for v in enough) >= 45
    assert sum(v is not Verdict.UNDECIDED for v in early) <= 30


def test_what_is_decided_takes_no_more_blocks_and_a_larger_family_takes_more() -> None:
    assert times_the_blocks(judged(Interval(0.8, 0.79, 0.81, 20)), 1) == 1
    still_open = judged(Interval(0.9, 0.8, 1.01, 20))
    assert 1 < times_the_blocks(still_open, 1) < times_the_blocks(still_open, 40) < inf
    assert times_the_blocks(judged(Interval(0.9, count=4)), 1) == inf
    assert times_the_blocks(judged(Interval(1 / 1.03, 0.8, 1.2, 20)), 1) == inf  # at the threshold itself


def test_the_control_has_to_become_narrow_as_well() -> None:
    ratio, noisy = Interval(0.9, 0.85, 0.95, 20), Interval(1.0, 0.9, 1.1, 20)
    assert judged(ratio).verdict is Verdict.LOWER
    assert judged(ratio, noisy).why is stats.Why.NOISE_FLOOR
    assert 1.2 < times_the_blocks(judged(ratio, noisy), 1) < 10
    assert (
        times_the_blocks(judged(ratio, Interval(1.2, 1.1, 1.3, 20)), 1) == inf
    )  # no blocks mend a biased machine
    same = Interval(1.0, 0.99, 1.01, 20)
    assert judged(same).verdict is Verdict.SAME
    assert times_the_blocks(judged(same, noisy), 1) == pytest.approx(
        (np.log(0.9) / np.log(1.03)) ** 2, rel=0.1
    )


def test_blocks_grow_with_the_square_of_the_precision_that_is_missing() -> None:
    """Of so many blocks that Student's t is normal: 1.96 standard errors are to shrink from 0.2 to 0.0758."""
    still_open = judged(Interval(0.9, 0.9 * np.exp(-0.2), 0.9 * np.exp(0.2), 10_001))
    times = (0.2 / (-np.log(0.9) - np.log(1.03))) ** 2
    assert times_the_blocks(still_open, 1) == pytest.approx(times, rel=0.03)
    assert stats.more_blocks(still_open, 1, 10) == pytest.approx((times - 1) * 10, rel=0.03)
    assert stats.more_blocks(judged(Interval(0.8, 0.79, 0.81, 20)), 1, 10) == 0


def cell(generator: np.random.Generator, **of: float) -> tuple[list[list[float]], list[list[float]]]:
    """Thirty blocks of six candidates, and the load of others, with deviations by source."""
    shape = (30, 6)
    load = generator.exponential(1.0, shape)
    level = generator.normal(0, of.get("blocks", 0) or 1e-9, shape[0])
    level += of.get("drift", 0) * np.linspace(-1.7, 1.7, shape[0])
    runs = generator.normal(0, of.get("runs", 0) or 1e-9, shape) + of.get("foreign", 0) * (load - 1)
    return np.exp(level[:, None] + runs).tolist(), load.tolist()


@pytest.mark.parametrize("source", ["runs", "foreign", "blocks", "drift"])
def test_the_largest_source_of_noise_is_found(source: str) -> None:
    planted = dict.fromkeys(("runs", "foreign", "blocks", "drift"), 0.02) | {source: 0.1}
    found = stats.noise(*cell(np.random.default_rng(2), **planted))
    assert getattr(found, source) > 0.6
    assert found.runs + found.foreign + found.blocks + found.drift == pytest.approx(1)


def test_a_machine_that_grows_faster_drifts_as_much() -> None:
    assert stats.noise(*cell(np.random.default_rng(2), runs=0.02, drift=-0.1)).drift > 0.9


def test_what_chance_explains_is_no_drift_and_no_load() -> None:
    """A line through 0, 1, 0, 1 explains a fifth of their variance; chance explains a third."""
    times = [[np.exp(0.1 * level)] * 2 for level in (0, 1, 0, 1)]
    found = stats.noise(times, [[0.0, 0.0]] * 4)
    assert (found.blocks, found.drift) == (1, 0)


def test_runs_that_are_faster_under_load_are_not_slowed_by_it() -> None:
    assert stats.noise(*cell(np.random.default_rng(2), runs=0.02, foreign=-0.1)).foreign == 0


def test_noise_is_not_told_from_little() -> None:
    assert stats.noise([[1.0, 2.0]] * 2, [[0.0, 0.0]] * 2) is None
    assert stats.noise([[1.0]] * 9, [[0.0]] * 9) is None
    assert stats.noise([[1.0, 2.0]] * 9, [[0.0, 0.0]] * 9) == Noise(0, 0, 0, 0, 0)


def analysis_of(path: Path, noise: float) -> Analysis:
    which = synthetic.experiments()[:2]
    records = synthetic.campaign(["glibc", *EFFECTS], which, noise=noise, effect=EFFECTS)
    return synthetic.analysis_of(records, path)


def test_a_precise_campaign_has_decided_all_and_a_noisy_one_has_not(tmp_path: Path) -> None:
    sure, unsure = (power_of(analysis_of(tmp_path / str(noise), noise)) for noise in (0.001, 0.1))
    assert all(outlook.decided == len(outlook.judged) and not outlook.more for outlook in sure.outlooks)
    assert any(outlook.more for outlook in unsure.outlooks)
    first = unsure.outlooks[0]
    assert first.for_share(0.5) <= first.for_share(1.0)
    assert first.blocks == 10
    assert unsure.noise.deviation == pytest.approx(0.1, rel=0.2)


def test_the_time_left_is_that_of_the_comparison_that_takes_longest(tmp_path: Path) -> None:
    power = power_of(analysis_of(tmp_path, 0.03))
    longest = max(outlook.for_share(1.0) for outlook in power.outlooks) * power.round_s
    assert power.seconds_left == longest > 0
    assert isnan(
        replace(power, outlooks=[replace(outlook, more=[]) for outlook in power.outlooks]).seconds_left
    )


def test_a_round_takes_as_long_as_its_runs(tmp_path: Path) -> None:
    analysis = analysis_of(tmp_path, 0.001)
    runs = [run.process.wall_time + 0.05 for run in analysis.results.runs if run.process]
    assert power_of(analysis).round_s == pytest.approx(sum(runs) / 10)


def test_the_command_tells_minutes_and_sources(tmp_path: Path) -> None:
    path = analysis_of(tmp_path, 0.1).results.path
    printed = success(call("report", path.parent, "--form", "power"))
    assert "comparisons decided." in printed
    assert "from run to run" in printed
    assert "--pin" in printed
    found = json.loads(success(call("report", path.parent, "--form", "power", "--json")))
    assert {outlook["name"] for outlook in found["outlooks"]} == {
        "acdc-ismm13/fig07",
        "scalloc-oopsla15/fig09",
    }
    assert found["noise"]["runs"] > 0.5


def test_power_fits_in_eighty_columns(tmp_path: Path) -> None:
    console = Console(width=80, color_system=None, highlight=False)
    with console.capture() as capture:
        power_table.print_power(analysis_of(tmp_path, 0.1), console)
    text = capture.get()
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "all in" in text


@pytest.mark.slow
def test_the_page_says_what_more_measuring_would_decide(tmp_path: Path) -> None:
    page = report_page.render([analysis_of(tmp_path, 0.1)], tmp_path / "report.html")
    assert "What more measuring would decide" in page
    assert "from run to run" in page


def test_results_without_a_run_get_one_line(tmp_path: Path) -> None:
    records = synthetic.campaign(["glibc"], synthetic.experiments()[:1], blocks=0)
    path = synthetic.write(records, tmp_path / "x.jsonl")
    assert call("report", path, "--form", "power") == (2, f"heaplab: {path}: holds no run yet\n")
