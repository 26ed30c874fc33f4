"""`compare --fit`: the search on programs of known needs, groups in made-up hierarchies, real limits."""

import json
import os
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from laboratory import Laboratory, failure, refusal
from subprocesses import executable, written

from heaplab.comparison.least_limit import (
    FINE,
    STEP,
    BudgetSpentError,
    Fit,
    LimitOutcome,
    LimitSearch,
    LimitTrial,
)
from heaplab.comparison.run_fit import limit_in_words
from heaplab.errors import HeaplabError
from heaplab.machine import memory_group
from heaplab.machine.memory_group import MemoryGroupParent

FREE = LimitTrial(LimitOutcome.DONE, wall_time=1.0, cpu_time=1.0, major_faults=2, peak=1000 * STEP)


RECLAIMS = replace(FREE, cpu_time=1.2)


def fitted(needs: int, keeps: int, slow: LimitTrial = RECLAIMS, peak: int = 1000, runs: float = inf) -> Fit:
    """The fit of a program that is killed below `needs` steps, and is as `slow` says below `keeps`.

    The budget has room for so many runs.
    """
    free, room = replace(FREE, peak=peak * STEP), [runs]

    def run(limit: int | None) -> LimitTrial:
        room[0] -= 1
        if room[0] < 0:
            raise BudgetSpentError
        if limit is None or limit >= max(needs, keeps) * STEP:
            return free
        return slow if limit >= needs * STEP else LimitTrial(LimitOutcome.KILLED)

    found = LimitSearch(run).fit()
    assert isinstance(found, Fit)
    return found


@settings(deadline=None)
@given(needs=st.integers(1, 3000), keeps=st.integers(1, 3000), peak=st.integers(1, 1500))
def test_the_least_limits_are_found_within_a_hundredth(needs: int, keeps: int, peak: int) -> None:
    found = fitted(needs, keeps, peak=peak)
    within = 8 * max(1, max(peak, needs) // FINE)
    for answer, truth in ((found.completes, needs), (found.keeps_time, max(needs, keeps))):
        if truth <= peak:
            assert answer is not None
        if answer is not None:
            assert truth <= answer // STEP <= truth + within


@settings(deadline=None)
@given(needs=st.integers(1, 1000), keeps=st.integers(1, 1000), runs=st.integers(3, 60))
def test_a_budget_that_ends_the_search_leaves_ranges_that_hold(needs: int, keeps: int, runs: int) -> None:
    found, whole = fitted(needs, keeps, runs=runs), fitted(needs, keeps)
    assert found.runs <= min(runs + 1, whole.runs)
    for truth, limit, above, of_whole in (
        (needs, found.completes, found.completes_above, whole.completes),
        (max(needs, keeps), found.keeps_time, found.keeps_time_above, whole.keeps_time),
    ):
        assert limit == of_whole if above is None else above < truth * STEP <= (limit or FREE.peak)
    assert (found.keeps_time_above is None) == (runs >= whole.runs)


@pytest.mark.parametrize(
    ("slow", "counts"),
    [
        (RECLAIMS, True),
        (replace(FREE, wall_time=1.2, major_faults=9), True),  # it reads again what was dropped
        (replace(FREE, wall_time=9.0), False),  # others took the CPU
        (replace(FREE, major_faults=9), False),
    ],
)
def test_a_limit_that_costs_time_is_told_from_a_busy_machine(slow: LimitTrial, counts: bool) -> None:
    found = fitted(400, 700, slow)
    assert found.completes
    assert found.keeps_time
    assert (found.keeps_time > found.completes) == counts


def test_what_fails_without_a_limit_has_no_fit_and_what_is_killed_now_and_then_needs_more() -> None:
    bad = LimitTrial(LimitOutcome.FAILED, reason="exit status 1")
    assert LimitSearch(lambda _: bad).fit() == bad
    runs = [0]

    def now_and_then(limit: int | None) -> LimitTrial:
        runs[0] += 1
        often = limit is not None and limit < 600 * STEP and runs[0] % 3 == 0
        return LimitTrial(LimitOutcome.KILLED) if often or (limit or FREE.peak) < 300 * STEP else FREE

    found = LimitSearch(now_and_then).fit()
    assert isinstance(found, Fit)
    assert found.completes
    assert 600 * STEP <= found.completes < 620 * STEP
    assert found.below is LimitOutcome.KILLED


# ---------------------------------------------------------------- hierarchies


def hierarchy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, passed_on: dict[str, str]) -> Path:
    """A made-up mount of cgroup v2 whose groups pass on these controllers; heaplab is in `own`."""
    top = tmp_path / "cgroup"
    for group, controllers in passed_on.items():
        files = {
            "cgroup.controllers": "cpu memory",
            "cgroup.subtree_control": controllers,
            "cgroup.procs": "",
        }
        written(top / group, files)
    texts = {"self": f"0::{own}\n", "mounts": f"30 23 0:26 / {top} rw - cgroup2 cgroup2 rw\n"}
    written(tmp_path, texts)
    monkeypatch.setattr(memory_group, "MEMBERSHIP", tmp_path / "self")
    monkeypatch.setattr(memory_group, "MOUNTS", tmp_path / "mounts")
    return top


