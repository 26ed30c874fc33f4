"""The probe beside a run, and the two rules that may use it, by simulations whose truth is known."""

import subprocess
import sys
from collections.abc import Sequence
from math import inf
from pathlib import Path

import numpy as np
import pytest
import synthetic
from laboratory import Laboratory

from heaplab import stats
from heaplab.campaign import mode, plan
from heaplab.campaign.measure_run import RunMeasurer
from heaplab.records import Probes, Run
from heaplab.stats import Interval, ProbedPair
from heaplab.stats.mode_rules import FEWEST_PROBES, SLOW

STEP = 0.45  # logarithm of how much slower a run is in the slow mode
PROBE_STEP = 0.12  # of its probe


def campaign(
    generator: np.random.Generator, blocks: int, ratio: float = 1.0, share: float = 0.2
) -> list[ProbedPair]:
    """Pairs of a machine with two modes, of which a share of the runs meets the slow one."""

    def side(level: float) -> tuple[float, float]:
        slow = generator.random() < share
        probe = 0.002 * np.exp(PROBE_STEP * slow + generator.normal(0, 0.015))
        return level * np.exp(STEP * slow + generator.normal(0, 0.05)), probe

    pairs = [(*side(1.0), *side(ratio)) for _ in range(blocks)]
    return [ProbedPair(base, other, first, second) for base, first, other, second in pairs]


def plain(pairs: Sequence[ProbedPair]) -> Interval:
    return stats.controlled(pairs, 0.0)


def voided(pairs: Sequence[ProbedPair]) -> Interval:
    probes = [probe for pair in pairs for probe in (pair.base_probe, pair.other_probe)]
    return plain(stats.without_slow(pairs, stats.usual_probe(probes)))


def with_variate(pairs: Sequence[ProbedPair]) -> Interval:
    return stats.controlled(pairs, stats.slope([pairs]))


def test_without_a_slope_nothing_changes() -> None:
    pairs = campaign(np.random.default_rng(1), 12)
    found, known = plain(pairs), stats.compare([p.base for p in pairs], [p.other for p in pairs])
    assert (found.estimate, found.low, found.high) == pytest.approx((known.estimate, known.low, known.high))


@pytest.mark.parametrize("rule", [voided, with_variate])
@pytest.mark.parametrize("ratio", [1.0, 1.1])
def test_a_rule_narrows_intervals_covers_the_truth_and_has_no_bias(rule, ratio) -> None:  # type: ignore[no-untyped-def]
    generator = np.random.default_rng(3)
    campaigns = [campaign(generator, 30, ratio) for _ in range(400)]
    before, after = [plain(pairs) for pairs in campaigns], [rule(pairs) for pairs in campaigns]
    widths = [np.median([found.half_width for found in by]) for by in (before, after)]
    assert widths[1] < 0.8 * widths[0]
    assert np.mean([found.low <= ratio <= found.high for found in after]) > 0.92
    assert np.mean([np.log(found.estimate) for found in after]) == pytest.approx(np.log(ratio), abs=0.01)


@pytest.mark.parametrize("rule", [voided, with_variate])
def test_a_rule_costs_little_where_there_is_no_slow_mode(rule) -> None:  # type: ignore[no-untyped-def]
    generator = np.random.default_rng(4)
    campaigns = [campaign(generator, 20, share=0.0) for _ in range(200)]
    before, after = (np.median([by(pairs).half_width for pairs in campaigns]) for by in (plain, rule))
    assert after < 1.1 * before


def test_the_slope_is_that_of_all_cells_together() -> None:
    generator = np.random.default_rng(5)
    cells = [campaign(generator, 60, ratio) for ratio in (0.5, 1.0, 2.0)]
    assert stats.slope(cells) == pytest.approx(STEP / PROBE_STEP, rel=0.25)
    same = ProbedPair(1.0, 1.1, 0.002, 0.002)
    assert stats.slope([[same] * 5, [same]]) == 0.0


def test_too_few_probes_void_nothing() -> None:
    assert stats.usual_probe([0.002] * (FEWEST_PROBES - 1)) == inf
    usual = stats.usual_probe([0.002] * 15 + [0.003] * 5)
    assert usual == 0.002
    assert stats.is_slow(0.002 * SLOW * 1.001, usual)
    assert not stats.is_slow(0.002 * SLOW * 0.999, usual)


def test_a_run_records_its_probes(finished: Laboratory) -> None:
    left = iter([0.002, 0.003])
    campaign = finished.results().campaign
    comparison = plan.comparisons(campaign)[0]
    libraries = finished.results().libraries
    with RunMeasurer(campaign, libraries, probe=lambda: next(left)) as measure:
        run = measure(plan.block(campaign, comparison, 0), comparison.candidates[0], 0, 0)
    assert run.probes is not None
    assert (run.probes.before, run.probes.after) == (0.002, 0.003)


def test_the_probe_takes_time_and_its_absence_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = mode.probe()
    assert seconds is not None
    assert 0 < seconds < 1
    monkeypatch.setattr(mode.native, "helper", lambda _name: None)
    assert mode.probe() is None
    assert mode.probes_of(None, None) is None


TOOL = Path(__file__).parents[2] / "tools" / "mode_rules.py"


def tool(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, TOOL, path], capture_output=True, text=True, check=False)


def test_the_tool_compares_the_rules_on_a_campaign(tmp_path: Path) -> None:
    records = synthetic.campaign(["glibc", "swift"], synthetic.experiments()[:1], faults=False)
    unprobed = tool(synthetic.write(records, tmp_path / "x.jsonl"))
    assert (unprobed.returncode, len(unprobed.stderr.splitlines())) == (2, 1)
    generator = np.random.default_rng(6)
    probed = [
        record.model_copy(update={"probes": Probes(before=probe, after=probe)})
        if isinstance(record, Run)
        else record
        for record in records
        for probe in [0.002 * float(np.exp(generator.normal(0, 0.01)))]
    ]
    done = tool(synthetic.write(probed, tmp_path / "y.jsonl"))
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["rule", "none", "void", "control"]
