"""The schedule, with attempts that only write down what they were asked to do."""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from bare_records import bare_process, bare_run
from rich.console import Console
from test_plan import campaign

from heaplab.campaign import plan
from heaplab.campaign.plan import Block, Candidate
from heaplab.campaign.runner import OVER, Progress, Runner
from heaplab.comparison.progress_bar import ProgressBar
from heaplab.errors import HeaplabError
from heaplab.results import store
from heaplab.results.records import Run, Status
from heaplab.results.store import Store

RUNS_A_BLOCK = 4


@dataclass
class Fake:
    """Attempts that take a second of a clock of their own."""

    outcome: dict[tuple[str, int], Status] = field(default_factory=dict)  # by allocator and attempt
    now: float = 0.0
    asked: list[tuple[str, int, str, int]] = field(default_factory=list)
    stop_after: int | None = None

    def __call__(self, block: Block, candidate: Candidate, order: int, attempt: int) -> Run:
        cell, allocator = candidate
        if len(self.asked) == self.stop_after:
            raise KeyboardInterrupt
        self.now += 1
        self.asked.append((cell.key, block.number, allocator, attempt))
        status = self.outcome.get((allocator, attempt), Status.OK)
        place = {"block": block.number, "order": order, "seed": block.seed, "attempt": attempt}
        return bare_run(*candidate, status, process=bare_process(), **place)

    def clock(self) -> float:
        return self.now


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results.jsonl"


def run_campaign(
    fake: Fake, path: Path, earlier: Sequence[Run] = (), budget: float | None = None, **more: object
) -> str:
    made = campaign().model_copy(update={"budget": budget})
    with Store(path) as opened:
        return Runner(made, fake, opened, runs=list(earlier), clock=fake.clock, **more).run().reason


def stored_runs(path: Path) -> list[Run]:
    return [record for record in store.parse(path.read_bytes()) if isinstance(record, Run)]


def test_blocks_are_run_back_to_back_in_their_shuffled_order(results: Path) -> None:
    fake = Fake()
    assert run_campaign(fake, results) == "blocks"
    assert len(fake.asked) == 4 * 15 * RUNS_A_BLOCK
    comparisons = {item.key: item for item in plan.comparisons(campaign())}
    for begin in range(0, len(fake.asked), RUNS_A_BLOCK):
        keys, numbers, allocators, _ = zip(*fake.asked[begin : begin + RUNS_A_BLOCK], strict=True)
        assert len(set(keys)) == 1
        assert len(set(numbers)) == 1
        order = plan.block(campaign(), comparisons[keys[0]], numbers[0]).order
        assert allocators == tuple(candidate.allocator for candidate in order)


def test_every_cell_gets_its_block_before_any_gets_the_next(results: Path) -> None:
    fake = Fake()
    run_campaign(fake, results)
    numbers = [number for _, number, _, _ in fake.asked]
    assert numbers == sorted(numbers)


def test_order_counts_all_runs(results: Path) -> None:
    run_campaign(Fake(), results)
    assert [run.order for run in stored_runs(results)] == list(range(4 * 15 * RUNS_A_BLOCK))