def test_a_group_is_made_in_the_nearest_that_passes_memory_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed_on = {".": "cpu memory", "user": "memory", "user/app": "cpu", "user/app/shell": ""}
    top = hierarchy(tmp_path, monkeypatch, "/user/app/shell", passed_on)
    refuses = {top / "user/app/shell/cgroup.subtree_control", top / "user/app/cgroup.subtree_control"}
    write_text = Path.write_text

    def write(path: Path, text: str) -> int:
        if path in refuses:
            raise OSError  # as the kernel answers for a group with members
        return write_text(path, text)

    monkeypatch.setattr(Path, "write_text", write)
    with MemoryGroupParent().new(None) as group:
        assert group.path.parent == top / "user"
        written(group.path, {"memory.swap.max": "max", "memory.max": "max"})
        group.limit(4096)
        kept = {name: (group.path / name).read_text() for name in ("memory.max", "memory.swap.max")}
        assert kept == {"memory.max": "4096", "memory.swap.max": "0"}
        written(group.path, {"memory.events": "max 3\noom 1\noom_kill 2\n", "memory.peak": "77\n"})
        assert (group.kills, group.peak) == (2, 77)
        for path in group.path.iterdir():
            path.unlink()
    assert not group.path.exists()


@pytest.mark.parametrize("why", ["no memory", "not writable", "no cgroup v2"])
def test_without_a_group_there_is_one_line(
    lab: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    top = hierarchy(tmp_path, monkeypatch, "/", {".": "memory"})
    if why == "no memory":
        (top / "cgroup.controllers").write_text("cpu hugetlb")
    elif why == "not writable":
        real = os.access
        monkeypatch.setattr(
            os, "access", lambda path, mode: top not in Path(path).parents and real(path, mode)
        )
    else:
        (tmp_path / "self").write_text("")
    printed = failure(lab.heaplab("compare", "--fit", "--allocators", "glibc", "--", "true"))
    assert "needs cgroup v2 with the memory controller, as root or delegated" in printed
    assert printed.count("\n") == 1


def test_a_budget_is_heeded_from_the_first_run_on(
    lab: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hierarchy(tmp_path, monkeypatch, "/", {".": "memory"})
    words = ("--fit", "--allocators", "glibc", "--budget", "1ms", "--", "true")
    printed = failure(lab.heaplab("compare", *words))
    assert "glibc: could not be tried without a limit: the budget was spent\n" in printed


@pytest.mark.parametrize(
    ("limit", "above", "said"),
    [
        (4 << 20, None, "4.00 MiB"),
        (4 << 20, 2 << 20, "2.00 MiB to 4.00 MiB"),
        (None, 8 << 20, "more than 8.00 MiB"),
    ],
)
def test_a_limit_is_told_as_far_as_it_is_known(limit: int | None, above: int | None, said: str) -> None:
    assert limit_in_words(limit, above) == said


def test_what_has_no_end_is_refused(lab: Laboratory) -> None:
    assert "--fit goes with a program that ends by itself" in refusal(lab.heaplab("compare", "--fit"))


# ---------------------------------------------------------------- real limits


@pytest.mark.starts_programs
def test_a_program_needs_what_it_touches_and_being_killed_is_an_outcome(
    lab: Laboratory, tmp_path: Path
) -> None:
    try:
        MemoryGroupParent()
    except HeaplabError:
        pytest.skip("no control group whose memory may be limited")
    holds = 32
    program = executable(
        tmp_path / "holds", f"#!/usr/bin/perl\nmy $x = 'x' x ({holds} << 20); print length $x;\n"
    )
    words = ("--fit", "--json", "-q", "--allocators", "glibc", "--", program)
    status, printed = lab.heaplab("compare", *words)
    found = json.loads(printed)["glibc"]
    assert status == 0
    assert holds << 20 <= found["completes"] <= (2 * holds + 16) << 20
    assert found["below"] == LimitOutcome.KILLED
    assert found["free"]["peak"] >= holds << 20
