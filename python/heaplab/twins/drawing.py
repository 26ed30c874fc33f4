"""Draws the lives of blocks from a twin: the same for the same seed."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from heaplab.twins.lives import Array, Lives, ticks_of
from heaplab.twins.survival import survival
from heaplab.twins.twin_file import MOST_LIFE_CLASS, Phase, Twin

STAYS = MOST_LIFE_CLASS + 1  # the class of lifetimes of what lives to the end
LONGEST = 1 << 61
SEED = 1
STRETCH = 1.5  # most by which a lifetime changes for a death in a mass


def draw(twin: Twin, seed: int = SEED) -> Lives:
    """Lives with the tables of the twin; their number and sizes are those of the recording."""
    random = np.random.default_rng(seed)
    drawn = [births_of(twin, phase, random) for phase in twin.phases]
    edges = np.cumsum([0, *(len(each.size) for each in drawn)])
    size, thread, other, is_zeroed = (
        np.concatenate([getattr(each, name) for each in drawn])
        for name in ("size", "thread", "other", "is_zeroed")
    )
    ends = np.cumsum(ticks_of(size))
    born, clock = ends - ticks_of(size), int(ends[-1])
    parts = [slice(begin, end) for begin, end in pairwise(edges)]
    death = np.concatenate([deaths_of(each, ends[part]) for each, part in zip(drawn, parts, strict=True)])
    is_freed = (death < clock) | (random.random(len(size)) < twin.freed_at_end)
    death = np.minimum(death, clock)
    order = [
        order_of(phase, death[part], np.arange(part.start, part.stop), random)
        for phase, part in zip(twin.phases, parts, strict=True)
    ]
    until = np.cumsum([0, *(phase.seconds for phase in twin.phases)])
    return Lives(
        size=size,
        born=born,
        died=death,
        rank=ranks_by(death, np.concatenate(order)),
        is_freed=is_freed,
        thread=thread,
        freed_by=np.where(is_freed, np.where(other > 0, other, thread), 0),
        is_zeroed=is_zeroed,
        seconds=np.interp(born, np.append(0, ends[edges[1:] - 1]), until),
        clock=clock,
    )


@dataclass(frozen=True)
class Births:
    """Arrays over the blocks of a phase, in the order of their births."""

    size: Array
    age: Array  # bytes from birth to death
    masses: Array  # into how many masses the deaths of the block's class are gathered; 0: it dies alone
    thread: Array
    other: Array  # the thread that frees the block if it is another one, else 0
    is_zeroed: Array


def births_of(twin: Twin, phase: Phase, random: np.random.Generator) -> Births:
    """Blocks of a size come in runs. A run that dies in a mass is born so long before it as it lives."""
    tables = np.array(phase.lives, dtype=np.int64).reshape(-1, 7)
    columns: tuple[list[Array], ...] = ([], [], [], [], [])
    runs: list[Array] = []
    for which, blocks, number, calloc in phase.sizes:
        life, age, is_remote = lives_of_size(tables[tables[:, 0] == which], blocks, random)
        least, most = twin.sizes[which]
        sizes = random.integers(least, most, size=blocks, endpoint=True)
        is_zeroed = random.permutation(blocks) < calloc
        for column, some in zip(columns, (sizes, age, life, is_remote, is_zeroed), strict=True):
            column.append(some)
        runs.append(runs_of(age, int(ticks_of(sizes).sum()) / max(number, 1), number))
    size, age, life, remote, zeroed = map(np.concatenate, columns)
    offsets = np.cumsum([0, *(int(each.max(initial=-1)) + 1 for each in runs)])
    run = np.concatenate([each + offset for each, offset in zip(runs, offsets, strict=False)])
    longest_first = np.lexsort((-age, run))
    size, age, life, remote, zeroed, run = (
        each[longest_first] for each in (size, age, life, remote, zeroed, run)
    )
    _, first = np.unique(run, return_index=True)
    masses = masses_of(phase, life, random)
    length = int(ticks_of(size).sum())
    place = random.random(len(first)) * length
    points = np.maximum(masses[first], 1)
    mass = (random.integers(0, points) + 1) / points * length
    place = np.where(masses[first] > 0, np.mod(mass - age[first], length), place)
    threads, births = np.array(phase.threads, dtype=np.int64).T
    thread = random.choice(threads, size=len(first), p=births / births.sum())[run]
    other = np.where(remote, others(phase, thread, random), 0)
    order = np.argsort(place[run], kind="stable")
    of_births = (size, age, masses, thread, other, zeroed)
    return Births(*(each[order] for each in of_births))


def runs_of(age: Array, span: float, runs: int) -> Array:
    """The number of the run to which each block of a size belongs; a run is blocks that die together.

    `age` has the lifetimes, the longest first, in bytes that the program allocates meanwhile: in a run they
    fall from block to block by what is allocated between the two. `span`: all bytes of a run.
    """
    level = np.unique(np.floor((age[:1] - age) / max(span, 1.0)), return_inverse=True)[1]
    blocks = np.bincount(level)
    of_level = np.ceil(blocks * runs / max(len(age), 1)).astype(np.int64)
    within = np.arange(len(age)) - (np.cumsum(blocks) - blocks)[level]
    return (np.cumsum(of_level) - of_level)[level] + within % np.maximum(of_level, 1)[level]


def lives_of_size(rows: Array, blocks: int, random: np.random.Generator) -> tuple[Array, Array, Array]:
    """Of blocks, the longest-lived first: class of lifetimes, lifetime, and whether another thread frees."""
    columns = np.zeros((5, STAYS + 1))
    columns[:, rows[:, 1]] = rows[:, 2:].T
    died, left, remote, least, most = columns
    dies = np.cumsum(survival(died, left).dies)
    life = np.searchsorted(dies, (np.arange(blocks) + random.random()) / max(blocks, 1), side="right")
    life = np.minimum(life, STAYS)
    least[STAYS] = most[STAYS] = LONGEST
    share = remote / np.maximum(died + left, 1)
    share[STAYS] = remote.sum() / max((died + left).sum(), 1)
    age = (least[life] + random.random(blocks) * (most - least)[life]).astype(np.int64)
    order = np.argsort(-age, kind="stable")
    return life[order], age[order], (random.random(blocks) < share[life])[order]


def masses_of(phase: Phase, life: Array, random: np.random.Generator) -> Array:
    """For each block the number of masses, a power of two, or 0 for a block that dies alone.

    Masses are spread evenly, so that those of one class are among those of another with more.
    """
    share, number = np.zeros(STAYS + 1), np.zeros(STAYS + 1, dtype=np.int64)
    for which, died, gathered, masses in phase.masses:
        share[which] = gathered / max(died, 1)
        number[which] = 1 << int(np.log2(max(masses, 1)) + 0.5)
    return np.where(random.random(len(life)) < share[life], number[life], 0)


def others(phase: Phase, thread: Array, random: np.random.Generator) -> Array:
    """A thread other than its own that may free each block; 0 where only the thread itself freed."""
    threads = np.zeros(len(thread), dtype=np.int64)
    rows = np.array(phase.freed_by, dtype=np.int64).reshape(-1, 3)
    for maker in np.unique(rows[:, 0]):
        of = rows[rows[:, 0] == maker]
        mine = thread == maker
        threads[mine] = random.choice(of[:, 1], size=mine.sum(), p=of[:, 2] / of[:, 2].sum())
    return threads


def deaths_of(births: Births, ends: Array) -> Array:
    """The clock at each death. `ends`: the clock after each birth."""
    begin = ends[0] - ticks_of(births.size[:1])[0]
    step = (ends[-1] - begin) / np.maximum(births.masses, 1)
    near = begin + np.round(np.round((ends + births.age - begin) / step) * step).astype(np.int64)
    moved = near - ends
    is_near = (moved > births.age / STRETCH) & (moved < births.age * STRETCH)
    return np.where((births.masses > 0) & is_near, near, ends + births.age)


def order_of(phase: Phase, death: Array, births: Array, random: np.random.Generator) -> Array:
    """A key by which deaths at one time follow each other."""
    _, time = np.unique(death, return_inverse=True)
    luck = random.random(int(time.max(initial=0)) + 1)[time]
    forward, backward = phase.orders
    mixed = random.integers(0, LONGEST, size=len(death))
    return np.where(luck < forward, births, np.where(luck < forward + backward, -births, mixed))


def ranks_by(death: Array, key: Array) -> Array:
    order = np.lexsort((key, death))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return ranks
