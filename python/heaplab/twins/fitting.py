"""Fits a twin to a recording."""

from itertools import pairwise

import numpy as np

from heaplab.twins.lives import GATHERED, Array, Lives, burst_sizes, bursts, in_order
from heaplab.twins.survival import life_class
from heaplab.twins.twin_file import FORMAT, Phase, Row, Twin

LIFE_STEPS = 2  # classes of lifetimes to a factor of two
EXACT = 24  # sizes that are kept as they are: the most frequent ones, and those with the most bytes
WINDOWS = 32  # of equal bytes; neighbours that are alike become a phase
MOST_PHASES = 8
ALIKE = 0.02  # bits a block that a phase may lose by joining two windows
TRIMMED = 0.1  # share of the shortest and of the longest lifetimes of a class beyond its bounds
ORDERED = 0.5  # from this on, a burst dies in the order of births (in_order)


def fit(lives: Lives) -> Twin:
    """Precondition: there are blocks."""
    sizes = size_classes(lives.size)
    size = np.searchsorted(np.array([least for least, _ in sizes]), lives.size, side="right") - 1
    life = life_class(lives.life, LIFE_STEPS)
    left = ~lives.has_died
    return Twin(
        heaplab_twin=FORMAT,
        blocks=len(lives),
        bytes=int(lives.size.sum()),
        peak_bytes=peak_of(lives),
        freed_at_end=float(lives.is_freed[left].mean()) if left.any() else 0.0,
        sizes=sizes,
        phases=phases_of(lives, size, life, len(sizes)),
    )


def peak_of(lives: Lives) -> int:
    return int(lives.at(np.append(lives.born[1:], lives.clock)).max(initial=0))


def size_classes(size: Array) -> list[Row]:
    """The sizes that matter as they are, the others in classes of half an octave between these."""
    values, blocks = np.unique(size, return_counts=True)
    exact = set(values[np.argsort(-blocks, kind="stable")[:EXACT]].tolist())
    exact |= set(values[np.argsort(-blocks * values, kind="stable")[:EXACT]].tolist())
    bounds: list[Row] = []
    last: object = None
    for value in values.tolist():
        kind: object = "exact" if value in exact else int(2 * np.log2(max(value, 1)))
        if kind == "exact" or kind != last:
            bounds.append([value, value])
        else:
            bounds[-1][1] = value
        last = kind
    return bounds


