"""`heaplab gate`: its rule on simulated figures, its exit status, what it writes."""

import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import numpy as np
import pytest
import synthetic
from laboratory import WARM, Call, Laboratory, failure, refusal, success
from rich.console import Console

from heaplab.analysis import (
    Analysis,
    Gate,
    GateCell,
    GateLimits,
    GateOutcome,
    beside,
    blocks_for_limits,
    gate_cells,
)
from heaplab.campaign import plan
from heaplab.campaign.begin_or_resume import Request
from heaplab.commands.gate import gate as gate_command
from heaplab.comparison.benchmark import MOST_BLOCKS
from heaplab.comparison.run_campaign import TO_GO_ON, interrupted, precise_enough
from heaplab.comparison.whole_budget import WholeBudget
from heaplab.errors import HeaplabError
from heaplab.gate import auto_budget, count_instructions, run_gate
from heaplab.gate.fall_back import PointlessTimes, counts_of_silent, offer_of
from heaplab.options.given_options import GateOptions
from heaplab.options.program_command import TYPED
from heaplab.report.terminal.gate_output import (
    as_bencher,
    as_markdown,
    fields,
    headline,
    plain_gate,
    print_gate,
)
from heaplab.results import store
from heaplab.results.records import CONTROL_SUFFIX, Coverage, End, Pilot, Run, Status
from heaplab.stats import GateVerdict, Interval, compare, judge_gate

LIMITS = GateLimits(slower=0.05, memory=0.03, instructions=0.05)
OTHER = Path(__file__).with_name("of_false.json")  # a baseline of another program
QUIET = Interval(1, 0.99, 1.01, 10)

# ---------------------------------------------------------------- the rule


@pytest.mark.parametrize(
    ("low", "estimate", "high", "verdict"),
    [
        (1.06, 1.08, 1.10, GateVerdict.WORSE),
        (1.04, 1.08, 1.12, GateVerdict.COULD_NOT_TELL),
        (0.95, 1.00, 1.05, GateVerdict.NOT_WORSE),
        (0.50, 0.60, 0.70, GateVerdict.NOT_WORSE),
        (0.95, 1.00, 1.06, GateVerdict.COULD_NOT_TELL),
        (0.00, 1.50, np.inf, GateVerdict.COULD_NOT_TELL),
        (np.nan, np.nan, np.nan, GateVerdict.COULD_NOT_TELL),
    ],
)
def test_only_a_whole_interval_beyond_the_limit_fails(
    low: float, estimate: float, high: float, verdict: GateVerdict
) -> None:
    assert judge_gate([Interval(estimate, low, high, 10)], [QUIET], [0.05]) == [verdict]


@pytest.mark.parametrize(
    ("noise", "worse", "fine"),
    [
        (0.04, GateVerdict.WORSE, GateVerdict.NOT_WORSE),
        (0.06, GateVerdict.WORSE, GateVerdict.COULD_NOT_TELL),
        (0.25, GateVerdict.COULD_NOT_TELL, GateVerdict.COULD_NOT_TELL),
    ],
)
def test_a_machine_that_is_noisier_than_the_limit_has_no_answer(
    noise: float, worse: GateVerdict, fine: GateVerdict
) -> None:
    control = Interval(1, 1 / (1 + noise), 1 + noise, 10)
    ratios = [Interval(1.15, 1.10, 1.20, 10), Interval(1.0, 0.99, 1.01, 10)]
    assert judge_gate(ratios, [control] * 2, [0.05] * 2) == [worse, fine]


def test_one_of_many_must_be_further_beyond_its_limit_than_one_alone() -> None:
    near, far = Interval(1.08, 1.052, 1.11, 10), Interval(1.3, 1.29, 1.31, 10)
    assert judge_gate([near], [QUIET], [0.05]) == [GateVerdict.WORSE]
    many = judge_gate([near, far, *[QUIET] * 20], [QUIET] * 22, [0.05] * 22)
    assert many[:2] == [GateVerdict.COULD_NOT_TELL, GateVerdict.WORSE]
    assert set(many[2:]) == {GateVerdict.NOT_WORSE}


