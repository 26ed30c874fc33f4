"""How much memory is warmed before a run, and when memory is left alone."""

from collections.abc import Sequence

import pytest
from bare_records import bare_process
from laboratory import Laboratory

from heaplab.campaign import plan, warming
from heaplab.campaign.measure_run import RunMeasurer
from heaplab.campaign.plan import Candidate
from heaplab.campaign.warming import TRIES, UNSEEN, Warmer
from heaplab.machine import host
from heaplab.machine.execute import Execution
from heaplab.results.records import Status

MIB = 1 << 20
CARD_LEAST = 128 * MIB  # memory_mib of the card unless it says otherwise
PACE = 1e-9  # s for each byte of warm memory


def execution(peak: int) -> Execution:
    return Execution(0, "", bare_process(peak_memory=peak, mean_memory=peak))


@pytest.fixture
def candidates(finished: Laboratory) -> list[Candidate]:
    return plan.comparisons(finished.results().campaign)[0].candidates


def warmer(slow: Sequence[int] = (), **given: object) -> tuple[Warmer, list[int]]:
    """A warmer whose touches number `slow` are cold; and the bytes it touched."""
    asked: list[int] = []

    def touch(size: int) -> float:
        asked.append(size)
        return size * PACE * (10 if len(asked) - 1 in slow else 1)

    return Warmer(touch=touch, pace=lambda: PACE, **given), asked


def needed(
    candidate: Candidate, peaks: Sequence[int], status: Status = Status.OK, **given: object
) -> list[int]:
    """Bytes warmed before runs of a candidate that reach these peaks, and before one more."""
    found, asked = warmer(**given)
    for peak in peaks:
        found.before(candidate)
        found.remember(candidate, execution(peak), status)
    found.before(candidate)
    return asked


def own(peak: int) -> int:
    return round(1.25 * peak) + 8 * MIB


def test_a_run_is_warmed_what_the_last_run_of_its_candidate_needed(candidates: list[Candidate]) -> None:
    peaks = [300 * MIB, 200 * MIB, MIB]
    assert needed(candidates[0], peaks) == [UNSEEN, *map(own, peaks)]


def test_an_estimate_counts_until_a_run_was_seen(candidates: list[Candidate]) -> None:
    estimates = {candidates[0].cell.key: 200 * MIB}
    assert needed(candidates[0], [300 * MIB], estimates=estimates) == [own(200 * MIB), own(300 * MIB)]


def test_a_new_candidate_is_warmed_by_the_largest_peak_of_its_cell(candidates: list[Candidate]) -> None:
    found, asked = warmer()
    for peak, candidate in zip([400 * MIB, 300 * MIB], candidates, strict=False):
        found.before(candidate)
        found.remember(candidate, execution(peak), Status.OK)
    found.before(candidates[2])
    assert asked == [UNSEEN, own(400 * MIB), own(400 * MIB)]


def test_where_another_needed_nothing_a_new_candidate_is_warmed_what_the_card_names(
    candidates: list[Candidate],
) -> None:
    found, asked = warmer()
    found.before(candidates[0])
    found.remember(candidates[0], execution(0), Status.OK)
    found.before(candidates[1])
    assert asked == [UNSEEN, CARD_LEAST]


def test_touching_as_much_as_before_shows_whether_memory_is_taken_back(candidates: list[Candidate]) -> None:
    estimates = {candidates[0].cell.key: 300 * MIB}
    assert needed(candidates[0], [300 * MIB] * 39, estimates=estimates) == [own(300 * MIB)] * (TRIES + 1)


def test_a_program_that_ends_before_anybody_looks_needs_little(candidates: list[Candidate]) -> None:
    assert needed(candidates[0], [0], Status.FAILED) == [UNSEEN, UNSEEN]  # a failure tells nothing
    assert needed(candidates[0], [0]) == [UNSEEN, own(0)]


def test_what_the_user_wants_warmed_is_warmed(candidates: list[Candidate]) -> None:
    assert needed(candidates[0], [300 * MIB] * 30, fixed=5 * MIB) == [5 * MIB] * 31
    assert needed(candidates[0], [300 * MIB], fixed=0) == []


@pytest.mark.parametrize(
    ("slow", "warmed"),
    [
        ((), TRIES + 1),  # the first warming cannot show that the host takes memory back
        ((0,), TRIES + 1),  # memory that was never used is cold everywhere
        ((1,), 40),
        ((TRIES,), 40),
    ],
)
def test_memory_is_left_alone_where_no_warming_was_cold(
    candidates: list[Candidate], slow: tuple[int, ...], warmed: int
) -> None:
    assert len(needed(candidates[0], [MIB] * 39, slow=slow)) == warmed


def test_a_new_candidate_is_warmed_also_where_memory_is_left_alone(candidates: list[Candidate]) -> None:
    found, asked = warmer()
    for _ in range(30):
        found.before(candidates[0])
        found.remember(candidates[0], execution(MIB), Status.OK)
    found.before(candidates[1])
    assert asked[-1] == CARD_LEAST


def test_a_run_records_what_was_warmed(finished: Laboratory) -> None:
    campaign = finished.results().campaign
    found, asked = warmer()
    comparison = plan.comparisons(campaign)[0]
    block = plan.block(campaign, comparison, 0)
    with RunMeasurer(campaign, finished.results().libraries, warmer=found) as measure:
        run = measure(block, comparison.candidates[0], 0, 0)
    assert (run.warming.touched, run.warming.cold) == (asked[0], False)


def test_touching_memory_takes_the_time_that_is_told() -> None:
    assert host.warm_memory(0) == 0
    assert 0 < host.warm_memory(1 << 20) < 10
    assert warming.COLD > 1
