"""Why an allocator is slow or fast: only what the counts of its runs show."""

from collections.abc import Callable
from pathlib import Path

import pytest
import synthetic

from heaplab.analysis import Analysis
from heaplab.report.machine_readable import json_summary
from heaplab.report.words.causes import causes, sentences
from heaplab.results.records import Metric, Run

PROGRAM = [synthetic.experiments()[3]]
TIMES = {"glibc": (1.0, 1.0), "slow": (2.0, 1.0), "swift": (0.5, 1.0)}


def counted(run: Run, faults: float = 1.0, system: float = 1.0) -> Run:
    """A run with so many times glibc's page faults and system time, whatever its time."""
    noise = 1 + 0.002 * (run.order % 5)
    counts = {"minor_faults": int(10_000 * faults * noise), "system_time": 0.1 * system * noise}
    return synthetic.with_process(run, user_time=0.3, **counts)


def analysis_of(path: Path, change: Callable[[Run], Run], times: synthetic.Effects = TIMES) -> Analysis:
    records = synthetic.campaign(times, PROGRAM, drift=0.0, noise=0.003, effect=times)
    return synthetic.analysis_of(synthetic.of_runs(records, change), path)


def said(analysis: Analysis) -> list[str]:
    return sentences(analysis, "program", analysis.summaries("program"))


def test_the_extremes_are_told_with_what_goes_with_them(tmp_path: Path) -> None:
    factors = {"slow": {"faults": 3.1, "system": 2.5}, "swift": {"faults": 1.0, "system": 0.5}}
    analysis = analysis_of(tmp_path, lambda run: counted(run, **factors.get(run.allocator, {})))
    assert said(analysis) == [
        "slow is slowest here: 3.1 times glibc's page faults and 2.5 times its system time. "
        "Of slow's CPU time 46 % is system time.",
        "swift is fastest here: 0.50 times glibc's system time. Of glibc's CPU time 25 % is system time.",
    ]
    found = json_summary.as_plain(analysis)["summaries"]["program"]
    assert found["causes"] == said(analysis)
    assert found["allocators"]["slow"]["page_faults"]["verdict"] == "higher"


def test_what_runs_against_the_difference_is_not_called_its_cause(tmp_path: Path) -> None:
    analysis = analysis_of(tmp_path, lambda run: counted(run, 0.5 if run.allocator == "slow" else 1.0))
    assert said(analysis)[0] == "slow is slowest here, and its page faults and system time do not show why."


def test_nothing_is_said_where_no_difference_in_time_is_shown(tmp_path: Path) -> None:
    equal = dict.fromkeys(TIMES, (1.0, 1.0))
    many = analysis_of(tmp_path, lambda run: counted(run, 3.0 if run.allocator == "slow" else 1.0), equal)
    assert said(many) == []


def test_the_slowest_is_one_of_several_where_another_is_not_told_apart(tmp_path: Path) -> None:
    times = {"glibc": (1.0, 1.0), "slow": (2.0, 1.0), "late": (2.0, 1.0)}
    analysis = analysis_of(tmp_path, counted, times)
    assert " is among the slowest here" in said(analysis)[0]


def test_a_run_whose_system_time_the_kernel_did_not_see_makes_no_ratio(tmp_path: Path) -> None:
    analysis = analysis_of(
        tmp_path, lambda run: counted(run, system=0.0 if (run.allocator, run.block) == ("slow", 2) else 1.0)
    )
    known = {cause.metric: cause.judged for cause in causes(analysis, "program")}
    assert set(known["system_time"]) == {"swift"}
    assert set(known["page_faults"]) == {"slow", "swift"}


def test_instructions_stand_beside_where_workloads_count_them(tmp_path: Path) -> None:
    def with_instructions(run: Run) -> Run:
        count = Metric(value=1e9 * (1.5 if run.allocator == "slow" else 1.0) + run.order, unit="1")
        return synthetic.with_metrics(run, {"instructions": count})

    records = synthetic.campaign(TIMES, synthetic.experiments()[:1], effect=TIMES)
    analysis = synthetic.analysis_of(synthetic.of_runs(records, with_instructions), tmp_path)
    found = {cause.metric: cause.judged for cause in causes(analysis, "synthetic")}
    assert found["instructions"]["slow"].ratio.estimate == pytest.approx(1.5, rel=0.001)
    without = analysis_of(tmp_path / "without", counted)
    assert "instructions" not in {cause.metric for cause in causes(without, "program")}
