"""One run: how much memory is warmed before it, and what its end is called."""

import pytest
from laboratory import Laboratory

from heaplab.campaign import plan
from heaplab.campaign.command_line import options_of
from heaplab.campaign.measure_run import WARM_UNSEEN, RunMeasurer
from heaplab.campaign.plan import Candidate
from heaplab.campaign.run_outcome import RunOutcome, failure, judge_disturbance
from heaplab.machine.execute import Execution
from heaplab.machine.watch import Limits
from heaplab.records import Campaign, Library, Process, Status

MIB = 1 << 20
CARD_LEAST = 128 * MIB  # memory_mib of the card unless it says otherwise


def execution(status: int = 0, killed_for: str = "", peak: int = 0, wall: float = 1.0) -> Execution:
    counts = dict.fromkeys(
        (
            "user_time",
            "system_time",
            "minor_faults",
            "major_faults",
            "voluntary_switches",
            "involuntary_switches",
        ),
        0,
    )
    process = Process(wall_time=wall, peak_memory=peak, mean_memory=peak, **counts)
    return Execution(status, killed_for, process)


def warmed(
    lab: Laboratory,
    monkeypatch: pytest.MonkeyPatch,
    peaks: list[int],
    estimate: int = 0,
    status: int = 1,
    **changes: int,
) -> list[int]:
    """Bytes warmed before runs of one cell that reach these peaks, and before one more."""
    campaign: Campaign = lab.results().campaign.model_copy(update={"warm": None} | changes)
    libraries: dict[str, Library] = lab.results().libraries
    asked: list[int] = []
    estimates = {cell.key: estimate for item in plan.comparisons(campaign) for cell in item.cells}
    measure = RunMeasurer(campaign, libraries, estimates, warm=asked.append)
    left = iter([*peaks, 0])
    monkeypatch.setattr(
        "heaplab.campaign.measure_run.execute", lambda *_words, **_options: execution(status, peak=next(left))
    )
    comparison = plan.comparisons(campaign)[0]
    for number in range(len(peaks) + 1):
        block = plan.block(campaign, comparison, number)
        measure(block, Candidate(comparison.cells[0], "glibc"), number, 0)
    return asked


def test_much_is_warmed_before_anything_is_known_and_then_twice_the_largest_peak(
    finished: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = warmed(finished, monkeypatch, [300 * MIB, 200 * MIB, MIB])
    assert found == [WARM_UNSEEN, 600 * MIB, 600 * MIB, 600 * MIB]


def test_a_small_program_is_warmed_a_least_amount(
    finished: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert warmed(finished, monkeypatch, [MIB]) == [WARM_UNSEEN, CARD_LEAST]


def test_a_program_that_ends_before_anybody_looks_is_warmed_a_least_amount(
    finished: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert warmed(finished, monkeypatch, [0]) == [WARM_UNSEEN, WARM_UNSEEN]  # it failed, which tells nothing
    monkeypatch.setattr("heaplab.campaign.measure_run.judge_sample", lambda *_: RunOutcome(Status.OK))
    assert warmed(finished, monkeypatch, [0, 0], status=0) == [WARM_UNSEEN, CARD_LEAST, CARD_LEAST]


def test_twice_what_the_workload_estimates_is_warmed_before_it_was_seen(
    finished: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = warmed(finished, monkeypatch, [300 * MIB], estimate=200 * MIB)
    assert found == [400 * MIB, 600 * MIB]


def test_what_the_user_wants_warmed_is_warmed(finished: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    assert warmed(finished, monkeypatch, [300 * MIB], warm=5 * MIB) == [5 * MIB, 5 * MIB]


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        (execution(), ""),
        (execution(2), "exit status 2: --size: too small"),
        (execution(-11), "killed by SIGSEGV: --size: too small"),
        (execution(-9, "time"), "not done after 3 s"),
        (execution(-9, "memory"), "used more than the 7 MiB it may"),
    ],
)
def test_a_bad_end_is_said_in_one_line(ended: Execution, said: str) -> None:
    assert failure(ended, "--size: too small", Limits(time=3, memory=7 * MIB)) == said


def test_parameters_become_options() -> None:
    given = {"size": "8KiB", "threads": 2, "shared": True, "access": False}
    assert options_of(given) == ["--size", "8KiB", "--threads", "2", "--shared", "--no-access"]


def test_a_run_is_repeated_only_if_others_used_much_of_the_machine() -> None:
    good = RunOutcome(Status.OK)
    assert judge_disturbance(good, execution(wall=1.0), 0.0, attempt=0) is good
    assert judge_disturbance(good, execution(wall=1.0), 10.0, attempt=0).status is Status.VOID
    again = judge_disturbance(good, execution(wall=1.0), 10.0, attempt=1)
    assert (again.status, again.reason) == (
        Status.OK,
        "others used more than 5% of the CPU time meanwhile, and it stands",
    )