def tries(
    ratio: float, noise: float, cells: int = 10, blocks: int = 8, limit: float = 0.05
) -> list[set[str]]:
    """The verdicts of 100 gates over cells whose times vary by `noise`; NEW takes `ratio` times in one."""
    generator = np.random.default_rng(7)
    found = []
    for _ in range(100):
        ratios, controls = [], []
        for cell in range(cells):
            old, again, new = np.exp(generator.normal(0, noise, (3, blocks)))
            new *= ratio if cell == 0 else 1
            ratios.append(compare(list(old), list(new)))
            controls.append(compare(list(old), list(again)))
        found.append(set(judge_gate(ratios, controls, [limit] * cells)))
    return found


@pytest.mark.parametrize(("ratio", "noise"), [(1.0, 0.005), (1.0, 0.03), (1.0, 0.2), (1.05, 0.02)])
def test_what_is_equal_or_as_slow_as_it_may_be_passes_in_95_of_100_gates(ratio: float, noise: float) -> None:
    assert sum(GateVerdict.WORSE not in verdicts for verdicts in tries(ratio, noise)) >= 95


def test_eight_percent_slower_fails_in_95_of_100_gates() -> None:
    assert sum(GateVerdict.WORSE in verdicts for verdicts in tries(1.08, 0.003)) >= 95


def test_of_what_is_noisy_nothing_is_said() -> None:
    for ratio in (1.0, 1.1):
        assert all(verdicts == {GateVerdict.COULD_NOT_TELL} for verdicts in tries(ratio, 0.3))


# ---------------------------------------------------------------- on results


def simulated(tmp_path: Path, effect: synthetic.Effect | synthetic.Effects, **more: object) -> list[GateCell]:
    records = synthetic.campaign(["old", "new"], synthetic.experiments()[:2], effect=effect, **more)
    return gate_cells([synthetic.analysis_of(records, tmp_path)], LIMITS)


def simulated_analysis(tmp_path: Path) -> Analysis:
    return synthetic.analysis_of(synthetic.campaign(["old", "new"], synthetic.experiments()[:1]), tmp_path)


def is_worse(cell: GateCell) -> bool:
    return cell.verdict is GateVerdict.WORSE


def gate_options(**given: object) -> GateOptions:
    """The options of a gate as click gives them, with their defaults."""
    every = {
        "quiet": True,
        "suite": None,
        "source": None,
        "instructions": "counters",
        "max_slower": 0.05,
        "max_memory": 0.03,
        "max_instructions": None,
    }
    return GateOptions(**every | given)


def slow_with_two_threads(name: str, cell: dict) -> tuple[float, float]:
    return (1.3 if name == "new" and cell["threads"] == 2 else 1.0), 1.0


def test_the_cells_that_are_worse_are_named_with_their_metric(tmp_path: Path) -> None:
    found = simulated(tmp_path, slow_with_two_threads)
    worse = [comparison for comparison in found if comparison.verdict is GateVerdict.WORSE]
    assert {dict(comparison.cell)["threads"] for comparison in worse} == {2}
    assert {comparison.metric for comparison in worse} == {"allocation_time", "throughput"}
    assert all(comparison.ratio.estimate == pytest.approx(1.3, rel=0.05) for comparison in worse)
    assert headline(Gate(found)).startswith("WORSE: ")


def test_what_the_machine_could_not_tell_is_said(tmp_path: Path) -> None:
    cells = simulated(tmp_path, {"new": (1.08, 1.0)}, noise=0.3)
    assert all(cell.verdict is not GateVerdict.WORSE for cell in cells)
    assert headline(Gate(cells)).startswith("COULD NOT TELL ")
    assert "could not tell: noise of " in as_markdown(Gate(cells), "")


def larger_at_the_end(run: Run) -> Run:
    *before, (at, resident, tables) = run.process.memory
    return synthetic.with_process(run, memory=[*before, (at, int(1.13 * resident), tables)])


