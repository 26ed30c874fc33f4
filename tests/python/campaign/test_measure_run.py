"""One run: what its end is called, its options, and when it is repeated."""

import pytest
from bare_records import bare_process

from heaplab.campaign.command_line import options_of
from heaplab.campaign.run_outcome import RunOutcome, judge_disturbance
from heaplab.machine.execute import Execution, failure
from heaplab.machine.watch import Limits
from heaplab.results.records import Status


def execution(status: int = 0, killed_for: str = "", peak: int = 0, wall: float = 1.0) -> Execution:
    return Execution(status, killed_for, bare_process(wall, peak_memory=peak, mean_memory=peak))


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
    assert failure(ended, "--size: too small", Limits(time=3, memory=7 << 20)) == said


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
