"""What grows is told from what does not by lifetimes: leaks of every kind, bounded caches, warm-ups."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from subprocesses import heaplab

from heaplab.advise.growth import Clock, SiteGrowth, growths_of, kept_from, steadiness, theil_sen
from heaplab.traces import tool
from heaplab.traces.profile import of_process

# By program: whether it leaks, the site, how many blocks stay, their bytes each.
GROWING = {
    "one_in_five": (True, "handled", 8000, 200),
    "beside_bursts": (True, "forgotten", 20000, 100),
    "among": (True, "worker_19", 10000, 64 + 9 * 8),
    "slow": (True, "forgotten", 20000, 100),
    "late": (True, "handled", 2000, 200),
    "grown": (True, "grown", 800, 320),
    "behind_base": (True, "forgotten", 20000, 100),
    "after_base": (True, "handled", 3750, 400),  # those of the second half of the run
    "table": (False, "table_node", 40000, 16),
}
LATE = ("slow", "late", "behind_base", "after_base")  # whose rates are those of a part of the run
STEADY = (
    "tidy",
    "bounded",
    "doubling",
    "warm_up",
    "sessions",
    "generations",
    "queue",
    "sawtooth",
    "saturating",
    "retained",
    "regrowth",
)


@dataclass(frozen=True)
class Grown:
    seconds: float
    growths: list[SiteGrowth]


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Grown]:
    """By program: what grows."""
    folder = tmp_path_factory.mktemp("growth")
    source = Path(__file__).with_name("holders.c")
    subprocess.run(["cc", "-O1", "-g", "-o", folder / "holders", source], check=True)
    script = "; ".join(f"./holders {program}" for program in (*GROWING, *STEADY, "everywhere"))
    heaplab(folder, "record", "--stacks", "-o", "x.trace", "--", "sh", "-c", script).check_returncode()
    summary = tool.summary(folder / "x.trace")
    found = {}
    for number, process in enumerate(summary["processes"]):
        words = process["process"]["arguments"].split("\0")
        if words[0] == "./holders":
            profile = of_process(folder / "x.trace", summary, number)
            found[words[1]] = Grown(profile.seconds, growths_of(profile))
    return found


@pytest.mark.starts_programs
@pytest.mark.parametrize("program", GROWING)
def test_what_grows_is_found_with_its_size_and_rate(grown: dict[str, Grown], program: str) -> None:
    leaks, site, blocks, size = GROWING[program]
    [growth] = grown[program].growths
    assert growth.name.startswith(f"{site} ")
    assert (growth.leaks, growth.sure) == (leaks, program != "behind_base")
    assert growth.blocks == pytest.approx(blocks, rel=0.1)
    assert growth.bytes == pytest.approx(blocks * size, rel=0.1)
    low, typical, high = growth.of_thousand
    assert low <= typical * 1.0001
    assert typical <= high * 1.0001
    if program not in LATE:
        assert growth.of_second == pytest.approx(growth.bytes / grown[program].seconds, rel=0.2)


@pytest.mark.starts_programs
@pytest.mark.parametrize("program", STEADY)
def test_what_has_a_bound_or_has_stopped_does_not_grow(grown: dict[str, Grown], program: str) -> None:
    assert grown[program].growths == []


@pytest.mark.starts_programs
def test_each_of_many_leaking_sites_is_found(grown: dict[str, Grown]) -> None:
    found = grown["everywhere"].growths
    assert len(found) == 30
    assert all(growth.leaks and growth.sure and 0.2 < growth.share < 0.3 for growth in found)
    assert [growth.bytes for growth in found] == sorted((growth.bytes for growth in found), reverse=True)


def test_censored_lifetimes_count_as_far_as_they_are_known() -> None:
    released, ages = np.zeros(40), np.zeros(40)
    released[3], ages[10] = 80, 20
    assert kept_from(released, ages) == 8  # of the 20 that became so old, none was released
    released[10] = 10
    assert kept_from(released, ages) == 1024  # half of those at risk go in this class, too
    assert kept_from(np.zeros(40), ages) == 0


def test_what_has_stopped_in_the_last_eighth_is_no_steady_growth() -> None:
    places = np.arange(65.0)
    clock = Clock(1000 * places, places)
    found = steadiness(10 * places, clock, 0, needed=0)
    assert found
    assert found.rates == pytest.approx((0.01, 0.01, 0.01))
    assert steadiness(10 * np.minimum(places, 54), clock, 0, needed=0) is None


def test_the_slope_is_not_moved_by_a_jump() -> None:
    x = np.arange(17.0)
    assert theil_sen(x, 3 * x + np.where(x > 12, 1000, 0)) == pytest.approx(3)