@pytest.mark.parametrize(
    ("changed", "worse"),
    [
        (lambda run: synthetic.with_process(run, mean_memory=1.13 * run.process.mean_memory), "mean-memory"),
        (larger_at_the_end, "end-memory"),
    ],
)
def test_memory_is_judged_at_its_peak_in_the_mean_and_at_the_end(
    tmp_path: Path, changed: Callable[[Run], Run], worse: str
) -> None:
    every = {cell.measure for cell in simulated(tmp_path, {"new": (1.0, 1.04)}) if is_worse(cell)}
    assert every == {"memory", "mean-memory", "end-memory"}
    records = synthetic.campaign(["old", "new"], synthetic.experiments()[:1], effect={})
    altered = synthetic.of_runs(records, lambda run: changed(run) if run.allocator == "new" else run)
    found = gate_cells([synthetic.analysis_of(altered, tmp_path)], LIMITS)
    assert {cell.measure for cell in found if is_worse(cell)} == {worse}


@pytest.mark.parametrize(
    ("typed", "limits"),
    [
        ({}, (0.05, 0.05)),
        ({"max_slower": 0.03}, (0.03, 0.03)),
        ({"max_instructions": 0.01}, (0.01, 0.01)),
        ({"max_slower": 0.03, "max_instructions": 0.01}, (0.03, 0.01)),
    ],
)
def test_one_limit_governs_time_and_counts_unless_two_are_given(
    typed: dict[str, float], limits: tuple[float, float]
) -> None:
    options = gate_options(**typed)
    with click.Context(gate_command) as context:
        context.meta[TYPED] = typed
        found = run_gate.limits_of(options)
        assert run_gate.precision_of(options, found) == min(0.02, limits[0] / 2)
    assert (found.slower, found.instructions) == limits


@pytest.mark.parametrize(
    ("limit", "shown"), [(0.1, "1.00×"), (0.05, "1.004×"), (0.01, "1.004×"), (0.005, "1.0040×")]
)
def test_figures_have_as_many_digits_as_their_limit_needs(tmp_path: Path, limit: float, shown: str) -> None:
    cell = replace(simulated(tmp_path, {})[0], ratio=Interval(1.004, 1.003, 1.005, 10), limit=limit)
    assert fields(cell)[2] == shown
    assert len(fields(cell)[5]) == len(shown)


# ---------------------------------------------------------------- counts in place of times


def request_of_simulated() -> Request:
    items = synthetic.experiments()[:1]
    works = {item.workload: synthetic.WORKLOADS[item.workload] for item in items}
    arms = [synthetic.library(name) for name in ("old", "new")]
    return Request(experiments=items, workloads=works, scale="quick", libraries=arms, command=["heaplab"])


@pytest.mark.parametrize(
    ("noise", "budget", "ends"),
    [
        (0.3, 600.0, True),  # times need hours, counts minutes
        (0.3, 60.0, False),  # counts have no room either
        (0.3, None, False),
        (0.001, 600.0, False),  # times tell
    ],
)
def test_times_end_where_they_need_more_than_counts_leave_of_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noise: float, budget: float | None, ends: bool
) -> None:
    monkeypatch.setattr("heaplab.machine.callgrind.shutil.which", str)
    records = synthetic.campaign(["old", "new"], synthetic.experiments()[:1], noise=noise, effect={})
    of_times = replace(LIMITS, memory=0.9)
    rule = PointlessTimes(request_of_simulated(), of_times, WholeBudget(budget))
    assert rule(synthetic.analysis_of(records, tmp_path)) is ends


def test_without_intervals_times_go_on_while_a_round_fits_beside_the_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heaplab.machine.callgrind.shutil.which", str)
    records = synthetic.campaign(["old", "new"], synthetic.experiments()[:1], blocks=2, effect={})
    measured = synthetic.analysis_of(records, tmp_path)
    offer = offer_of(request_of_simulated(), measured, gate_cells([measured], LIMITS))
    for spare, ends in ((1.0, True), (60.0, False)):
        whole = WholeBudget(offer.seconds + spare)
        assert PointlessTimes(request_of_simulated(), LIMITS, whole)(measured) is ends