def test_a_cell_that_is_precise_at_a_look_gets_no_more_blocks(results: Path) -> None:
    fake, looked = Fake(), []

    def precise(comparison: plan.Comparison, runs: Sequence[Run]) -> bool:
        looked.append((comparison.key, len(runs)))
        return dict(comparison.cells[0].swept)["n"] == 1 or len(runs) >= 8 * RUNS_A_BLOCK

    assert run_campaign(fake, results, precise=precise) == "precise"
    blocks = {key: 1 + max(number for k, number, _, _ in fake.asked if k == key) for key, *_ in fake.asked}
    assert sorted(blocks.values()) == [5, 5, 8, 8]
    assert {count // RUNS_A_BLOCK for _, count in looked} == {5, 8}


def test_the_budget_ends_it_between_blocks_after_two_rounds(results: Path) -> None:
    fake = Fake()
    assert run_campaign(fake, results, budget=100) == "budget"
    assert len(fake.asked) == 100


def test_what_cannot_fit_is_told_before_half_of_the_budget_is_gone(results: Path) -> None:
    fake = Fake()
    with pytest.raises(HeaplabError, match=r"two blocks of every cell take about 32 s.* need --budget 88s"):
        run_campaign(fake, results, budget=20)
    assert fake.now == 5
    fake = Fake()
    assert run_campaign(fake, results, budget=2 * 4 * RUNS_A_BLOCK / OVER) == "budget"


def test_a_run_that_the_budget_ended_is_no_failure_and_ends_the_campaign(results: Path) -> None:
    fake = Fake(outcome={("b", 0): Status.TIMEOUT})
    late = 2 * 4 * RUNS_A_BLOCK + 10
    assert run_campaign(fake, results, budget=late) == "budget"
    assert any(run.status is Status.TIMEOUT for run in stored_runs(results))  # by its own limit
    slow = Fake(now=0.0)

    def cut(block: Block, candidate: Candidate, order: int, attempt: int) -> Run:
        run = slow(block, candidate, order, attempt)
        if order < 3:
            return run
        slow.now = 200.0
        return run.model_copy(update={"status": Status.TIMEOUT})

    other = results.with_name("other.jsonl")
    with Store(other) as opened:
        made = campaign().model_copy(update={"budget": 100})
        assert Runner(made, cut, opened, clock=slow.clock).run().reason == "budget"
    assert [run.status for run in stored_runs(other)] == [Status.OK] * 3


def test_a_void_attempt_is_repeated_once_and_both_are_kept(results: Path) -> None:
    fake = Fake(outcome={("a", 0): Status.VOID})
    run_campaign(fake, results)
    attempts = [attempt for _, _, allocator, attempt in fake.asked if allocator == "a"]
    assert attempts == [0, 1] * 60
    fake = Fake(outcome={("a", 0): Status.VOID, ("a", 1): Status.VOID})
    run_campaign(fake, results)
    assert max(attempt for *_, attempt in fake.asked) == 1


def test_a_crashing_allocator_is_given_up_after_two_blocks_and_the_others_go_on(results: Path) -> None:
    fake = Fake(outcome={("b", 0): Status.FAILED})
    run_campaign(fake, results)
    assert sum(allocator == "b" for _, _, allocator, _ in fake.asked) == 2 * 4
    assert sum(allocator == "a" for _, _, allocator, _ in fake.asked) == 15 * 4


def test_nothing_is_measured_for_a_baseline_alone(results: Path) -> None:
    fake = Fake(outcome={("a", 0): Status.FAILED, ("b", 0): Status.FAILED})
    run_campaign(fake, results)
    assert sum(allocator == "base" for _, _, allocator, _ in fake.asked) == 2 * 4


def test_interrupted_and_resumed_is_the_same_as_never_interrupted(results: Path, tmp_path: Path) -> None:
    whole = Fake()
    run_campaign(whole, tmp_path / "whole.jsonl")
    first, second = Fake(stop_after=37), Fake()
    with pytest.raises(KeyboardInterrupt):
        run_campaign(first, results)
    earlier = stored_runs(results)
    assert len(earlier) == 37
    run_campaign(second, results, earlier)
    assert first.asked + second.asked == whole.asked
    assert [run.order for run in stored_runs(results)] == list(range(len(whole.asked)))


def test_the_budget_counts_what_earlier_sessions_spent(results: Path) -> None:
    first, second = Fake(stop_after=90), Fake()
    with pytest.raises(KeyboardInterrupt):
        run_campaign(first, results)
    run_campaign(second, results, stored_runs(results), budget=100)
    assert len(first.asked) + len(second.asked) == 100


def test_a_budget_does_not_count_what_an_earlier_one_paid_for(results: Path) -> None:
    whole, first, second, third = Fake(), Fake(), Fake(stop_after=20), Fake()
    run_campaign(whole, results.with_name("whole.jsonl"))
    assert run_campaign(first, results, budget=100) == "budget"
    with pytest.raises(KeyboardInterrupt):
        run_campaign(second, results, stored_runs(results), budget=60, runs_of_earlier_budgets=100)
    assert (
        run_campaign(third, results, stored_runs(results), budget=60, runs_of_earlier_budgets=100) == "budget"
    )
    assert first.asked + second.asked + third.asked == whole.asked[:160]


def test_a_listener_hears_the_pace_of_all_sessions_and_the_budget_of_this_one(results: Path) -> None:
    heard = []
    run_campaign(Fake(), results, budget=100)
    run_campaign(
        Fake(), results, stored_runs(results), budget=1000, runs_of_earlier_budgets=100, listen=heard.append
    )
    assert heard[50].elapsed == pytest.approx(50)
    assert heard[50].remaining == pytest.approx(4 * 15 * RUNS_A_BLOCK - 150)


def test_a_listener_hears_what_comes_next_and_how_long_at_most(results: Path) -> None:
    heard = []
    run_campaign(Fake(), results, budget=100, listen=heard.append)
    assert heard[0].finished == 0
    assert heard[50].remaining == pytest.approx(50)
    assert heard[50].most == 4 * 15 * RUNS_A_BLOCK


# ---------------------------------------------------------------- time left


def told(remaining: float, expected: float | None) -> Progress:
    cell = plan.comparisons(campaign())[0].cells[0]
    return Progress(plan.Candidate(cell, "a"), 0, 3, 10, 1.0, remaining, limit=20, expected=expected)


def test_time_left_counts_down_while_a_run_goes_on() -> None:
    assert [told(60, 5).left(t) for t in (0, 3, 5)] == [60, 57, 55]


def test_a_run_that_takes_longer_than_expected_may_go_on_until_its_limit() -> None:
    assert [told(9, 5).left(t) for t in (4, 6, 19, 20)] == [5, 14, 1, 0]
    assert told(9, None).left(1) == 19


def test_what_is_left_is_never_less_than_two_rounds(results: Path) -> None:
    heard = []
    run_campaign(Fake(), results, budget=30, listen=heard.append)
    whole = 2 * 4 * RUNS_A_BLOCK
    assert [heard[n].remaining for n in (6, whole - 1)] == [pytest.approx(whole - 6), pytest.approx(1)]
    assert heard[RUNS_A_BLOCK * 4].expected == pytest.approx(1)


def test_the_budget_counts_what_was_spent_before_the_first_run(results: Path) -> None:
    fake = Fake()
    run_campaign(fake, results, budget=100, spent=40)
    assert len(fake.asked) == 60


def test_the_line_of_progress_moves_while_a_run_goes_on() -> None:
    now, screen = [0.0], io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120)
    bar = ProgressBar(False, 100, console, lambda: now[0])
    with bar:
        bar.listen(told(60, 5))
        for second in (0.1, 3.0, 3.1, 7.0):
            now[0] = second
            bar.tick()
    lines = re.findall(r"\d:\d\d left[^\r\n\x1b]*", screen.getvalue())
    shown = list(dict.fromkeys(line.strip() for line in lines))
    assert [line.split()[0] for line in shown] == ["1:00", "0:57", "0:53"]
    assert shown[0].endswith("a · block 1")
    assert shown[-1].endswith("7 of at most 20 s")


