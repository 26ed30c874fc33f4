"""A twin has the sizes, lifetimes, sharing, masses and phases of its recording; ACDC comes back."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from laboratory import called
from scipy import stats

from heaplab.machine import native
from heaplab.results.own_program import OwnProgram
from heaplab.traces import tool
from heaplab.traces.profile import busiest
from heaplab.twins import acdc_fit, acdc_parameters, distances, drawing, fitting
from heaplab.twins.acdc_parameters import Parameters
from heaplab.twins.lives import GATHERED, Array, Lives, burst_sizes, bursts, in_order, lives_of
from heaplab.twins.survival import survival

BLOCKS = 20_000


def made(size: Array, life: Array, freed_by: Array | int = 1, thread: int = 1) -> Lives:
    """Blocks born one after another; a life below 0 has no end."""
    size = np.asarray(size)
    ends = np.cumsum(size)
    clock = int(ends[-1])
    is_freed = (life >= 0) & (ends + life < clock)
    # A death is at the birth of the next block.
    died = np.where(is_freed, np.append(ends - size, clock)[np.searchsorted(ends - size, ends + life)], clock)
    return Lives(
        size=size,
        born=ends - size,
        died=died,
        rank=np.argsort(np.argsort(died, kind="stable")),
        is_freed=is_freed,
        thread=np.full(len(size), thread),
        freed_by=np.where(is_freed, freed_by, 0),
        is_zeroed=np.zeros(len(size), dtype=bool),
        seconds=np.arange(len(size)) / 1e6,
        clock=clock,
    )


def twin_of(lives: Lives) -> Lives:
    return drawing.draw(fitting.fit(lives))


def test_what_lives_to_the_end_is_censored_not_dead() -> None:
    random = np.random.default_rng(1)
    lives, ends = random.geometric(0.1, 5000), random.integers(1, 30, 5000)
    seen, left = np.minimum(lives, ends), lives > ends
    ours = survival(np.bincount(seen[~left], minlength=30), np.bincount(seen[left], minlength=30))
    theirs = stats.ecdf(stats.CensoredData.right_censored(seen, left)).sf
    assert 1 - np.cumsum(ours.dies)[1:29] == pytest.approx(theirs.evaluate(np.arange(1, 29)))


def test_a_block_that_is_released_when_nothing_more_is_allocated_has_not_died() -> None:
    lives = made(np.full(BLOCKS, 64), np.where(np.arange(BLOCKS) % 4 == 0, -1, 6400))
    freed_at_exit = dataclasses.replace(lives, is_freed=np.ones(BLOCKS, dtype=bool), freed_by=np.ones(BLOCKS))
    for each in (lives, freed_at_exit):
        twin = fitting.fit(each)
        drawn = drawing.draw(twin)
        at_end = drawn.died >= drawn.clock * 0.999
        assert at_end.mean() == pytest.approx(0.25, abs=0.01)
        assert drawn.is_freed[at_end].mean() == pytest.approx(twin.freed_at_end, abs=0.02)
    assert fitting.fit(freed_at_exit).freed_at_end == 1


def test_phases_are_found_and_drawn_in_their_order() -> None:
    half = BLOCKS // 2
    size = np.repeat([16, 48], half)  # a quarter of the bytes, then three
    lives = made(size, np.repeat([1600, 96_000], half))
    twin, drawn = fitting.fit(lives), twin_of(lives)
    assert 2 <= len(twin.phases) <= 3
    assert (drawn.size[: half - 700] == 16).all()
    assert (drawn.size[half + 700 :] == 48).all()
    assert distances.errors(drawn, lives).live_curve < 0.1


def test_who_frees_is_known_by_size_and_lifetime() -> None:
    number = np.arange(BLOCKS)
    size = np.where(number % 2 == 0, 32, 128)
    lives = made(size, np.full(BLOCKS, 5000), np.where((size == 128) & (number % 3 == 0), 2, 1))
    drawn = twin_of(lives)
    shares = [drawn.is_remote[drawn.size == each].mean() for each in (32, 128)]
    assert shares == pytest.approx([0, 1 / 3], abs=0.02)
    assert set(drawn.freed_by[drawn.is_remote]) == {2}


@pytest.mark.parametrize("backward", [False, True])
def test_masses_die_together_and_in_their_order(backward: bool) -> None:
    number, mass = np.arange(BLOCKS), 200
    left = (mass - 1 - number % mass) * 64  # until the last block of the mass is born
    lives = made(np.full(BLOCKS, 64), left)
    rank = np.argsort(np.lexsort((-number if backward else number, lives.died)))
    lives = dataclasses.replace(lives, rank=rank)
    drawn = twin_of(lives)
    burst = bursts(drawn)
    large = burst_sizes(burst) >= GATHERED
    assert large.mean() > 0.7
    counts, orders = in_order(drawn, burst)
    mean = np.average(orders, weights=counts)
    assert mean < -0.3 if backward else mean > 0.3
    assert distances.errors(drawn, lives).life_octaves < 0.5


def test_the_same_twin_is_drawn_each_time() -> None:
    twin = fitting.fit(made(np.full(BLOCKS, 64), np.arange(BLOCKS) % 9000))
    assert (drawing.draw(twin).died == drawing.draw(twin).died).all()
    assert (drawing.draw(twin).died != drawing.draw(twin, seed=2).died).any()


ACDC = {
    "defaults": (Parameters(1, 16, 256, 1, 10, 262_144, 50, 0, 100, 0, 0), ""),
    "fixed": (
        Parameters(1, 64, 512, 2, 4, 262_144, 60, 100, 0, 0, 5),
        "--class-objects 100 --min-size 64 --max-size 512 --max-liveness 4 --min-liveness 2 --list-ratio 0 "
        "--permanent-objects-ratio 5",
    ),
    "shared": (
        Parameters(2, 16, 1024, 1, 6, 400_000, 80, 0, 50, 60, 0),
        "--threads 2 --shared-objects --shared-objects-ratio 60 --max-size 1KiB --max-liveness 6 "
        "--time-quantum 400000 --list-ratio 50",
    ),
}


# Long: threads that share drift apart on a busy machine.
@pytest.mark.starts_programs
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name == "shared" else []) for name in ACDC]
)
def test_the_parameters_of_a_recorded_acdc_come_back(tmp_path: Path, name: str) -> None:
    given, options = ACDC[name]
    acdc = native.needed(native.program(OwnProgram("acdc")), "acdc")
    words = [acdc, "--ticks", given.ticks, "--no-access-live-objects", *options.split()]
    done = called(tmp_path, "record", "-o", "x.trace", "--", *words)
    assert done.returncode == 0, done.stderr
    trace = tmp_path / "x.trace"
    lives = lives_of(trace, busiest(tool.summary(trace)), 10**9)
    found = acdc_fit.fit(lives)
    same = ("threads", "min_size", "max_size", "min_liveness", "class_objects")
    assert [getattr(found, each) for each in same] == [getattr(given, each) for each in same]
    # How far threads drift apart is the machine's doing.
    alone = given.threads == 1
    assert found.max_liveness == pytest.approx(given.max_liveness, abs=1 if alone else 4)
    assert found.time_quantum == pytest.approx(given.time_quantum, rel=0.05 if alone else 0.4)
    assert found.ticks == pytest.approx(given.ticks, rel=0.06 if alone else 0.2)
    assert found.list_ratio == pytest.approx(given.list_ratio, abs=6)
    assert found.permanent_objects_ratio == pytest.approx(given.permanent_objects_ratio, abs=2)
    assert found.shared_objects_ratio == pytest.approx(given.shared_objects_ratio, abs=15)
    _, times = distances.errors(acdc_parameters.lives_of(found), lives).worst()
    assert times < 1.5 or not alone


def test_acdc_allocates_as_many_bytes_as_the_program_and_no_larger_blocks() -> None:
    # Small blocks are less frequent than by the formula with their range, and ticks are short.
    octaves = 12 - 9 * np.sqrt(np.random.default_rng(1).random(BLOCKS))
    lives = made((2**octaves).astype(np.int64), np.zeros(BLOCKS))
    found = acdc_fit.fit(lives)
    assert found.max_size <= 1 << 12
    assert acdc_parameters.lives_of(found).clock == pytest.approx(lives.clock, rel=0.2)


def test_a_program_that_is_not_like_acdc_is_called_so() -> None:
    number = np.arange(BLOCKS)
    lives = made(np.where(number % 1000 == 0, 300_000, 16), np.where(number % 1000 == 0, 3_000_000, 0))
    name, times = distances.errors(acdc_parameters.lives_of(acdc_fit.fit(lives)), lives).worst()
    assert times > 1.5, name
    assert distances.errors(twin_of(lives), lives).worst()[1] < 1