def test_counts_that_have_no_room_are_not_begun_and_the_budget_that_has_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("heaplab.machine.callgrind.shutil.which", str)
    records = synthetic.campaign(["old", "new"], synthetic.experiments()[:1], noise=0.3, effect={})
    measured = synthetic.analysis_of(records, tmp_path)
    whole = WholeBudget(20.0, began=time.monotonic() - 15)
    asked = (measured, request_of_simulated(), tmp_path, LIMITS, gate_options(auto=True), whole)
    assert counts_of_silent(*asked) == []
    assert re.search(r"about \d+s, and [45]s are left: --budget \d+s has room", capsys.readouterr().err)


def test_what_was_spent_since_the_command_began_is_missing_in_the_budget_of_what_is_measured_first() -> None:
    request = replace(request_of_simulated(), budget=20.0)
    whole = WholeBudget(20.0, gate_options(began=time.monotonic() - 15).began)
    (all_of_it, share), (half, part) = whole.rest(request), whole.rest(request, 0.5)
    assert 0 < all_of_it.budget <= 5
    assert 0 < half.budget <= 2.5
    assert (share, part) == pytest.approx((all_of_it.budget / 20, half.budget / 20))


def test_a_limit_stays_where_the_baseline_differs_more_from_itself(tmp_path: Path) -> None:
    def uneven(name: str, _cell: dict) -> tuple[float, float]:
        return (1.15 if name.endswith(CONTROL_SUFFIX) else 1.08 if name == "new" else 1.0), 1.0

    cells = simulated(tmp_path, uneven, noise=0.001)
    times = [cell for cell in cells if cell.metric == "allocation_time"]
    assert times
    assert all(time.limit == 0.05 and time.verdict is GateVerdict.COULD_NOT_TELL for time in times)
    assert all("noise of 15." in time.why for time in times)


def test_bencher_gets_values_with_bounds_in_its_own_form(tmp_path: Path) -> None:
    found = as_bencher(Gate(simulated(tmp_path, {"new": (1.3, 1.0)})))
    for measures in found.values():
        for metric in measures.values():
            assert set(metric) <= {"value", "lower_value", "upper_value"}
            assert metric["lower_value"] <= metric["value"] <= metric["upper_value"]
    timed = next(measures for measures in found.values() if "latency" in measures)
    assert timed["time-ratio"]["value"] == pytest.approx(1.3, rel=0.05)
    assert 1e8 < timed["latency"]["value"] < 1e10  # ns


def test_a_table_for_a_pull_request_has_the_worst_first(tmp_path: Path) -> None:
    cells = simulated(tmp_path, slow_with_two_threads)
    lines = as_markdown(Gate(cells), "heaplab gate a|b").splitlines()
    assert lines[0].startswith("**heaplab gate: WORSE: 2 of 24 ")
    table = [line for line in lines if line.startswith("|")]
    assert "| worse |" in table[2]
    assert "| not worse |" in table[-1]
    faults = as_markdown(Gate(cells[:1], beside=beside([simulated_analysis(tmp_path)])), "").splitlines()
    assert "| page faults |" in faults[5]
    assert "| – | not judged |" in faults[5]
    assert {line.count("|") for line in table} == {8}


def test_no_comparison_and_a_lost_run_are_no_pass(tmp_path: Path) -> None:
    assert Gate([]).outcome is GateOutcome.FAILED
    fine = simulated(tmp_path, {"new": (0.5, 0.5)})
    run = next(record for record in synthetic.campaign(["old", "new"]) if isinstance(record, Run))
    lost = run.model_copy(update={"allocator": "new", "status": Status.FAILED, "reason": "exit status 1"})
    assert Gate(fine).outcome is GateOutcome.NOT_WORSE
    assert Gate(fine, [lost]).outcome is GateOutcome.FAILED
    assert headline(Gate(fine, [lost])) == "FAILED: 1 run gave no figure: new: exit status 1."
    assert Gate(simulated(tmp_path, {"new": (2, 2)}), [lost]).outcome is GateOutcome.WORSE