def test_a_quiet_bar_shows_nothing() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True)
    with ProgressBar(True, 100, console) as bar:
        bar.listen(told(60, 5))
        bar.tick()
    assert screen.getvalue() == ""


def test_a_disturbed_run_is_repeated_only_while_the_budget_has_room(results: Path) -> None:
    two_rounds = 2 * 4 * RUNS_A_BLOCK
    fake = Fake(outcome={("a", 0): Status.VOID, ("b", 0): Status.VOID})
    run_campaign(fake, results, budget=two_rounds + 3)
    repeated = sum(attempt == 0 for *_, allocator, attempt in fake.asked if allocator in ("a", "b"))
    assert 0 < repeated <= 4
    assert fake.now <= two_rounds + 4
    blocks = {(key, number) for key, number, _, _ in fake.asked}
    assert len(blocks) == 2 * 4


def test_void_runs_take_a_fifth_of_the_budget_at_most(results: Path) -> None:
    fake = Fake(outcome={(name, 0): Status.VOID for name in ("base", "base#again", "a", "b")})
    run_campaign(fake, results, budget=200)
    assert 35 <= sum(run.status is Status.VOID for run in stored_runs(results)) <= 40


def test_a_repetition_is_one_planned_run_with_the_first_attempt(results: Path) -> None:
    heard = []
    fake = Fake(outcome={("a", 0): Status.VOID})
    run_campaign(fake, results, listen=heard.append)
    assert heard[-1].finished == 4 * 15 * RUNS_A_BLOCK - 1
    assert len(heard) == len(fake.asked)


def test_what_is_left_out_is_not_run_any_more_and_a_pointless_campaign_ends(results: Path) -> None:
    fake, left_out = Fake(), set()

    def before_round(left: float) -> bool:
        assert left == 1000 - fake.now
        left_out.add("a")
        return fake.asked[-1][1] == 4

    more = {"pointless": before_round, "left_out": left_out}
    assert run_campaign(fake, results, budget=1000.0, **more) == "budget"
    assert {number for _, number, allocator, _ in fake.asked if allocator == "a"} == {0, 1}
    assert {number for _, number, *_ in fake.asked} == set(range(5))
