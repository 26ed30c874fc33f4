"""How arms are timed: the rules, and what a campaign makes of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from test_plan import WORKLOAD, campaign
from test_runner import Fake

from heaplab.campaign import plan, timing
from heaplab.campaign.plan import Block, Candidate
from heaplab.campaign.runner import Runner
from heaplab.campaign.timing import CPU, WALL
from heaplab.results import spec, store
from heaplab.results.records import Behaviour, Campaign, Run, Status
from heaplab.results.server_spec import Server
from heaplab.results.store import Store

QUIET = Behaviour(busy=1.0, waiting=0.01)


def decided(
    made: Campaign, *seen: Behaviour | None, status: Status = Status.OK, peak: int = 0
) -> tuple[str, str]:
    """Why not in slices, and the clock, of a campaign whose runs of the first block behaved so."""
    comparisons = plan.comparisons(made)[:1]
    block, fake = plan.block(made, comparisons[0], 0), Fake()
    runs = []
    for candidate, measured_arm in zip(block.order, seen, strict=False):
        run = fake(block, candidate, 0, 0)
        process = run.process.model_copy(update={"peak_memory": peak})
        runs.append(run.model_copy(update={"behaviour": measured_arm, "status": status, "process": process}))
    found = timing.timing_of(made, comparisons, runs)
    assert found.slices == (found.why_alone == "")
    return found.why_alone, found.clock


def with_workload(**changes: object) -> Campaign:
    work = WORKLOAD.model_copy(update=changes)
    return campaign().model_copy(update={"workloads": {"w": work.model_dump()}})


def test_one_thread_that_computes_runs_in_slices_and_its_cpu_time_decides() -> None:
    assert decided(campaign(), QUIET, QUIET) == ("", "cpu_time")


@pytest.mark.parametrize(
    ("seen", "why", "clock"),
    [
        (Behaviour(busy=0.7, waiting=0.3), "it waits 30% of its time", "wall_time"),
        (Behaviour(busy=1.8, waiting=0.02), "", "cpu_time"),
        (Behaviour(busy=1.8, waiting=0.05), "", "wall_time"),
        (Behaviour(busy=999.0, waiting=0.0), "it keeps 999.0 threads busy", "cpu_time"),
        (
            Behaviour(busy=1.0, waiting=0.0, oddities=["it traces processes"]),
            "it traces processes",
            "cpu_time",
        ),
        (None, "it ended too soon under ", "wall_time"),
    ],
)
def test_what_one_arm_does_decides_for_all(seen: Behaviour | None, why: str, clock: str) -> None:
    found, chosen = decided(campaign(), QUIET, seen)
    assert (found.startswith(why), bool(found), chosen) == (True, bool(why), clock)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (campaign().model_copy(update={"slices": False}), "--no-slices"),
        (campaign().model_copy(update={"instructions": "callgrind"}), "instructions are counted"),
        (campaign(parameters={"latency": True}), "single calls are timed"),
        (
            with_workload(metrics={"m": spec.MetricSpec(title="", unit="B")}, main_metric="m"),
            "not about time",
        ),
        (with_workload(kind="program", fixture=None).model_copy(update={"prepare": "x"}), "--prepare"),
    ],
)
def test_some_campaigns_are_never_in_slices(made: Campaign, why: str) -> None:
    assert why in decided(made, QUIET, QUIET)[0]


SERVER = {"ready": "tcp:1", "load": "x", "take": ["wrk"]}


@pytest.mark.parametrize(("main", "clock"), [("cpu_per_request", CPU), ("throughput", WALL)])
def test_of_a_server_the_cpu_time_of_a_request_decides_and_then_no_run_is_disturbed(
    tmp_path: Path, main: str, clock: str
) -> None:
    made = with_workload(kind="program", fixture=None, server=Server.model_validate(SERVER), main_metric=main)
    assert decided(made, QUIET, QUIET) == ("a server waits for its clients", clock)
    with Store(tmp_path / "results.jsonl") as opened:
        fake = Watched()
        runner = Runner(made, fake, opened, together=fake.together, clock=fake.clock)
        block = plan.block(made, plan.comparisons(made)[0], 0)
        assert runner._may_be_void(block) is (clock == WALL)


def test_arms_that_do_not_fit_in_memory_together_run_one_after_the_other() -> None:
    made = campaign().model_copy(update={"memory_limit": 10 << 20})
    assert decided(made, QUIET, QUIET, peak=4 << 20)[0] == ""
    assert decided(made, QUIET, QUIET, QUIET, peak=4 << 20)[0] == "all arms together need 12 MiB of memory"


def test_a_user_s_program_that_writes_files_does_not_run_beside_itself() -> None:
    writes = QUIET.model_copy(update={"oddities": [timing.WRITES]})
    assert decided(with_workload(kind="program", fixture=None), writes)[0] == timing.WRITES
    assert decided(campaign(), writes)[0] == ""


# ---------------------------------------------------------------- the campaign


class Watched(Fake):
    """Attempts whose first blocks are watched, and blocks in slices."""

    fails_together = False

    def __call__(self, block: Block, candidate: Candidate, order: int, attempt: int) -> Run:
        return super().__call__(block, candidate, order, attempt).model_copy(update={"behaviour": QUIET})

    def together(
        self, block: Block, candidates: Sequence[Candidate], weights: Sequence[float], order: int, _one: bool
    ) -> list[Run]:
        assert len(weights) == len(candidates)
        runs = [self(block, candidate, order + place, 0) for place, candidate in enumerate(candidates)]
        status = Status.FAILED if self.fails_together else Status.OK
        return [run.model_copy(update={"turns": 3, "behaviour": None, "status": status}) for run in runs]


def carried_out(fake: Watched, path: Path) -> store.Results:
    made = campaign()
    with Store(path) as opened:
        opened.append(made)
        Runner(made, fake, opened, together=fake.together, clock=fake.clock).run()
    return store.load(path)


def test_blocks_after_the_first_run_in_slices(tmp_path: Path) -> None:
    results = carried_out(Watched(), tmp_path / "results.jsonl")
    assert results.timings["e"].slices
    assert {(run.block == 0, run.turns) for run in results.runs} == {(True, None), (False, 3)}


def test_in_slices_as_many_blocks_count_as_one_after_the_other(tmp_path: Path) -> None:
    results = carried_out(Watched(), tmp_path / "results.jsonl")
    counted = {run.block for run in results.runs if run.turns}
    assert len(counted) == plan.comparisons(campaign())[0].blocks_most


def test_arms_that_fail_only_together_go_on_one_after_the_other(tmp_path: Path) -> None:
    fake = Watched()
    fake.fails_together = True
    results = carried_out(fake, tmp_path / "results.jsonl")
    assert not results.timings["e"].slices
    assert results.timings["e"].why_alone.startswith("two of it at once do not end well")
    assert [run.turns for run in results.runs if run.block == 2] == [None] * 16


def test_a_block_in_slices_that_the_budget_ended_is_no_failure(tmp_path: Path) -> None:
    fake = Watched()

    def together(*asked: Any) -> list[Run]:
        fake.now = 1000.0
        return [run.model_copy(update={"status": Status.TIMEOUT}) for run in fake.together(*asked)]

    with Store(tmp_path / "results.jsonl") as opened:
        made = campaign().model_copy(update={"budget": 100.0})
        opened.append(made)
        assert Runner(made, fake, opened, together=together, clock=fake.clock).run().reason == "budget"
    results = store.load(tmp_path / "results.jsonl")
    assert (results.timings["e"].slices, {run.block for run in results.runs}) == (True, {0})