LITTLE = Coverage(program="x", memory=100 << 20, by_malloc=10 << 20, mapped=90 << 20)


def test_where_malloc_explains_little_no_outcome_is_sure(tmp_path: Path) -> None:
    fine = Gate(simulated(tmp_path, {"new": (0.5, 0.5)}))
    little = replace(fine, coverage=[LITTLE])
    assert little.outcome is fine.outcome
    unsure = "Not sure: malloc explains only 10.0 MiB of 100 MiB."
    assert headline(little) == f"{headline(fine)} {unsure}"
    table = as_markdown(little, "")
    assert unsure in table.splitlines()[0]
    assert "90.0 MiB mapped by the program outside malloc" in table
    console = Console(width=100, color_system=None)
    with console.capture() as capture:
        print_gate(little, console)
    assert "90.0 MiB no malloc library can change" in " ".join(capture.get().split())
    told = plain_gate(little)
    assert told["says"].endswith(unsure)
    assert [coverage["by_malloc"] for coverage in told["covers"]] == [10 << 20]
    assert plain_gate(fine)["covers"] == []


def test_a_gate_tells_what_the_pilot_saw(tmp_path: Path) -> None:
    results = synthetic.analysis_of(synthetic.campaign(["old", "new"]), tmp_path).results
    pilot = Pilot(wall_time=1.0, executions=1, coverage=[LITTLE])
    seen = replace(results, campaign=results.campaign.model_copy(update={"pilot": pilot}))
    assert run_gate.judged([results], LIMITS).coverage == ()
    assert run_gate.judged([results, seen], LIMITS).coverage == [LITTLE]


def test_without_a_comparison_bencher_gets_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "gate.json"
    run_gate.write_bencher(Gate(simulated(tmp_path, {"new": (1.3, 1.0)})), path)
    assert json.loads(path.read_text())
    run_gate.write_bencher(Gate([]), path)
    assert not path.exists()
    assert f"{path}: not written, because nothing was compared" in capsys.readouterr().err


# ---------------------------------------------------------------- end to end


@pytest.fixture
def suite(lab: Laboratory, libraries: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Call:
    """Calls the gate on the fake suite with libraries by name."""
    monkeypatch.chdir(lab.out.parent)

    def call(old: str, new: str, *words: object) -> tuple[int, str]:
        return lab.heaplab("gate", libraries[old], libraries[new], "--suite", "fake", *WARM, *words)

    return call


def test_a_planted_slow_down_ends_with_status_3_and_stands_in_every_output(
    suite: Call, tmp_path: Path
) -> None:
    outputs = ("--markdown", "gate.md", "--junit", "gate.xml", "--bencher", "gate.json")
    printed = success(suite("same", "slow", *outputs), 3)
    assert "WORSE: 2 of" in printed
    assert "WORSE" in (tmp_path / "gate.md").read_text()
    cases = ElementTree.parse(tmp_path / "gate.xml").getroot().iter("testcase")
    failed = [case.get("name") for case in cases if case.find("failure") is not None]
    assert failed == ["fake/one size 1: time", "fake/one size 2: time"]
    assert json.loads((tmp_path / "gate.json").read_text())["fake/one size 1"]["time-ratio"]["value"] > 1.09


def test_a_limit_above_the_slow_down_lets_it_pass(suite: Call) -> None:
    printed = success(suite("same", "slow", "--max-slower", "15%", "--json"))
    assert json.loads(printed)["failed"] is False


@pytest.mark.parametrize("new", ["slow", "same"])
def test_the_same_twice_passes_and_so_does_what_is_faster(suite: Call, new: str) -> None:
    assert suite("slow", new)[0] == 0


def test_a_new_one_that_crashes_is_no_pass(suite: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CRASH", "libslow.so")
    printed = failure(suite("same", "slow"))
    assert "killed by SIGABRT" in printed


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (["false"], "exit status 1"),
        (["sh", "-c", "exit 3"], "exit status 3"),
        (["sh", "-c", "kill -9 $$"], "killed by SIGKILL"),
        (["ls", "/no/such/file"], "exit status 2"),
    ],
)
def test_a_gate_that_compared_nothing_fails_in_every_output(
    lab: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: list[str], reason: str
) -> None:
    monkeypatch.chdir(tmp_path)

    def says(text: str) -> bool:
        found = re.search(f"runs gave no figure: old: {reason}.*; nothing was compared", text, re.DOTALL)
        return found is not None

    def gate(*words: str) -> str:
        return failure(lab.heaplab("gate", "glibc", "glibc", *words, *WARM, "--", *program))

    printed = gate("--markdown", "gate.md", "--junit", "gate.xml")
    assert says(printed)
    assert printed.startswith("FAILED: ")
    assert says((tmp_path / "gate.md").read_text().splitlines()[0])
    suite = ElementTree.parse(tmp_path / "gate.xml").getroot().find("testsuite")
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1")
    printed = gate("--json", "-o", str(tmp_path / "again"))
    found = json.loads(printed.splitlines()[0])
    assert (found["failed"], found["outcome"], found["cells"]) == (True, "failed", [])
    assert says(found["says"])