def phases_of(lives: Lives, size: Array, life: Array, classes: int) -> list[Phase]:
    window = np.minimum(lives.born * WINDOWS // max(lives.clock, 1), WINDOWS - 1)
    # Sizes of all blocks and lifetimes of the dead: how old others are depends on when the recording ends.
    cells = np.concatenate((size, (classes * (life + 1) + size)[lives.has_died]))
    windows = np.concatenate((window, window[lives.has_died]))
    groups = alike(windows, np.unique(cells, return_inverse=True)[1])
    burst = bursts(lives)
    mass = np.where(burst_sizes(burst) >= GATHERED, burst, -1)
    _, signs = in_order(lives, burst)
    ends = np.append(lives.seconds[1:], lives.seconds[-1])
    return [
        phase(lives, np.flatnonzero(group), size, life, mass, signs, ends)
        for group in (np.isin(window, numbers) for numbers in groups)
        if group.any()
    ]


def alike(window: Array, cell: Array) -> list[list[int]]:
    """Windows in groups of neighbours: joining two of them loses as little information as possible."""
    counts = np.zeros((WINDOWS, int(cell.max()) + 1))
    np.add.at(counts, (window, cell), 1)
    groups = [[number] for number in range(WINDOWS) if counts[number].any()]
    tables = [counts[number] for (number,) in groups]

    def bits(table: Array) -> float:
        some = table[table > 0]
        return float(-(some * np.log2(some / some.sum())).sum())

    while len(groups) > 1:
        losses = [
            (bits(first + second) - bits(first) - bits(second)) / (first.sum() + second.sum())
            for first, second in pairwise(tables)
        ]
        at = int(np.argmin(losses))
        if len(groups) <= MOST_PHASES and losses[at] > ALIKE:
            break
        groups[at : at + 2] = [groups[at] + groups[at + 1]]
        tables[at : at + 2] = [tables[at] + tables[at + 1]]
    return groups


def phase(lives: Lives, of: Array, size: Array, life: Array, mass: Array, signs: Array, ends: Array) -> Phase:
    """The tables of the blocks numbered `of`. `mass`: the burst of a block if it is large, else -1."""
    remote = lives.is_remote[of]
    died = lives.has_died[of]
    gathered = mass[of] >= 0
    order = signs[mass[of][gathered]]
    shares = [float(np.mean(kept)) if len(order) else 0.0 for kept in (order > ORDERED, order < -ORDERED)]
    return Phase(
        seconds=round(float(ends[of[-1]] - lives.seconds[of[0]]), 9),
        sizes=table([size[of]], [np.ones(len(of)), begins_run(lives, of), lives.is_zeroed[of]]),
        lives=[
            row + bounds
            for row, bounds in zip(
                table([size[of], life[of]], [died, ~died, remote]),
                typical([size[of], life[of]], lives.life[of]),
                strict=True,
            )
        ],
        masses=table(
            [life[of][died]], [np.ones(died.sum()), gathered[died], first_of_mass(mass, of, life)[died]]
        ),
        orders=[round(share, 4) for share in shares],
        threads=table([lives.thread[of]], [np.ones(len(of))]),
        freed_by=table([lives.thread[of][remote], lives.freed_by[of][remote]], [np.ones(remote.sum())]),
    )


def table(keys: list[Array], columns: list[Array]) -> list[Row]:
    """For each combination of keys the sums of the columns."""
    if not len(keys[0]):
        return []
    shape = [int(key.max()) + 1 for key in keys]
    keys_seen, inverse = np.unique(np.ravel_multi_index(keys, shape), return_inverse=True)
    sums = [np.bincount(inverse, weights=column.astype(float)) for column in columns]
    rows: list[Row] = np.column_stack([*np.unravel_index(keys_seen, shape), *sums]).astype(np.int64).tolist()
    return rows


def typical(keys: list[Array], life: Array) -> list[Row]:
    """For each combination of keys, in the order of `table`, the bounds of all lifetimes but the ends."""
    cell: Array = np.ravel_multi_index(keys, [int(key.max()) + 1 for key in keys])
    order = np.lexsort((life, cell))
    _, first, count = np.unique(cell[order], return_index=True, return_counts=True)
    at = [first + ((count - 1) * share + 0.5).astype(np.int64) for share in (TRIMMED, 1 - TRIMMED)]
    ends = [life[order][each] for each in at]
    rows: list[Row] = np.column_stack(ends).astype(np.int64).tolist()
    return rows


def begins_run(lives: Lives, of: Array) -> Array:
    """Whether the thread's birth before was of another size, or of a block that dies sooner."""
    by_thread = np.argsort(lives.thread[of], kind="stable")
    size, thread, died = (each[of][by_thread] for each in (lives.size, lives.thread, lives.died))
    begins = np.ones(len(of), dtype=bool)
    begins[by_thread[1:]] = (size[1:] != size[:-1]) | (thread[1:] != thread[:-1]) | (died[1:] > died[:-1])
    return begins


def first_of_mass(mass: Array, of: Array, life: Array) -> Array:
    """Marks a block of each mass in each class of lifetimes, so that the marks count these masses."""
    is_first = np.zeros(len(of), dtype=bool)
    some = np.flatnonzero(mass[of] >= 0)
    if len(some):
        key = mass[of][some] * (int(life.max()) + 1) + life[of][some]
        _, first = np.unique(key, return_index=True)
        is_first[some[first]] = True
    return is_first