def test_what_the_machine_could_not_tell_fails_if_asked_to(suite: Call) -> None:
    words = ("--budget", "1ms", "--json")  # two blocks allow no interval
    status, printed = suite("same", "same", *words)
    found = json.loads(printed[printed.index("{") :])
    assert (status, found["failed"], found["outcome"]) == (0, False, "could not tell")
    assert suite("same", "same", "--strict", *words)[0] == 4
    assert suite("same", "slow", "--strict")[0] == 3


def test_an_automatic_budget_says_what_the_limits_need_and_goes_on(
    suite: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auto_budget, "FIRST_LOOK_S", 0.001)
    monkeypatch.setattr(auto_budget, "MOST_S", 5.0)
    status, printed = suite("same", "slow", "--budget", "auto")
    assert "the limits need more blocks to say how long they take here; going on for 5s" in printed
    assert (status, "WORSE: " in printed) == (3, True)


@pytest.mark.parametrize(
    ("words", "precision"),
    [((), 0.02), (("--max-slower", "2%"), 0.01), (("--max-slower", "2%", "--precision", "3%"), 0.03)],
)
def test_ratios_are_measured_to_half_of_the_limit(
    suite: Call, tmp_path: Path, words: tuple[str, ...], precision: float
) -> None:
    suite("same", "same", "--budget", "1ms", *words)
    assert store.load(tmp_path / "out" / "gate" / store.FILE_NAME).campaign.precision == precision


def test_a_gate_goes_on_until_memory_is_known_to_half_of_its_limit_too() -> None:
    generator = np.random.default_rng(1)

    def noisy(run: Run) -> Run:
        assert run.process
        peak = round(run.process.peak_memory * generator.uniform(0.9, 1.1))
        return run.model_copy(update={"process": run.process.model_copy(update={"peak_memory": peak})})

    records = synthetic.campaign(["old", "new"], synthetic.experiments()[:1], noise=0.001, drift=0)
    campaign = records[0]
    for comparison in plan.comparisons(campaign):
        cells = {cell.key for cell in comparison.cells}
        for shaken, limits, precise in ((False, LIMITS, True), (True, None, True), (True, LIMITS, False)):
            every = synthetic.of_runs(records, noisy) if shaken else records
            runs = [each for each in every if isinstance(each, Run) and each.key in cells]
            assert precise_enough(campaign, {}, (), limits)(comparison, runs) is precise


@pytest.mark.parametrize("budget", ["1ms", "auto"])
def test_the_budget_that_is_given_decides_how_many_blocks_a_gate_has(
    suite: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget: str
) -> None:
    monkeypatch.setattr(auto_budget, "FIRST_LOOK_S", 0.001)
    monkeypatch.setattr(auto_budget, "MOST_S", 0.001)
    suite("same", "same", "--budget", budget)
    campaign = store.load(tmp_path / "out" / "gate" / store.FILE_NAME).campaign
    assert {item["quick"]["blocks_most"] for item in campaign.experiments} == {MOST_BLOCKS}


def test_a_budget_that_ends_before_anything_is_measured_is_named(tmp_path: Path) -> None:
    begun = [record for record in synthetic.campaign(["old", "new"]) if not isinstance(record, Run | End)]
    begun[0] = begun[0].model_copy(update={"budget": 15.0})
    path = synthetic.write([*begun, End(reason="budget")], tmp_path / "results.jsonl")
    with pytest.raises(HeaplabError, match="the budget was spent before anything was measured"):
        run_gate.judged([store.load(path)], LIMITS)


def test_a_count_takes_the_place_of_a_time_that_could_not_tell(tmp_path: Path) -> None:
    records = synthetic.campaign(["old", "new"], synthetic.experiments()[:1], noise=0.3)
    noisy = synthetic.analysis_of(records, tmp_path)
    before = gate_cells([noisy], LIMITS)
    assert Gate(before).outcome is GateOutcome.COULD_NOT_TELL
    assert 1 < blocks_for_limits(before) < inf
    told = [replace(comparison, told_by_count=True) for comparison in before if comparison.is_time]
    assert {comparison.why for comparison in told} == {"instructions tell"}
    assert Gate(told).outcome is GateOutcome.NOT_WORSE
    assert headline(Gate(told)).startswith("NOT WORSE")


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("glibc", "true"), "'true' is a command, compared with commands alone"),
        (("true", "true", "--", "ls"), "'true' is a command"),
        (("glibc", "glibc FOO=1"), "new: glibc has no setting FOO"),
        (("glibc", "glibc FOO"), "'FOO' is no setting"),
        (("glibc", "glibc", "--suite", "quick", "--", "ls"), "--suite and a program exclude each other"),
        (("glibc", "glibc", "--max-slower", "0%"), "is no percentage"),
        (("no-such", "no-such"), "no-such: no such program"),
        (("true", "true", "--max-instructions", "1%"), "add --instructions callgrind"),
        (("glibc", "glibc", "--max-instructions", "1%", "--", "true"), "add --instructions callgrind"),
        (("glibc", "glibc", "--update"), "--update goes with --baseline"),
        (("--baseline", "no-such.json", "--", "true"), "no-such.json: there is no such file; --update keeps"),
        (("--baseline", "no-such.json", "--update"), "--baseline FILE -- PROGRAM, or"),
        (("--baseline", "no-such.json", "glibc", "glibc", "--", "true"), "takes no OLD"),
        (("--baseline", str(OTHER), "--", "true"), "the baseline of '-- false', not of '-- true'"),
        (("--baseline", __file__, "--", "true"), "not a baseline of heaplab gate"),
    ],
)
def test_what_cannot_be_judged_is_refused_in_one_line(
    lab: Laboratory, words: tuple[str, ...], fault: str
) -> None:
    assert fault in refusal(lab.heaplab("gate", *words))


@pytest.mark.parametrize(
    ("stopped", "raised"),
    [("two blocks have no room", HeaplabError), (interrupted(TO_GO_ON), click.exceptions.Exit)],
)
def test_counts_that_end_early_leave_the_verdict_of_times_unless_the_user_interrupts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stopped: str, raised: type[Exception]
) -> None:
    monkeypatch.setattr(count_instructions.callgrind, "why_absent", lambda: "")
    monkeypatch.setattr(count_instructions, "counting", lambda request: request)
    monkeypatch.setattr(count_instructions, "opened_for", lambda *_: (None, {}))
    monkeypatch.setattr(count_instructions, "run_campaign", lambda *_: stopped)
    monkeypatch.setattr(count_instructions.campaigns, "campaign_of", lambda _: None)
    monkeypatch.setattr(count_instructions.plan, "comparisons", lambda _: [None])
    monkeypatch.setattr(count_instructions, "replace", lambda options, **_: options)
    anything: Any = object()
    with pytest.raises(raised):
        count_instructions.counted(anything, tmp_path, anything, 1.0)
